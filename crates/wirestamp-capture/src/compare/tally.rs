//! The counts of each flow while two captures are read.

use super::pairs::{Pairs, Verdict};
use super::{Seen, Side};
use crate::frames::Frames;
use crate::packet::Flow;
use crate::spread::Spread;
use std::collections::HashMap;
use wirestamp_core::capture::CapturedDirection;

/// So many flows have counts of their own; packets of others are counted together.
pub(super) const MOST_FLOWS: usize = 1_024;
/// Delays of a flow are summed up for so many pairs of runs.
const MOST_PAIRS: usize = 16;
/// Of these, so many of all flows together are beside each flow's first: the histogram of one takes 59 kB, and files are anybody's.
const MOST_FURTHER_PAIRS: usize = 1_024;

/// The flows.
#[derive(Debug)]
pub(super) struct Tallies {
    numbers: HashMap<Flow, u32>,
    frames: HashMap<Frames, u32>,
    all: Vec<Tally>,
    pairs: Pairs,
    /// How many pairs of runs have delays beside each flow's first.
    further: usize,
}

/// The counts of a flow, as A calls it.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// `None`: of all flows that have none of their own.
    pub(super) flow: Option<Flow>,
    /// Instead of a flow.
    pub(super) frames: Option<Frames>,
    pub(super) matched: u64,
    /// Of these, those that look like others, so that it is unknown which one is which.
    pub(super) ambiguous: u64,
    /// In one capture only.
    pub(super) alone: [u64; 2],
    /// Likewise, of packets whose like was found for another one.
    pub(super) surplus: [u64; 2],
    /// Of both of these, fragments, and UDP datagrams and tunnels' packets that are longer than an Ethernet frame.
    pub(super) fragments: [u64; 2],
    pub(super) long: [u64; 2],
    /// And those that may have other packets in them.
    pub(super) carriers: [u64; 2],
    /// And how long whole datagrams of UDP were that are among them.
    pub(super) lengths: [Lengths; 2],
    /// TCP segments whose bytes the other capture has in segments that are cut otherwise, and the length of the longest.
    pub(super) resegmented: [u64; 2],
    pub(super) longest: [u32; 2],
    /// Packets that the other capture may have.
    pub(super) undecided: [u64; 2],
    /// Packets that could not be compared, but for those that may be of any flow.
    pub(super) unusable: [u64; 2],
    /// Of the matched ones, those of which one has no time.
    pub(super) without_time: u64,
    /// Of the matched ones, those between whose times a clock was stepped.
    pub(super) across_step: u64,
    /// At times at which the other capture was not made.
    pub(super) outside: u64,
    /// Overtaken in the order of that capture.
    pub(super) overtaken: [u64; 2],
    /// The latest place of the other capture that was seen.
    furthest: [u64; 2],
    /// B's time minus A's, for each pair of runs of the clocks.
    pub(super) delays: Vec<(u32, Spread)>,
    /// Packets that A, and B, received and sent, copies included.
    ways: [[u64; 2]; 2],
}

/// How long datagrams are.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lengths {
    pub(super) count: u64,
    pub(super) shortest: u32,
    pub(super) longest: u32,
}

impl Lengths {
    fn note(&mut self, length: u32) {
        let is_first = self.count == 0;
        self.shortest = if is_first {
            length
        } else {
            length.min(self.shortest)
        };
        self.longest = length.max(self.longest);
        self.count += 1;
    }

    /// How many of these can be others, joined; parts of each may be lost.
    pub(super) fn joined(&self, others: &Self) -> u64 {
        let is_longer = others.count > 0 && self.longest > others.shortest;
        if is_longer {
            self.count.min(others.count)
        } else {
            0
        }
    }
}

impl Default for Tallies {
    fn default() -> Self {
        Self {
            numbers: HashMap::new(),
            frames: HashMap::new(),
            all: vec![Tally::default()], // 0: the others
            pairs: Pairs::default(),
            further: 0,
        }
    }
}

