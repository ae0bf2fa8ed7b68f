//! The conversion of recorded events, strictly online: no timestamp is converted with what
//! came after it, or with one batch of it where that is wanted. Reads no file.

use super::{Event, Header, Row};
use std::collections::VecDeque;
use wirestamp_core::correlate::{
    ClockGeneration, ConversionError, Correlation, FrequencyEstimate, GenerationCause, Prior,
    Pushed,
};
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::time::{MonotonicTime, Span};
use wirestamp_core::timestamp::HardwareTimestamp;

/// Readings closer together than this are one batch, whatever stands between them in the file.
const BATCH_GAP: Span = Span::from_milliseconds(1);
/// A timestamp stands in the file at most so long after it was made.
const LONGEST_WAIT: Span = Span::from_milliseconds(10);
/// So many timestamps wait for the next batch of readings at most: with more, the oldest is converted.
const MOST_WAITING: usize = 1 << 17;
/// So many generations are listed at most.
const MOST_GENERATIONS: usize = 10_000;
/// A file is of one clock only.
const ONLY: InterfaceIndex = InterfaceIndex::new(1).expect("not zero");

/// Converts the timestamps among events.
#[derive(Debug)]
pub struct Replay {
    correlation: Correlation,
    later: bool,
    waiting: VecDeque<Waiting>,
    /// The end of the last reading.
    last: Option<MonotonicTime>,
    summary: Summary,
}

/// A timestamp that is converted later.
#[derive(Debug)]
struct Waiting {
    timestamp: HardwareTimestamp,
    /// The number of the batch that it waits for.
    batch: u64,
    /// Whether it was known when it stood there how old it is.
    placed: bool,
}

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
    /// The generations, in order: the first 9,999, and the newest.
    pub generations: Vec<GenerationSummary>,
    /// How many stand between the last two of them.
    pub generations_left_out: u64,
    /// What is believed of the oscillators at the end.
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

impl Replay {
    /// Converts each timestamp with what came before it.
    pub fn online(header: Header) -> Self {
        Self::new(header, false)
    }

    /// Converts each timestamp when the next batch of readings after it is complete: a batch is
    /// complete when one begins more than a millisecond after it, or the file ends. Timestamps
    /// that no batch follows are converted with all there is, and so is the oldest of more than
    /// 131,072 that wait for the same batch.
    pub fn later(header: Header) -> Self {
        Self::new(header, true)
    }

    fn new(header: Header, later: bool) -> Self {
        let correlation = Correlation::new(ONLY, header.hardware)
            .with_system_frequency(header.system)
            .with_longest_wait(LONGEST_WAIT);
        Self {
            correlation,
            later,
            waiting: VecDeque::new(),
            last: None,
            summary: Summary::default(),
        }
    }

    /// Takes one event; appends what became of the timestamps whose turn it is, in their order.
    pub fn take(&mut self, event: Event, rows: &mut Vec<Row>) {
        match event {
            Event::Cross(reading) => self.cross(&reading, rows),
            Event::Invalid(_) => self.summary.invalid += 1,
            Event::Notify => {
                self.summary.notifications += 1;
                self.correlation.restart(GenerationCause::Notification);
            }
            Event::Replaced => {
                let nominal = self.correlation.nominal();
                self.correlation.replace_clock(ONLY, nominal);
            }
            Event::Timestamp(ticks) => {
                self.summary.timestamps += 1;
                let timestamp = self.correlation.timestamp_just_read(ticks);
                if self.later {
                    let (batch, placed) = (
                        self.summary.batches + 1,
                        self.correlation.frequency().is_some(),
                    );
                    if self.waiting.len() == MOST_WAITING
                        && let Some(oldest) = self.waiting.pop_front()
                    {
                        rows.push(self.row(&oldest.timestamp));
                    }
                    self.waiting.push_back(Waiting {
                        timestamp,
                        batch,
                        placed,
                    });
                } else {
                    rows.push(self.row(&timestamp));
                }
            }
        }
    }

    /// No event follows: appends what became of the timestamps that waited for one.
    pub fn finish(mut self, rows: &mut Vec<Row>) -> Summary {
        self.convert_waiting(u64::MAX, rows);
        self.summary.prior = self.correlation.prior();
        self.summary
    }

    /// Returns the correlation of the readings so far.
    pub fn correlation(&self) -> &Correlation {
        &self.correlation
    }

    fn cross(&mut self, reading: &CrossTimestamp, rows: &mut Vec<Row>) {
        if self
            .last
            .is_none_or(|last| (reading.monotonic_before() - last).abs() > BATCH_GAP)
        {
            self.convert_waiting(self.summary.batches, rows);
            self.summary.batches += 1;
            for waiting in self.waiting.iter_mut().filter(|waiting| !waiting.placed) {
                waiting.timestamp.read_at = reading.monotonic_before();
                waiting.placed = true;
            }
        }
        self.last = Some(reading.monotonic_after());
        match self.correlation.push(reading) {
            Pushed::Outdated => {
                self.summary.outdated += 1;
                return;
            }
            Pushed::Opened(cause) => self.summary.opened(GenerationSummary {
                generation: self.correlation.generation().unwrap_or_default(),
                cause,
                first: reading.middle(),
                last: reading.middle(),
                readings: 0,
                frequency: None,
            }),
            Pushed::Accepted => {}
        }
        self.summary.readings += 1;
        if let Some(generation) = self.summary.generations.last_mut() {
            // more readings can tell a new rate from a step
            generation.cause = self.correlation.cause().unwrap_or(generation.cause);
            generation.last = reading.middle();
            generation.readings += 1;
            generation.frequency = self.correlation.frequency();
        }
    }

    /// Converts those that waited for a batch up to this one.
    fn convert_waiting(&mut self, batch: u64, rows: &mut Vec<Row>) {
        while self
            .waiting
            .front()
            .is_some_and(|first| first.batch <= batch)
        {
            let Some(Waiting { timestamp, .. }) = self.waiting.pop_front() else {
                break;
            };
            rows.push(self.row(&timestamp));
        }
    }

    fn row(&mut self, timestamp: &HardwareTimestamp) -> Row {
        let answer = self.correlation.to_monotonic_fine(timestamp);
        match answer {
            Ok(_) => self.summary.converted += 1,
            Err(refusal) => self.summary.errors.count(refusal),
        }
        let generation = answer.map_or_else(
            |_| self.correlation.generation(),
            |estimate| Some(estimate.generation),
        );
        Row {
            hardware: timestamp.ticks,
            answer,
            generation,
        }
    }
}

impl Summary {
    fn opened(&mut self, generation: GenerationSummary) {
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

    fn count(&mut self, refusal: ConversionError) {
        match self.0.iter_mut().find(|(known, _)| *known == refusal) {
            Some((_, count)) => *count += 1,
            None => self.0.push((refusal, 1)),
        }
    }
}
