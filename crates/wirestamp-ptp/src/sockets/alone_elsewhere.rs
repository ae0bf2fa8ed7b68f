//! Systems without Ethernet sockets.

use crate::configuration::Configuration;
use wirestamp::{Interface, Result};

#[derive(Debug)]
pub(super) struct Alone;

impl Alone {
    pub(super) fn on(_: &Interface, _: &Configuration) -> Result<Self> {
        Ok(Self)
    }
}
