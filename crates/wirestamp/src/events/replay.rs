//! Conversion of recorded events as if they came live: each timestamp with the cross timestamps
//! before it, or with one more batch. Later cross timestamps can withdraw a result.

use super::summary::{GenerationSummary, Summary};
use super::waiting::{LONGEST_WAIT, Waiting};
use super::{BATCH_GAP, CONFIRMING_BATCHES, Event, Header, Row};
use std::collections::VecDeque;
use wirestamp_core::correlate::{
    Assumptions, ConversionError, Correlation, GenerationCause, Pushed,
};
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::time::{HardwareTicks, MonotonicTime};
use wirestamp_core::timestamp::HardwareTimestamp;

/// The most timestamps that wait for one batch.
const MOST_WAITING: usize = 1 << 17;
/// The interface of all timestamps: a file has one clock only.
const ONLY: InterfaceIndex = InterfaceIndex::new(1).expect("not zero");

/// A converter of the timestamps in a recording.
#[derive(Debug)]
pub struct Replay {
    correlation: Correlation,
    /// Whether timestamps wait for the next batch before they are converted.
    later: bool,
    /// Whether results wait until they are final.
    confirms: bool,
    waiting: VecDeque<Waiting>,
    /// How many of `waiting` are converted, and how many have been followed by a cross timestamp.
    answered: usize,
    passed: usize,
    /// The end of the last cross timestamp.
    last: Option<MonotonicTime>,
    summary: Summary,
}

impl Replay {
    /// Creates a replay that converts each timestamp with the cross timestamps before it.
    pub fn online(header: Header) -> Self {
        Self::new(header, false)
    }

