//! Numbers by chance (splitmix64).

/// A stream of numbers, always the same for a world.
#[derive(Debug)]
pub struct Chance(u64);

impl Chance {
    /// Returns the stream of a world.
    pub fn of(world: u64) -> Self {
        Self(world)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `limit`, which is not 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Returns one of them; there is one at least.
    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    /// Returns 1 µs to 10 s in nanoseconds, every order of magnitude as likely, of either sign.
    pub fn step(&mut self) -> i64 {
        let magnitude = 10_i64.pow(self.below(7) as u32 + 3);
        let step = magnitude + self.below(9 * magnitude as u64) as i64;
        if self.below(2) == 0 { step } else { -step }
    }
}
