//! The foreign code that the world runs: jobs and change sinks, and who runs them.
//! Knows no packet.
//!
//! Jobs run inside [`wait`](wirestamp_core::backend::DatagramSocket::wait) and
//! [`World::advance`], at their virtual time; sinks there and at the end of whatever caused
//! the change. Nothing foreign runs inside `now`, `send`, `receive`, `collect` or
//! `cross_timestamps`: those can be called with any lock held. One thread at a time runs
//! foreign code, never with the world's lock held, and never one piece inside another.

use crate::world::World;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::thread::{self, ThreadId};
use wirestamp_core::backend::{Change, ChangeSink, Job};
use wirestamp_core::time::Span;

/// More reports than this are coalesced where they are alike.
const UNCOALESCED: usize = 4_096;
/// A job that wants to run at once again runs after this.
const SHORTEST_PAUSE: i64 = 1_000;

/// Names a job or a subscriber.
pub(crate) type WorkId = u64;

struct WaitingJob {
    due: i64,
    /// Empty while it runs.
    job: Option<Job>,
}

struct Subscriber {
    pending: VecDeque<Change>,
    /// Empty while it runs.
    sink: Option<ChangeSink>,
}

/// A piece of foreign code to run.
pub(crate) enum Piece {
    Job(WorkId, Job),
    Sink(WorkId, ChangeSink, Change),
}

/// All foreign code.
#[derive(Default)]
pub(crate) struct Work {
    jobs: BTreeMap<WorkId, WaitingJob>,
    subscribers: BTreeMap<WorkId, Subscriber>,
    next: WorkId,
    /// Which thread runs foreign code, and which piece.
    pub(crate) running: Option<(ThreadId, WorkId)>,
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work")
            .field("jobs", &self.jobs.len())
            .field("subscribers", &self.subscribers.len())
            .field("running", &self.running)
            .finish()
    }
}

impl Work {
    fn fresh(&mut self) -> WorkId {
        self.next += 1;
        self.next
    }

    pub(crate) fn add_job(&mut self, due: i64, job: Job) -> WorkId {
        let id = self.fresh();
        self.jobs.insert(
            id,
            WaitingJob {
                due,
                job: Some(job),
            },
        );
        id
    }

    pub(crate) fn subscribe(&mut self, sink: ChangeSink) -> WorkId {
        let id = self.fresh();
        self.subscribers.insert(
            id,
            Subscriber {
                pending: VecDeque::new(),
                sink: Some(sink),
            },
        );
        id
    }

    pub(crate) fn remove_job(&mut self, id: WorkId) -> Option<Job> {
        self.jobs.remove(&id)?.job
    }

    pub(crate) fn unsubscribe(&mut self, id: WorkId) -> Option<ChangeSink> {
        self.subscribers.remove(&id)?.sink
    }

    pub(crate) fn report(&mut self, change: Change) {
        for subscriber in self.subscribers.values_mut() {
            let alike = || subscriber.pending.contains(&change);
            if subscriber.pending.len() < UNCOALESCED || !alike() {
                subscriber.pending.push_back(change);
            }
        }
    }

    /// When the next job is due.
    pub(crate) fn next_job_at(&self) -> Option<i64> {
        self.jobs
            .values()
            .filter(|waiting| waiting.job.is_some())
            .map(|waiting| waiting.due)
            .min()
    }

    /// Takes the next report for a sink, unless foreign code runs already.
    pub(crate) fn take_report(&mut self) -> Option<Piece> {
        if self.running.is_some() {
            return None;
        }
        let (id, subscriber) = self
            .subscribers
            .iter_mut()
            .find(|(_, subscriber)| !subscriber.pending.is_empty())?;
        let change = subscriber.pending.pop_front()?;
        let sink = subscriber.sink.take()?;
        self.running = Some((thread::current().id(), *id));
        Some(Piece::Sink(*id, sink, change))
    }

    /// Takes a job that is due, the one that is longest due first.
    pub(crate) fn take_job(&mut self, now: i64) -> Option<Piece> {
        if self.running.is_some() {
            return None;
        }
        let due = self
            .jobs
            .iter_mut()
            .filter(|(_, waiting)| waiting.due <= now && waiting.job.is_some());
        let (id, waiting) = due.min_by_key(|(id, waiting)| (waiting.due, **id))?;
        let job = waiting.job.take()?;
        self.running = Some((thread::current().id(), *id));
        Some(Piece::Job(*id, job))
    }

    /// Whether foreign code runs on this thread: whatever it calls runs no more of it.
    pub(crate) fn runs_here(&self) -> bool {
        self.running
            .is_some_and(|(thread, _)| thread == thread::current().id())
    }

    /// Whether foreign code runs on another thread.
    pub(crate) fn runs_elsewhere(&self) -> bool {
        self.running.is_some() && !self.runs_here()
    }

    /// A job ran; returns it if it is not to run again.
    fn put_job_back(&mut self, id: WorkId, job: Job, due: Option<i64>) -> Option<Job> {
        match (self.jobs.get_mut(&id), due) {
            (Some(waiting), Some(due)) => {
                *waiting = WaitingJob {
                    due,
                    job: Some(job),
                };
                None
            }
            _ => {
                self.jobs.remove(&id);
                Some(job)
            }
        }
    }

    fn put_sink_back(&mut self, id: WorkId, sink: ChangeSink) -> Option<ChangeSink> {
        match self.subscribers.get_mut(&id) {
            Some(subscriber) => {
                subscriber.sink = Some(sink);
                None
            }
            None => Some(sink),
        }
    }
}

/// Says that this thread runs no foreign code any more, even if that panicked.
struct Finished<'a>(&'a World);

impl Drop for Finished<'_> {
    fn drop(&mut self) {
        self.0.with(|state| state.work.running = None);
    }
}

impl World {
    /// Runs a piece of foreign code, without the lock.
    pub(crate) fn run_piece(&self, piece: Piece) {
        let _finished = Finished(self);
        match piece {
            Piece::Job(id, mut job) => {
                let again = job();
                let _over = self.with(|state| {
                    let pause = |span: Span| span.saturating_nanoseconds().max(SHORTEST_PAUSE);
                    let due = again.map(|span| state.now.saturating_add(pause(span)));
                    state.work.put_job_back(id, job, due)
                });
            }
            Piece::Sink(id, mut sink, change) => {
                sink(change);
                let _over = self.with(|state| state.work.put_sink_back(id, sink));
            }
        }
    }

    /// Reports changes to the sinks, unless foreign code runs already: then whoever runs it
    /// does so.
    pub(crate) fn tell_sinks(&self) {
        while let Some(piece) = self.with(|state| state.work.take_report()) {
            self.run_piece(piece);
        }
    }
}

/// A running subscription; dropping it ends it without waiting for a running call.
#[derive(Debug)]
pub struct Subscription {
    pub(crate) world: World,
    pub(crate) id: WorkId,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        // dropped outside the lock: the sink may own things of this world
        let _sink = self.world.with(|state| state.work.unsubscribe(self.id));
    }
}

/// A running job; dropping it ends it and waits for a running call, unless dropped by that
/// call itself.
#[derive(Debug)]
pub struct Task {
    pub(crate) world: World,
    pub(crate) id: WorkId,
}

impl Drop for Task {
    fn drop(&mut self) {
        let _job = self.world.with(|state| state.work.remove_job(self.id));
        let id = self.id;
        self.world.wait_while(|state| {
            state.work.runs_elsewhere()
                && state.work.running.is_some_and(|(_, running)| running == id)
        });
    }
}