    /// Creates a replay that converts each timestamp once the next batch of cross timestamps after
    /// it is complete: when another batch begins more than a millisecond later, or the file ends.
    /// Timestamps without a following batch are converted with the cross timestamps so far, and so
    /// is the oldest if more than 131,072 wait for the same batch.
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
            confirms: false,
            waiting: VecDeque::new(),
            answered: 0,
            passed: 0,
            last: None,
            summary: Summary::default(),
        }
    }

    /// Sets the assumptions under which the error bounds hold, before the first event. A recording
    /// does not contain them.
    #[must_use]
    pub fn with_assumptions(mut self, assumptions: &Assumptions) -> Self {
        self.correlation = self.correlation.with_assumptions(assumptions);
        self
    }

    /// Withholds each result until it is final, as [`HostClock`](crate::HostClock) does: until the
    /// third batch of cross timestamps after the timestamp is complete. A step or adjustment of the
    /// clock before the timestamp is visible by then. A confirmed result stays as it was, with a
    /// larger error bound if later cross timestamps require it. The others are replaced by another
    /// time or by an error ([`Summary::withdrawn`]). Timestamps with fewer batches after them fail
    /// with [`Unconfirmed`](ConversionError::Unconfirmed), and so does the oldest if more than
    /// 262,144 wait.
    #[must_use]
    pub fn confirmed(mut self) -> Self {
        self.confirms = true;
        self
    }

    /// Processes one event, and appends the results that are now due to `rows`, in the order of
    /// their timestamps.
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
            Event::Timestamp(ticks) => self.timestamp(ticks, rows),
        }
    }

    /// Ends the recording: appends the results of all waiting timestamps, and returns the summary.
    pub fn finish(mut self, rows: &mut Vec<Row>) -> Summary {
        self.settle(self.summary.batches, rows);
        while !self.waiting.is_empty() {
            self.give_oldest(rows);
        }
        self.summary.prior = self.correlation.prior();
        self.summary
    }

    /// Returns the correlation of the cross timestamps so far.
    pub fn correlation(&self) -> &Correlation {
        &self.correlation
    }

    fn timestamp(&mut self, ticks: HardwareTicks, rows: &mut Vec<Row>) {
        self.summary.timestamps += 1;
        let timestamp = self.correlation.timestamp_just_read(ticks);
        if !self.later && !self.confirms {
            let row = self.row(&timestamp);
            self.give(row, rows);
            return;
        }
        let most = MOST_WAITING << usize::from(self.confirms);
        if self.waiting.len() == most {
            self.give_oldest(rows);
        }
        let answer = (!self.later).then(|| self.row(&timestamp));
        self.answered += usize::from(answer.is_some());
        self.waiting.push_back(Waiting {
            timestamp,
            answer,
            placed: self.correlation.frequency().is_some(),
            batch: self.summary.batches,
            after: self.last,
            until: None,
        });
    }

    fn cross(&mut self, reading: &CrossTimestamp, rows: &mut Vec<Row>) {
        let begun = reading.monotonic_before();
        if self
            .last
            .is_none_or(|last| (begun - last).abs() > BATCH_GAP)
        {
            self.settle(self.summary.batches, rows);
            self.summary.batches += 1;
        }
        for waiting in self.waiting.range_mut(self.passed..) {
            waiting.passed(begun);
        }
        self.passed = self.waiting.len();
        self.last = Some(reading.monotonic_after());
        self.push(reading);
    }

    fn push(&mut self, reading: &CrossTimestamp) {
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
            // more cross timestamps can distinguish a new frequency from a step
            generation.cause = self.correlation.cause().unwrap_or(generation.cause);
            generation.last = reading.middle();
            generation.readings += 1;
            generation.frequency = self.correlation.frequency();
        }
    }

    /// Converts the timestamps that waited for the last of `complete` batches, and delivers the
    /// results that need no more.
    fn settle(&mut self, complete: u64, rows: &mut Vec<Row>) {
        let is_complete = |next: &&Waiting| next.batch < complete;
        while let Some(next) = self.waiting.get(self.answered).filter(is_complete) {
            let row = self.row(&next.timestamp);
            self.waiting[self.answered].answer = Some(row);
            self.answered += 1;
        }
        let needed = u64::from(if self.confirms { CONFIRMING_BATCHES } else { 1 });
        let is_settled = |first: &Waiting| first.batch + needed <= complete;
        while self.waiting.front().is_some_and(is_settled) {
            let Some(first) = self.pop() else { return };
            let row = first.answer.unwrap_or_else(|| self.row(&first.timestamp));
            let row = if self.confirms {
                self.confirm(&first, row)
            } else {
                row
            };
            self.give(row, rows);
        }
    }

    /// Delivers the oldest without waiting further, or withdraws it.
    fn give_oldest(&mut self, rows: &mut Vec<Row>) {
        let Some(oldest) = self.pop() else { return };
        let mut row = oldest.answer.unwrap_or_else(|| self.row(&oldest.timestamp));
        if self.confirms && row.answer.is_ok() {
            row = self.withdrawn(row, ConversionError::Unconfirmed);
        }
        self.give(row, rows);
    }

    fn pop(&mut self) -> Option<Waiting> {
        self.answered = self.answered.saturating_sub(1);
        self.passed = self.passed.saturating_sub(1);
        self.waiting.pop_front()
    }

    /// Confirms, replaces or withdraws a result by the cross timestamps since.
    fn confirm(&mut self, waiting: &Waiting, row: Row) -> Row {
        match (row.answer, waiting.last_word(&self.correlation)) {
            (Err(_), _) => row,
            (Ok(_), Err(error)) => self.withdrawn(row, error),
            (Ok(answer), Ok(last)) => row.answered(last.borne_out(answer)),
        }
    }

    fn withdrawn(&mut self, row: Row, error: ConversionError) -> Row {
        self.summary.withdrawn.count(error);
        Row {
            answer: Err(error),
            ..row
        }
    }

    fn give(&mut self, row: Row, rows: &mut Vec<Row>) {
        match row.answer {
            Ok(_) => self.summary.converted += 1,
            Err(error) => self.summary.errors.count(error),
        }
        rows.push(row);
    }

    fn row(&self, timestamp: &HardwareTimestamp) -> Row {
        let answer = self.correlation.to_monotonic_fine(timestamp);
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
