//! The study's scenarios S1 to S9 and their thin and slow variants.

use super::Parameters;
use super::base::{self, THIN, contended, every, good, path, warmed};
use crate::world::{Change, Disturbance, Oscillator, Path, Polling, Reach, Shape, Wave};

pub(super) fn pcie(parameters: &mut Parameters) -> Shape {
    base::pcie(parameters)
}

pub(super) fn asymmetric(parameters: &mut Parameters) -> Shape {
    Shape {
        oscillator: warmed(good(), 100e-9, 600.0, Wave::Sine),
        path: contended(path(800.0, 400.0, 30.0), 0.02, 10_000.0),
        ..pcie(parameters)
    }
}

pub(super) fn performance_counter(parameters: &mut Parameters) -> Shape {
    Shape {
        quantum: 100,
        path: contended(path(750.0, 750.0, 30.0), 0.02, 10_000.0),
        ..pcie(parameters)
    }
}

pub(super) fn mdio(parameters: &mut Parameters) -> Shape {
    Shape {
        path: contended(path(18_000.0, 18_000.0, 2_000.0), 0.02, 100_000.0),
        ..pcie(parameters)
    }
}

pub(super) fn outliers(parameters: &mut Parameters) -> Shape {
    Shape {
        path: contended(path(600.0, 600.0, 30.0), 0.3, 15_000.0),
        ..pcie(parameters)
    }
}

/// Forward, then back: at instants that chance puts within a polling period.
pub(super) fn step(parameters: &mut Parameters) -> Shape {
    let mut at = |share: f64| parameters.duration * share + parameters.draw.share();
    let disturbances = vec![
        Disturbance {
            at: at(0.4),
            change: Change::Step(1e6),
        },
        Disturbance {
            at: at(0.7),
            change: Change::Step(-1e6),
        },
    ];
    Shape {
        disturbances,
        ..pcie(parameters)
    }
}

pub(super) fn poor_oscillator(parameters: &mut Parameters) -> Shape {
    let oscillator = Oscillator {
        wander: 1e-9,
        ..good()
    };
    Shape {
        oscillator: warmed(oscillator, 1e-6, 300.0, Wave::Sine),
        ..pcie(parameters)
    }
}

/// Both clocks latched, printed by kernel and NIC in whole steps, nothing else.
pub(super) fn latched(parameters: &mut Parameters) -> Shape {
    Shape {
        path: Path {
            reach: Reach::Latch,
            ..path(2.0, 2.0, 1.0)
        },
        ..pcie(parameters)
    }
}

pub(super) fn lopsided(parameters: &mut Parameters) -> Shape {
    Shape {
        path: contended(path(1_100.0, 100.0, 30.0), 0.02, 10_000.0),
        ..pcie(parameters)
    }
}

pub(super) fn pcie_thin(parameters: &mut Parameters) -> Shape {
    Shape {
        polling: THIN,
        ..pcie(parameters)
    }
}

pub(super) fn performance_counter_thin(parameters: &mut Parameters) -> Shape {
    Shape {
        polling: THIN,
        ..performance_counter(parameters)
    }
}

pub(super) fn outliers_thin(parameters: &mut Parameters) -> Shape {
    Shape {
        polling: THIN,
        ..outliers(parameters)
    }
}

pub(super) fn pcie_dense(parameters: &mut Parameters) -> Shape {
    Shape {
        polling: Polling {
            period: 1.0,
            readings: 25,
        },
        ..pcie(parameters)
    }
}

pub(super) fn pcie_every_5_seconds(parameters: &mut Parameters) -> Shape {
    Shape {
        polling: every(5.0),
        ..pcie(parameters)
    }
}

pub(super) fn pcie_every_8_seconds(parameters: &mut Parameters) -> Shape {
    Shape {
        polling: every(8.0),
        ..pcie(parameters)
    }
}

pub(super) fn poor_every_5_seconds(parameters: &mut Parameters) -> Shape {
    Shape {
        polling: every(5.0),
        ..poor_oscillator(parameters)
    }
}

pub(super) fn poor_every_8_seconds(parameters: &mut Parameters) -> Shape {
    Shape {
        polling: every(8.0),
        ..poor_oscillator(parameters)
    }
}
