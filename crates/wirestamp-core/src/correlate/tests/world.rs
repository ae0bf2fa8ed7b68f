//! A counter whose relation to the system clock is known exactly, and how it is read.

use super::{HardwareTicks, at, interface};
use crate::cross::{CrossMethod, CrossTimestamp};
use crate::timestamp::HardwareTimestamp;
use std::vec::Vec;

/// The contract's wander, a fraction per second.
pub(super) const WANDER: f64 = 3e-8;

/// A period in which the frequency changes linearly.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    pub(super) seconds: f64,
    /// A fraction of [`WANDER`].
    pub(super) ramp: f64,
    /// The change of the frequency at its start, in parts per million.
    pub(super) kink: f64,
}

/// A counter whose relation to the system clock is known exactly.
#[derive(Debug, Clone)]
pub(super) struct Oscillator {
    pub(super) hertz: f64,
    pub(super) tick: u64,
    /// The start of each period: seconds, nanoseconds ahead, frequency offset.
    starts: Vec<(f64, f64, f64, f64)>,
}

impl Oscillator {
    pub(super) fn new(hertz: f64, tick: u64, ppm: f64, stretches: &[Stretch]) -> Self {
        let (mut at, mut ahead, mut offset) = (0.0, 0.0, ppm * 1e-6);
        let mut starts = Vec::new();
        for stretch in stretches {
            offset += stretch.kink * 1e-6;
            let ramp = stretch.ramp * WANDER;
            starts.push((at, ahead, offset, ramp));
            let seconds = stretch.seconds;
            ahead += (offset * seconds + ramp * seconds * seconds / 2.0) * 1e9;
            offset += ramp * seconds;
            at += seconds;
        }
        Self {
            hertz,
            tick,
            starts,
        }
    }

    pub(super) fn ticks(&self, time: i64) -> HardwareTicks {
        let seconds = time as f64 / 1e9;
        let place = self
            .starts
            .partition_point(|start| start.0 <= seconds)
            .saturating_sub(1);
        let (at, ahead, offset, ramp) = self.starts[place];
        let since = seconds - at;
        let ahead = ahead + (offset * since + ramp * since * since / 2.0) * 1e9;
        // integer and fraction are separate: an f64 does not hold their sum to the nanosecond
        let whole = ahead.floor();
        let nanoseconds = (time + whole as i64) as f64;
        let count = if (self.hertz - 1e9).abs() < 0.5 {
            time + whole as i64
        } else {
            ((nanoseconds + ahead - whole) * self.hertz / 1e9) as i64
        };
        let count = count as u64;
        HardwareTicks::new(1_000_000 + count - count % self.tick)
    }

    pub(super) fn timestamp(&self, made: i64, read_at: i64) -> HardwareTimestamp {
        HardwareTimestamp {
            ticks: self.ticks(made),
            interface: Some(interface()),
            read_at: at(read_at),
        }
    }
}

/// A batch: the time since the previous one, and the delays before and after the latch of each of
/// its cross timestamps.
#[derive(Debug, Clone)]
pub(super) struct Batch {
    pub(super) pause: i64,
    pub(super) delays: Vec<(i64, i64)>,
}

/// The time between two cross timestamps of a batch, in nanoseconds.
const NEXT: i64 = 200;

impl Batch {
    /// The batch's cross timestamps, of which the first begins at `start`.
    pub(super) fn readings(
        &self,
        oscillator: &Oscillator,
        start: i64,
    ) -> impl Iterator<Item = CrossTimestamp> {
        let mut time = start;
        self.delays.iter().map(move |(ask, answer)| {
            let (before, latched, after) = (time, time + ask, time + ask + answer);
            time = after + NEXT;
            let ticks = oscillator.ticks(latched);
            CrossTimestamp::new(at(before), ticks, at(after), CrossMethod::Extended).expect("valid")
        })
    }

    /// The end of the last one.
    pub(super) fn end(&self, start: i64) -> i64 {
        start
            + self
                .delays
                .iter()
                .map(|(ask, answer)| ask + answer + NEXT)
                .sum::<i64>()
    }
}
