//! The handle to the simulated system, its lock, and how its time passes during waits.

use crate::scenario::Scenario;
use crate::state::State;
use crate::truth::Truth;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use wirestamp_core::time::{MonotonicTime, Span};

/// Who waits longer than this waits for ever: a hundred years.
const FOR_EVER: i64 = 100 * 366 * 86_400 * 1_000_000_000;

/// A simulated host with two NICs, `sim0` and `sim1`, joined by a cable, in virtual time.
/// Cheap to clone; all clones are the same world.
///
/// Time passes only in calls: a little in each, and as much as is waited for in
/// [`wait`](wirestamp_core::backend::DatagramSocket::wait) and [`advance`](Self::advance).
/// Used from one thread, the same scenario and seed give the same bits everywhere. Several
/// threads are safe, but their order decides what happens; a thread that waits *for ever*
/// (until [`MonotonicTime::MAX`]) lets no time pass once nothing is under way, and leaves it to
/// the others.
///
/// Jobs and change sinks run inside those two calls, one at a time, and sinks also at the end
/// of whatever caused the change; never inside `now`, `send`, `receive`, `collect` or
/// `cross_timestamps`, which can be called with any lock held. While one runs, waits of other
/// threads wait for it: a job must not wait for ever.
#[derive(Debug, Clone)]
pub struct World(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl World {
    /// Builds the world of `scenario`. `seed` decides everything that is random.
    pub fn new(scenario: &Scenario, seed: u64) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::new(State::new(scenario, seed)),
            changed: Condvar::new(),
        }))
    }

    /// Lets virtual time pass, with all jobs and events until then.
    pub fn advance(&self, span: Span) {
        let now = self.with(|state| state.now);
        let until = now.saturating_add(span.saturating_nanoseconds().max(0));
        self.pass_until(until.min(now.saturating_add(FOR_EVER - 1)), |_| None::<()>);
    }

    /// Lets virtual time pass until `until`; returns at once if that has been.
    pub fn advance_to(&self, until: MonotonicTime) {
        self.advance(until - self.truth().now());
    }

    /// When something next happens by itself: a packet or timestamp moves, a job or an event of the
    /// scenario is due. For who paces this world's time by another clock.
    pub fn next_event(&self) -> Option<MonotonicTime> {
        let next = self.with(|state| {
            [state.agenda.next_at(), state.work.next_job_at()]
                .into_iter()
                .flatten()
                .min()
        });
        next.map(MonotonicTime::from_nanoseconds)
    }

    /// Returns the truth: true times and fates.
    pub fn truth(&self) -> Truth {
        Truth(self.clone())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // a panic in foreign code never happens with the lock held
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something to the system and wakes those who wait.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let result = act(&mut state);
        let somebody_waits = state.waiting > 0;
        drop(state);
        if somebody_waits {
            self.0.changed.notify_all();
        }
        result
    }

    /// Blocks until another thread did something.
    fn sleep<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.waiting += 1;
        let mut state = self
            .0
            .changed
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state
    }

    /// Blocks while other threads make this hold; no time passes by it.
    pub(crate) fn wait_while(&self, holds: impl Fn(&State) -> bool) {
        let mut state = self.lock();
        while holds(&state) {
            state = self.sleep(state);
        }
    }

    /// Lets time pass until `found` finds something, or until `until`; runs the foreign code
    /// that is due on the way.
    pub(crate) fn pass_until<T>(
        &self,
        until: i64,
        mut found: impl FnMut(&mut State) -> Option<T>,
    ) -> Option<T> {
        let entered = self.with(|state| state.now);
        let for_ever = until.saturating_sub(entered) >= FOR_EVER;
        // overdue work comes first, each piece once: a caller that always finds something starves nobody
        self.catch_up(entered);
        loop {
            let mut state = self.lock();
            let result = found(&mut state);
            if result.is_some() {
                drop(state);
                self.tell_sinks(); // of what other threads changed meanwhile
                return result;
            }
            if state.now >= until {
                drop(state);
                self.catch_up(until); // work that is due at the end belongs to it
                return None;
            }
            if state.work.runs_elsewhere() {
                // its time is now; passing it by would make it late
                drop(self.sleep(state));
                continue;
            }
            let now = state.now;
            if let Some(piece) = state
                .work
                .take_report()
                .or_else(|| state.work.take_job(now))
            {
                drop(state);
                self.run_piece(piece);
                continue;
            }
            let inside = state.agenda.next_at();
            if for_ever && inside.is_none() {
                drop(self.sleep(state));
                continue;
            }
            let job = if state.work.runs_here() {
                None
            } else {
                state.work.next_job_at()
            };
            let next = [inside, job].into_iter().flatten().min().unwrap_or(until);
            drop(state);
            self.with(|state| state.advance_to(next.min(until)));
        }
    }

    /// Runs the foreign code that was due at a time, each piece once.
    fn catch_up(&self, due: i64) {
        while let Some(piece) = self.with(|state| {
            state
                .work
                .take_report()
                .or_else(|| state.work.take_job(due))
        }) {
            self.run_piece(piece);
        }
    }
}
