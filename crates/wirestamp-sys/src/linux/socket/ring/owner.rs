//! Whose a ring is: of the first thread that used it, until it has left it to others.

use std::sync::atomic::{AtomicU64, Ordering};

/// So many calls of other threads in a row, and the owner does not come back.
const ABANDONED_AFTER: u32 = 64;

static NEXT: AtomicU64 = AtomicU64::new(1);
thread_local! {
    /// Not the thread's own id: reading that one costs ten times as much.
    static ME: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
}

/// What the calling thread is to a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Its owner from now on: to be enabled.
    First,
    /// Its owner.
    Mine,
    /// Not its owner.
    Others,
    /// Not its owner, who seems to be gone: make another ring.
    Abandoned,
}

#[derive(Debug, Default)]
pub(super) struct Owner {
    thread: Option<u64>,
    others: u32,
}

impl Owner {
    /// The calling thread wants to use the ring.
    pub(super) fn turn(&mut self) -> Turn {
        let me = ME.with(|me| *me);
        match self.thread {
            None => {
                self.thread = Some(me);
                Turn::First
            }
            Some(thread) if thread == me => {
                self.others = 0;
                Turn::Mine
            }
            Some(_) if self.others >= ABANDONED_AFTER => Turn::Abandoned,
            Some(_) => {
                self.others += 1;
                Turn::Others
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_is_left_to_others_when_its_owner_stays_away() {
        let mut owner = Owner::default();
        assert_eq!((owner.turn(), owner.turn()), (Turn::First, Turn::Mine));
        let turns =
            |owner: &mut Owner, count: u32| (0..count).map(|_| owner.turn()).collect::<Vec<_>>();
        std::thread::scope(|scope| {
            let other = scope
                .spawn(|| turns(&mut owner, ABANDONED_AFTER))
                .join()
                .expect("no panic");
            assert!(other.iter().all(|turn| *turn == Turn::Others));
        });
        assert_eq!(owner.turn(), Turn::Mine, "the owner came back");
        std::thread::scope(|scope| {
            let other = scope
                .spawn(|| turns(&mut owner, ABANDONED_AFTER + 1))
                .join()
                .expect("no panic");
            assert_eq!(other.last(), Some(&Turn::Abandoned));
        });
    }
}
