//! The scenarios and which half each belongs to. Makes no readings: that is
//! [`crate::world`].
//!
//! The *shapes* are split, not only the seeds: a method is developed on one half, the other
//! is only reported. A new shape goes to the half it was meant for when it was written; none
//! moves because of a result.

mod added;
mod base;
mod held_out;
mod second;
mod studied;

use crate::world::{Draw, Shape, Stream};

/// Which half of the shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// Methods are developed on these.
    Development,
    /// These are only reported.
    HeldOut,
    /// These as well; written when the method was finished, and run once before anything else.
    SecondHeldOut,
}

impl Half {
    /// Head of its table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Development => "development",
            Self::HeldOut => "held-out",
            Self::SecondHeldOut => "second held-out",
        }
    }
}

/// What an estimator can be asked for in a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The tight bound: good oscillator, brackets, two batches a second or more.
    Tight,
    /// A poor oscillator, a program that steers, or changes on the way: somewhat wider.
    Poor,
    /// Polled so slowly or thinly, or such brackets, that the bound has no fixed target.
    Loose,
}

/// A kind of world. Each trial draws its own.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// Short name: `--scenario` takes it.
    pub name: &'static str,
    /// What it is, in a few words.
    pub text: &'static str,
    /// Its half.
    pub half: Half,
    /// What can be asked for.
    pub class: Class,
    /// Trials for each seed: more than one where the parameters are drawn.
    pub trials: u32,
    make: fn(&mut Parameters) -> Shape,
}

/// What a shape is made from.
#[derive(Debug)]
pub struct Parameters {
    /// Length that is asked for, s.
    pub duration: f64,
    /// Chance, for shapes that draw their parameters.
    pub draw: Draw,
}

impl Scenario {
    /// The shape of one trial, `duration` seconds long where the scenario has no length of
    /// its own.
    pub fn shape(&self, duration: f64, seed: u64, trial: u32) -> Shape {
        (self.make)(&mut Parameters {
            duration,
            draw: Draw::new(seed, trial, Stream::Shape),
        })
    }
}

/// All of them, the development half first.
pub fn all() -> impl Iterator<Item = &'static Scenario> {
    TABLE.iter()
}

const fn of(
    half: Half,
    class: Class,
    name: &'static str,
    text: &'static str,
    make: fn(&mut Parameters) -> Shape,
) -> Scenario {
    Scenario {
        name,
        text,
        half,
        class,
        trials: 1,
        make,
    }
}

use Class::{Loose, Poor, Tight};
use Half::{Development, HeldOut, SecondHeldOut};

