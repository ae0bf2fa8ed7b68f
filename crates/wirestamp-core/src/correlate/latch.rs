//! A sequence latch: one writer, wait-free readers, a fixed number of 64-bit words.
//!
//! It has two copies and a counter, like the kernel's sequence-count latch: while one copy is being
//! written, readers use the other one, even if the writer is interrupted.

use core::array;

#[cfg(not(wirestamp_loom))]
use core::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(wirestamp_loom)]
use loom::sync::atomic::{AtomicU64, Ordering, fence};

/// The number of attempts after which a reader gives up, so that readers never wait.
const ATTEMPTS: usize = 4;

/// The latch has cache lines of its own, because readers run on other cores than the writer.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Latch<const WORDS: usize> {
    /// The lowest bit selects the copy to read.
    turn: AtomicU64,
    copies: [[AtomicU64; WORDS]; 2],
}

impl<const WORDS: usize> Latch<WORDS> {
    pub(super) fn new(value: [u64; WORDS]) -> Self {
        let copy = || array::from_fn(|word| AtomicU64::new(value[word]));
        Self {
            turn: AtomicU64::new(0),
            copies: [copy(), copy()],
        }
    }

    /// Writes a new value. Writers must exclude one another.
    pub(super) fn write(&self, value: &[u64; WORDS]) {
        for copy in &self.copies {
            let turn = self.turn.load(Ordering::Relaxed);
            // the new copy is visible before readers are directed to it
            self.turn.store(turn.wrapping_add(1), Ordering::Release);
            // readers are directed away before this copy changes
            fence(Ordering::Release);
            for (word, value) in copy.iter().zip(value) {
                word.store(*value, Ordering::Relaxed);
            }
        }
    }

    /// Returns the last written value; `None` if writes interfered with every attempt.
    #[inline]
    pub(super) fn read(&self) -> Option<[u64; WORDS]> {
        for _ in 0..ATTEMPTS {
            let turn = self.turn.load(Ordering::Acquire);
            let copy = &self.copies[usize::from(turn & 1 == 1)];
            let value = array::from_fn(|word| copy[word].load(Ordering::Relaxed));
            fence(Ordering::Acquire);
            if self.turn.load(Ordering::Relaxed) == turn {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(all(test, wirestamp_loom))]
mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    /// Checks every interleaving of the steps of a writer and a reader.
    #[test]
    fn a_read_is_whole_and_never_older_than_the_one_before() {
        loom::model(|| {
            let latch = Arc::new(Latch::new([0, 0]));
            let writer = {
                let latch = Arc::clone(&latch);
                thread::spawn(move || (1..=2).for_each(|round| latch.write(&[round, round])))
            };
            let mut last = 0;
            for _ in 0..2 {
                let Some([first, second]) = latch.read() else {
                    continue;
                };
                assert_eq!(first, second, "torn");
                assert!(first >= last, "{first} after {last}");
                last = first;
            }
            writer.join().expect("no panic");
            assert_eq!(latch.read(), Some([2, 2]));
        });
    }
}
