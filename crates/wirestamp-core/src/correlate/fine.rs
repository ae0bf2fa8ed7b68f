//! Owns conversions to the picosecond. Chooses no epoch: the conversions to whole nanoseconds
//! do, and both give the same instant.

use super::epoch::Run;
use super::model::Correlation;
use super::{Estimate, FineEstimate, Refusal};
use crate::stamp::HardwareStamp;
use crate::time::{HardwareTicks, Span, System, SystemTime};

/// In a nanosecond.
const PICOSECONDS: u64 = 1_000;
/// A stamp converted as soon as it is there was read after the newest reading.
const AFTER: Span = Span::from_nanoseconds(1);

impl Correlation {
    /// As [`to_system`](Self::to_system), to the picosecond.
    ///
    /// # Errors
    /// As [`to_system`](Self::to_system).
    pub fn to_system_fine(&self, stamp: &HardwareStamp) -> Result<FineEstimate<System>, Refusal> {
        self.refine(stamp, self.to_system(stamp)?)
    }

    /// As [`to_system_settled`](Self::to_system_settled), to the picosecond.
    ///
    /// # Errors
    /// As [`to_system_settled`](Self::to_system_settled).
    pub fn to_system_settled_fine(
        &self,
        stamp: &HardwareStamp,
    ) -> Result<FineEstimate<System>, Refusal> {
        self.refine(stamp, self.to_system_settled(stamp)?)
    }

    /// A stamp that has this very moment been read, where nobody looked at the clock: it was
    /// made since the newest reading, or read right after that.
    pub fn stamp_just_read(&self, ticks: HardwareTicks) -> HardwareStamp {
        let converted = self
            .runs
            .back()
            .and_then(Run::fit)
            .and_then(|fit| fit.convert(ticks));
        let latest = converted.map(|made| made.at + Span::from_nanoseconds(made.bound.into()));
        let newest = self
            .runs
            .back()
            .map_or(SystemTime::MIN, |run| run.last + AFTER);
        let read_at = latest.map_or(newest, |latest| latest.max(newest));
        HardwareStamp {
            ticks,
            interface: Some(self.interface),
            read_at,
        }
    }

    /// What is known of the stamp beyond the whole nanoseconds.
    fn refine(
        &self,
        stamp: &HardwareStamp,
        whole: Estimate<System>,
    ) -> Result<FineEstimate<System>, Refusal> {
        let run = self
            .runs
            .iter()
            .rev()
            .find(|run| run.number == whole.epoch)
            .ok_or(Refusal::OutsideEpochs)?;
        let fit = run.fit().ok_or(Refusal::NotReady)?;
        let own = fit.convert(stamp.ticks).ok_or(Refusal::OutsideEpochs)?;
        let mut fine = fit
            .convert_fine(stamp.ticks)
            .ok_or(Refusal::OutsideEpochs)?;
        // where the stamp could be of another epoch too, the bound covers both
        let more = whole.bound - Span::from_nanoseconds(own.bound.into());
        let more = u64::try_from(more.nanoseconds()).unwrap_or(0);
        fine.bound_picoseconds = fine
            .bound_picoseconds
            .saturating_add(more.saturating_mul(PICOSECONDS));
        Ok(FineEstimate {
            epoch: whole.epoch,
            ..fine
        })
    }
}
