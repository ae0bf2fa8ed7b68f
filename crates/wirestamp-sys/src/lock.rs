//! Locks of whole files between programs, flock(2): what `File::try_lock` does from Rust 1.89 on. Linux only.

use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::AsRawFd;

/// Locks a file for one holder without waiting; `false`: others have it locked. The lock ends with the file at the latest.
///
/// # Errors
/// The system's.
pub fn try_lock(file: &File) -> Result<bool> {
    without_waiting(file, libc::LOCK_EX)
}

/// Locks a file for any number of holders without waiting; `false`: one has it [for itself](try_lock).
///
/// # Errors
/// The system's.
pub fn try_lock_shared(file: &File) -> Result<bool> {
    without_waiting(file, libc::LOCK_SH)
}

/// Ends the lock of a file.
///
/// # Errors
/// The system's.
pub fn unlock(file: &File) -> Result<()> {
    flock(file, libc::LOCK_UN)
}

fn without_waiting(file: &File, kind: libc::c_int) -> Result<bool> {
    match flock(file, kind | libc::LOCK_NB) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

fn flock(file: &File, operation: libc::c_int) -> Result<()> {
    // SAFETY: takes plain numbers; the descriptor is open.
    match unsafe { libc::flock(file.as_raw_fd(), operation) } {
        0 => Ok(()),
        _ => Err(Error::last_os_error()),
    }
}
