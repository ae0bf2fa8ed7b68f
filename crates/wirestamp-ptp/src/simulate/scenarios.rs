//! The scenarios: what the network is like, what happens to it, and what must hold.
//! Modelled on the lists of chrony's and linuxptp's simulation tests.
//!
//! The limits follow from the scenario's own numbers, not from results. With the interval T, the
//! link's jitter J and outliers O (means of exponentials), the asymmetry A, clocks D apart whose
//! rate bends by B, N exchanges in the filter's memory and H hops on the way:
//!
//! ```text
//! median error    ≤ H (R + A/2 + B (32 T)²/8 + 6 J/N)
//! largest error   ≤ H (R + A/2 + B (32 T)²/8 + D T + (5 J + 3 O)/2)
//! ```
//!
//! R = 20 ns is the jitter of the timestamps themselves. An asymmetry can't be measured: half of it is
//! error. A rate that bends leaves the line through the memory of 32 exchanges by the third term.
//! The fastest of N exchanges is late by J/N on average in each direction, and the slope through
//! them may add five times that; a single exchange would be off by 0.35 J in the median. The first
//! exchange has no filter yet: the clocks drift apart between its messages, and its packets may
//! be late as seldom ones are. A boundary clock passes on a time that it corrects all the while,
//! which the next one sees as jitter: there J and D T count thrice. Of the samples that could be,
//! eight intervals are for selecting the timeTransmitter, and three quarters of those that survive
//! the losses must be reported.

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
    /// What `cables` says of the network and the clocks, for the limits.
    pub(super) network: Numbers,
}

/// What the limits follow from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers {
    jitter_ns: i64,
    outlier_ns: i64,
    asymmetry_ns: i64,
    drift_ppb: i64,
    /// By so many thousand-millionths the rate may change in a second.
    bend_ppb: i64,
    /// Exchanges that survive, in a hundred.
    surviving: i64,
}

/// Which clock is connected to which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A timeTransmitter and a timeReceiver.
    Pair,
    /// A timeTransmitter, so many cables with boundary clocks between them, a timeReceiver.
    Chain(usize),
    /// A timeTransmitter with so many timeReceivers, each on a cable of its own.
    Star(usize),
    /// Two timeTransmitters, a timeReceiver with a port to each; the cable of the better one is pulled
    /// after so many seconds, and put back after as many again.
    Redundant(u32),
}

/// The limits of a scenario's results, in nanoseconds. The error bound must contain the truth in every sample.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Limits {
    /// The median of the absolute error is at most this.
    pub median_error_ns: i64,
    /// The largest absolute error is at most this.
    pub largest_error_ns: i64,
    /// The least number of samples.
    pub samples: usize,
}

/// The jitter of timestamps.
const TIMESTAMPS_NS: i64 = 20;
/// Exchanges that the filter remembers.
const MEMORY: i64 = 32;
/// Intervals until a timeTransmitter is selected and measured.
const SELECTING: i64 = 8;

const SHORT_CABLE: Numbers = Numbers {
    jitter_ns: 5,
    outlier_ns: 0,
    asymmetry_ns: 0,
    drift_ppb: 40_000,
    bend_ppb: 0,
    surviving: 100,
};

const PAIR: Scenario = Scenario {
    name: "quiet",
    description: "hardware timestamps, a short cable, clocks 40 ppm apart",
    seconds: 30,
    shape: Shape::Pair,
    cables: "",
    source: Source::Hardware,
    p2p: false,
    step_us: 2_000,
    wander_ppb: 30,
    transmitter_resolution_ns: 20,
    log_interval: -3,
    network: SHORT_CABLE,
};

const JITTER: &str =
    "[link]\ndelay = { base = \"50us\", jitter = \"5us\", outliers = 0.05, outlier = \"300us\" }";

