//! The NICs that a cable joins, elsewhere: there are none.

use super::network::Network;

/// Two NICs: there are none here.
#[derive(Debug)]
pub enum Cable {}

impl Cable {
    pub(super) fn take() -> Result<Self, String> {
        Err(String::from("this is no Linux"))
    }

    pub(crate) fn changed(&self) -> &Network {
        match *self {}
    }

    pub(crate) fn network(&self) -> &Network {
        match *self {}
    }

    pub(crate) fn unbind_near(&self) -> Result<(), String> {
        match *self {}
    }

    pub(crate) fn bind_near(&self) -> Result<(), String> {
        match *self {}
    }

    pub(crate) fn virtual_clocks(&self, _: u32, _: u32) -> Result<VirtualClocks, String> {
        match *self {}
    }
}

/// There are none.
pub(crate) struct VirtualClocks;

/// There is nothing to put back.
pub fn release() {}

pub(super) fn is_named() -> bool {
    false
}

pub(super) fn has(_: &str) -> bool {
    false
}

pub(super) fn driver() -> &'static str {
    ""
}
