//! What happens to the packets of one direction: decided by seed, time and settings, without I/O.

use crate::direction::Direction;
use crate::event::Fate;
use crate::packet::Packet;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::VecDeque;
use std::time::Duration;

/// The state of one direction. Times count from the router's start.
#[derive(Debug)]
pub(crate) struct Treatment {
    direction: Direction,
    chance: SmallRng,
    /// When packets that wait for the limited rate, or pass it, have passed it.
    passing: VecDeque<Duration>,
    /// When the newest packet that keeps its place leaves.
    newest: Duration,
    number: u64,
}

/// What is to become of a packet.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Decision {
    /// Forward so many copies then.
    Forward {
        packet: Packet,
        at: Duration,
        copies: u32,
        is_late: bool,
    },
    Drop(Fate),
    /// Lose it as too large, and send this to who sent it.
    Refuse(Packet),
}

impl Treatment {
    pub(crate) fn new(direction: Direction, seed: u64) -> Self {
        Self {
            direction,
            chance: SmallRng::seed_from_u64(seed),
            passing: VecDeque::new(),
            newest: Duration::ZERO,
            number: 0,
        }
    }

    /// Treats packets otherwise from now on; chance and numbers go on.
    pub(crate) fn set(&mut self, direction: Direction) {
        self.direction = direction;
    }

