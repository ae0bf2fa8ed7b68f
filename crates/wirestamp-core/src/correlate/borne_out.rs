//! Confirmation of conversions that were made before cross timestamps could show a change of the
//! clock.

use super::Estimate;
use super::model::Correlation;
use crate::time::{Monotonic, MonotonicTime, Span};
use crate::timestamp::HardwareTimestamp;

impl Correlation {
    /// Returns whether an earlier conversion of a timestamp is confirmed. `false` if a clock was
    /// changed around it, or may have been.
    ///
    /// It is confirmed if the interval of a conversion now is within the interval of `said`. Later
    /// cross timestamps can have wider brackets, so it is also confirmed if none around it or in
    /// the next three batches contradicts others, and the estimate moved little
    /// (`docs/error-bound.md`).
    ///
    /// The result is meaningful only once three batches of cross timestamps began after the
    /// timestamp was read.
    ///
    /// ```
    /// use wirestamp_core::correlate::Correlation;
    /// use wirestamp_core::cross::{CrossMethod, CrossTimestamp};
    /// use wirestamp_core::interface::InterfaceIndex;
    /// use wirestamp_core::time::{Frequency, HardwareTicks, MonotonicTime};
    /// use wirestamp_core::timestamp::HardwareTimestamp;
    ///
    /// let interface = InterfaceIndex::new(2).expect("not zero");
    /// let mut correlation = Correlation::new(interface, Some(Frequency::GIGAHERTZ));
    /// let mut read = |correlation: &mut Correlation, at: i64| {
    ///     let [before, after] = [at, at + 1_200].map(MonotonicTime::from_nanoseconds);
    ///     let ticks = HardwareTicks::new(at as u64 + 600);
    ///     let reading = CrossTimestamp::new(before, ticks, after, CrossMethod::Extended);
    ///     correlation.push(&reading.expect("valid"));
    /// };
    /// read(&mut correlation, 1_000_000_000);
    /// let read_at = MonotonicTime::from_nanoseconds(1_500_000_000);
    /// let timestamp = HardwareTimestamp { ticks: HardwareTicks::new(1_400_000_000), interface: Some(interface), read_at };
    /// let said = correlation.to_monotonic(&timestamp)?;
    /// for second in 2..5 {
    ///     read(&mut correlation, second * 1_000_000_000);
    /// }
    /// assert!(correlation.bears_out(&timestamp, &said));
    /// # Ok::<(), wirestamp_core::correlate::ConversionError>(())
    /// ```
    pub fn bears_out(&self, timestamp: &HardwareTimestamp, said: &Estimate<Monotonic>) -> bool {
        let Ok(now) = self.to_monotonic(timestamp) else {
            return false;
        };
        let off = (now.at.value - said.at.value).abs();
        let is_within = off + now.at.bound <= said.at.bound;
        let is_of_same = now.generation == said.generation;
        is_within
            || (is_of_same
                && has_stayed(off, now.at.bound, said.at.bound)
                && self.agrees_around(&now, timestamp.read_at))
    }

    /// Whether no cross timestamp around a time, or in the next three batches, contradicts others.
    fn agrees_around(&self, time: &Estimate<Monotonic>, read_at: MonotonicTime) -> bool {
        let Some(place) = self
            .runs
            .iter()
            .position(|run| run.number == time.generation)
        else {
            return false;
        };
        let is_first = place == 0 && self.forgotten.is_none() && time.generation.0 == 0;
        let earliest = (!is_first).then_some(time.at.value - time.at.bound);
        let latest = (time.at.value + time.at.bound).min(read_at);
        let fit = self.runs[place].fit();
        fit.is_some_and(|fit| fit.knots.agree_around(earliest, latest))
    }
}

/// Whether a time moved no more than it can without a change of the clock. A change that is hidden
/// by the brackets moves it before it contradicts them.
fn has_stayed(off: Span, now: Span, said: Span) -> bool {
    let rounding = Span::from_nanoseconds(4);
    off <= Span::from_nanoseconds(said.nanoseconds() / 16) + rounding
        || off + now <= said + Span::from_nanoseconds(said.nanoseconds() / 2)
}
