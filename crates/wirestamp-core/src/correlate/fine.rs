//! Conversions to the picosecond. Chooses no generation: the conversions to whole nanoseconds
//! do, and both give the same instant.

use super::generation::Run;
use super::model::Correlation;
use super::{ConversionError, Estimate, FineEstimate};
use crate::time::{HardwareTicks, Monotonic, MonotonicTime, Span};
use crate::timestamp::HardwareTimestamp;

/// In a nanosecond.
const PICOSECONDS: u64 = 1_000;
/// A timestamp converted as soon as it is there was read after the newest reading.
const AFTER: Span = Span::from_nanoseconds(1);

impl Correlation {
    /// As [`to_monotonic`](Self::to_monotonic), to the picosecond.
    ///
    /// # Errors
    /// As [`to_monotonic`](Self::to_monotonic).
    pub fn to_monotonic_fine(
        &self,
        timestamp: &HardwareTimestamp,
    ) -> Result<FineEstimate<Monotonic>, ConversionError> {
        self.refine(timestamp, self.to_monotonic(timestamp)?)
    }

    /// As [`to_monotonic_settled`](Self::to_monotonic_settled), to the picosecond.
    ///
    /// # Errors
    /// As [`to_monotonic_settled`](Self::to_monotonic_settled).
    pub fn to_monotonic_settled_fine(
        &self,
        timestamp: &HardwareTimestamp,
    ) -> Result<FineEstimate<Monotonic>, ConversionError> {
        self.refine(timestamp, self.to_monotonic_settled(timestamp)?)
    }

    /// Converts a timestamp of this clock to the picosecond that was made and read within a known time: only a generation
    /// of that time can have made it. For timestamps that stand between readings, once more readings came.
    ///
    /// # Errors
    /// As [`to_monotonic`](Self::to_monotonic); [`OutsideGenerations`](ConversionError::OutsideGenerations) for what
    /// would have been made before `earliest`.
    pub fn to_monotonic_fine_between(
        &self,
        ticks: HardwareTicks,
        earliest: MonotonicTime,
        latest: MonotonicTime,
    ) -> Result<FineEstimate<Monotonic>, ConversionError> {
        let timestamp = HardwareTimestamp {
            ticks,
            interface: Some(self.interface),
            read_at: latest,
        };
        self.refine(&timestamp, self.made_since(earliest, &timestamp)?)
    }

    /// A timestamp that has this very moment been read, where nobody looked at the clock: it was
    /// made since the newest reading, or read right after that.
    pub fn timestamp_just_read(&self, ticks: HardwareTicks) -> HardwareTimestamp {
        let converted = self
            .runs
            .back()
            .and_then(Run::fit)
            .and_then(|fit| fit.convert(ticks));
        let latest = converted.map(|made| made.at + Span::from_nanoseconds(made.bound.into()));
        let newest = self
            .runs
            .back()
            .map_or(MonotonicTime::MIN, |run| run.last + AFTER);
        let read_at = latest.map_or(newest, |latest| latest.max(newest));
        HardwareTimestamp {
            ticks,
            interface: Some(self.interface),
            read_at,
        }
    }

    /// What is known of the timestamp beyond the whole nanoseconds.
    fn refine(
        &self,
        timestamp: &HardwareTimestamp,
        whole: Estimate<Monotonic>,
    ) -> Result<FineEstimate<Monotonic>, ConversionError> {
        let run = self
            .runs
            .iter()
            .rev()
            .find(|run| run.number == whole.generation)
            .ok_or(ConversionError::OutsideGenerations)?;
        let fit = run.fit().ok_or(ConversionError::NotReady)?;
        let own = fit
            .convert(timestamp.ticks)
            .ok_or(ConversionError::OutsideGenerations)?;
        let mut fine = fit
            .convert_fine(timestamp.ticks)
            .ok_or(ConversionError::OutsideGenerations)?;
        // where the timestamp could be of another generation too, the bound covers both
        let more = whole.at.bound - Span::from_nanoseconds(own.bound.into());
        let more = u64::try_from(more.nanoseconds()).unwrap_or(0);
        fine.bound_picoseconds = fine
            .bound_picoseconds
            .saturating_add(more.saturating_mul(PICOSECONDS));
        Ok(FineEstimate {
            generation: whole.generation,
            ..fine
        })
    }
}
