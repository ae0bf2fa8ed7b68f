//! There is no sandbox on this system.

use std::path::PathBuf;

/// What a command still does after it has begun.
#[derive(Debug, Clone, Default)]
#[expect(dead_code, reason = "nothing is taken away here, so nobody asks what is needed")]
pub(crate) struct Needs {
    pub(crate) sets_system_clock: bool,
    pub(crate) sets_hardware_clock: bool,
    pub(crate) reads_hardware_clock: bool,
    pub(crate) switches_hardware: bool,
    pub(crate) uses_rings: bool,
    pub(crate) folders: Vec<PathBuf>,
}

/// Nothing is taken away.
#[derive(Debug)]
pub(crate) struct Sandbox;

impl Sandbox {
    pub(crate) fn enter(_: Needs) -> (Self, Vec<String>) {
        (Self, Vec::new())
    }

    pub(crate) fn close(&self) -> Option<String> {
        None
    }
}
