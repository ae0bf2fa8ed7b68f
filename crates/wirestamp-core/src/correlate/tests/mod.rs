//! A simulated pair of clocks whose truth is known, and helpers that the tests share.

mod adversary;
mod behaviour;
mod borne_out;
mod bursts;
mod by_hand;
mod clean;
mod doubt;
mod edges;
mod feasible;
mod fine;
mod fitting;
mod generations;
mod knowable;
mod oracle;
mod strategies;
mod terms;
mod tightness;
mod truth;
mod unseen;
mod world;

use super::*;
use crate::cross::{CrossMethod, CrossTimestamp};
use crate::interface::InterfaceIndex;
use crate::time::{Frequency, MonotonicTime};
use crate::timestamp::HardwareTimestamp;
use std::f64::consts::TAU;

const SECOND: i64 = 1_000_000_000;
const MILLISECOND: i64 = 1_000_000;

fn at(nanoseconds: i64) -> MonotonicTime {
    MonotonicTime::from_nanoseconds(nanoseconds)
}

fn interface() -> InterfaceIndex {
    InterfaceIndex::new(3).expect("not zero")
}

/// For cross timestamps at equal intervals, whose differences show no tick, of counters that count
/// nanoseconds.
const FINE: Assumptions = Assumptions {
    largest_tick: Span::from_nanoseconds(100),
    ..Assumptions::USUAL
};

/// A counter as a function of system time.
#[derive(Debug, Clone, Copy)]
struct Counter {
    /// When the counter showed `start`.
    since: i64,
    start: u64,
    hertz: f64,
    /// The frequency offset in parts per million; positive: the counter runs fast.
    fast: f64,
    /// Swings by `amplitude` parts per million in `period` seconds.
    amplitude: f64,
    period: f64,
}

impl Counter {
    const STEADY: Self = Self {
        since: 0,
        start: 1_000,
        hertz: 1e9,
        fast: 0.0,
        amplitude: 0.0,
        period: 300.0,
    };

    fn ticks(&self, time: i64) -> HardwareTicks {
        let seconds = (time - self.since) as f64 / 1e9;
        let angular = TAU / self.period;
        let swing = self.amplitude * 1e-6 * (1.0 - (angular * seconds).cos()) / angular;
        let ticks = self.hertz * (seconds * (1.0 + self.fast * 1e-6) + swing);
        HardwareTicks::new(self.start).plus(ticks.floor() as i64)
    }

    fn frequency(&self) -> Frequency {
        Frequency::from_hertz(self.hertz as u64).expect("not zero")
    }

    /// A cross timestamp at `time`, requested `before` earlier and answered `after` later.
    fn read(&self, time: i64, before: i64, after: i64) -> CrossTimestamp {
        let (from, to) = (at(time - before), at(time + after));
        CrossTimestamp::new(from, self.ticks(time), to, CrossMethod::Extended).expect("valid")
    }

    fn timestamp(&self, time: i64, read_at: i64) -> HardwareTimestamp {
        HardwareTimestamp {
            ticks: self.ticks(time),
            interface: Some(interface()),
            read_at: at(read_at),
        }
    }
}

/// Whether an estimate is right, and its error bound.
#[track_caller]
fn contains(estimate: Estimate<crate::time::Monotonic>, truth: i64) -> Span {
    let error = (estimate.at.value - at(truth)).abs();
    assert!(
        error <= estimate.at.bound,
        "{estimate:?} is {error} from the truth {truth}"
    );
    estimate.at.bound
}
