//! A timestamp of a recording that waits for later cross timestamps.

use super::Row;
use wirestamp_core::correlate::{ConversionError, Correlation, FineEstimate};
use wirestamp_core::time::{Monotonic, MonotonicTime, Span};
use wirestamp_core::timestamp::HardwareTimestamp;

/// The longest time between a timestamp and its place among the events of the file.
pub(super) const LONGEST_WAIT: Span = Span::from_milliseconds(10);

/// A timestamp without a final result.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) timestamp: HardwareTimestamp,
    /// The first result, once there is one.
    pub(super) answer: Option<Row>,
    /// Whether the clock's frequency was known when it came, so that its age is known.
    pub(super) placed: bool,
    /// The number of batches of cross timestamps before it.
    pub(super) batch: u64,
    /// The end of the last cross timestamp before it, and the beginning of the first one after it.
    pub(super) after: Option<MonotonicTime>,
    pub(super) until: Option<MonotonicTime>,
}

/// The result with all cross timestamps after the timestamp.
pub(super) struct LastWord(FineEstimate<Monotonic>);

impl Waiting {
    /// Notes the first cross timestamp after it, which began at `begun`.
    pub(super) fn passed(&mut self, begun: MonotonicTime) {
        if !self.placed {
            self.timestamp.read_at = begun;
        }
        self.until = Some(begun);
    }

    /// Converts it again with all cross timestamps until now. It was made between the cross
    /// timestamps around it, or shortly before.
    pub(super) fn last_word(&self, correlation: &Correlation) -> Result<LastWord, ConversionError> {
        let (Some(after), Some(until)) = (self.after, self.until) else {
            return Err(ConversionError::OutsideGenerations);
        };
        let ticks = self.timestamp.ticks;
        correlation
            .to_monotonic_fine_between(ticks, after - LONGEST_WAIT, until)
            .map(LastWord)
    }
}

impl LastWord {
    /// Returns the former result, with its error bound enlarged to cover this one; or this one, if
    /// its generation differs.
    pub(super) fn borne_out(self, former: FineEstimate<Monotonic>) -> FineEstimate<Monotonic> {
        let Self(last) = self;
        if former.generation != last.generation {
            return last;
        }
        let apart = former.total_picoseconds() - last.total_picoseconds();
        let apart = u64::try_from(apart.unsigned_abs()).unwrap_or(u64::MAX);
        let needed = last.bound_picoseconds.saturating_add(apart);
        FineEstimate {
            bound_picoseconds: former.bound_picoseconds.max(needed),
            ..former
        }
    }
}
