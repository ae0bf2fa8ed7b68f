//! TUN devices: IP packets as a file.

use nix::libc;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

nix::ioctl_write_ptr_bad!(
    /// Makes a device of the calling thread's network namespace for the open file.
    set_interface,
    nix::request_code_write!(b'T', 202, size_of::<libc::c_int>()),
    libc::ifreq
);

/// Makes a device of this name in the calling thread's network namespace; it vanishes with the file. Reading does
/// not wait.
pub(crate) fn open(name: &str) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open("/dev/net/tun")?;
    let mut request = libc::ifreq {
        ifr_name: [0; libc::IFNAMSIZ],
        ifr_ifru: libc::__c_anonymous_ifr_ifru {
            // packets alone, without the four bytes before them
            ifru_flags: (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short,
        },
    };
    let room = &mut request.ifr_name[..libc::IFNAMSIZ - 1];
    for (place, byte) in room.iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    // SAFETY: the file is open, and the kernel reads a whole `ifreq`, which lives until the call returns.
    unsafe { set_interface(file.as_raw_fd(), &raw const request) }?;
    Ok(file)
}
