//! The parts that scenarios are put together from.

use super::Parameters;
use crate::world::{
    Contention, Counter, Delay, Jitter, Oscillator, Path, Polling, Reach, Shape, Side, Start,
    Thermal, Wave,
};

/// The study skips this much at the start, s.
pub(super) const WARM_UP: f64 = 128.0;
/// Five readings twice a second: the study's ten readings a second.
pub(super) const TEN: Polling = Polling {
    period: 0.5,
    readings: 5,
};
/// One reading a second.
pub(super) const THIN: Polling = Polling {
    period: 1.0,
    readings: 1,
};

/// A good oscillator: 30 ppm off, 0.1 ppb of wander in a second.
pub(super) fn good() -> Oscillator {
    Oscillator {
        offset: 30e-6,
        wander: 1e-10,
        thermal: Vec::new(),
        servo: None,
    }
}

/// Adds a change of temperature.
pub(super) fn warmed(
    oscillator: Oscillator,
    amplitude: f64,
    period: f64,
    wave: Wave,
) -> Oscillator {
    let mut thermal = oscillator.thermal;
    thermal.push(Thermal {
        amplitude,
        period,
        wave,
    });
    Oscillator {
        thermal,
        ..oscillator
    }
}

/// Both directions with exponential jitter, ns; brackets, no other traffic.
pub(super) fn path(there: f64, back: f64, jitter: f64) -> Path {
    let delay = |base| Delay {
        base,
        jitter: Jitter::Exponential(jitter),
    };
    Path {
        there: delay(there),
        back: delay(back),
        contention: Contention::None,
        reach: Reach::Bracket,
    }
}

/// Adds independent outliers in either direction.
pub(super) fn contended(path: Path, share: f64, mean: f64) -> Path {
    Path {
        contention: Contention::Independent {
            share,
            mean,
            side: Side::Either,
        },
        ..path
    }
}

/// A counter of 125 MHz, so with a tick of 8 ns, whose frequency is stated.
pub(super) const COUNTER: Counter = Counter {
    hertz: 125_000_000,
    stated: true,
    granule: 1,
    start: Start::Hours,
};

/// The study's S1: everything else is written as a difference to it.
pub(super) fn pcie(parameters: &Parameters) -> Shape {
    Shape {
        duration: parameters.duration,
        warm_up: WARM_UP,
        counter: COUNTER,
        oscillator: good(),
        quantum: 1,
        path: contended(path(600.0, 600.0, 30.0), 0.02, 10_000.0),
        polling: TEN,
        gaps: Vec::new(),
        disturbances: Vec::new(),
        stated_jitter: None,
    }
}

/// A polling schedule of five readings every so many seconds.
pub(super) const fn every(period: f64) -> Polling {
    Polling {
        period,
        readings: 5,
    }
}
