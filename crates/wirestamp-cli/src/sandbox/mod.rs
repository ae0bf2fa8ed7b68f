//! Takes away what a long-running command does not need: capabilities, files and system calls. What
//! parses packets from the network shall be of no use to whoever finds a hole in it.
//!
//! [`Sandbox::enter`] comes before the first thread, because capabilities and file rights belong to
//! threads, and threads inherit them. [`Sandbox::close`] comes once sockets and clocks are open, and
//! filters the system calls of all threads.

mod calls;
mod capabilities;
mod files;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

/// What a command still does after it has begun.
#[derive(Debug, Clone, Default)]
pub(crate) struct Needs {
    /// Sets the system clock.
    pub(crate) sets_system_clock: bool,
    /// Sets the clock of a network interface.
    pub(crate) sets_hardware_clock: bool,
    /// Reads the clock of a network interface.
    pub(crate) reads_hardware_clock: bool,
    /// Switches hardware timestamping on, and off again at the end.
    pub(crate) switches_hardware: bool,
    /// Receives through io_uring.
    pub(crate) uses_rings: bool,
    /// The folder of its status socket.
    pub(crate) folders: Vec<PathBuf>,
}

/// What is taken away.
#[derive(Debug)]
pub(crate) struct Sandbox {
    needs: Needs,
}

impl Sandbox {
    /// Gives up capabilities and file rights. Returns what could not be given up, and why.
    pub(crate) fn enter(needs: Needs) -> (Self, Vec<String>) {
        let mut missing = Vec::new();
        missing.extend(capabilities::keep(&needs).err().map(|why| format!("capabilities are kept: {why}")));
        missing.extend(files::restrict(&needs).err().map(|why| format!("files are not restricted (Landlock): {why}")));
        (Self { needs }, missing)
    }

    /// Filters system calls from now on. Returns why that could not be done, if so.
    pub(crate) fn close(&self) -> Option<String> {
        calls::filter(&self.needs).err().map(|why| format!("system calls are not filtered (seccomp): {why}"))
    }
}
