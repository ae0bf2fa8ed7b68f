//! A timestamp of a recording that waits for readings after it, and what these make of its answer.

use super::Row;
use wirestamp_core::correlate::{ConversionError, Correlation, FineEstimate};
use wirestamp_core::time::{Monotonic, MonotonicTime, Span};
use wirestamp_core::timestamp::HardwareTimestamp;

/// A timestamp stands in the file at most so long after it was made.
pub(super) const LONGEST_WAIT: Span = Span::from_milliseconds(10);

/// A timestamp that is not done with.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) timestamp: HardwareTimestamp,
    /// What it was converted to, once it was.
    pub(super) answer: Option<Row>,
    /// Whether it was known when it stood there how old it is.
    pub(super) placed: bool,
    /// How many batches of readings stand before it.
    pub(super) batch: u64,
    /// The end of the last reading before it, and the beginning of the first one after it.
    pub(super) after: Option<MonotonicTime>,
    pub(super) until: Option<MonotonicTime>,
}

/// What the readings after a timestamp say of it.
pub(super) struct LastWord(FineEstimate<Monotonic>);

impl Waiting {
    /// A reading stands behind it, which began then.
    pub(super) fn passed(&mut self, begun: MonotonicTime) {
        if !self.placed {
            self.timestamp.read_at = begun;
        }
        self.until = Some(begun);
    }

    /// Converts it again with all readings until now: it was made between the readings around it, or shortly before.
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
    /// The former answer, with a bound that covers all that is left open now; or this, if it is of another generation.
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
