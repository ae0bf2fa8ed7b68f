//! Pseudo-random numbers that are the same in every run (splitmix64).

#[derive(Debug, Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: i64) -> i64 {
        (self.next() % limit.max(1) as u64) as i64
    }

    pub(crate) fn happens(&mut self, parts_per_thousand: u64) -> bool {
        self.next() % 1_000 < parts_per_thousand
    }
}