impl Tallies {
    /// The number of a flow.
    pub(super) fn of(&mut self, flow: Flow) -> u32 {
        if let Some(known) = self.numbers.get(&flow) {
            return *known;
        }
        if self.all.len() > MOST_FLOWS {
            return 0;
        }
        let number = self.all.len() as u32;
        self.all.push(Tally {
            flow: Some(flow),
            ..Tally::default()
        });
        self.numbers.insert(flow, number);
        number
    }

    /// The number of frames without IP; `None` if there are too many others to count these apart.
    pub(super) fn of_frames(&mut self, frames: Frames) -> Option<u32> {
        if let Some(known) = self.frames.get(&frames) {
            return Some(*known);
        }
        if self.all.len() > MOST_FLOWS {
            return None;
        }
        let number = self.all.len() as u32;
        self.all.push(Tally {
            frames: Some(frames),
            ..Tally::default()
        });
        self.frames.insert(frames, number);
        Some(number)
    }

    pub(super) fn get(&mut self, flow: u32) -> &mut Tally {
        &mut self.all[flow as usize]
    }

    /// A capture has a packet, or a copy of one, and perhaps its direction.
    pub(super) fn passed(&mut self, flow: u32, side: Side, way: Option<CapturedDirection>) {
        let ways = &mut self.get(flow).ways[side as usize];
        match way {
            Some(CapturedDirection::Received) => ways[0] += 1,
            Some(CapturedDirection::Sent) => ways[1] += 1,
            _ => {}
        }
    }

    /// A packet was found in both. `completed`: in which it was found later; `None`: it may be another one that looks the same, so that
    /// its delay is not known.
    pub(super) fn paired(&mut self, flow: u32, a: &Seen, b: &Seen, completed: Option<Side>) {
        let tally = &mut self.all[flow as usize];
        tally.matched += 1;
        let Some(completed) = completed else {
            tally.ambiguous += 1;
            return;
        };
        let Some((at_a, at_b)) = a.utc_ns.zip(b.utc_ns) else {
            tally.without_time += 1;
            return;
        };
        let pair = self.pairs.note(a, b, [at_a, at_b]);
        let bound = a.bound_ns.zip(b.bound_ns);
        let bound = bound.map(|(a, b)| a.saturating_add(b));
        let is_told = pair.is_some_and(|pair| {
            tally.took(pair, at_b.saturating_sub(at_a), bound, &mut self.further)
        });
        tally.across_step += u64::from(!is_told);
        let other = if completed == Side::B {
            a.place
        } else {
            b.place
        };
        let furthest = &mut tally.furthest[completed as usize];
        if other < *furthest {
            tally.overtaken[completed as usize] += 1;
        } else {
            *furthest = other;
        }
    }

    /// The flows, and which pairs of runs have delays.
    pub(super) fn into_all(self, window_ns: i64) -> (Vec<Tally>, Verdict) {
        let verdict = self.pairs.verdict(window_ns);
        (self.all, verdict)
    }
}

impl Tally {
    /// A packet took so long, in this pair of runs. `false`: there are too many of them, of this flow or (`further`) of all.
    fn took(
        &mut self,
        pair: u32,
        nanoseconds: i64,
        bound: Option<u64>,
        further: &mut usize,
    ) -> bool {
        let known = self.delays.iter_mut().find(|(known, _)| *known == pair);
        if let Some((_, delay)) = known {
            delay.record(nanoseconds, bound);
            return true;
        }
        let is_first = self.delays.is_empty();
        if !is_first && (self.delays.len() == MOST_PAIRS || *further == MOST_FURTHER_PAIRS) {
            return false;
        }
        *further += usize::from(!is_first);
        let mut delay = Spread::default();
        delay.record(nanoseconds, bound);
        self.delays.push((pair, delay));
        true
    }

