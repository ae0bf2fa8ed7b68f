//! The answer where no clock can be steered: neither Linux nor Windows.

use super::SteeredClock;
use crate::configuration::Clock;
use wirestamp::{Error, ErrorKind, Interface, Result};

/// Refuses.
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