    /// Decides about the next packet; also says its number.
    pub(crate) fn next(&mut self, now: Duration, mut packet: Packet) -> (u64, Decision) {
        let number = self.number;
        self.number += 1;
        // always as many draws: a packet's fate depends on its number, not on those before it
        let [lost, twice, late, jitter]: [f64; 4] = [(); 4].map(|()| self.chance.r#gen());
        let direction = self.direction;
        let size = packet.bytes().len();
        if !packet.hop() {
            return (number, Decision::Drop(Fate::HopsExceeded));
        }
        if direction.mtu.is_some_and(|mtu| size > mtu) {
            return (number, Decision::Drop(Fate::TooLarge));
        }
        if let Some(mtu) = direction.told_mtu
            && size > usize::from(mtu)
        {
            return (number, Decision::Refuse(packet.too_big(mtu)));
        }
        if lost < direction.loss {
            return (number, Decision::Drop(Fate::Lost));
        }
        let Some(passed) = self.pass(now, size) else {
            return (number, Decision::Drop(Fate::QueueFull));
        };
        let class = packet.traffic_class();
        let dscp = direction.dscp.unwrap_or(class >> 2);
        let marked = dscp << 2 | direction.ecn.unwrap_or(class & 3);
        if marked != class {
            packet.set_traffic_class(marked);
        }
        let at = passed + direction.delay + direction.jitter.mul_f64(jitter);
        let is_late = late < direction.reorder;
        let at = if is_late {
            at + direction.late
        } else {
            self.newest = self.newest.max(at);
            self.newest
        };
        let copies = if twice < direction.duplicate { 2 } else { 1 };
        (
            number,
            Decision::Forward {
                packet,
                at,
                copies,
                is_late,
            },
        )
    }

    /// When the packet has passed the limited rate; `None` if it finds no room to wait.
    fn pass(&mut self, now: Duration, size: usize) -> Option<Duration> {
        let Some(rate) = self.direction.rate else {
            return Some(now);
        };
        while self.passing.front().is_some_and(|passed| *passed <= now) {
            self.passing.pop_front();
        }
        // one of them is passing
        if self.passing.len() > self.direction.queue {
            return None;
        }
        let begins = self.passing.back().copied().unwrap_or(now).max(now);
        let nanoseconds = size as u128 * 8 * 1_000_000_000 / u128::from(rate);
        let passed = begins + Duration::from_nanos(u64::try_from(nanoseconds).ok()?);
        self.passing.push_back(passed);
        Some(passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn packet() -> Packet {
        let mut bytes = vec![0; 125];
        bytes[..9].copy_from_slice(&[0x45, 0x01, 0, 125, 0, 0, 0, 0, 64]);
        Packet::new(&bytes).expect("whole")
    }

    /// What becomes of packets that arrive a millisecond apart.
    fn run(direction: Direction, seed: u64, count: u32) -> Vec<Decision> {
        let mut treatment = Treatment::new(direction, seed);
        (0..count)
            .map(|index| treatment.next(index * MS, packet()).1)
            .collect()
    }

    fn leaves(decision: &Decision) -> Option<Duration> {
        match decision {
            Decision::Forward { at, .. } => Some(*at),
            Decision::Drop(_) | Decision::Refuse(_) => None,
        }
    }

    #[test]
    fn the_seed_decides_everything_and_loss_has_its_share() {
        let direction = Direction::new().loss(0.1).duplicate(0.2).jitter(MS);
        let first = run(direction, 5, 10_000);
        assert_eq!(first, run(direction, 5, 10_000));
        assert_ne!(first, run(direction, 6, 10_000));
        let lost = first
            .iter()
            .filter(|decision| **decision == Decision::Drop(Fate::Lost))
            .count();
        let twice = first
            .iter()
            .filter(|decision| matches!(decision, Decision::Forward { copies: 2, .. }))
            .count();
        // five standard deviations
        assert!((850..=1_150).contains(&lost), "{lost}");
        assert!((1_600..=2_000).contains(&twice), "{twice}");
    }

    #[test]
    fn a_packet_fares_the_same_whatever_else_is_switched_on() {
        let lost = |direction| {
            let fates = run(direction, 9, 1_000);
            fates
                .iter()
                .map(|fate| leaves(fate).is_none())
                .collect::<Vec<_>>()
        };
        let alone = lost(Direction::new().loss(0.3));
        assert_eq!(
            alone,
            lost(Direction::new().loss(0.3).reorder(0.5, MS).jitter(MS))
        );
    }

    #[test]
    fn delay_and_jitter_keep_the_order_and_late_packets_are_overtaken() {
        let direction = Direction::new().delay(3 * MS).jitter(5 * MS);
        let times: Vec<_> = run(direction, 1, 500).iter().filter_map(leaves).collect();
        assert!(times.is_sorted());
        for (index, time) in (0u32..).zip(&times) {
            assert!(*time >= (index + 3) * MS, "never early");
        }
        let times: Vec<_> = run(direction.reorder(0.1, 20 * MS), 1, 500)
            .iter()
            .filter_map(leaves)
            .collect();
        assert!(!times.is_sorted());
    }

    #[test]
    fn a_rate_spaces_packets_and_its_queue_ends() {
        // 125 bytes at 1 Mbit/s take 1 ms
        let mut treatment = Treatment::new(Direction::new().rate(1_000_000, 3), 1);
        let fates: Vec<_> = (0..6).map(|_| treatment.next(MS, packet()).1).collect();
        let times: Vec<_> = fates.iter().filter_map(leaves).collect();
        assert_eq!(
            times,
            [2 * MS, 3 * MS, 4 * MS, 5 * MS],
            "one passes, three wait"
        );
        assert_eq!(fates[5], Decision::Drop(Fate::QueueFull));
        assert_eq!(leaves(&treatment.next(10 * MS, packet()).1), Some(11 * MS));
    }

    #[test]
    fn marks_are_set_and_large_packets_lost() {
        let Decision::Forward { packet: marked, .. } = &run(Direction::new().dscp(46), 1, 1)[0]
        else {
            panic!("forwarded");
        };
        assert_eq!(marked.traffic_class(), 46 << 2 | 1, "ECN stays");
        assert_eq!(marked.bytes()[8], 63, "one hop");
        assert_eq!(
            run(Direction::new().mtu(124), 1, 1),
            [Decision::Drop(Fate::TooLarge)]
        );
        assert_ne!(
            run(Direction::new().mtu(125), 1, 1),
            [Decision::Drop(Fate::TooLarge)]
        );
    }
}
