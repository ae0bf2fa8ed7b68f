//! Requests to end a run: the signals SIGINT (Ctrl-C), SIGTERM and SIGHUP, on Windows the console's
//! events. The first one ends the run as if its time were over, so that its summary is printed and
//! every destructor runs. The second one ends the process as soon as clocks and NICs are restored,
//! the third one at once.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// `timeout`, `sudo` and a closing terminal signal the process and its group, so that one request
/// arrives twice. A second signal within this time is part of the first request.
const ONE_REQUEST: Duration = Duration::from_millis(200);
/// The second request waits for so long for what is to be restored, and looks so often.
const PATIENCE: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(5);

static STOPPING: AtomicBool = AtomicBool::new(false);
/// Whether SIGHUP asks for another reading of the configuration, and whether it did.
#[cfg(feature = "monitor")]
static RELOADS: AtomicBool = AtomicBool::new(false);
#[cfg(feature = "monitor")]
static RELOAD: AtomicBool = AtomicBool::new(false);
/// How many [`Unrestored`] there are.
static UNRESTORED: AtomicUsize = AtomicUsize::new(0);

/// While there is one, something is not as it was found: a clock's frequency, a NIC's setting.
#[derive(Debug)]
pub(crate) struct Unrestored(());

impl Unrestored {
    pub(crate) fn new() -> Self {
        UNRESTORED.fetch_add(1, Ordering::AcqRel);
        Self(())
    }
}

impl Drop for Unrestored {
    fn drop(&mut self) {
        UNRESTORED.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Whether the run was asked to end.
pub(crate) fn is_stopping() -> bool {
    STOPPING.load(Ordering::Relaxed)
}

/// Ends the run as a signal does.
pub(crate) fn stop() {
    STOPPING.store(true, Ordering::Relaxed);
}

/// As [`listen`], but SIGHUP ends nothing: it asks for another reading of the configuration.
#[cfg(feature = "monitor")]
pub(crate) fn listen_for_reloads() {
    RELOADS.store(true, Ordering::Relaxed);
    listen();
}

/// Whether the configuration is to be read again; once for each request.
#[cfg(feature = "monitor")]
pub(crate) fn takes_reload() -> bool {
    RELOAD.swap(false, Ordering::Relaxed)
}

/// Whether hang-ups are requests to reload.
#[cfg(unix)]
fn reloads() -> bool {
    #[cfg(feature = "monitor")]
    return RELOADS.load(Ordering::Relaxed);
    #[cfg(not(feature = "monitor"))]
    false
}

/// Notes a hang-up as a request to reload, if it is one.
#[cfg(unix)]
fn is_reload() -> bool {
    #[cfg(feature = "monitor")]
    RELOAD.fetch_or(reloads(), Ordering::Relaxed);
    reloads()
}

/// Handles the signals from now on. Without handlers, if they can't be installed, a signal ends the
/// process as usual.
pub(crate) fn listen() {
    let _ = system::listen();
}

/// What one more signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    EndTheRun,
    ExitWhenRestored,
    ExitAtOnce,
}

/// The requests so far, and when the last of them began.
#[derive(Debug, Default)]
struct Requests {
    count: u32,
    begun: Option<Instant>,
}

impl Requests {
    /// The answer to a signal; `None` if it is part of the request before.
    fn answer(&mut self, at: Instant) -> Option<Answer> {
        if self
            .begun
            .is_some_and(|begun| at.duration_since(begun) < ONE_REQUEST)
        {
            return None;
        }
        (self.count, self.begun) = (self.count + 1, Some(at));
        Some(match self.count {
            1 => Answer::EndTheRun,
            2 => Answer::ExitWhenRestored,
            _ => Answer::ExitAtOnce,
        })
    }

    /// Notes a signal; does not return if it ends the process.
    fn take(&mut self, exit_code: i32) {
        match self.answer(Instant::now()) {
            None => {}
            Some(Answer::EndTheRun) => stop(),
            Some(Answer::ExitWhenRestored) => exit_when_restored(exit_code),
            Some(Answer::ExitAtOnce) => std::process::exit(exit_code),
        }
    }
}

/// Ends the process once everything is restored, or when that takes too long. Waits on a thread of its own, so
/// that another signal is heard.
fn exit_when_restored(exit_code: i32) {
    let wait = move || {
        let begun = Instant::now();
        while UNRESTORED.load(Ordering::Acquire) > 0 && begun.elapsed() < PATIENCE {
            thread::sleep(LOOK);
        }
        std::process::exit(exit_code);
    };
    if UNRESTORED.load(Ordering::Acquire) == 0 {
        wait();
    }
    // without a thread, the next signal still ends the process
    let _ = thread::Builder::new()
        .name("wirestamp-exit".into())
        .spawn(wait);
}

#[cfg(unix)]
mod system {
    use super::Requests;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use std::io;
    use std::sync::Once;
    use std::thread;

    /// What a shell reports for a program that a signal ended, less the signal's number.
    const ENDED_BY_SIGNAL: i32 = 128;

    static ONCE: Once = Once::new();

    pub(super) fn listen() -> io::Result<()> {
        let mut result = Ok(());
        ONCE.call_once(|| result = start());
        result
    }

    fn start() -> io::Result<()> {
        // nohup has SIGHUP ignored, and a program that handles it all the same would end on logout, unless it ends nothing
        let handles = |signal| signal != SIGHUP || super::reloads() || !is_ignored(SIGHUP);
        let handled = [SIGINT, SIGTERM, SIGHUP].into_iter();
        let handled = handled.filter(|signal| handles(*signal));
        let mut signals = Signals::new(handled)?;
        let answering = move || {
            let mut requests = Requests::default();
            for signal in signals.forever() {
                if signal == SIGHUP && super::is_reload() {
                    continue;
                }
                requests.take(ENDED_BY_SIGNAL + signal);
            }
        };
        thread::Builder::new()
            .name("wirestamp-signals".into())
            .spawn(answering)
            .map(drop)
    }

    /// Returns whether the starter of this process made it ignore `signal`; `false` where the system does not report that.
    fn is_ignored(signal: i32) -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
    }
}

#[cfg(not(unix))]
mod system {
    use super::Requests;
    use std::sync::Mutex;

    /// What a shell reports for a program that Ctrl-C ended.
    const INTERRUPTED: i32 = 130;

    pub(super) fn listen() -> Result<(), ctrlc::Error> {
        let requests = Mutex::new(Requests::default());
        ctrlc::set_handler(move || {
            requests
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .take(INTERRUPTED);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_comes_twice_at_once_is_one_request_and_later_ones_are_others() {
        let mut requests = Requests::default();
        let (begun, moment) = (Instant::now(), Duration::from_millis(5));
        for (number, answer) in [
            Answer::EndTheRun,
            Answer::ExitWhenRestored,
            Answer::ExitAtOnce,
            Answer::ExitAtOnce,
        ]
        .into_iter()
        .enumerate()
        {
            let at = begun + ONE_REQUEST * number as u32;
            assert_eq!(requests.answer(at), Some(answer));
            assert_eq!(requests.answer(at + moment), None);
        }
    }
}
