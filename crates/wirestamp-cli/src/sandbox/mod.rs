//! Takes away what a long-running command does not need: capabilities, files and system calls. What
//! parses packets from the network shall be of no use to whoever finds a hole in it.
//!
//! [`Sandbox::enter`] comes before the first thread, because capabilities and file rights belong to
//! threads, and threads inherit them. [`Sandbox::close`] comes once sockets and clocks are open, and
//! filters the system calls of all threads.

mod calls;
mod capabilities;
mod files;
mod needs;
#[cfg(test)]
mod tests;

pub(crate) use needs::Needs;

/// What is taken away.
#[derive(Debug)]
pub(crate) struct Sandbox {
    needs: Needs,
}

impl Sandbox {
    /// Gives up capabilities and file rights. Returns what could not be given up, and why.
    pub(crate) fn enter(needs: Needs) -> (Self, Vec<String>) {
        let mut missing = Vec::new();
        missing.extend(
            capabilities::keep(&needs)
                .err()
                .map(|why| format!("capabilities are kept: {why}")),
        );
        missing.extend(
            files::restrict(&needs)
                .err()
                .map(|why| format!("files are not restricted (Landlock): {why}")),
        );
        (Self { needs }, missing)
    }

    /// Filters system calls from now on. Returns why that could not be done, if so.
    pub(crate) fn close(&self) -> Option<String> {
        calls::filter(&self.needs)
            .err()
            .map(|why| format!("system calls are not filtered (seccomp): {why}"))
    }
}
