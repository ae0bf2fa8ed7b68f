//! A reload on its way to the loop. Either the loop begins it or the caller gives it up, never both.

use crate::configuration::Configuration;
use crate::monitor::Monitor;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use wirestamp::{Error, ErrorKind, Result};

/// A loop that has not begun a reload by then hangs.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// The loop's end.
pub(super) struct Reload {
    configuration: Box<Configuration>,
    done: Sender<Result<()>>,
    decided: Arc<AtomicBool>,
}

/// The end of who asks.
pub(super) struct Asked {
    done: Receiver<Result<()>>,
    /// Set by the one who is first: who performs it, or who gives it up.
    decided: Arc<AtomicBool>,
}

pub(super) fn ask(configuration: Configuration) -> (Reload, Asked) {
    let (sender, done) = channel();
    let decided = Arc::new(AtomicBool::new(false));
    let reload = Reload {
        configuration: Box::new(configuration),
        done: sender,
        decided: Arc::clone(&decided),
    };
    (reload, Asked { done, decided })
}

pub(super) fn failed(cause: String) -> Error {
    Error::new(ErrorKind::Io, "reload", "the measuring loop", cause)
}

impl Reload {
    /// Performs it, unless whoever asked has given up. An event reports the outcome, too.
    pub(super) fn perform(self, monitor: &mut Monitor) {
        if self.decided.swap(true, Ordering::AcqRel) {
            return monitor.refuse_reload("the measuring loop came to it too late");
        }
        let _ = self.done.send(monitor.reload(*self.configuration));
    }
}

impl Asked {
    /// Waits so long until it is begun, and then until it is done: what serves a monitor goes over with it, or not at all.
    pub(super) fn wait(self, patience: Duration) -> Result<()> {
        let ended = || failed("the monitor has ended".to_owned());
        match self.done.recv_timeout(patience) {
            Ok(result) => result,
            Err(RecvTimeoutError::Disconnected) => Err(ended()),
            Err(RecvTimeoutError::Timeout) if self.decided.swap(true, Ordering::AcqRel) => {
                self.done.recv().unwrap_or_else(|_| Err(ended()))
            }
            Err(RecvTimeoutError::Timeout) => Err(failed("it does not answer".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;
    use std::thread;

    const SHORT: Duration = Duration::from_millis(20);

    fn of(host: &str) -> Configuration {
        let text = format!("host = '{host}'\n[http]\nenabled = false\n");
        Configuration::from_toml(&text).expect("it is right")
    }

    fn monitor() -> Monitor {
        let simulation = wirestamp::Simulation::preset("igc", 1).expect("a preset");
        Monitor::new(of("old"), Place::Simulation(simulation)).expect("it starts")
    }

    /// The server keeps the old one, so the loop must, too.
    #[test]
    fn what_was_given_up_is_not_performed_later() {
        let mut monitor = monitor();
        let (reload, asked) = ask(of("new"));
        let error = asked.wait(SHORT).expect_err("nobody answers");
        assert_eq!(error.kind(), ErrorKind::Io);
        reload.perform(&mut monitor);
        let snapshot = monitor.snapshot();
        assert_eq!(snapshot.host, "old");
        let last = snapshot.events.last().expect("an event");
        assert!(last.message.contains("too late"), "{last:?}");
    }

    #[test]
    fn what_is_begun_is_waited_for() {
        let (reload, asked) = ask(of("new"));
        assert!(!reload.decided.swap(true, Ordering::AcqRel), "begun");
        let done = thread::spawn(move || {
            thread::sleep(SHORT * 5);
            reload.done.send(Ok(())).expect("somebody waits");
        });
        asked.wait(SHORT).expect("it is done at last");
        done.join().expect("it was sent");
    }

    #[test]
    fn a_loop_that_ends_answers_with_an_error() {
        let (reload, asked) = ask(of("new"));
        drop(reload);
        asked.wait(PATIENCE).expect_err("it has ended");
    }
}
