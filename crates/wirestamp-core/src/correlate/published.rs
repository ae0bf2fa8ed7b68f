//! Owns what a correlation shows to other threads: how new stamps are converted just now.
//! Does not convert older ones.

use super::express::Front;
use super::latch::Latch;
use super::{Correlation, Estimate};
use crate::stamp::HardwareStamp;
use crate::time::System;

/// The newest line of a [`Correlation`], for any number of threads to convert with while one
/// thread takes readings.
///
/// Reading is wait-free: a thread that is interrupted while it publishes holds up nobody, and
/// nobody sees half of what it wrote.
///
/// ```
/// use wirestamp_core::correlate::{Correlation, Published};
/// use wirestamp_core::cross::{CrossMethod, CrossTimestamp};
/// use wirestamp_core::interface::InterfaceIndex;
/// use wirestamp_core::stamp::HardwareStamp;
/// use wirestamp_core::time::{Frequency, HardwareTicks, SystemTime};
///
/// let (at, ticks) = (SystemTime::from_nanoseconds, HardwareTicks::new);
/// let interface = InterfaceIndex::new(2).expect("not zero");
/// let mut correlation = Correlation::new(interface, Some(Frequency::GIGAHERTZ));
/// let published = Published::new();
/// let stamp = HardwareStamp { ticks: ticks(510_600), interface: Some(interface), read_at: at(1_020_000) };
/// assert_eq!(published.to_system(&stamp), None, "nothing is published");
///
/// let reading = CrossTimestamp::new(at(1_000_000), ticks(500_600), at(1_001_200), CrossMethod::Extended);
/// correlation.push(&reading.expect("valid"));
/// published.publish(&correlation);
/// assert_eq!(published.to_system(&stamp), correlation.to_system(&stamp).ok());
/// ```
#[derive(Debug)]
pub struct Published(Latch<{ Front::WORDS }>);

impl Default for Published {
    fn default() -> Self {
        Self::new()
    }
}

impl Published {
    /// Converts nothing yet.
    pub fn new() -> Self {
        Self(Latch::new(Front::NONE.to_words()))
    }

    /// Shows what the correlation has learnt. By one thread at a time: two that publish at once
    /// must exclude one another, or readers may see a mixture.
    pub fn publish(&self, correlation: &Correlation) {
        self.0.write(&correlation.express.front.to_words());
    }

    /// As [`Correlation::to_system`]; `None` where there is a choice to make (a stamp older than
    /// the newest reading, or one that may be of an earlier epoch) or a reason to refuse: ask the
    /// correlation itself.
    #[inline]
    pub fn to_system(&self, stamp: &HardwareStamp) -> Option<Estimate<System>> {
        Front::from_words(&self.0.read()?).convert(stamp)
    }
}
