//! Timeouts of requests. A step may move the time scale ahead by any amount, so only durations
//! within clock generations count: in the request's own generation since the request, and in each
//! later one from its first packet to its last.

use super::When;
use std::collections::VecDeque;

/// The number of generations that are remembered; requests in earlier ones count from the oldest of
/// these.
const MOST_RUNS: usize = 64;

/// The progress of reading the file, by clock generation.
#[derive(Debug)]
pub(super) struct Waits {
    timeout_ns: i64,
    /// The generations by number.
    runs: VecDeque<Run>,
    latest_ns: i64,
}

/// A clock generation on the time scale.
#[derive(Debug)]
struct Run {
    number: u32,
    first_ns: i64,
    latest_ns: i64,
}

/// The state of a request's timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// An answer may still come.
    Waits,
    /// The timeout is over.
    Over,
    /// The timeout is over unless the clock was stepped ahead, so an answer may still come.
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

    /// Notes the position of a packet of this generation on the time scale; packets come in order.
    /// Returns the latest generation that has begun.
    pub(super) fn reach(&mut self, number: u32, line_ns: i64) -> u32 {
        self.latest_ns = self.latest_ns.max(line_ns);
        match self.runs.back_mut() {
            Some(run) if run.number == number => run.latest_ns = line_ns.max(run.latest_ns),
            Some(run) if run.number > number => return run.number, // late, or of an unknown generation
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

    /// Returns the shortest possible time since a request.
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
