//! Starts the threads that write to disks, and limits how long others wait for them.

use std::io;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The time limit for all these threads together. A disk that hangs must not keep the monitor from ending.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// How often it is looked whether a thread has ended.
pub(crate) const LOOK: Duration = Duration::from_millis(5);

/// Starts a thread.
pub(crate) fn start(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    #[cfg(test)]
    if refused::NAME.with_borrow(|refused| refused == name) {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    thread::Builder::new().name(name.to_owned()).spawn(run)
}

/// A system that gives no thread.
#[cfg(test)]
pub(crate) mod refused {
    use std::cell::RefCell;

    thread_local! {
        /// The thread that is not started.
        pub(crate) static NAME: RefCell<String> = const { RefCell::new(String::new()) };
    }
}

/// Waits for a thread. Returns false if it has not ended by then: it is left to itself, and ends with the process.
pub(crate) fn ends_by(thread: JoinHandle<()>, until: Instant) -> bool {
    while !thread.is_finished() {
        if Instant::now() >= until {
            return false;
        }
        thread::sleep(LOOK);
    }
    let _ = thread.join();
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_thread_that_hangs_is_waited_for_until_the_deadline_alone() {
        let (release, held) = channel::<()>();
        let hangs = thread::spawn(move || held.recv().unwrap_or(()));
        let begun = Instant::now();
        assert!(!ends_by(hangs, begun + Duration::from_millis(50)));
        assert!(begun.elapsed() >= Duration::from_millis(50));
        drop(release);
        let ends = thread::spawn(|| thread::sleep(Duration::from_millis(20)));
        assert!(ends_by(ends, Instant::now() + Duration::from_secs(60)));
    }
}
