//! What a command asks the sandbox to leave.

use std::path::PathBuf;

/// What a command still does after it has begun.
#[derive(Debug, Clone, Default)]
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "nothing is taken away here, so nobody asks")
)]
pub(crate) struct Needs {
    /// Sets the system clock.
    pub(crate) sets_system_clock: bool,
    /// Sets the clock of a network interface.
    pub(crate) sets_hardware_clock: bool,
    /// Reads the clock of a network interface.
    pub(crate) reads_hardware_clock: bool,
    /// Reads how far the system clock may be off.
    pub(crate) reads_clock_status: bool,
    /// Binds no port any more.
    pub(crate) has_its_ports: bool,
    /// Opens Ethernet sockets again when an interface comes back.
    pub(crate) opens_ethernet: bool,
    /// Switches hardware timestamping on, and off again at the end.
    pub(crate) switches_hardware: bool,
    /// Receives through io_uring.
    pub(crate) uses_rings: bool,
    /// Writes files at the end, which are open already.
    pub(crate) writes_files: bool,
    /// The folders in which these take their places.
    pub(crate) renames_in: Vec<PathBuf>,
    /// The folder of its status socket.
    pub(crate) folders: Vec<PathBuf>,
}