const TABLE: &[Scenario] = &[
    of(
        Development,
        Tight,
        "S1",
        "PCIe 0.6/0.6 µs, 2 % outliers",
        studied::pcie,
    ),
    of(
        Development,
        Tight,
        "S2",
        "0.8/0.4 µs, 100 ppb in 600 s",
        studied::asymmetric,
    ),
    of(
        Development,
        Tight,
        "S3",
        "performance counter of 100 ns, 0.75/0.75 µs",
        studied::performance_counter,
    ),
    of(Development, Tight, "S5", "30 % outliers", studied::outliers),
    of(Development, Tight, "S6", "steps of 1 ms", studied::step),
    of(
        Development,
        Poor,
        "S7",
        "poor oscillator, 1 ppm in 300 s",
        studied::poor_oscillator,
    ),
    of(
        Development,
        Loose,
        "S1-1/s",
        "S1, one reading a second",
        studied::pcie_thin,
    ),
    of(
        Development,
        Loose,
        "S3-1/s",
        "S3, one reading a second",
        studied::performance_counter_thin,
    ),
    of(
        Development,
        Loose,
        "S1-5s",
        "S1, five readings every 5 s",
        studied::pcie_every_5_seconds,
    ),
    of(
        Development,
        Loose,
        "S7-8s",
        "S7, five readings every 8 s",
        studied::poor_every_8_seconds,
    ),
    of(
        Development,
        Tight,
        "bursts",
        "contention in bursts of 3 s, 90 % of readings",
        added::bursts,
    ),
    of(
        Development,
        Tight,
        "reset",
        "counter starts again, no notice",
        added::reset,
    ),
    of(
        Development,
        Poor,
        "steered",
        "±20 ppb every second, steps of 5 µs",
        added::steered,
    ),
    of(
        Development,
        Loose,
        "equal",
        "driver gives the same system time twice",
        added::equal_brackets,
    ),
    of(
        Development,
        Tight,
        "wrap",
        "64 bits run over in the middle",
        added::wrap,
    ),
    of(
        Development,
        Loose,
        "1kHz",
        "counter of 1 kHz",
        added::kilohertz,
    ),
    of(
        Development,
        Tight,
        "PHC-8ns",
        "PHC in ns that advances by 8",
        added::coarse_phc,
    ),
    of(
        HeldOut,
        Tight,
        "S4",
        "MDIO 18/18 µs, 2 µs jitter",
        studied::mdio,
    ),
    of(
        HeldOut,
        Loose,
        "S8",
        "latched by hardware",
        studied::latched,
    ),
    of(HeldOut, Tight, "S9", "1.1/0.1 µs", studied::lopsided),
    of(
        HeldOut,
        Loose,
        "S5-1/s",
        "S5, one reading a second",
        studied::outliers_thin,
    ),
    of(
        HeldOut,
        Tight,
        "S1-25/s",
        "S1, 25 readings a second",
        studied::pcie_dense,
    ),
    of(
        HeldOut,
        Loose,
        "S1-8s",
        "S1, five readings every 8 s",
        studied::pcie_every_8_seconds,
    ),
    of(
        HeldOut,
        Loose,
        "S7-5s",
        "S7, five readings every 5 s",
        studied::poor_every_5_seconds,
    ),
    Scenario {
        trials: 16,
        ..of(
            HeldOut,
            Loose,
            "chrony",
            "0.9 to 1.1, jitter 10 to 1000 ns, every 0.1 to 10 s",
            held_out::chrony_envelope,
        )
    },
    of(
        HeldOut,
        Poor,
        "air",
        "air conditioner: ramps of 200 ppb in 240 s",
        held_out::air_conditioner,
    ),
    of(
        HeldOut,
        Poor,
        "load",
        "load comes and goes: 500 ppb within seconds",
        held_out::load_cycle,
    ),
    of(
        HeldOut,
        Tight,
        "jump",
        "system clock leaves out 10 s and 0.3 s",
        held_out::system_jump,
    ),
    of(
        HeldOut,
        Loose,
        "gap",
        "60 s without readings",
        held_out::gap,
    ),
    of(
        HeldOut,
        Poor,
        "servo",
        "±5 ppb every second, steps of 0.3 to 3 µs",
        held_out::servo,
    ),
    of(
        HeldOut,
        Poor,
        "slew",
        "system clock slewed: 0.2 ppm every 64 s",
        held_out::slewed,
    ),
    of(
        HeldOut,
        Tight,
        "no-hz",
        "156.25 MHz, not stated",
        held_out::unknown_frequency,
    ),
    of(
        HeldOut,
        Tight,
        "10GHz",
        "counter of 10 GHz",
        held_out::ten_gigahertz,
    ),
    of(
        HeldOut,
        Loose,
        "slow-busy",
        "one reading every 5 s, 30 % outliers",
        held_out::slow_contended,
    ),
    of(
        HeldOut,
        Tight,
        "guest",
        "virtual machine: heavy tails, pauses of ms",
        held_out::guest,
    ),
    of(
        HeldOut,
        Tight,
        "rate",
        "frequency changes by 100 ppm and back",
        held_out::rate_change,
    ),
    of(
        HeldOut,
        Poor,
        "decay",
        "wander grows a hundredfold",
        held_out::decay,
    ),
    of(
        SecondHeldOut,
        Poor,
        "warm-busy",
        "ramps of 500 ppb a minute, bursts of 5 s",
        second::warm_and_busy,
    ),
    of(
        SecondHeldOut,
        Loose,
        "ppm-servo",
        "±1 ppm every second",
        second::ppm_servo,
    ),
    of(
        SecondHeldOut,
        Loose,
        "link-power",
        "the way there 3.4 µs longer for 30 s",
        second::link_power,
    ),
    of(
        SecondHeldOut,
        Loose,
        "flip",
        "1.0/0.2 µs and 0.2/1.0 µs by turns",
        second::flipping,
    ),
    of(
        SecondHeldOut,
        Loose,
        "1MHz-1us",
        "both clocks count microseconds",
        second::microseconds,
    ),
    of(
        SecondHeldOut,
        Loose,
        "lost",
        "a third of the time without readings",
        second::lost_polls,
    ),
    of(
        SecondHeldOut,
        Loose,
        "stolen",
        "guest: pauses of 5 ms, one reading a second",
        second::stolen,
    ),
    of(
        SecondHeldOut,
        Poor,
        "warm-up",
        "2 ppm within minutes",
        second::switched_on,
    ),
    of(
        SecondHeldOut,
        Loose,
        "seldom",
        "one reading in 30 s",
        second::seldom,
    ),
    of(
        SecondHeldOut,
        Loose,
        "slow-bus",
        "45/30 µs, three readings every 2 s",
        second::slow_bus,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_both_halves_are_filled() {
        let names: HashSet<&str> = all().map(|scenario| scenario.name).collect();
        assert_eq!(names.len(), TABLE.len());
        for half in [Development, HeldOut] {
            assert!(all().filter(|scenario| scenario.half == half).count() >= 16);
        }
    }
}
