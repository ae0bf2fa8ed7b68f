//! The shapes of our own that methods are developed on.

use super::Parameters;
use super::base::{COUNTER, contended, good, path, pcie};
use crate::world::{
    Change, Contention, Counter, Delay, Disturbance, Jitter, Oscillator, Path, Reach, Servo, Shape,
    Side, Start,
};

/// For some seconds nearly every reading is late, mostly by more than the bracket.
pub(super) fn bursts(parameters: &mut Parameters) -> Shape {
    let contention = Contention::Bursty {
        between: 20.0,
        length: 3.0,
        share: 0.9,
        mean: 4_000.0,
        side: Side::Either,
    };
    Shape {
        path: Path {
            contention,
            ..path(600.0, 600.0, 30.0)
        },
        ..pcie(parameters)
    }
}

/// The counter starts again near zero; later from a value beyond the old one.
pub(super) fn reset(parameters: &mut Parameters) -> Shape {
    let mut at = |share: f64| parameters.duration * share + parameters.draw.share();
    let beyond = COUNTER.hertz * 3_600 * 24;
    let disturbances = vec![
        Disturbance {
            at: at(0.35),
            change: Change::Reset(1),
        },
        Disturbance {
            at: at(0.6),
            change: Change::Reset(beyond),
        },
        Disturbance {
            at: at(0.8),
            change: Change::Reset(1),
        },
    ];
    Shape {
        disturbances,
        ..pcie(parameters)
    }
}

/// A PTP daemon steers the clock that is read, and now and then steps it.
pub(super) fn steered(parameters: &mut Parameters) -> Shape {
    let duration = parameters.duration;
    let mut at = |share: f64| duration * share + parameters.draw.share();
    let steps = [(0.3, 5e3), (0.45, -5e3), (0.6, 5e3), (0.8, -5e3)];
    let disturbances = steps
        .map(|(share, ns)| Disturbance {
            at: at(share),
            change: Change::Step(ns),
        })
        .into_iter()
        .collect();
    let oscillator = Oscillator {
        servo: Some(Servo {
            every: 1.0,
            amplitude: 20e-9,
        }),
        ..good()
    };
    Shape {
        disturbances,
        oscillator,
        ..pcie(parameters)
    }
}

/// The driver reads the system clock once, before the counter, and prints it twice.
pub(super) fn equal_brackets(parameters: &mut Parameters) -> Shape {
    let there = Delay {
        base: 600.0,
        jitter: Jitter::Exponential(30.0),
    };
    let path = Path {
        there,
        reach: Reach::EqualBracket,
        ..contended(path(600.0, 600.0, 30.0), 0.02, 10_000.0)
    };
    Shape {
        quantum: 100,
        path,
        ..pcie(parameters)
    }
}

pub(super) fn wrap(parameters: &mut Parameters) -> Shape {
    let start = Start::BeforeWrap(parameters.duration / 2.0);
    Shape {
        counter: Counter { start, ..COUNTER },
        ..pcie(parameters)
    }
}

pub(super) fn kilohertz(parameters: &mut Parameters) -> Shape {
    Shape {
        counter: Counter {
            hertz: 1_000,
            ..COUNTER
        },
        ..pcie(parameters)
    }
}

/// As older NICs do it: nanoseconds of UTC, eight at a time.
pub(super) fn coarse_phc(parameters: &mut Parameters) -> Shape {
    let counter = Counter {
        hertz: 1_000_000_000,
        stated: true,
        granule: 8,
        start: Start::Utc,
    };
    Shape {
        counter,
        ..pcie(parameters)
    }
}
