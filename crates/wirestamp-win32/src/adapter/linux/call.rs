//! The system calls that `wirestamp-sys` has no use for: one a function, no meaning
//! attached.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// socket(2), closed on exec.
pub(super) fn socket(family: i32, kind: i32) -> io::Result<OwnedFd> {
    // SAFETY: takes plain numbers.
    let fd = check(unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: the kernel just gave this descriptor to us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// setsockopt(2).
pub(super) fn set_option(
    fd: BorrowedFd<'_>,
    level: i32,
    name: i32,
    value: &[u8],
) -> io::Result<()> {
    let length = value.len() as libc::socklen_t;
    // SAFETY: `value` outlives the call and has the given length.
    let result =
        unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, value.as_ptr().cast(), length) };
    check(result).map(drop)
}

/// getsockopt(2) of an `int`.
pub(super) fn number(fd: BorrowedFd<'_>, level: i32, name: i32) -> io::Result<i32> {
    let mut value: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    let place = (&raw mut value).cast();
    // SAFETY: both outlive the call, and `length` says how long `value` is.
    let result = unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, place, &raw mut length) };
    check(result).map(|_| value)
}

/// `FIONREAD`.
pub(super) fn readable(fd: BorrowedFd<'_>) -> io::Result<i32> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the number outlives the call, and this request writes an `int`.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), libc::FIONREAD, &raw mut bytes) };
    check(result).map(|_| bytes)
}
