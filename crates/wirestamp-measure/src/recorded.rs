//! One part of a recording of a NIC's clock.

use wirestamp::time::Frequency;
use wirestamp::{CrossTimestamp, Error, HardwareTimestamp};

/// One part of a recording of a NIC's clock, in the order in which they happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum Recorded<'r> {
    /// The system reported a change: the clock may have been set, and its NIC restarted.
    Notified,
    /// Readings of the clock.
    Batch(Batch<'r>),
    /// The NIC timestamped a datagram as it sent it.
    Timestamp(HardwareTimestamp),
    /// The clock could not be read, or a timestamp did not come.
    Failed(&'r Error),
}

/// Readings of a NIC's clock in quick succession.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Batch<'r> {
    /// The readings, the oldest first.
    pub readings: &'r [CrossTimestamp],
    /// Whether another clock was behind the interface at the batch before: a bond failed over, or the NIC came back.
    pub is_another: bool,
    /// The frequency of the system's clock.
    pub system: Frequency,
    /// The frequency that the driver states for the NIC's clock; `None`: it states none.
    pub nominal: Option<Frequency>,
}