pub(super) const ALL: [Scenario; 14] = [
    PAIR,
    Scenario {
        name: "peer-delay",
        description: "the same, peer to peer",
        p2p: true,
        ..PAIR
    },
    Scenario {
        name: "jitter",
        description: "50 µs of network with 5 µs of jitter and outliers of 300 µs",
        cables: JITTER,
        network: Numbers {
            jitter_ns: 5_000,
            outlier_ns: 300_000,
            ..SHORT_CABLE
        },
        ..PAIR
    },
    Scenario {
        name: "asymmetry",
        description: "one way takes 4 µs longer, and nobody says so",
        cables: "[link]\ndelay = { base = \"1us\", jitter = \"10ns\" }\nasymmetry = \"4us\"",
        network: Numbers {
            jitter_ns: 10,
            asymmetry_ns: 4_000,
            ..SHORT_CABLE
        },
        ..PAIR
    },
    Scenario {
        name: "wander",
        description: "a cheap oscillator: 80 ppm off, swinging by 1 ppm every 40 s",
        cables: "[sim1.clock]\nfrequency_error_ppb = 80_000\nwander_ppb = 3.0\nswing_ppb = 1_000.0\nswing_period = \"40s\"",
        wander_ppb: 300,
        // the swing is steepest where it passes its middle: 2π · 1,000 ppb / 40 s
        network: Numbers {
            drift_ppb: 80_000,
            bend_ppb: 157,
            ..SHORT_CABLE
        },
        ..PAIR
    },
    Scenario {
        name: "loss",
        description: "one packet in five is lost, one in ten doubled",
        cables: "[link]\nlost = 0.2\nduplicated = 0.1",
        network: Numbers {
            surviving: 64,
            ..SHORT_CABLE
        },
        ..PAIR
    },
    Scenario {
        name: "timestamp-loss",
        description: "of the transmit timestamps one in four is lost, one in four late by up to 30 ms",
        cables: "[nic.faults]\nlost = 0.25\nlate = 0.25\nlate_to = \"30ms\"",
        network: Numbers {
            surviving: 75,
            ..SHORT_CABLE
        },
        ..PAIR
    },
    Scenario {
        name: "counter-reset",
        description: "the receiver's NIC is reset after 10 s: its counter starts anew",
        cables: "[[event]]\naction = \"reset_hardware\"\nat = \"10s\"\nnic = \"sim1\"\nto = 1_000_000_000_000",
        ..PAIR
    },
    Scenario {
        name: "clock-step",
        description: "somebody sets the receiver's NIC clock back by a second, and tells nobody",
        cables: "[[event]]\naction = \"step_hardware\"\nat = \"10s\"\nnic = \"sim1\"\nticks = -1_000_000_000",
        ..PAIR
    },
    Scenario {
        name: "transmitter-jump",
        description: "the transmitter's clock jumps back by an hour",
        cables: "[[event]]\naction = \"step_hardware\"\nat = \"10s\"\nnic = \"sim0\"\nticks = -3_600_000_000_000",
        ..PAIR
    },
    Scenario {
        name: "failover",
        description: "two transmitters; the cable of the better one is out from 10 s to 20 s",
        shape: Shape::Redundant(10),
        ..PAIR
    },
    Scenario {
        name: "boundary-clock",
        description: "a boundary clock between two NICs whose clocks are related by cross timestamps",
        shape: Shape::Chain(2),
        wander_ppb: 20_000,
        // by so much the way from one NIC's clock to the other's may be off
        transmitter_resolution_ns: 2_000,
        ..PAIR
    },
    Scenario {
        name: "ten-hops",
        description: "nine boundary clocks in a row, software timestamps, 2 µs of jitter each",
        seconds: 20,
        shape: Shape::Chain(10),
        cables: "[link]\ndelay = { base = \"20us\", jitter = \"2us\" }",
        source: Source::Software,
        // the time that a boundary clock passes on is corrected all the time
        wander_ppb: 20_000,
        transmitter_resolution_ns: 2_000,
        network: Numbers {
            jitter_ns: 2_000,
            drift_ppb: 0,
            ..SHORT_CABLE
        },
        ..PAIR
    },
    Scenario {
        name: "hundred-receivers",
        description: "a transmitter with a hundred receivers, 20 µs away with 500 ns of jitter",
        seconds: 9,
        shape: Shape::Star(100),
        cables: "[link]\ndelay = { base = \"20us\", jitter = \"500ns\" }",
        step_us: 5_000,
        log_interval: -1,
        network: Numbers {
            jitter_ns: 500,
            ..SHORT_CABLE
        },
        ..PAIR
    },
];

pub(super) fn find(name: &str) -> Result<&'static Scenario> {
    ALL.iter()
        .find(|scenario| scenario.name == name)
        .ok_or_else(|| {
            let names: Vec<_> = ALL.iter().map(|scenario| scenario.name).collect();
            Error::new(
                ErrorKind::InvalidInput,
                "run a PTP simulation",
                name,
                "there is no scenario of this name",
            )
            .with_remedy(format!("choose one of: {}", names.join(", ")))
        })
}

impl Scenario {
    /// Returns the limits that follow from the scenario's own numbers.
    pub fn limits(&self) -> Limits {
        let numbers = &self.network;
        let interval_ns = if self.log_interval < 0 {
            1_000_000_000_i64 >> self.log_interval.unsigned_abs()
        } else {
            1_000_000_000_i64 << self.log_interval
        };
        let intervals = i64::from(self.seconds) * 1_000_000_000 / interval_ns - SELECTING;
        let filtered = MEMORY.min(intervals / 2);
        let (hops, clocks, corrected) = match self.shape {
            Shape::Pair | Shape::Redundant(_) => (1, 1, 1),
            Shape::Chain(count) => (count as i64, count as i64, 3),
            Shape::Star(count) => (1, count as i64, 1),
        };
        let memory_ms = MEMORY * interval_ns / 1_000_000;
        let always = TIMESTAMPS_NS
            + numbers.asymmetry_ns / 2
            + numbers.bend_ppb * memory_ms * memory_ms / 8 / 1_000_000;
        let first = numbers.drift_ppb * (interval_ns / 1_000) / 1_000_000
            + (5 * numbers.jitter_ns + 3 * numbers.outlier_ns) / 2;
        Limits {
            median_error_ns: hops * (always + corrected * 6 * numbers.jitter_ns / filtered),
            largest_error_ns: hops * (always + corrected * first),
            samples: (intervals * clocks * numbers.surviving / 100 * 3 / 4) as usize,
        }
    }

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
            delay_mechanism: if self.p2p {
                DelayMechanism::P2p
            } else {
                DelayMechanism::E2e
            },
            wander_ppb: self.wander_ppb,
            transmitter_resolution_ns: self.transmitter_resolution_ns,
            ..Configuration::default()
        }
    }
}
