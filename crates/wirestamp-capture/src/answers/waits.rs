//! Whether the time of a request is over. A step may move the line of time ahead by any amount, so only durations within runs
//! of the clock count: since the request in its own run, and each later run from its first packet to its last.

use super::When;
use std::collections::VecDeque;

/// So many runs are remembered; requests in earlier ones wait from the oldest of these.
const MOST_RUNS: usize = 64;

/// How far the file was read.
#[derive(Debug)]
pub(super) struct Waits {
    timeout_ns: i64,
    /// By number.
    runs: VecDeque<Run>,
    latest_ns: i64,
}

/// A run of the clock, on the line of time.
#[derive(Debug)]
struct Run {
    number: u32,
    first_ns: i64,
    latest_ns: i64,
}

/// How long a request waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// An answer may still come.
    Waits,
    /// Its time is over.
    Over,
    /// Its time is over if the clock was not stepped ahead: an answer may still come.
    AcrossStep,
}

impl Waits {
    pub(super) fn new(timeout_ns: i64) -> Self {
        Self {
            timeout_ns,
            runs: VecDeque::new(),
            latest_ns: i64::MIN,
        }
    }

    /// A packet of this run is here on the line of time; packets come in order. Returns the latest run that has begun.
    pub(super) fn reach(&mut self, number: u32, line_ns: i64) -> u32 {
        self.latest_ns = self.latest_ns.max(line_ns);
        match self.runs.back_mut() {
            Some(run) if run.number == number => run.latest_ns = line_ns.max(run.latest_ns),
            Some(run) if run.number > number => return run.number, // late, or of a run that is not known
            _ => {
                if self.runs.len() == MOST_RUNS {
                    self.runs.pop_front();
                }
                self.runs.push_back(Run {
                    number,
                    first_ns: line_ns,
                    latest_ns: line_ns,
                });
            }
        }
        number
    }

    pub(super) fn of(&self, asked: &When) -> Wait {
        if self.lasted(asked) > self.timeout_ns {
            Wait::Over
        } else if self.latest_ns.saturating_sub(asked.line_ns) > self.timeout_ns {
            Wait::AcrossStep
        } else {
            Wait::Waits
        }
    }

    /// How long ago a request was made, at least.
    fn lasted(&self, asked: &When) -> i64 {
        let later = self.runs.iter().rev();
        let later = later.take_while(|run| run.number >= asked.since);
        let durations = later.map(|run| {
            if run.number > asked.since {
                run.latest_ns.saturating_sub(run.first_ns)
            } else if run.number == asked.run {
                run.latest_ns.saturating_sub(asked.line_ns)
            } else {
                0
            }
        });
        durations.fold(0, i64::saturating_add)
    }
}
