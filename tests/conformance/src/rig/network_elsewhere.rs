//! The rigs that only Linux has, elsewhere: there is none.

/// Two network namespaces: there are none here.
#[derive(Debug)]
pub enum Network {}

impl Network {
    pub(crate) fn veth() -> Result<Self, String> {
        Err(NEEDS_LINUX.to_owned())
    }

    pub(crate) fn enter_near(&self) -> Result<(), String> {
        match *self {}
    }

    pub(crate) fn at_far<T: Send>(&self, _: impl FnOnce() -> T + Send) -> T {
        match *self {}
    }

    pub(crate) fn near_name(&self) -> &str {
        match *self {}
    }

    pub(crate) fn far_name(&self) -> &str {
        match *self {}
    }

    pub(crate) fn near(&self, _: &str) -> Result<(), String> {
        match *self {}
    }

    pub(crate) fn shape(&self, _: &str) -> Result<(), String> {
        match *self {}
    }

    pub(crate) fn shape_device(&self, _: &str, _: &str) -> Result<(), String> {
        match *self {}
    }

    pub(crate) fn set_far_up(&self, _: bool) -> Result<(), String> {
        match *self {}
    }
}

const NEEDS_LINUX: &str = "this is no Linux";

pub(super) fn step_clock(_: u32, _: i64) -> Result<(), String> {
    is_linux()
}

pub(super) fn set_clock_rate(_: u32, _: i32) -> Result<(), String> {
    is_linux()
}

pub(super) fn step_real_time_clock(_: wirestamp::Span) -> Result<(), String> {
    is_linux()
}

pub(super) fn reconfigure(
    _: &str,
    _: wirestamp::interface::HardwareConfiguration,
) -> Result<(), String> {
    is_linux()
}

pub(super) fn is_linux() -> Result<(), String> {
    Err(NEEDS_LINUX.to_owned())
}

pub(super) fn is_available() -> Result<(), String> {
    is_linux()
}
