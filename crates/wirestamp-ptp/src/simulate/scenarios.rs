//! Owns the scenarios: what the network is like, what happens to it, and what must hold.
//! Modelled on the lists of chrony's and linuxptp's simulation tests.

use crate::configuration::{Configuration, DelayMechanism, Role, Source};
use wirestamp::{Error, ErrorKind, Result};

/// A simulated network and what must hold in it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Scenario {
    /// What it is called.
    pub name: &'static str,
    /// In one line.
    pub description: &'static str,
    /// What must hold.
    pub limits: Limits,
    /// Virtual seconds.
    pub seconds: u32,
    pub(super) shape: Shape,
    /// Each cable's simulation, beyond the preset.
    pub(super) cables: &'static str,
    pub(super) source: Source,
    pub(super) p2p: bool,
    /// How often all clocks are served, in microseconds.
    pub(super) step_us: i64,
    /// Bound of the rate's change, in thousand-millionths a second.
    pub(super) wander_ppb: u32,
    /// By how much the times in messages may be off.
    pub(super) transmitter_resolution_ns: u32,
    /// Messages a second, as a power of two of the seconds between two.
    pub(super) log_interval: i8,
}

/// Which clock is connected to which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A transmitter and a receiver.
    Pair,
    /// A transmitter, so many cables with boundary clocks between them, a receiver.
    Chain(usize),
    /// A transmitter with so many receivers, each on a cable of its own.
    Star(usize),
    /// Two transmitters, a receiver with a port to each; the cable of the better one is pulled
    /// after so many seconds, and put back after as many again.
    Redundant(u32),
}

/// What must hold; times in nanoseconds. The bound must contain the truth in every sample.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Limits {
    /// The median of the absolute error is at most this.
    pub median_error_ns: i64,
    /// The largest absolute error is at most this.
    pub largest_error_ns: i64,
    /// At least so many samples are told.
    pub samples: usize,
}

const fn limits(median_error_ns: i64, largest_error_ns: i64, samples: usize) -> Limits {
    Limits { median_error_ns, largest_error_ns, samples }
}

const PAIR: Scenario = Scenario {
    name: "quiet",
    description: "hardware stamps, a short cable, clocks 40 ppm apart",
    limits: limits(60, 12_000, 180),
    seconds: 30,
    shape: Shape::Pair,
    cables: "",
    source: Source::Hardware,
    p2p: false,
    step_us: 2_000,
    wander_ppb: 30,
    transmitter_resolution_ns: 20,
    log_interval: -3,
};

const JITTER: &str = "[link]\ndelay = { base = \"50us\", jitter = \"5us\", outliers = 0.05, outlier = \"300us\" }";

