//! An attacker that sees packets and sends them again: truncated, reflected, changed, replayed.

use super::chance::Chance;
use super::run::Plan;

#[derive(Debug)]
pub(crate) struct Attacker {
    chance: Chance,
    active: bool,
    has_key: bool,
    kept: Vec<Vec<u8>>,
    pub(crate) injected: u64,
}

type Packets = Vec<(i64, Vec<u8>)>;

impl Attacker {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            chance: Chance::new(plan.seed ^ 0x5eed),
            active: plan.attacked,
            has_key: plan.key.is_some(),
            kept: Vec::new(),
            injected: 0,
        }
    }

    /// The request itself is returned, and a reply with a guessed T1.
    pub(crate) fn on_request(&mut self, now: i64, octets: &[u8]) -> Packets {
        if !self.active || !self.chance.happens(100) {
            return Vec::new();
        }
        let mut guessed = octets.to_vec();
        guessed[24..28].copy_from_slice(&octets[..4]);
        guessed[28..36].copy_from_slice(&octets[4..12]);
        guessed[35] ^= 0x10;
        guessed[36..38].copy_from_slice(&octets[12..14]);
        guessed[16..24].copy_from_slice(&octets[4..12]);
        let time = now + 1_500_000 + self.chance.below(3_000_000);
        self.counted(vec![(time, octets.to_vec()), (time + 1, guessed)])
    }

    /// A part of the reply, one with a changed bit, and an old one again, all before the true reply
    /// can arrive.
    pub(crate) fn on_reply(&mut self, now: i64, octets: &[u8]) -> Packets {
        if !self.active || !self.chance.happens(100) {
            return Vec::new();
        }
        let soon = now + 1_000_000;
        let base = if self.has_key { 112 } else { 44 };
        let mut packets = vec![(soon, octets[..self.chance.below(base) as usize].to_vec())];
        // without a key: in fields whose values the sender knows; with a key: anywhere in the base
        // packet
        let places: Vec<usize> = if self.has_key {
            (0..112).collect()
        } else {
            (24..38).chain([14, 15]).collect()
        };
        let mut changed = octets.to_vec();
        let place = places[self.chance.below(places.len() as i64) as usize];
        changed[place] ^= 1 << self.chance.below(8);
        packets.push((soon + 1, changed));
        if let Some(old) = self.kept.pop() {
            packets.push((soon + 2, old));
        }
        // replayed after the true one has certainly arrived
        self.kept.insert(0, octets.to_vec());
        if self.kept.len() < 30 {
            self.kept.push(octets[..0].to_vec());
        }
        self.counted(packets)
    }

    fn counted(&mut self, packets: Packets) -> Packets {
        self.injected += packets.len() as u64;
        packets
    }
}
