//! Pairs of runs of both hosts' clocks: within one, the difference of two times is a delay, as far as the clocks agree. Nothing is said
//! of a run by its number in the other file: each host counts its own.
//!
//! Both captures may be of one host, and then of one clock: packets that are under way while it is stepped lie in different runs of it,
//! and their difference is no delay. From the files alone that looks like two clocks of which one is stepped soon after the other.
//! Packets in a pair of runs so short that all can have been under way at one time have no delay.

use super::Seen;
use crate::run::ClockRun;
use std::collections::HashMap;
use std::ops::RangeInclusive;

/// The number of pairs of runs; packets of further pairs have no delay.
const MOST: usize = 4_096;
/// A packet takes no longer than so many times the longest delay of the pair of runs that has most packets.
const LONGER: u64 = 8;
/// And no longer than this, unless one clock's step began the pair of runs and the other's ended it.
const LONGEST_WAY: u64 = 1_000_000_000;

/// A run of a file's clock: its section, and its name there. `None`: the first.
pub(super) type Run = Option<(u32, ClockRun)>;

/// The pairs of runs.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    numbers: HashMap<[Run; 2], u32>,
    all: Vec<Pair>,
}

#[derive(Debug)]
struct Pair {
    runs: [Run; 2],
    /// How many steps there were before, in each file.
    steps: [u32; 2],
    count: u64,
    /// From when until when there are packets, by each clock.
    during: [RangeInclusive<i64>; 2],
    longest_delay: u64,
}

/// Which pairs of runs have delays.
#[derive(Debug)]
pub(super) struct Verdict(Vec<Option<[u32; 2]>>);

impl Pairs {
    /// A packet was found in both captures, at these times. Returns the number of its pair of runs.
    pub(super) fn note(&mut self, a: &Seen, b: &Seen, at: [i64; 2]) -> Option<u32> {
        let runs = [a.run, b.run];
        let number = match self.numbers.get(&runs) {
            Some(known) => *known,
            None if self.all.len() == MOST => return None,
            None => {
                let number = self.all.len() as u32;
                self.numbers.insert(runs, number);
                self.all.push(Pair {
                    runs,
                    steps: [a.steps_before, b.steps_before],
                    count: 0,
                    during: at.map(|at| at..=at),
                    longest_delay: 0,
                });
                number
            }
        };
        let pair = &mut self.all[number as usize];
        pair.count += 1;
        pair.longest_delay = pair.longest_delay.max(at[0].abs_diff(at[1]));
        for (during, at) in pair.during.iter_mut().zip(at) {
            *during = at.min(*during.start())..=at.max(*during.end());
        }
        Some(number)
    }

    /// Says which have delays. `window_ns`: no packet is under way for longer.
    pub(super) fn verdict(&self, window_ns: i64) -> Verdict {
        let most = self.all.iter().max_by_key(|pair| pair.count);
        let window = window_ns.unsigned_abs();
        let usual = most.map_or(0, |pair| pair.longest_delay.saturating_mul(LONGER));
        let of = |pair: &Pair| {
            let shares = |side: usize| {
                let is_another = |other: &Pair| other.runs[1 - side] != pair.runs[1 - side];
                let mut all = self.all.iter();
                all.any(|other| other.runs[side] == pair.runs[side] && is_another(other))
            };
            // one clock's step began it, and the other's ended it
            let is_between = shares(0) && shares(1);
            let under_way = if is_between {
                window
            } else {
                usual.min(LONGEST_WAY).min(window)
            };
            let is_most = most.is_some_and(|most| most.runs == pair.runs);
            (is_most || pair.lasted() > under_way).then_some(pair.steps)
        };
        Verdict(self.all.iter().map(of).collect())
    }
}

impl Pair {
    fn lasted(&self) -> u64 {
        let lasted = self
            .during
            .each_ref()
            .map(|during| during.end().abs_diff(*during.start()));
        lasted[0].max(lasted[1])
    }
}

impl Verdict {
    /// How many steps there were before in each file, if the pair of runs has delays.
    pub(super) fn of(&self, number: u32) -> Option<[u32; 2]> {
        self.0.get(number as usize).copied().flatten()
    }
}