pub(super) const ALL: [Scenario; 14] = [
    PAIR,
    Scenario { name: "peer-delay", description: "the same, peer to peer", p2p: true, ..PAIR },
    Scenario {
        name: "jitter",
        description: "50 µs of network with 5 µs of jitter and outliers of 300 µs",
        limits: limits(3_000, 150_000, 180),
        cables: JITTER,
        ..PAIR
    },
    Scenario {
        name: "asymmetry",
        description: "one way takes 4 µs longer, and nobody says so",
        limits: limits(2_200, 15_000, 180),
        cables: "[link]\ndelay = { base = \"1us\", jitter = \"10ns\" }\nasymmetry = \"4us\"",
        ..PAIR
    },
    Scenario {
        name: "wander",
        description: "a cheap oscillator: 80 ppm off, swinging by 1 ppm every 40 s",
        limits: limits(100, 15_000, 180),
        cables: "[sim1.clock]\nfrequency_error_ppb = 80_000\nwander_ppb = 3.0\nswing_ppb = 1_000.0\nswing_period = \"40s\"",
        wander_ppb: 300,
        ..PAIR
    },
    Scenario {
        name: "loss",
        description: "one packet in five is lost, one in ten doubled",
        limits: limits(100, 15_000, 80),
        cables: "[link]\nlost = 0.2\nduplicated = 0.1",
        ..PAIR
    },
    Scenario {
        name: "stamp-loss",
        description: "of the transmit stamps one in four is lost, one in four late by up to 30 ms",
        limits: limits(100, 15_000, 80),
        cables: "[adapter.faults]\nlost = 0.25\nlate = 0.25\nlate_to = \"30ms\"",
        ..PAIR
    },
    Scenario {
        name: "counter-reset",
        description: "the receiver's adapter is reset after 10 s: its counter starts anew",
        limits: limits(100, 15_000, 130),
        cables: "[[event]]\naction = \"reset_hardware\"\nat = \"10s\"\nadapter = \"sim1\"\nto = 1_000_000_000_000",
        ..PAIR
    },
    Scenario {
        name: "clock-step",
        description: "somebody sets the receiver's adapter clock back by a second, and tells nobody",
        limits: limits(100, 15_000, 80),
        cables: "[[event]]\naction = \"step_hardware\"\nat = \"10s\"\nadapter = \"sim1\"\nticks = -1_000_000_000",
        ..PAIR
    },
    Scenario {
        name: "transmitter-jump",
        description: "the transmitter's clock jumps back by an hour",
        limits: limits(100, 15_000, 80),
        cables: "[[event]]\naction = \"step_hardware\"\nat = \"10s\"\nadapter = \"sim0\"\nticks = -3_600_000_000_000",
        ..PAIR
    },
    Scenario {
        name: "failover",
        description: "two transmitters; the cable of the better one is out from 10 s to 20 s",
        limits: limits(100, 15_000, 180),
        shape: Shape::Redundant(10),
        ..PAIR
    },
    Scenario {
        name: "boundary-clock",
        description: "a boundary clock between two adapters whose clocks are related by cross timestamps",
        limits: limits(500, 40_000, 300),
        shape: Shape::Chain(2),
        wander_ppb: 20_000,
        // by so much the way from one adapter's clock to the other's may be off
        transmitter_resolution_ns: 2_000,
        ..PAIR
    },
    Scenario {
        name: "ten-hops",
        description: "nine boundary clocks in a row, software stamps, 2 µs of jitter each",
        limits: limits(6_000, 200_000, 900),
        seconds: 20,
        shape: Shape::Chain(10),
        cables: "[link]\ndelay = { base = \"20us\", jitter = \"2us\" }",
        source: Source::Software,
        // the time that a boundary clock passes on is corrected all the time
        wander_ppb: 20_000,
        transmitter_resolution_ns: 2_000,
        ..PAIR
    },
    Scenario {
        name: "hundred-receivers",
        description: "a transmitter with a hundred receivers, 20 µs away with 500 ns of jitter",
        limits: limits(500, 30_000, 900),
        seconds: 9,
        shape: Shape::Star(100),
        cables: "[link]\ndelay = { base = \"20us\", jitter = \"500ns\" }",
        step_us: 5_000,
        log_interval: -1,
        ..PAIR
    },
];

pub(super) fn find(name: &str) -> Result<&'static Scenario> {
    ALL.iter().find(|scenario| scenario.name == name).ok_or_else(|| {
        let names: Vec<_> = ALL.iter().map(|scenario| scenario.name).collect();
        Error::new(ErrorKind::InvalidInput, "run a PTP simulation", name, "there is no scenario of this name")
            .with_remedy(format!("choose one of: {}", names.join(", ")))
    })
}

impl Scenario {
    /// Cables.
    pub(super) fn cable_count(&self) -> usize {
        match self.shape {
            Shape::Pair => 1,
            Shape::Chain(count) | Shape::Star(count) => count,
            Shape::Redundant(_) => 2,
        }
    }

    /// The simulation of cable `number`.
    pub(super) fn cable(&self, number: usize) -> String {
        let pulled = match self.shape {
            Shape::Redundant(after) if number == 0 => format!(
                "[[event]]\naction = \"link_down\"\nat = \"{after}s\"\n[[event]]\naction = \"link_up\"\nat = \"{}s\"\n",
                2 * after
            ),
            _ => String::new(),
        };
        // no two clocks are alike
        let clock = if self.cables.contains("[sim1.clock]") {
            String::new()
        } else {
            let error = 40_000 - 313 * i64::try_from(number).unwrap_or(0);
            format!(
                "[sim1.clock]\nfrequency_error_ppb = {error}\nstart = {}\n",
                1_600_000_000_000_000_000_u64 + number as u64
            )
        };
        format!("preset = \"i225\"\n{}\n{clock}{pulled}", self.cables)
    }

    pub(super) fn configuration(&self, role: Role) -> Configuration {
        Configuration {
            role,
            log_announce_interval: self.log_interval,
            log_sync_interval: self.log_interval,
            log_delay_interval: self.log_interval,
            source: self.source,
            delay_mechanism: if self.p2p { DelayMechanism::P2p } else { DelayMechanism::E2e },
            wander_ppb: self.wander_ppb,
            transmitter_resolution_ns: self.transmitter_resolution_ns,
            ..Configuration::default()
        }
    }
}
