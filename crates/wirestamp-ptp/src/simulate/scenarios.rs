//! The scenarios: the network, events, and limits of the results. They follow the lists of chrony's
//! and linuxptp's simulation tests.
//!
//! The limits are computed from the scenario's parameters, not from results. With the interval T,
//! the link's jitter J and outliers O (means of exponentials), the asymmetry A, the drift D between
//! the clocks, whose rate changes by B, N exchanges in the filter's memory and H hops:
//!
//! ```text
//! median error    ≤ H (R + A/2 + B (32 T)²/8 + 6 J/N)
//! largest error   ≤ H (R + A/2 + B (32 T)²/8 + D T + (5 J + 3 O)/2)
//! ```
//!
//! R = 20 ns is the jitter of the timestamps themselves. An asymmetry cannot be measured: half of
//! it is error. The third term is the deviation of a changing rate from the line through the memory
//! of 32 exchanges. The fastest of N exchanges is late by J/N on average in each direction, and the
//! slope through them may add five times that; a single exchange would have a median error of 0.35
//! J. The first exchange has no filter yet: the clocks drift apart between its messages, and its
//! packets may be outliers. A boundary clock continuously corrects the time that it passes on,
//! which the next one sees as jitter: there J and D T count three times. Eight intervals are
//! allowed for selecting the timeTransmitter, and three quarters of the samples that survive the
//! losses must be reported.

use crate::configuration::{Configuration, DelayMechanism, Role, Source};
use wirestamp::{Error, ErrorKind, Result};

/// A simulated network and what must hold in it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Scenario {
    /// The name of the scenario.
    pub name: &'static str,
    /// A one-line description.
    pub description: &'static str,
    /// The duration in virtual seconds.
    pub seconds: u32,
    pub(super) shape: Shape,
    /// The simulation of each cable, in addition to the preset.
    pub(super) cables: &'static str,
    pub(super) source: Source,
    pub(super) p2p: bool,
    /// The interval in which all clocks are served, in microseconds.
    pub(super) step_us: i64,
    /// The largest change of the frequency, in ppb per second.
    pub(super) wander_ppb: u32,
    /// The largest error of the times in messages.
    pub(super) transmitter_resolution_ns: u32,
    /// The message interval, as the binary logarithm of seconds.
    pub(super) log_interval: i8,
    /// The parameters of `cables` that the limits depend on.
    pub(super) network: Numbers,
}

/// The parameters that the limits depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers {
    jitter_ns: i64,
    outlier_ns: i64,
    asymmetry_ns: i64,
    drift_ppb: i64,
    /// The largest change of the rate, in ppb per second.
    bend_ppb: i64,
    /// The percentage of exchanges that survive.
    surviving: i64,
}

/// The topology of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A timeTransmitter and a timeReceiver.
    Pair,
    /// A timeTransmitter and a timeReceiver, with this many cables and boundary clocks in between.
    Chain(usize),
    /// A timeTransmitter with this many timeReceivers, each on a cable of its own.
    Star(usize),
    /// Two timeTransmitters and a timeReceiver with a port to each. The cable of the better one is
    /// unplugged after this many seconds, and plugged in after as many again.
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
/// The number of exchanges that the filter remembers.
const MEMORY: i64 = 32;
/// The number of intervals until a timeTransmitter is selected and measured.
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
        // the swing is steepest in the middle: 2π · 1,000 ppb / 40 s
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
        // the error of the conversion from one NIC's clock to the other's
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
        // a boundary clock continuously corrects the time that it passes on
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

    /// Returns the number of cables.
    pub(super) fn cable_count(&self) -> usize {
        match self.shape {
            Shape::Pair => 1,
            Shape::Chain(count) | Shape::Star(count) => count,
            Shape::Redundant(_) => 2,
        }
    }

    /// Returns the simulation of cable `number`.
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
