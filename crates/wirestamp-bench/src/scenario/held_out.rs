//! The shapes of our own that are only reported. Don't develop on them.

use super::Parameters;
use super::base::{COUNTER, contended, good, path, pcie, warmed};
use crate::world::{
    Change, Contention, Counter, Delay, Disturbance, Gap, Jitter, Oscillator, Path, Polling, Reach,
    Servo, Shape, Side, Start, Wave,
};

/// Batches of an envelope's trial, and those that the measures skip.
const BATCHES: f64 = 80.0;
const SKIPPED: f64 = 8.0;

/// chrony's own test of its clock: a frequency, a jitter and an interval drawn from a wide
/// range, one reading a time. Both directions take up to the jitter.
pub(super) fn chrony_envelope(parameters: &mut Parameters) -> Shape {
    let draw = &mut parameters.draw;
    let (offset, jitter, period) = (
        draw.between(-0.1, 0.1),
        draw.between_decades(10.0, 1e3),
        draw.between_decades(0.1, 10.0),
    );
    let side = Delay {
        base: 0.0,
        jitter: Jitter::Even(jitter),
    };
    let disturbances = vec![Disturbance {
        at: 0.0,
        change: Change::Adjust(offset),
    }];
    Shape {
        duration: BATCHES * period,
        warm_up: SKIPPED * period,
        counter: Counter {
            hertz: 1_000_000_000,
            stated: false,
            ..COUNTER
        },
        oscillator: Oscillator {
            offset: 0.0,
            wander: 0.0,
            ..good()
        },
        path: Path {
            there: side,
            back: side,
            contention: Contention::None,
            reach: Reach::Bracket,
        },
        polling: Polling {
            period,
            readings: 1,
        },
        disturbances,
        stated_jitter: Some(jitter),
        ..pcie(parameters)
    }
}

pub(super) fn air_conditioner(parameters: &mut Parameters) -> Shape {
    let slow = warmed(good(), 200e-9, 240.0, Wave::Triangle);
    Shape {
        oscillator: warmed(slow, 300e-9, 5_400.0, Wave::Sine),
        ..pcie(parameters)
    }
}

pub(super) fn load_cycle(parameters: &mut Parameters) -> Shape {
    Shape {
        oscillator: warmed(good(), 250e-9, 360.0, Wave::Charge),
        ..pcie(parameters)
    }
}

/// Suspended for 10 s, which the monotonic clock leaves out; and moved to another machine.
pub(super) fn system_jump(parameters: &mut Parameters) -> Shape {
    let mut at = |share: f64| parameters.duration * share + parameters.draw.share();
    let disturbances = vec![
        Disturbance {
            at: at(0.4),
            change: Change::SystemJump(10.0),
        },
        Disturbance {
            at: at(0.7),
            change: Change::SystemJump(0.3),
        },
    ];
    Shape {
        disturbances,
        ..pcie(parameters)
    }
}

pub(super) fn gap(parameters: &mut Parameters) -> Shape {
    let gaps = [0.3, 0.5, 0.75]
        .map(|share| Gap {
            start: parameters.duration * share,
            length: 60.0,
        })
        .to_vec();
    Shape {
        gaps,
        oscillator: warmed(good(), 100e-9, 600.0, Wave::Sine),
        ..pcie(parameters)
    }
}

/// A quiet servo, with steps too small to contradict the brackets at once and others that do.
pub(super) fn servo(parameters: &mut Parameters) -> Shape {
    let duration = parameters.duration;
    let mut at = |share: f64| duration * share + parameters.draw.share();
    let steps = [
        (0.3, 300.0),
        (0.4, -300.0),
        (0.55, 1_000.0),
        (0.7, 3_000.0),
        (0.85, -1_000.0),
    ];
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
            amplitude: 5e-9,
        }),
        ..good()
    };
    Shape {
        disturbances,
        oscillator,
        ..pcie(parameters)
    }
}

/// An NTP daemon adjusts the rate of the system clock.
pub(super) fn slewed(parameters: &mut Parameters) -> Shape {
    let oscillator = Oscillator {
        servo: Some(Servo {
            every: 64.0,
            amplitude: 200e-9,
        }),
        ..good()
    };
    Shape {
        oscillator,
        ..pcie(parameters)
    }
}

pub(super) fn unknown_frequency(parameters: &mut Parameters) -> Shape {
    Shape {
        counter: Counter {
            hertz: 156_250_000,
            stated: false,
            ..COUNTER
        },
        ..pcie(parameters)
    }
}

pub(super) fn ten_gigahertz(parameters: &mut Parameters) -> Shape {
    let counter = Counter {
        hertz: 10_000_000_000,
        stated: true,
        granule: 1,
        start: Start::Hours,
    };
    Shape {
        counter,
        ..pcie(parameters)
    }
}

pub(super) fn slow_contended(parameters: &mut Parameters) -> Shape {
    let path = contended(path(600.0, 600.0, 30.0), 0.3, 15_000.0);
    Shape {
        polling: Polling {
            period: 5.0,
            readings: 1,
        },
        path,
        ..pcie(parameters)
    }
}

/// Every access leaves the guest: long, lopsided, with a heavy tail; and the guest is paused.
pub(super) fn guest(parameters: &mut Parameters) -> Shape {
    let delay = |base, median| Delay {
        base,
        jitter: Jitter::LogNormal(median, 1.2),
    };
    let contention = Contention::Independent {
        share: 0.01,
        mean: 2e6,
        side: Side::Back,
    };
    let path = Path {
        there: delay(1_500.0, 150.0),
        back: delay(2_500.0, 300.0),
        contention,
        reach: Reach::Bracket,
    };
    Shape {
        path,
        ..pcie(parameters)
    }
}

pub(super) fn rate_change(parameters: &mut Parameters) -> Shape {
    let mut at = |share: f64| parameters.duration * share + parameters.draw.share();
    let disturbances = vec![
        Disturbance {
            at: at(0.4),
            change: Change::Rate(100e-6),
        },
        Disturbance {
            at: at(0.7),
            change: Change::Rate(-100e-6),
        },
    ];
    Shape {
        disturbances,
        ..pcie(parameters)
    }
}

pub(super) fn decay(parameters: &mut Parameters) -> Shape {
    let disturbances = vec![Disturbance {
        at: parameters.duration * 0.4,
        change: Change::Wander(100.0),
    }];
    let oscillator = good();
    Shape {
        disturbances,
        oscillator,
        ..pcie(parameters)
    }
}
