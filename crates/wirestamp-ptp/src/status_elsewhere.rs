//! The answer where a running clock can't be asked: neither Linux nor Windows.

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

/// Answers nobody here.
#[derive(Debug)]
pub struct StatusServer(std::convert::Infallible);

impl StatusServer {
    /// Refuses.
    ///
    /// # Errors
    /// `NotSupported`.
    pub fn open(interface: &str) -> Result<Self> {
        Err(not_supported(interface))
    }

    /// Refuses.
    ///
    /// # Errors
    /// `NotSupported`.
    pub fn folder() -> Result<std::path::PathBuf> {
        Err(not_supported("the folder of its sockets"))
    }

    /// Is never called.
    pub fn answer(&self, _: impl FnOnce() -> Status) {
        match self.0 {}
    }
}

/// Refuses.
///
/// # Errors
/// `NotSupported`.
pub fn ask(interface: Option<&str>) -> Result<String> {
    Err(not_supported(interface.unwrap_or("this system")))
}
