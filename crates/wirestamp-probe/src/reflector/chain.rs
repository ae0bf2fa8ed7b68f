//! Ends chains of packets that answer each other, whatever their contents.
//!
//! A sender counts its packets. A program that answers ours does not, unless it is a reflector, whose replies are known by their contents.
//! So an address and port gets [`REPLIES`] to packets that continue no count, and two more for each packet that does. Then one in
//! [`ONE_IN`] of those that continue none is not answered, at random, until the address is silent for [`SILENCE`] or counts.
//!
//! One unanswered packet ends a chain, so the next packet must be forged again. It silences no sender whose address somebody forges:
//! whatever the numbers of the forged packets are, one in [`ONE_IN`] of the sender's own goes unanswered at most, on average. An observer
//! of the replies learns nothing about the next packet.

use super::Dropped;
use super::sessions::SessionKey;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use wirestamp_core::time::{MonotonicTime, Span};

/// Replies to one address and port whose packets continue no count, before any is left out.
pub(super) const REPLIES: u8 = 32;
/// Then one of so many gets none.
const ONE_IN: u64 = 8;
const SILENCE: Span = Span::from_seconds(60);
/// A sender's next number is ahead by so much, at most: more packets in a row are not lost.
const AHEAD: u32 = 1 << 16;
/// So many addresses and ports are in doubt at a time. Of packets of others that continue no count, one in [`ONE_IN`] is not answered.
const PEERS: usize = 1 << 16;
/// How often silent ones are looked for.
const SWEEP: Span = Span::from_seconds(1);
/// Counts of senders without a session. A place holds two.
const STRAYS: usize = 1 << 14;

/// The newest numbers of two counts, the one that continued last first. One packet of no order does not end a count; who forges several does.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts([Option<u32>; 2]);

impl Counts {
    /// Whether a number continues a count.
    fn continues(&mut self, number: u32) -> bool {
        let is_next = |newest: &Option<u32>| {
            newest.is_some_and(|newest| (1..=AHEAD).contains(&number.wrapping_sub(newest)))
        };
        let found = self.0.iter().position(is_next);
        // an address that continues no count displaces none that did
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
    /// Of all its packets: TWAMP Light's padding looks like another session each time.
    counts: Counts,
}

/// Who is in doubt, in tables of fixed size.
#[derive(Debug)]
pub(super) struct Chains {
    doubts: HashMap<SocketAddr, Doubt>,
    swept: Option<MonotonicTime>,
    strays: Vec<Counts>,
    hasher: RandomState,
    /// Random numbers that were drawn.
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

    /// Whether a packet with this number may be answered. `counts`: its session's, if it has one.
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

    /// More than one reply is given back: of reordered packets every second one continues a count.
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
                // nothing can be remembered of it, nor need be
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

    /// Whether this is one in [`ONE_IN`].
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

    /// Who fills the table takes no more from others, and a chain of theirs ends all the same.
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
        // an eighth is 1,000; by chance 1,200 once in a billion
        let of = |packets: usize| 8_000 - packets;
        let unanswered = [
            of(answers(u32::MAX, 8_000)),
            of(answers(7, 31 + 8_000) - 31),
        ];
        let is_eighth = |count: &usize| (800..1_200).contains(count);
        assert!(unanswered.iter().all(is_eighth), "{unanswered:?}");
    }
}