    /// Whether frames that are in one capture only may never have come to the other, or there with other bytes.
    pub(super) fn are_never_lost(&self) -> bool {
        let is_never =
            |frames: Frames| frames.are_altered() || frames.are_link_local() && self.matched == 0;
        self.frames.is_some_and(is_never)
    }

    /// Returns which way the flow goes by the directions in the captures: positive from A to B. A host that forwards its packets both
    /// receives and sends them, which says nothing.
    pub(super) fn votes(&self) -> i64 {
        let of = |side: Side| {
            let [received, sent] = self.ways[side as usize];
            let is_forwarding = received.min(sent) > received.max(sent) / 16;
            if is_forwarding {
                0
            } else {
                sent as i64 - received as i64
            }
        };
        of(Side::A) - of(Side::B)
    }

    /// A packet has no like. `paired`: but others that look the same have.
    pub(super) fn unmatched(&mut self, seen: &Seen, paired: bool) {
        let side = seen.side as usize;
        let counts = if paired {
            &mut self.surplus
        } else {
            &mut self.alone
        };
        counts[side] += 1;
        self.fragments[side] += u64::from(seen.is_fragment);
        self.long[side] += u64::from(seen.is_long);
        self.carriers[side] += u64::from(seen.may_carry);
        if let Some(length) = seen.datagram {
            self.lengths[side].note(length);
        }
    }

    /// The other capture has the bytes of a TCP segment, of this length, in others.
    pub(super) fn resegmented(&mut self, side: Side, length: u32) {
        let side = side as usize;
        self.resegmented[side] += 1;
        self.longest[side] = self.longest[side].max(length);
    }

    pub(super) fn without_like(&self, side: Side) -> u64 {
        self.alone[side as usize] + self.surplus[side as usize]
    }

    pub(super) fn packets(&self, side: Side) -> u64 {
        let place = side as usize;
        self.matched + self.without_like(side) + self.resegmented[place] + self.undecided[place]
    }
}

#[cfg(test)]
mod tests {
    use super::super::Place;
    use super::*;
    use crate::run::ClockRun;
    use std::net::Ipv4Addr;

    fn seen(side: Side, run: u32) -> Seen {
        Seen {
            side,
            line_ns: 0,
            steps: 0,
            utc_ns: Some(0),
            bound_ns: None,
            run: Some((
                0,
                ClockRun {
                    generation: run,
                    ..ClockRun::FIRST
                },
            )),
            steps_before: run,
            place: 0,
            flow: 0,
            bytes: Place::Whole,
            is_again: false,
            may_be_copy: false,
            is_fragment: false,
            is_long: false,
            may_carry: false,
            datagram: None,
        }
    }

    #[test]
    fn files_of_many_flows_and_runs_have_no_more_delays_than_memory_is_for() {
        let mut tallies = Tallies::default();
        let runs = MOST_PAIRS as u32 + 1;
        let flows = MOST_FLOWS as u16 + 1;
        for port in 0..flows {
            let number = tallies.of(Flow {
                source: Ipv4Addr::LOCALHOST.into(),
                destination: Ipv4Addr::LOCALHOST.into(),
                protocol: 17,
                source_port: port,
                destination_port: 9,
            });
            for run in 0..runs {
                let [a, b] = [Side::A, Side::B].map(|side| seen(side, run));
                tallies.paired(number, &a, &b, Some(Side::B));
            }
        }
        let (all, _) = tallies.into_all(1);
        assert_eq!(all.len(), MOST_FLOWS + 1);
        assert!(all.iter().all(|tally| !tally.delays.is_empty()));
        assert!(all.iter().all(|tally| tally.delays.len() <= MOST_PAIRS));
        let delays: usize = all.iter().map(|tally| tally.delays.len()).sum();
        assert_eq!(delays, MOST_FLOWS + 1 + MOST_FURTHER_PAIRS);
        let withheld: u64 = all.iter().map(|tally| tally.across_step).sum();
        assert_eq!(withheld + delays as u64, u64::from(flows) * u64::from(runs));
    }
}
