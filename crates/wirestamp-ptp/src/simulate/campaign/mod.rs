//! A campaign against the steering of a clock: seeded runs over settings, oscillators, networks,
//! clock devices and disturbances, each held against what was computed for it beforehand.
//!
//! In every run:
//! - the error bound of every estimate, held ones too, contains the truth. During a lie the truth is
//!   the time that the timeTransmitter shows. After its clock was stepped, the bound may contain the
//!   time before the step until the estimator can know better; what that takes is stated, too;
//! - the clock is back within its steady-state error within a time stated beforehand;
//! - at the end, and at the end of an outage, the clock is no further away than it would be if
//!   nobody had touched it, by more than the error bound;
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

/// So many runs, and the seed that decides all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Campaign {
    /// How many.
    pub runs: u32,
    /// Decides everything that is random.
    pub seed: u64,
}

impl Campaign {
    /// Returns the parameters of one run.
    pub fn plan(&self, run: u32) -> Plan {
        Plan::draw(self.seed, run)
    }

    /// Runs all of them on as many threads as there are processors; `each` sees every run, in order.
    ///
    /// # Errors
    /// The first of those of [`Plan::run`].
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
