//! A job that runs repeatedly on a thread of its own.

use super::clock;
use super::error::system_error;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use wirestamp_core::Result;
use wirestamp_core::backend::Job;
use wirestamp_core::time::Span;

#[derive(Debug, Default)]
struct Stop {
    asked: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    fn ask(&self) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits for `span`; returns whether to stop.
    fn within(&self, span: Span) -> bool {
        let until = clock::now() + span;
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        while !*asked && clock::now() < until {
            let left = (until - clock::now()).to_duration();
            asked = self
                .changed
                .wait_timeout(asked, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        *asked
    }
}

/// A running job; dropping it ends the job and waits for a running call.
#[derive(Debug)]
pub struct Task {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

/// Runs `job` after `first_after`, and again as it asks.
pub(super) fn run(first_after: Span, mut job: Job) -> Result<Task> {
    let stop = Arc::new(Stop::default());
    let seen = Arc::clone(&stop);
    let thread = thread::Builder::new()
        .name("wirestamp-task".into())
        .spawn(move || {
            let mut wait = first_after;
            while !seen.within(wait) {
                match job() {
                    Some(next) => wait = next,
                    None => return,
                }
            }
        })
        .map_err(|error| system_error("start a thread", "this process", &error))?;
    Ok(Task {
        stop,
        thread: Some(thread),
    })
}

impl Drop for Task {
    fn drop(&mut self) {
        self.stop.ask();
        let Some(thread) = self.thread.take() else {
            return;
        };
        if thread.thread().id() != thread::current().id() {
            // A job that panicked has already said so; nothing is lost by going on.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc;

    #[test]
    fn runs_until_it_asks_to_stop() {
        let (sender, receiver) = mpsc::channel();
        let mut runs = 0;
        let task = run(
            Span::ZERO,
            Box::new(move || {
                runs += 1;
                sender.send(runs).ok()?;
                (runs < 3).then_some(Span::from_microseconds(10))
            }),
        )
        .expect("a thread");
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [1, 2, 3]);
        drop(task);
    }

    #[test]
    fn dropping_ends_a_long_wait_and_no_call_follows() {
        let calls = Arc::new(AtomicU32::new(0));
        let seen = Arc::clone(&calls);
        let count = move || {
            seen.fetch_add(1, Ordering::SeqCst);
            Some(Span::ZERO)
        };
        drop(run(Span::from_seconds(3_600), Box::new(count)).expect("a thread"));
        assert_eq!(calls.load(Ordering::SeqCst), 0);
    }
}
