//! A campaign that tests the steering of a clock: seeded runs over settings, oscillators, networks,
//! clock devices and disturbances, each checked against limits that are computed in advance.
//!
//! In every run:
//! - the error bound of every estimate, including extrapolated ones, contains the truth. While the
//!   timeTransmitter's clock is wrong, the truth is the time that it shows. After a step of its
//!   clock, the bound may contain the time before the step until the estimator can detect it; this
//!   time is computed too;
//! - the clock returns to its steady-state error within a time that is computed in advance;
//! - at the end, and at the end of an outage, the clock is at most the error bound further away
//!   than without steering;
//! - no error remains, and the timeTransmitter is followed.

mod bench;
mod device;
mod draw;
mod expect;
mod outcome;
mod plan;

pub use outcome::{Group, Phase, Run, Totals, Trace};
pub use plan::Plan;

use std::num::NonZero;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use wirestamp::Result;

/// A number of runs with a seed that determines them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Campaign {
    /// The number of runs.
    pub runs: u32,
    /// The seed of all random numbers.
    pub seed: u64,
}

impl Campaign {
    /// Returns the parameters of one run.
    pub fn plan(&self, run: u32) -> Plan {
        Plan::draw(self.seed, run)
    }

    /// Runs all on as many threads as there are processors. Calls `each` for every run, in order.
    ///
    /// # Errors
    /// The first error of [`Plan::run`].
    pub fn run(&self, mut each: impl FnMut(&Run)) -> Result<Totals> {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let next = AtomicU32::new(0);
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            for _ in 0..threads {
                let (sender, next) = (sender.clone(), &next);
                scope.spawn(move || {
                    loop {
                        let run = next.fetch_add(1, Ordering::Relaxed);
                        if run >= self.runs
                            || sender.send((run, self.plan(run).run(false))).is_err()
                        {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            let mut totals = Totals::default();
            let mut early = std::collections::BTreeMap::new();
            let mut expected = 0;
            for (number, run) in receiver {
                early.insert(number, run?);
                while let Some(run) = early.remove(&expected) {
                    totals.add(&run);
                    each(&run);
                    expected += 1;
                }
            }
            Ok(totals)
        })
    }
}
