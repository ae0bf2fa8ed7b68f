//! The system call bpf(2): maps, programs, and links that hold a program at an interface as long as their descriptor is open.
//!
//! Source: bpf(2), `linux/bpf.h`.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// What a program says of its licence. The kernel's function that asks a NIC is only for programs that may be had under the GPL.
const LICENCE: &CStr = c"Dual MIT/GPL";
const NAME: &[u8] = b"wirestamp";
/// Bytes of what the kernel says of a program that it refuses.
const SAID: usize = 1 << 16;

// Commands, kinds of maps and programs.
const MAP_CREATE: libc::c_long = 0;
const MAP_LOOKUP: libc::c_long = 1;
const MAP_UPDATE: libc::c_long = 2;
const PROGRAM_LOAD: libc::c_long = 5;
const LINK_CREATE: libc::c_long = 28;
const ARRAY: u32 = 2;
const SOCKETS: u32 = 17;
const XDP: u32 = 6;
const XDP_ATTACHED: u32 = 37;
/// `BPF_F_XDP_DEV_BOUND_ONLY`.
const BOUND: u32 = 1 << 6;
/// `XDP_FLAGS_SKB_MODE`, `XDP_FLAGS_DRV_MODE`.
const GENERIC: u32 = 1 << 1;
const DRIVER: u32 = 1 << 2;

/// `union bpf_attr`, filled by offsets: the kernel takes longer ones than it knows if the rest is zero.
#[repr(C, align(8))]
struct Attributes([u8; 144]);

impl Attributes {
    fn new() -> Self {
        Self([0; 144])
    }

    fn word(mut self, at: usize, value: u32) -> Self {
        self.0[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        self
    }

    fn descriptor(self, at: usize, fd: &impl AsFd) -> Self {
        self.word(at, fd.as_fd().as_raw_fd() as u32)
    }

    /// The address of something that must outlive the call.
    fn address<T>(mut self, at: usize, value: *const T) -> Self {
        let address = value as usize as u64;
        self.0[at..at + 8].copy_from_slice(&address.to_ne_bytes());
        self
    }

    fn call(&mut self, command: libc::c_long) -> io::Result<libc::c_int> {
        let (place, length) = (self.0.as_mut_ptr(), self.0.len());
        // SAFETY: the attributes outlive the call and have the given length; what they point to is the callers' duty, here in this file.
        let answer = unsafe { libc::syscall(libc::SYS_bpf, command, place, length) };
        if answer < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(answer as libc::c_int)
    }

    fn make(&mut self, command: libc::c_long) -> io::Result<OwnedFd> {
        let fd = self.call(command)?;
        // SAFETY: the kernel just gave this descriptor to us alone.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}

/// A map from the numbers of queues, below `queues`, to AF_XDP sockets.
pub(super) fn socket_map(queues: u32) -> io::Result<OwnedFd> {
    map(SOCKETS, 4, queues)
}

/// A map whose only value is a count.
pub(super) fn count_map() -> io::Result<OwnedFd> {
    map(ARRAY, 8, 1)
}

fn map(kind: u32, value: u32, entries: u32) -> io::Result<OwnedFd> {
    let attributes = Attributes::new().word(0, kind).word(4, 4);
    attributes.word(8, value).word(12, entries).make(MAP_CREATE)
}

/// Puts a socket into a map.
pub(super) fn set_socket(map: &OwnedFd, queue: u32, socket: &impl AsFd) -> io::Result<()> {
    let value = socket.as_fd().as_raw_fd();
    let attributes = Attributes::new().descriptor(0, map);
    let attributes = attributes.address(8, &raw const queue);
    let answer = attributes.address(16, &raw const value).call(MAP_UPDATE);
    answer.map(drop)
}

/// Reads a count.
pub(super) fn count(map: &OwnedFd) -> io::Result<u64> {
    let (key, mut value) = (0u32, 0u64);
    let attributes = Attributes::new().descriptor(0, map);
    let attributes = attributes.address(8, &raw const key);
    attributes.address(16, &raw mut value).call(MAP_LOOKUP)?;
    Ok(value)
}

/// Loads an XDP program; `bound` to an interface or not. What the kernel says of one that it refuses is the error's text.
pub(super) fn load(program: &[u8], bound: Option<u32>) -> Result<OwnedFd, (io::Error, String)> {
    let mut said = vec![0u8; SAID];
    let attributes = Attributes::new()
        .word(0, XDP)
        .word(4, (program.len() / 8) as u32)
        .address(8, program.as_ptr())
        .address(16, LICENCE.as_ptr())
        .word(24, 1)
        .word(28, SAID as u32)
        .address(32, said.as_mut_ptr());
    let attributes = attributes
        .word(44, bound.map_or(0, |_| BOUND))
        .word(64, bound.unwrap_or(0))
        .word(68, XDP_ATTACHED);
    let mut attributes = attributes;
    attributes.0[48..48 + NAME.len()].copy_from_slice(NAME);
    attributes.make(PROGRAM_LOAD).map_err(|error| {
        let end = said.iter().position(|octet| *octet == 0).unwrap_or(0);
        let text = String::from_utf8_lossy(&said[..end]);
        let last = text.lines().rfind(|line| !line.starts_with("processed "));
        (error, last.unwrap_or_default().to_owned())
    })
}

/// Attaches a program to an interface, in its driver or before it, until the descriptor is closed.
pub(super) fn attach(program: &OwnedFd, interface: u32, in_driver: bool) -> io::Result<OwnedFd> {
    let flags = if in_driver { DRIVER } else { GENERIC };
    Attributes::new()
        .descriptor(0, program)
        .word(4, interface)
        .word(8, XDP_ATTACHED)
        .word(12, flags)
        .make(LINK_CREATE)
}
