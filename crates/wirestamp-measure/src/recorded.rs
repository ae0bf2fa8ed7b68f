//! One part of a recording of a NIC's clock.

use wirestamp::time::Frequency;
use wirestamp::{Bounded, ConversionError, CrossTimestamp, Error, HardwareTimestamp, UtcTime};

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
    /// The time of a timestamp, yielded some seconds after it. If [`Recording::times`](crate::Recording::times) is set.
    Time(FinalTime),
}

/// The time of a timestamp that no later reading of the NIC's clock contradicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FinalTime {
    /// The number of the timestamp in the recording, from 0.
    pub number: u64,
    /// The NIC's timestamp.
    pub timestamp: HardwareTimestamp,
    /// UTC as the real-time clock showed it, or why it is not known.
    pub utc: Result<Bounded<UtcTime>, ConversionError>,
    /// The generation of the NIC's clock; `None`: it is not known.
    pub generation: Option<u32>,
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
