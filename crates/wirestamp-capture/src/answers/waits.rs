//! Whether the time of a request is over. Only the packets of its own run of the clock show that: a step may move the line of time
//! ahead.

use super::When;
use std::collections::VecDeque;

/// So many runs are remembered; of requests in earlier ones, nobody knows.
const MOST_RUNS: usize = 64;

/// How far the file was read.
#[derive(Debug)]
pub(super) struct Waits {
    timeout_ns: i64,
    /// The latest time of each run, by the run's number.
    runs: VecDeque<(u32, i64)>,
    latest_ns: i64,
}

/// How long a request waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// An answer may still come.
    Waits,
    /// Its time is over.
    Over,
    /// Its time is over if the clock was not stepped ahead.
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

    /// A packet of this run is here on the line of time; packets come in order.
    pub(super) fn reach(&mut self, run: u32, line_ns: i64) {
        self.latest_ns = self.latest_ns.max(line_ns);
        match self.runs.back_mut() {
            Some((known, latest)) if *known == run => *latest = line_ns.max(*latest),
            Some((known, _)) if *known > run => {} // late, or of a run that is not known
            _ => {
                if self.runs.len() == MOST_RUNS {
                    self.runs.pop_front();
                }
                self.runs.push_back((run, line_ns));
            }
        }
    }

    pub(super) fn of(&self, asked: &When) -> Wait {
        let is_over = |now: i64| now.saturating_sub(asked.line_ns) > self.timeout_ns;
        let mut runs = self.runs.iter().rev();
        if runs.any(|(run, latest)| *run == asked.run && is_over(*latest)) {
            Wait::Over
        } else if is_over(self.latest_ns) {
            Wait::AcrossStep
        } else {
            Wait::Waits
        }
    }
}
