//! The options of the measurements, with their defaults.

mod clocks;
mod defaults;
mod measurements;
mod recording;
mod references;
mod stamp;

pub(crate) use defaults::TAI_OFFSET;

pub use clocks::{Clocks, Path, Readings};
pub use measurements::Measurements;
pub use recording::{Datagrams, Recording};
pub use references::{Family, Ntp, Ptp, Timestamper};
pub use stamp::{ClockBound, Reflector, Relation, Stamp};
