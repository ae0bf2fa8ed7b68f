//! What a recording came to: counts, and the generations of its clock.

use wirestamp_core::correlate::{
    ClockGeneration, ConversionError, FrequencyEstimate, GenerationCause, Prior,
};
use wirestamp_core::time::MonotonicTime;

/// So many generations are listed at most.
const MOST_GENERATIONS: usize = 10_000;

/// Counts and generations of a whole recording.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Summary {
    /// Readings taken in.
    pub readings: u64,
    /// Readings older than the one before: not used.
    pub outdated: u64,
    /// Readings with a zero in them: none.
    pub invalid: u64,
    /// Batches of readings: those less than a millisecond apart are one.
    pub batches: u64,
    /// Notifications.
    pub notifications: u64,
    /// Timestamps.
    pub timestamps: u64,
    /// Timestamps converted.
    pub converted: u64,
    /// The others.
    pub errors: ConversionErrors,
    /// Of these, those that could be converted when they came, and were withdrawn because of what readings after them
    /// showed or because too few came: [`Replay::confirmed`](super::Replay::confirmed).
    pub withdrawn: ConversionErrors,
    /// The generations, in order: the first 9,999, and the newest.
    pub generations: Vec<GenerationSummary>,
    /// How many stand between the last two of them.
    pub generations_left_out: u64,
    /// The assumptions about the oscillators at the end.
    pub prior: Option<Prior>,
}

/// Counts of timestamps that were not converted, by reason.
#[derive(Debug, Clone, Default)]
pub struct ConversionErrors(Vec<(ConversionError, u64)>);

/// One generation of the hardware clock in a recording.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct GenerationSummary {
    /// Its number.
    pub generation: ClockGeneration,
    /// What opened it.
    pub cause: GenerationCause,
    /// Its first reading, on the system clock.
    pub first: MonotonicTime,
    /// Its last reading.
    pub last: MonotonicTime,
    /// How many there were.
    pub readings: u64,
    /// The hardware clock's frequency as it was known at the end of it.
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
    /// Returns each reason with its count, in the order of their first appearance.
    pub fn by_reason(&self) -> impl Iterator<Item = (ConversionError, u64)> {
        self.0.iter().copied()
    }

    /// Returns how many there were, for whatever reason.
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
