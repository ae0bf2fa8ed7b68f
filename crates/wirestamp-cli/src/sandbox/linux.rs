//! Capabilities, files and system calls of Linux.

use super::{Needs, calls, capabilities, files};

/// A sandbox that leaves the process only the rights in `needs`.
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
