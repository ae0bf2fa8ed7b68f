//! Rate limits: a token bucket, and one for each of many senders in fixed memory.

use crate::message::PortIdentity;
use wirestamp::{MonotonicTime, Span};

/// A token bucket: limits the rate and the burst of messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bucket {
    burst: u32,
    /// The time per message.
    each: Span,
    /// When the bucket is, or was, full again; each message moves it by `each`.
    full_at: MonotonicTime,
}

impl Bucket {
    pub(crate) fn new(per_second: u32, burst: u32) -> Self {
        let each = Span::from_nanoseconds(1_000_000_000 / i128::from(per_second));
        Self {
            burst,
            each,
            full_at: MonotonicTime::MIN,
        }
    }

    pub(crate) fn has_room(&self, now: MonotonicTime) -> bool {
        let missing = (self.full_at - now).nanoseconds();
        missing <= self.each.nanoseconds() * i128::from(self.burst - 1)
    }

    pub(crate) fn take(&mut self, now: MonotonicTime) {
        self.full_at = self.full_at.max(now) + self.each;
    }
}

/// The number of entries. Senders with the same entry, which the seed determines, share its limit.
const PLACES: usize = 64;

/// A limit for each sender and one for all, in fixed memory.
#[derive(Debug)]
pub(crate) struct PerSource {
    all: Bucket,
    each: Vec<Bucket>,
    seed: u64,
}

impl PerSource {
    pub(crate) fn new(all: Bucket, each: Bucket, seed: u64) -> Self {
        Self {
            all,
            each: vec![each; PLACES],
            seed,
        }
    }

    /// Returns whether to pass another message of this sender.
    pub(crate) fn admits(&mut self, source: PortIdentity, now: MonotonicTime) -> bool {
        let place = self.place(source);
        let admitted = self.each[place].has_room(now) && self.all.has_room(now);
        if admitted {
            self.each[place].take(now);
            self.all.take(now);
        }
        admitted
    }

    fn place(&self, source: PortIdentity) -> usize {
        // FNV-1a from a secret start value
        let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ self.seed;
        for byte in source.clock.into_iter().chain(source.port.to_be_bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        // mixes the last octets into all bits
        hash = (hash ^ hash >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        (hash >> 32) as usize % PLACES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: i64) -> MonotonicTime {
        MonotonicTime::from_nanoseconds(milliseconds * 1_000_000)
    }

    #[test]
    fn a_burst_and_then_a_rate() {
        let mut bucket = Bucket::new(100, 5);
        let mut admitted = |milliseconds| {
            let room = bucket.has_room(at(milliseconds));
            if room {
                bucket.take(at(milliseconds));
            }
            room
        };
        assert_eq!((0..100).filter(|_| admitted(1_000)).count(), 5);
        assert_eq!(
            (1..=1_000)
                .filter(|millisecond| admitted(1_000 + millisecond))
                .count(),
            100
        );
        assert_eq!(
            (0..100).filter(|_| admitted(60_000)).count(),
            5,
            "rest earns one burst and no more"
        );
    }

    #[test]
    fn one_sender_does_not_use_up_what_is_there_for_all() {
        let mut limit = PerSource::new(Bucket::new(1_000, 100), Bucket::new(100, 10), 7);
        let source = |port| PortIdentity {
            clock: [9; 8],
            port,
        };
        assert_eq!(
            (0..1_000)
                .filter(|_| limit.admits(source(1), at(0)))
                .count(),
            10
        );
        assert!(limit.admits(source(2), at(0)), "another one is still heard");
        let flood = (0..10_000)
            .filter(|number| limit.admits(source(*number), at(0)))
            .count();
        assert!(flood <= 90, "{flood}");
    }
}
