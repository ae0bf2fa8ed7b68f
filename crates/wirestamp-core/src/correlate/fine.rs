//! Conversions to picoseconds. The generation is chosen by the conversions to nanoseconds, and both
//! give the same instant.

use super::generation::Run;
use super::model::Correlation;
use super::{ConversionError, Estimate, FineEstimate};
use crate::time::{HardwareTicks, Monotonic, MonotonicTime, Span};
use crate::timestamp::HardwareTimestamp;

/// Picoseconds per nanosecond.
const PICOSECONDS: u64 = 1_000;
/// A timestamp that is converted at once was read after the newest cross timestamp.
const AFTER: Span = Span::from_nanoseconds(1);

impl Correlation {
    /// Converts like [`to_monotonic`](Self::to_monotonic), in picoseconds.
    ///
    /// # Errors
    /// As [`to_monotonic`](Self::to_monotonic).
    pub fn to_monotonic_fine(
        &self,
        timestamp: &HardwareTimestamp,
    ) -> Result<FineEstimate<Monotonic>, ConversionError> {
        self.refine(timestamp, self.to_monotonic(timestamp)?)
    }

    /// Converts like [`to_monotonic_settled`](Self::to_monotonic_settled), in picoseconds.
    ///
    /// # Errors
    /// As [`to_monotonic_settled`](Self::to_monotonic_settled).
    pub fn to_monotonic_settled_fine(
        &self,
        timestamp: &HardwareTimestamp,
    ) -> Result<FineEstimate<Monotonic>, ConversionError> {
        self.refine(timestamp, self.to_monotonic_settled(timestamp)?)
    }

    /// Converts a timestamp that was made and read within a known period, in picoseconds. Only a
    /// generation of that period can have made it. For recorded timestamps, after later cross
    /// timestamps were added.
    ///
    /// # Errors
    /// As [`to_monotonic`](Self::to_monotonic);
    /// [`OutsideGenerations`](ConversionError::OutsideGenerations) if it would have been made
    /// before `earliest`.
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

    /// Returns a timestamp with an estimated `read_at`, for a timestamp that was just read without
    /// reading the clock: the later of its own time and just after the newest cross timestamp.
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

    /// Refines a conversion in nanoseconds to picoseconds.
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
        // the bound also covers another generation, if the timestamp may be of that
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
