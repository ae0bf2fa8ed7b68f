//! The second set of held-out shapes, written when the method was finished. The first run
//! of them is what `results/second-held-out.txt` holds; the method was not changed for them.

use super::Parameters;
use super::base::{COUNTER, THIN, contended, good, path, pcie, warmed};
use crate::world::{
    Contention, Counter, Delay, Gap, Jitter, Oscillator, Path, Polling, Servo, Shape, Side, Wave,
};

/// The temperature ramps by 500 ppb in a minute, and for 5 s of each 20 nearly all readings are
/// late.
pub(super) fn warm_and_busy(parameters: &mut Parameters) -> Shape {
    let contention = Contention::Bursty {
        between: 15.0,
        length: 5.0,
        share: 0.9,
        mean: 8_000.0,
        side: Side::Either,
    };
    let oscillator = warmed(good(), 250e-9, 120.0, Wave::Triangle);
    Shape {
        oscillator,
        path: Path {
            contention,
            ..path(600.0, 600.0, 30.0)
        },
        ..pcie(parameters)
    }
}

/// A coarse servo: another ppm each second.
pub(super) fn ppm_servo(parameters: &mut Parameters) -> Shape {
    let oscillator = Oscillator {
        servo: Some(Servo {
            every: 1.0,
            amplitude: 1e-6,
        }),
        ..good()
    };
    Shape {
        oscillator,
        ..pcie(parameters)
    }
}

/// The link sleeps between reads for a while: the way there is 3.4 µs longer, for 30 s or so.
pub(super) fn link_power(parameters: &mut Parameters) -> Shape {
    let contention = Contention::Mode {
        between: 60.0,
        length: 30.0,
        there: 3_400.0,
        back: 0.0,
    };
    Shape {
        path: Path {
            contention,
            ..path(600.0, 600.0, 30.0)
        },
        ..pcie(parameters)
    }
}

/// Which way is the long one changes, the sum does not.
pub(super) fn flipping(parameters: &mut Parameters) -> Shape {
    let contention = Contention::Mode {
        between: 40.0,
        length: 40.0,
        there: -800.0,
        back: 800.0,
    };
    Shape {
        path: Path {
            contention,
            ..path(1_000.0, 200.0, 30.0)
        },
        ..pcie(parameters)
    }
}

/// Both clocks count microseconds.
pub(super) fn microseconds(parameters: &mut Parameters) -> Shape {
    Shape {
        counter: Counter {
            hertz: 1_000_000,
            ..COUNTER
        },
        quantum: 1_000,
        ..pcie(parameters)
    }
}

/// A third of the time no reading comes through, for up to 20 s.
pub(super) fn lost_polls(parameters: &mut Parameters) -> Shape {
    let (mut gaps, mut start) = (Vec::new(), 0.0);
    while start < parameters.duration {
        let length = parameters.draw.between(0.5, 20.0);
        gaps.push(Gap { start, length });
        start += length + parameters.draw.between(1.0, 40.0);
    }
    Shape {
        gaps,
        oscillator: warmed(good(), 100e-9, 600.0, Wave::Sine),
        ..pcie(parameters)
    }
}

/// A guest whose processor is taken away in one of twenty readings, for 5 ms; one reading a second.
pub(super) fn stolen(parameters: &mut Parameters) -> Shape {
    let delay = |base| Delay {
        base,
        jitter: Jitter::LogNormal(200.0, 1.0),
    };
    let contention = Contention::Independent {
        share: 0.05,
        mean: 5e6,
        side: Side::Either,
    };
    let path = Path {
        there: delay(2_000.0),
        back: delay(1_500.0),
        contention,
        ..path(0.0, 0.0, 1.0)
    };
    Shape {
        path,
        polling: THIN,
        ..pcie(parameters)
    }
}

/// Switched on: 2 ppm within the first minutes, and again after a pause.
pub(super) fn switched_on(parameters: &mut Parameters) -> Shape {
    Shape {
        oscillator: warmed(good(), 1e-6, 4_000.0, Wave::Charge),
        ..pcie(parameters)
    }
}

/// One reading in 30 s.
pub(super) fn seldom(parameters: &mut Parameters) -> Shape {
    Shape {
        polling: Polling {
            period: 30.0,
            readings: 1,
        },
        ..pcie(parameters)
    }
}

/// A slow management bus, other traffic, and a temperature that changes.
pub(super) fn slow_bus(parameters: &mut Parameters) -> Shape {
    let path = contended(path(45_000.0, 30_000.0, 4_000.0), 0.1, 200_000.0);
    let oscillator = warmed(good(), 150e-9, 400.0, Wave::Sine);
    Shape {
        path,
        oscillator,
        polling: Polling {
            period: 2.0,
            readings: 3,
        },
        ..pcie(parameters)
    }
}
