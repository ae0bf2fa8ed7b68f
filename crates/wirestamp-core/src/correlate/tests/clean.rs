//! Hours of cross timestamps of unadjusted clocks, some latched and some coarse: only the first
//! generation begins, every cross timestamp is accepted, and no bound is wrong.
//!
//! `CLEAN_HOURS` sets the hours of virtual time, `CLEAN_SEED` the random seed.

use super::world::{Oscillator, Stretch};
use super::*;
use std::io::Write;
use std::vec::Vec;

/// The largest error of a latched pair in nanoseconds (A3).
const LATCH: f64 = 50.0;
const HOUR: i64 = 3_600 * SECOND;

/// A clock and how its cross timestamps are taken.
#[derive(Debug, Clone, Copy)]
struct Clock {
    name: &'static str,
    hertz: f64,
    tick: u64,
    every: i64,
    /// Cross timestamps per batch.
    burst: u32,
    /// The least delay each way, in nanoseconds; 0 for a latched pair.
    least: f64,
    /// As a fraction of the contract's wander.
    ramp: f64,
}

const PCIE: Clock = Clock {
    name: "PCIe, 1/s",
    hertz: 1e9,
    tick: 1,
    every: SECOND,
    burst: 5,
    least: 600.0,
    ramp: 0.1,
};
const LATCHED: Clock = Clock {
    name: "latched, 1/s",
    tick: 8,
    burst: 1,
    least: 0.0,
    ..PCIE
};

const CLOCKS: [Clock; 12] = [
    PCIE,
    Clock {
        name: "PCIe, 10/s",
        every: SECOND / 10,
        burst: 1,
        ..PCIE
    },
    Clock {
        name: "PCIe, every 8 s, at the limit",
        every: 8 * SECOND,
        ramp: 1.0,
        ..PCIE
    },
    Clock {
        name: "100 ns ticks, every 5 s",
        tick: 100,
        every: 5 * SECOND,
        ..PCIE
    },
    Clock {
        name: "200 ns ticks, 1/s",
        tick: 200,
        ..PCIE
    },
    Clock {
        name: "1 µs ticks, 1/s",
        tick: 1_000,
        ..PCIE
    },
    Clock {
        name: "10 µs ticks, 1/s",
        tick: 10_000,
        ..PCIE
    },
    Clock {
        name: "10 MHz, 40 µs brackets",
        hertz: 1e7,
        least: 20_000.0,
        ..PCIE
    },
    LATCHED,
    Clock {
        name: "latched, 1/s, at the limit",
        ramp: 1.0,
        ..LATCHED
    },
    Clock {
        name: "latched, 40 ns ticks, 4/s",
        tick: 40,
        every: SECOND / 4,
        ..LATCHED
    },
    Clock {
        name: "latched, 4096 ns ticks, every 8 s",
        tick: 4_096,
        every: 8 * SECOND,
        ..LATCHED
    },
];

/// The counts of a run.
#[derive(Debug, Default)]
struct Count {
    hours: u64,
    readings: u64,
    conversions: u64,
    outside: u64,
    refused: u64,
    false_generations: u64,
}

/// Pseudo-random numbers from 0 to 1 (xorshift).
#[derive(Debug)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        let mut chance = Self(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for _ in 0..16 {
            _ = chance.next();
        }
        chance
    }

    pub(super) fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A random delay: at least the minimum, usually a little more, rarely much more.
    pub(super) fn delay(&mut self, least: f64) -> i64 {
        let far = if self.next() < 0.02 {
            40.0 * least * self.next()
        } else {
            0.0
        };
        (least * (1.0 - 0.08 * (1.0 - self.next()).ln()) + far) as i64
    }
}

fn an_hour(clock: &Clock, chance: &mut Chance, count: &mut Count) {
    let stretches: Vec<Stretch> = core::iter::repeat_with(|| {
        let ramp = clock.ramp * (2.0 * chance.next() - 1.0).clamp(-0.7, 0.7) / 0.7;
        Stretch {
            seconds: 5.0 + 115.0 * chance.next(),
            ramp,
            kink: 0.0,
        }
    })
    .take(180)
    .collect();
    let oscillator = Oscillator::new(
        clock.hertz,
        clock.tick,
        200.0 * (chance.next() - 0.5),
        &stretches,
    );
    let mut correlation = Correlation::new(interface(), Frequency::from_hertz(clock.hertz as u64));
    let (mut time, mut first) = (SECOND, true);
    let bias = LATCH * 0.6 * (2.0 * chance.next() - 1.0);
    while time < HOUR {
        for _ in 0..clock.burst {
            let (reading, end) = read(clock, &oscillator, time, bias, chance);
            let opened = matches!(correlation.push(&reading), Pushed::Opened(_));
            count.false_generations += u64::from(opened && !first);
            (count.readings, first, time) = (count.readings + 1, false, end);
        }
        let made = time + (clock.every as f64 * chance.next()) as i64;
        count.conversions += 1;
        match correlation.to_monotonic(&oscillator.timestamp(made, made + 1_000)) {
            Ok(estimate) => {
                count.outside +=
                    u64::from((estimate.at.value - at(made)).abs() > estimate.at.bound);
            }
            Err(_) => count.refused += 1,
        }
        time += (clock.every as f64 * (0.999 + 0.002 * chance.next())) as i64;
    }
    count.hours += 1;
}

/// A cross timestamp begun at `time`, and the earliest begin of the next one. `bias` is the error
/// of a latched pair.
fn read(
    clock: &Clock,
    oscillator: &Oscillator,
    time: i64,
    bias: f64,
    chance: &mut Chance,
) -> (CrossTimestamp, i64) {
    if clock.least > 0.0 {
        let latched = time + chance.delay(clock.least);
        let after = latched + chance.delay(clock.least);
        let reading = CrossTimestamp::new(
            at(time),
            oscillator.ticks(latched),
            at(after),
            CrossMethod::Extended,
        );
        return (reading.expect("valid"), after + 200);
    }
    let off = bias + LATCH * 0.39 * (2.0 * chance.next() - 1.0);
    let ticks = oscillator.ticks(time);
    let said = at(time + off as i64);
    let reading = CrossTimestamp::new(said, ticks, said, CrossMethod::Precise);
    (reading.expect("valid"), time + 5_000)
}

fn number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable)
        .ok()
        .and_then(|value| value.parse().ok())
        .unwrap_or(usual)
}

#[test]
fn clean_hours_begin_no_generation() {
    let (hours, seed) = (number("CLEAN_HOURS", 24), number("CLEAN_SEED", 1));
    let mut out = std::io::stdout().lock();
    let mut all = Count::default();
    for (place, clock) in CLOCKS.iter().enumerate() {
        let mut count = Count::default();
        let mut chance = Chance::new(seed.wrapping_mul(1_000).wrapping_add(place as u64));
        for _ in 0..hours.div_ceil(CLOCKS.len() as u64) {
            an_hour(clock, &mut chance, &mut count);
        }
        if hours >= 1_000 {
            writeln!(out, "{:34} {count:?}", clock.name).expect("standard output");
        }
        all.hours += count.hours;
        all.readings += count.readings;
        all.conversions += count.conversions;
        all.outside += count.outside;
        all.refused += count.refused;
        all.false_generations += count.false_generations;
    }
    writeln!(out, "clean hours, seed {seed}: {all:?}").expect("standard output");
    assert_eq!((all.outside, all.refused, all.false_generations), (0, 0, 0));
}
