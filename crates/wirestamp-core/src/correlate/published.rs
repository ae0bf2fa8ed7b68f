//! The published part of a correlation, with which other threads convert new timestamps.

use super::express::Front;
use super::latch::Latch;
use super::{Correlation, Estimate};
use crate::time::Monotonic;
use crate::timestamp::HardwareTimestamp;

/// The newest line of a [`Correlation`], with which any number of threads convert while one thread
/// takes cross timestamps.
///
/// Conversions are wait-free and never see a partial update, even if the publishing thread is
/// interrupted.
///
/// ```
/// use wirestamp_core::correlate::{Correlation, Published};
/// use wirestamp_core::cross::{CrossMethod, CrossTimestamp};
/// use wirestamp_core::interface::InterfaceIndex;
/// use wirestamp_core::timestamp::HardwareTimestamp;
/// use wirestamp_core::time::{Frequency, HardwareTicks, MonotonicTime};
///
/// let (at, ticks) = (MonotonicTime::from_nanoseconds, HardwareTicks::new);
/// let interface = InterfaceIndex::new(2).expect("not zero");
/// let mut correlation = Correlation::new(interface, Some(Frequency::GIGAHERTZ));
/// let published = Published::new();
/// let timestamp = HardwareTimestamp { ticks: ticks(510_600), interface: Some(interface), read_at: at(1_020_000) };
/// assert_eq!(published.to_monotonic(&timestamp), None, "nothing is published");
///
/// let reading = CrossTimestamp::new(at(1_000_000), ticks(500_600), at(1_001_200), CrossMethod::Extended);
/// correlation.push(&reading.expect("valid"));
/// published.publish(&correlation);
/// assert_eq!(published.to_monotonic(&timestamp), correlation.to_monotonic(&timestamp).ok());
/// ```
#[derive(Debug)]
pub struct Published(Latch<{ Front::WORDS }>);

impl Default for Published {
    fn default() -> Self {
        Self::new()
    }
}

impl Published {
    /// Creates one that converts nothing yet.
    pub fn new() -> Self {
        Self(Latch::new(Front::NONE.to_words()))
    }

    /// Publishes the state of the correlation. Publishing threads must exclude one another, or
    /// readers may see a mixture.
    pub fn publish(&self, correlation: &Correlation) {
        self.0.write(&correlation.express.front.to_words());
    }

    /// Converts like [`Correlation::to_monotonic`]. Returns `None` for timestamps that need the
    /// whole correlation: older than the newest cross timestamp, possibly of an earlier generation,
    /// or not convertible.
    #[inline]
    pub fn to_monotonic(&self, timestamp: &HardwareTimestamp) -> Option<Estimate<Monotonic>> {
        Front::from_words(&self.0.read()?).convert(timestamp)
    }
}
