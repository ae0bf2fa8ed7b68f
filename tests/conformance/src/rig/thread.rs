//! What is particular to a thread on Linux: its processor time and its privileges.

use caps::{CapSet, Capability};
use nix::sys::resource::{UsageWho, getrusage};
use std::path::PathBuf;
use std::time::Duration;
use std::{fs, thread};

/// A thread, as others see it.
#[derive(Debug)]
pub(crate) struct Seen(PathBuf);

impl Seen {
    /// The calling one.
    pub(crate) fn this() -> std::io::Result<Self> {
        fs::read_link("/proc/thread-self")
            .map(|thread| Self(PathBuf::from("/proc").join(thread).join("stat")))
    }

    /// Sleeps until it waits for something in the kernel, however slow the machine is.
    pub(crate) fn until_it_waits(&self) {
        // behind the thread's name, which is in brackets
        let state = |stat: String| {
            stat.rsplit(')')
                .next()
                .and_then(|rest| rest.trim_start().chars().next())
        };
        while fs::read_to_string(&self.0)
            .ok()
            .and_then(state)
            .is_some_and(|state| state != 'S')
        {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The processor time that the calling thread has used. `None` where the system can't tell.
pub(crate) fn cpu_time() -> Option<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).ok()?;
    let total = usage.user_time() + usage.system_time();
    let microseconds = i128::from(total.tv_sec()) * 1_000_000 + i128::from(total.tv_usec());
    u64::try_from(microseconds).ok().map(Duration::from_micros)
}

/// Does something on this thread without any privilege: no capability is effective meanwhile.
pub(crate) fn without_privilege<T>(act: impl FnOnce() -> T) -> Result<T, String> {
    let failed = |error: caps::errors::CapsError| format!("capabilities: {error}");
    let before = caps::read(None, CapSet::Effective).map_err(failed)?;
    caps::clear(None, CapSet::Effective).map_err(failed)?;
    let done = act();
    caps::set(None, CapSet::Effective, &before).map_err(failed)?;
    Ok(done)
}

/// Whether this thread may configure networks.
pub(crate) fn is_privileged() -> bool {
    caps::has_cap(None, CapSet::Effective, Capability::CAP_NET_ADMIN).unwrap_or(false)
}
