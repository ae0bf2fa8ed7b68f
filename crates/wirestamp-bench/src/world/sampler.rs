//! The readings of a run: when they are made and what they show.

use super::{Contention, Draw, Moment, Polling, Reach, Shape, Stream, Truth};
use wirestamp_core::cross::{CrossMethod, CrossTimestamp};
use wirestamp_core::time::HardwareTicks;

/// Between two readings of a batch, ns: from and to.
const PAUSE: (f64, f64) = (300.0, 700.0);
/// A batch starts late by up to this share of the period.
const LATE: f64 = 0.02;

/// Makes the readings of one run, batch by batch.
#[derive(Debug)]
pub struct Sampler<'a> {
    shape: &'a Shape,
    truth: &'a Truth,
    polling: Polling,
    draw: Draw,
    batch: u64,
    burst: Burst,
}

/// When a batch was made.
#[derive(Debug, Clone, Copy)]
pub struct Batch {
    /// When its first reading began.
    pub start: Moment,
    /// When its last reading was complete.
    pub end: Moment,
}

/// Whether there is other traffic just now, and until when.
#[derive(Debug)]
struct Burst {
    on: bool,
    until: f64,
}

impl<'a> Sampler<'a> {
    /// Readings on the shape's schedule or on an estimator's own.
    pub fn new(
        shape: &'a Shape,
        truth: &'a Truth,
        polling: Polling,
        seed: u64,
        trial: u32,
    ) -> Self {
        let draw = Draw::new(seed, trial, Stream::Readings);
        Self {
            shape,
            truth,
            polling,
            draw,
            batch: 0,
            burst: Burst {
                on: true,
                until: 0.0,
            },
        }
    }

    /// Makes the next batch; `None` at the end of the run.
    pub fn next_batch(&mut self, into: &mut Vec<CrossTimestamp>) -> Option<Batch> {
        into.clear();
        let start = self.next_start()?;
        let in_burst = self.in_burst(start.seconds());
        let mut now = start;
        for n in 0..self.polling.readings {
            if n > 0 {
                let pause = self.draw.between(PAUSE.0, PAUSE.1);
                now = self.truth.later(now, pause);
            }
            let (reading, end) = self.reading(now, in_burst);
            into.extend(reading);
            now = end;
        }
        Some(Batch { start, end: now })
    }

    /// The next instant of the schedule at which a reading can be made.
    fn next_start(&mut self) -> Option<Moment> {
        loop {
            let late = self.draw.share() * LATE;
            let start =
                Moment::from_seconds((self.batch as f64 + 0.5 + late) * self.polling.period);
            self.batch += 1;
            if start >= self.truth.end() {
                return None;
            }
            let seconds = start.seconds();
            let in_gap = self
                .shape
                .gaps
                .iter()
                .any(|gap| (gap.start..gap.start + gap.length).contains(&seconds));
            if !in_gap && self.truth.exists(start) {
                return Some(start);
            }
        }
    }

    fn reading(&mut self, begun: Moment, in_burst: bool) -> (Option<CrossTimestamp>, Moment) {
        let (there, back) = self.shape.path.draw(in_burst, &mut self.draw);
        let latched = self.truth.later(begun, there);
        let end = self.truth.later(latched, back);
        let hardware = HardwareTicks::new(self.truth.at(latched).shown(self.shape.counter.granule));
        let (before, after, method) = match self.shape.path.reach {
            Reach::Bracket if self.shape.quantum > 1 => (begun, end, CrossMethod::Driver),
            Reach::Bracket => (begun, end, CrossMethod::Extended),
            Reach::EqualBracket => (begun, begun, CrossMethod::Driver),
            Reach::Latch => (latched, latched, CrossMethod::Precise),
        };
        let quantum = self.shape.quantum;
        // a counter that shows zero makes no reading: a driver's zero means "none"
        (
            CrossTimestamp::new(before.read(quantum), hardware, after.read(quantum), method).ok(),
            end,
        )
    }

    fn in_burst(&mut self, now: f64) -> bool {
        let (Contention::Bursty {
            between, length, ..
        }
        | Contention::Mode {
            between, length, ..
        }) = self.shape.path.contention
        else {
            return false;
        };
        while self.burst.until <= now {
            self.burst.on = !self.burst.on;
            self.burst.until +=
                self.draw.exponential() * if self.burst.on { length } else { between };
        }
        self.burst.on
    }
}
