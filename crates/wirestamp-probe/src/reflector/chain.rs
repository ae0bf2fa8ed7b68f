//! Termination of chains of packets that answer each other, regardless of their contents.
//!
//! A sender numbers its packets consecutively. A program that answers ours does not, unless it is a
//! reflector, whose replies are recognised by their contents. An address and port therefore gets
//! [`REPLIES`] replies to packets that do not continue a count, and two more for each packet that
//! does. After that, one in [`ONE_IN`] of the packets that do not continue a count is left
//! unanswered, at random, until the address is silent for [`SILENCE`] or continues a count.
//!
//! One unanswered packet ends a chain, and the attacker must forge the next one. A sender whose
//! address is forged is not silenced: on average at most one in [`ONE_IN`] of its packets is not
//! answered, whatever the numbers of the forged packets. The replies reveal nothing about the next
//! packet.

use super::Dropped;
use super::sessions::SessionKey;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use wirestamp_core::time::{MonotonicTime, Span};

/// The number of replies to an address and port without a count, before any is left out.
pub(super) const REPLIES: u8 = 32;
/// After that, one in this many packets is not answered.
const ONE_IN: u64 = 8;
const SILENCE: Span = Span::from_seconds(60);
/// The largest gap to a sender's next number: more packets in a row are not lost.
const AHEAD: u32 = 1 << 16;
/// The most addresses and ports in doubt at a time. For all others, one in [`ONE_IN`] of the
/// packets that do not continue a count is not answered.
const PEERS: usize = 1 << 16;
/// The interval between searches for silent addresses.
const SWEEP: Span = Span::from_seconds(1);
/// The number of entries for counts of senders without a session. An entry has two counts.
const STRAYS: usize = 1 << 14;

/// The newest numbers of two counts, the last continued one first. A single out-of-order packet
/// does not end a count; several forged ones do.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts([Option<u32>; 2]);

impl Counts {
    /// Notes a number, and returns whether it continues a count.
    fn continues(&mut self, number: u32) -> bool {
        let is_next = |newest: &Option<u32>| {
            newest.is_some_and(|newest| (1..=AHEAD).contains(&number.wrapping_sub(newest)))
        };
        let found = self.0.iter().position(is_next);
        // an address without a count does not displace one with a count
        match found {
            Some(place) => {
                self.0.swap(0, place);
                self.0[0] = Some(number);
            }
            None => self.0[1] = Some(number),
        }
        found.is_some()
    }
}

#[derive(Debug, Clone, Copy)]
struct Doubt {
    replies: u8,
    heard: MonotonicTime,
    /// The counts over all its packets, because TWAMP Light's padding looks like another session
    /// each time.
    counts: Counts,
}

/// The addresses in doubt, in tables of fixed size.
#[derive(Debug)]
pub(super) struct Chains {
    doubts: HashMap<SocketAddr, Doubt>,
    swept: Option<MonotonicTime>,
    strays: Vec<Counts>,
    hasher: RandomState,
    /// The number of random numbers drawn.
    drawn: u64,
}

impl Chains {
    pub(super) fn new() -> Self {
        Self {
            doubts: HashMap::new(),
            swept: None,
            strays: vec![Counts::default(); STRAYS],
            hasher: RandomState::new(),
            drawn: 0,
        }
    }

    /// Whether a packet with this number may be answered. `counts` is that of its session, if it
    /// has one.
    pub(super) fn check(
        &mut self,
        key: &SessionKey,
        counts: Option<&mut Counts>,
        number: u32,
        now: MonotonicTime,
    ) -> Result<(), Dropped> {
        let counts = counts.unwrap_or_else(|| {
            let place = self.hasher.hash_one(key) as usize % STRAYS;
            &mut self.strays[place]
        });
        if counts.continues(number) {
            self.trust(key.source());
            return Ok(());
        }
        self.doubt(key.source(), number, now)
    }

    /// Returns replies to the budget, more than one, because only every second of reordered packets
    /// continues a count.
    fn trust(&mut self, source: SocketAddr) {
        if let Entry::Occupied(mut doubt) = self.doubts.entry(source) {
            if doubt.get().replies <= 2 {
                doubt.remove();
            } else {
                doubt.get_mut().replies -= 2;
            }
        }
    }

    fn doubt(
        &mut self,
        source: SocketAddr,
        number: u32,
        now: MonotonicTime,
    ) -> Result<(), Dropped> {
        if self.doubts.len() >= PEERS && !self.doubts.contains_key(&source) {
            self.sweep(now);
            if self.doubts.len() >= PEERS {
                // there is no room to remember it, and no need to
                return if self.is_chosen() {
                    Err(Dropped::SessionsFull)
                } else {
                    Ok(())
                };
            }
        }
        let is_chosen = self.is_chosen();
        let fresh = Doubt {
            replies: 0,
            heard: now,
            counts: Counts::default(),
        };
        let doubt = self.doubts.entry(source).or_insert(fresh);
        if now - doubt.heard >= SILENCE {
            *doubt = fresh;
        }
        doubt.heard = now;
        if doubt.counts.continues(number) {
            doubt.replies = doubt.replies.saturating_sub(2);
            return Ok(());
        }
        if doubt.replies < REPLIES {
            doubt.replies += 1;
            return Ok(());
        }
        if is_chosen {
            Err(Dropped::Loop)
        } else {
            Ok(())
        }
    }

    /// Chooses one in [`ONE_IN`] at random.
    fn is_chosen(&mut self) -> bool {
        self.drawn = self.drawn.wrapping_add(1);
        self.hasher.hash_one(self.drawn).is_multiple_of(ONE_IN)
    }

    fn sweep(&mut self, now: MonotonicTime) {
        if self.swept.is_none_or(|swept| now - swept >= SWEEP) {
            self.swept = Some(now);
            self.doubts.retain(|_, doubt| now - doubt.heard < SILENCE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    /// While the table is full, other senders lose one packet in eight, and their chains still end.
    #[test]
    fn without_a_place_in_the_table_a_chain_ends_and_a_sender_is_answered() {
        let mut chains = Chains::new();
        let source = |number: u32| SocketAddr::from((Ipv4Addr::from(number), 50_000));
        let now = MonotonicTime::from_nanoseconds(0);
        let mut answers = |number: u32, packets: usize| {
            let answered = (0..packets).filter(|_| chains.doubt(source(number), 5, now).is_ok());
            answered.count()
        };
        for number in 0..PEERS as u32 {
            assert_eq!(answers(number, 1), 1);
        }
        // an eighth is 1,000; 1,200 or more occur by chance once in a billion runs
        let of = |packets: usize| 8_000 - packets;
        let unanswered = [
            of(answers(u32::MAX, 8_000)),
            of(answers(7, 31 + 8_000) - 31),
        ];
        let is_eighth = |count: &usize| (800..1_200).contains(count);
        assert!(unanswered.iter().all(is_eighth), "{unanswered:?}");
    }
}
