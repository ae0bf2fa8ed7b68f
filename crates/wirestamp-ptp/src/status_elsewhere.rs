//! The status server on systems other than Linux and Windows, where it is not supported.

use crate::report::Status;
use wirestamp::{Error, ErrorKind, Result};

fn not_supported(target: &str) -> Error {
    let cause = "a running clock can be asked on Linux and Windows only";
    Error::new(
        ErrorKind::NotSupported,
        "ask a running PTP clock",
        target,
        cause,
    )
    .with_remedy("use its own output, with --json for programs")
}

/// A status server, which cannot be created on this system.
#[derive(Debug)]
pub struct StatusServer(std::convert::Infallible);

impl StatusServer {
    /// Fails on this system.
    ///
    /// # Errors
    /// `NotSupported`.
    pub fn open(interface: &str) -> Result<Self> {
        Err(not_supported(interface))
    }

    /// Fails on this system.
    ///
    /// # Errors
    /// `NotSupported`.
    pub fn folder() -> Result<std::path::PathBuf> {
        Err(not_supported("the folder of its sockets"))
    }

    /// Never called.
    pub fn answer(&self, _: impl FnOnce() -> Status) {
        match self.0 {}
    }
}

/// Fails on this system.
///
/// # Errors
/// `NotSupported`.
pub fn ask(interface: Option<&str>) -> Result<String> {
    Err(not_supported(interface.unwrap_or("this system")))
}
