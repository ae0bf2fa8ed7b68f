//! Steering on systems other than Linux and Windows, where it is not supported.

use super::SteeredClock;
use crate::configuration::Clock;
use wirestamp::{Error, ErrorKind, Interface, Result};

/// Fails on this system.
pub(super) fn open(interface: &Interface, _: Clock) -> Result<Box<dyn SteeredClock>> {
    let cause = "clocks can be steered on Linux and Windows only";
    Err(Error::new(
        ErrorKind::NotSupported,
        "steer the clock",
        interface.name(),
        cause,
    )
    .with_remedy("only measure"))
}
