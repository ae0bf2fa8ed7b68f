//! The rate limit of each source, in a table of fixed size.
//!
//! A source has a random entry in each of four rows, and is limited only if all four are used up. A
//! flooding source therefore slows down few others, however many sources there are.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use wirestamp_core::time::MonotonicTime;

const ROWS: usize = 4;
const PLACES: usize = 1 << 14;
/// The burst that a source may send at once, as nanoseconds of its rate.
const BURST: i64 = 100_000_000;

/// The time until which each entry's rate is used up.
#[derive(Debug)]
pub(super) struct Limiter {
    used_up: Vec<i64>,
    /// The interval between replies.
    interval: i64,
    hasher: RandomState,
}

impl Limiter {
    pub(super) fn new(rate: u32) -> Self {
        Self {
            used_up: vec![i64::MIN; ROWS * PLACES],
            interval: 1_000_000_000 / i64::from(rate.max(1)),
            hasher: RandomState::new(),
        }
    }

    /// Whether a source has used up its rate.
    pub(super) fn is_over(&self, source: IpAddr, now: MonotonicTime) -> bool {
        let now = now.nanoseconds();
        let latest = self.latest(now);
        let has_room = |place: usize| self.used_up[place].max(now) + self.interval <= latest;
        !self.places(source).into_iter().any(has_room)
    }

    /// Counts a reply to a source.
    pub(super) fn count(&mut self, source: IpAddr, now: MonotonicTime) {
        let now = now.nanoseconds();
        let latest = self.latest(now);
        for place in self.places(source) {
            let used_up = &mut self.used_up[place];
            *used_up = ((*used_up).max(now) + self.interval).min(latest);
        }
    }

    fn latest(&self, now: i64) -> i64 {
        now + BURST.max(self.interval)
    }

    fn places(&self, source: IpAddr) -> [usize; ROWS] {
        let hash = self.hasher.hash_one(prefix(source));
        std::array::from_fn(|row| row * PLACES + (hash >> (row * 14)) as usize % PLACES)
    }
}

/// The source of an address: for IPv6 its /64, because a host has 2⁶⁴ addresses.
pub(super) fn prefix(source: IpAddr) -> u64 {
    match source.to_canonical() {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => (u128::from(address) >> 64) as u64 | 1 << 63,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    impl Limiter {
        fn allows(&mut self, source: IpAddr, now: MonotonicTime) -> bool {
            let allowed = !self.is_over(source, now);
            if allowed {
                self.count(source, now);
            }
            allowed
        }
    }

    fn source(number: u32) -> IpAddr {
        Ipv4Addr::from(number).into()
    }

    fn at(milliseconds: i64) -> MonotonicTime {
        MonotonicTime::from_nanoseconds(milliseconds * 1_000_000)
    }

    #[test]
    fn a_source_gets_its_rate_and_a_burst() {
        let mut limiter = Limiter::new(100);
        let mut allowed = 0;
        for millisecond in 0..10_000 {
            for _ in 0..5 {
                allowed += u32::from(limiter.allows(source(1), at(millisecond)));
            }
        }
        assert!((1_000..=1_011).contains(&allowed), "{allowed}");
    }

    #[test]
    fn a_flood_of_one_leaves_others_alone() {
        let mut limiter = Limiter::new(1_000);
        for _ in 0..100_000 {
            limiter.allows(source(7), at(0));
        }
        assert!(!limiter.allows(source(7), at(0)));
        let refused = (8..10_008)
            .filter(|other| !limiter.allows(source(*other), at(0)))
            .count();
        assert_eq!(refused, 0);
    }

    #[test]
    fn a_million_sources_need_no_more_memory_and_are_served() {
        let mut limiter = Limiter::new(1_000);
        let before = limiter.used_up.capacity();
        let mut refused = 0;
        for number in 0..1_000_000 {
            refused += u32::from(!limiter.allows(source(number), at(i64::from(number) / 200)));
        }
        assert_eq!((limiter.used_up.capacity(), refused), (before, 0));
    }

    #[test]
    fn addresses_of_one_ipv6_network_share_a_limit() {
        let mut limiter = Limiter::new(10);
        let address = |host: u128| IpAddr::from(Ipv6Addr::from(0x2001_0db8 << 96 | host));
        let allowed = (0..1_000)
            .filter(|host| limiter.allows(address(*host), at(0)))
            .count();
        assert_eq!(allowed, 1);
    }
}
