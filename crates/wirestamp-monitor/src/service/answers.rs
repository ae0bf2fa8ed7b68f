//! Shares one snapshot among concurrent requests, and limits the share of the loop's time for snapshots.

use crate::snapshot::Snapshot;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How many times as long as a snapshot took the loop measures before it makes another.
const MEASURED: u32 = 4;

/// The number of the last question that a snapshot answers, and the snapshot.
type Made = (u64, Option<Arc<Snapshot>>);

/// What the loop and those who ask share.
#[derive(Debug, Default)]
struct Shared {
    /// Questions so far.
    asked: AtomicU64,
    /// Whether the loop was woken since it looked last.
    is_awaited: AtomicBool,
    /// Snapshots so far.
    snapshots: AtomicU64,
}

/// Asks for snapshots. Clones ask the same loop.
#[derive(Debug, Clone)]
pub(super) struct Asker {
    shared: Arc<Shared>,
    made: watch::Receiver<Made>,
}

/// The loop's end: makes the snapshots.
#[derive(Debug)]
pub(super) struct Answers {
    shared: Arc<Shared>,
    made: watch::Sender<Made>,
    /// The last question that was answered.
    answered: u64,
    /// When the next snapshot may be made.
    not_before: Option<Instant>,
}

pub(super) fn channel() -> (Asker, Answers) {
    let (sender, made) = watch::channel((0, None));
    let shared = Arc::<Shared>::default();
    let answers = Answers {
        shared: Arc::clone(&shared),
        made: sender,
        answered: 0,
        not_before: None,
    };
    (Asker { shared, made }, answers)
}

impl Asker {
    /// Asks, and calls `wake` if the loop does not know yet that somebody does. Returns `None` if the monitor has ended.
    pub(super) async fn ask(&self, wake: impl FnOnce()) -> Option<Arc<Snapshot>> {
        let mut made = self.made.clone();
        let number = self.shared.asked.fetch_add(1, Ordering::SeqCst) + 1;
        if !self.shared.is_awaited.swap(true, Ordering::SeqCst) {
            wake();
        }
        let made = made.wait_for(|(answered, _)| *answered >= number).await;
        made.ok()?.1.clone()
    }

    /// Returns how many snapshots were made.
    #[cfg(test)]
    pub(super) fn snapshots(&self) -> u64 {
        self.shared.snapshots.load(Ordering::SeqCst)
    }
}

impl Answers {
    /// Returns how long it takes until the next snapshot may be made; `None`: nobody asks for one.
    pub(super) fn due(&self) -> Option<Duration> {
        let is_asked = self.shared.asked.load(Ordering::SeqCst) > self.answered;
        let wait = |until: Instant| until.saturating_duration_since(Instant::now());
        is_asked.then(|| self.not_before.map_or(Duration::ZERO, wait))
    }

    /// Makes a snapshot if one is due, for all who asked before: one call answers all of them, and makes one at most.
    pub(super) fn answer(&mut self, make: impl FnOnce() -> Snapshot) {
        // who asks after this wakes the loop again
        self.shared.is_awaited.store(false, Ordering::SeqCst);
        let asked = self.shared.asked.load(Ordering::SeqCst);
        if self.due() != Some(Duration::ZERO) {
            return;
        }
        let begun = Instant::now();
        let snapshot = Arc::new(make());
        self.answered = asked;
        self.shared.snapshots.fetch_add(1, Ordering::SeqCst);
        self.made.send_replace((asked, Some(snapshot)));
        let cost = begun.elapsed();
        self.not_before = Some(Instant::now() + cost * MEASURED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    #[test]
    fn all_who_ask_before_a_turn_share_its_snapshot_and_wake_it_once() {
        let (asker, mut answers) = channel();
        let (woken, mut made) = (Cell::new(0), 0);
        let mut context = Context::from_waker(Waker::noop());
        answers.answer(|| panic!("nobody asks"));
        for round in 1..=3 {
            let mut asked: Vec<_> = (0..64)
                .map(|_| Box::pin(asker.ask(|| woken.set(woken.get() + 1))))
                .collect();
            for one in &mut asked {
                assert!(one.as_mut().poll(&mut context).is_pending());
            }
            // one that was made before they asked is none of theirs
            answers.not_before = None;
            answers.answer(|| {
                made += 1;
                Snapshot::default()
            });
            let shared: Vec<_> = asked
                .iter_mut()
                .map(|one| match one.as_mut().poll(&mut context) {
                    Poll::Ready(Some(snapshot)) => snapshot,
                    other => panic!("{other:?}"),
                })
                .collect();
            assert!(shared.iter().all(|one| Arc::ptr_eq(one, &shared[0])));
            drop(asked);
            assert_eq!((woken.get(), made), (round, round));
        }
    }

    #[test]
    fn after_a_snapshot_the_loop_measures_for_longer_than_that_took() {
        let (asker, mut answers) = channel();
        let mut context = Context::from_waker(Waker::noop());
        let took = Duration::from_millis(250);
        for _ in 0..2 {
            let mut asked = pin!(asker.ask(|| {}));
            assert!(asked.as_mut().poll(&mut context).is_pending());
            answers.answer(|| {
                std::thread::sleep(took);
                Snapshot::default()
            });
            let is_answered = asked.as_mut().poll(&mut context).is_ready();
            let Some(earlier) = answers.due() else {
                assert!(is_answered);
                continue;
            };
            assert!(!is_answered && earlier > took);
        }
        assert!(answers.due().is_some(), "the second waits");
    }

    #[test]
    fn who_asks_a_loop_that_has_ended_is_told() {
        let (asker, answers) = channel();
        let mut context = Context::from_waker(Waker::noop());
        let mut asked = pin!(asker.ask(|| {}));
        assert!(asked.as_mut().poll(&mut context).is_pending());
        drop(answers);
        assert!(matches!(
            asked.as_mut().poll(&mut context),
            Poll::Ready(None)
        ));
    }
}
