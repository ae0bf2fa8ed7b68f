//! A few words that one thread writes and many read. Knows nothing of what they mean.
//!
//! Two copies and a counter, as in the kernel's sequence-count latch: while one copy is being
//! written, readers take the other one. A writer that is interrupted half way holds up nobody.

use core::array;

#[cfg(not(wirestamp_loom))]
use core::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(wirestamp_loom)]
use loom::sync::atomic::{AtomicU64, Ordering, fence};

/// A reader that met so many writes gives up: no reader waits for anybody.
const ATTEMPTS: usize = 4;

/// Readers are on other cores than the writer: nothing else shares these lines of the cache.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Latch<const WORDS: usize> {
    /// Its lowest bit says which copy to read.
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

    /// By one thread at a time: writers must exclude one another.
    pub(super) fn write(&self, value: &[u64; WORDS]) {
        for copy in &self.copies {
            let turn = self.turn.load(Ordering::Relaxed);
            // the copy written last is seen before readers are sent to it
            self.turn.store(turn.wrapping_add(1), Ordering::Release);
            // readers have been sent away before this one changes
            fence(Ordering::Release);
            for (word, value) in copy.iter().zip(value) {
                word.store(*value, Ordering::Relaxed);
            }
        }
    }

    /// What was written last, whole; `None` if it was written over and over meanwhile.
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

    /// Every order in which the steps of a writer and a reader can be seen.
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
