//! The summary of a recording: counts, and the generations of its clock.

use wirestamp_core::correlate::{
    ClockGeneration, ConversionError, FrequencyEstimate, GenerationCause, Prior,
};
use wirestamp_core::time::MonotonicTime;

/// The most generations that are listed.
const MOST_GENERATIONS: usize = 10_000;

/// Counts and generations of a whole recording.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Summary {
    /// Cross timestamps used.
    pub readings: u64,
    /// Cross timestamps older than the one before; they are not used.
    pub outdated: u64,
    /// Invalid cross timestamps: they contain a zero.
    pub invalid: u64,
    /// Batches of cross timestamps: those at most a millisecond apart form one.
    pub batches: u64,
    /// Notifications of a changed NIC configuration.
    pub notifications: u64,
    /// Timestamps in the recording.
    pub timestamps: u64,
    /// Timestamps that were converted.
    pub converted: u64,
    /// Timestamps that were not converted, by reason.
    pub errors: ConversionErrors,
    /// Those of `errors` that were converted at first and withdrawn later, because the following
    /// cross timestamps contradicted them or were too few:
    /// [`Replay::confirmed`](super::Replay::confirmed).
    pub withdrawn: ConversionErrors,
    /// The generations, in order: the first 9,999, and the newest.
    pub generations: Vec<GenerationSummary>,
    /// The number of generations left out, between the last two of `generations`.
    pub generations_left_out: u64,
    /// The assumptions about the oscillators at the end of the recording.
    pub prior: Option<Prior>,
}

/// The numbers of timestamps that were not converted, by reason.
#[derive(Debug, Clone, Default)]
pub struct ConversionErrors(Vec<(ConversionError, u64)>);

/// One generation of the hardware clock in a recording.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct GenerationSummary {
    /// The number of the generation.
    pub generation: ClockGeneration,
    /// The event that began it.
    pub cause: GenerationCause,
    /// Its first cross timestamp, on the monotonic clock.
    pub first: MonotonicTime,
    /// Its last cross timestamp, on the monotonic clock.
    pub last: MonotonicTime,
    /// The number of its cross timestamps.
    pub readings: u64,
    /// The hardware clock's frequency as known at its end.
    pub frequency: Option<FrequencyEstimate>,
}

impl Summary {
    pub(super) fn opened(&mut self, generation: GenerationSummary) {
        if self.generations.len() == MOST_GENERATIONS {
            self.generations.pop();
            self.generations_left_out += 1;
        }
        self.generations.push(generation);
    }
}

impl ConversionErrors {
    /// Returns each reason with its count, in the order of first occurrence.
    pub fn by_reason(&self) -> impl Iterator<Item = (ConversionError, u64)> {
        self.0.iter().copied()
    }

    /// Returns the total over all reasons.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    pub(super) fn count(&mut self, refusal: ConversionError) {
        match self.0.iter_mut().find(|(known, _)| *known == refusal) {
            Some((_, count)) => *count += 1,
            None => self.0.push((refusal, 1)),
        }
    }
}
