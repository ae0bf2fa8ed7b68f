//! The system calls of a socket alone, with the same options and control messages, and
//! nothing around them: what the bench compares the library with. Never part of a release.

#[cfg(feature = "io-uring")]
pub use super::socket::ring::bare::Ring;

use super::call;
use super::socket::messages::{CHUNK, ReceiveMessages, SendMessages};
use super::wire::address::AddressBytes;
use super::wire::constants::{
    OPT_ID, OPT_RX_FILTER, OPT_TSONLY, SCM_TS_OPT_ID, SO_TIMESTAMPING_NEW, SOFTWARE, TX_SOFTWARE,
};
use super::wire::control::{QueueEntry, queue_entry};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use wirestamp_core::timestamp::Notice;

/// Asks for software transmit timestamps of all datagrams, as a socket does whose datagrams all have ids.
///
/// # Errors
/// The system's.
pub fn timestamp_all(fd: BorrowedFd<'_>) -> io::Result<()> {
    let flags = OPT_RX_FILTER | SOFTWARE | OPT_ID | OPT_TSONLY | TX_SOFTWARE;
    call::set_option(
        fd,
        libc::SOL_SOCKET,
        SO_TIMESTAMPING_NEW,
        &flags.to_ne_bytes(),
    )
}

/// A TUN device that nobody reads: datagrams are timestamped in its driver, and dropped. As long as the
/// descriptor is open, in the network namespace of the thread.
///
/// # Errors
/// The system's.
pub fn tun(name: &str) -> io::Result<OwnedFd> {
    let device = OwnedFd::from(
        File::options()
            .read(true)
            .write(true)
            .open("/dev/net/tun")?,
    );
    call::make_tun(device.as_fd(), name)?;
    Ok(device)
}

/// Sends `payload` under each of `ids` to the connected peer; returns how many went.
///
/// # Errors
/// The system's.
pub fn send(fd: BorrowedFd<'_>, payload: &[u8], ids: Range<u32>) -> io::Result<usize> {
    if ids.len() == 1 {
        send_all(&mut SendMessages::<1>::new(), fd, payload, ids)
    } else {
        send_all(&mut SendMessages::<CHUNK>::new(), fd, payload, ids)
    }
}

fn send_all<'a, const N: usize>(
    messages: &mut SendMessages<'a, N>,
    fd: BorrowedFd<'_>,
    payload: &'a [u8],
    ids: Range<u32>,
) -> io::Result<usize> {
    for id in ids {
        let control = messages.push(payload, (AddressBytes::NONE, []));
        let fits = control.push(libc::SOL_SOCKET, SCM_TS_OPT_ID, &id.to_ne_bytes());
        debug_assert!(fits, "the control buffer holds the message");
    }
    messages.send(fd)
}

/// Reads up to `most` timestamps; returns how many.
///
/// # Errors
/// The system's; none wait: `WouldBlock`.
pub fn timestamps(fd: BorrowedFd<'_>, most: usize) -> io::Result<usize> {
    if most == 1 {
        timestamps_into(&mut <ReceiveMessages<1>>::new(), fd)
    } else {
        timestamps_into(&mut <ReceiveMessages<CHUNK>>::new(), fd)
    }
}

fn timestamps_into<const N: usize>(
    messages: &mut ReceiveMessages<N>,
    fd: BorrowedFd<'_>,
) -> io::Result<usize> {
    let count = messages.receive_errors(fd)?;
    let is_timestamp = |index: &usize| matches!(queue_entry(messages.control(*index), || None), Some(QueueEntry::Timestamp { timestamps, .. }) if timestamps.software.is_some());
    Ok((0..count).filter(is_timestamp).count())
}

/// Lets sends ask for MSG_ZEROCOPY.
///
/// # Errors
/// The system's.
pub fn accept_zero_copy(fd: BorrowedFd<'_>) -> io::Result<()> {
    call::set_number(fd, libc::SOL_SOCKET, libc::SO_ZEROCOPY, 1)
}

/// Reads up to 64 entries of the error queue: how many are timestamps, and how many sends the notices of zero copy are of.
///
/// # Errors
/// The system's; none wait: `WouldBlock`.
pub fn entries(fd: BorrowedFd<'_>) -> io::Result<(usize, usize)> {
    let messages = &mut <ReceiveMessages<CHUNK>>::new();
    let count = messages.receive_errors(fd)?;
    let (mut timestamps, mut notices) = (0, 0);
    for index in 0..count {
        match queue_entry(messages.control(index), || None) {
            Some(QueueEntry::Timestamp { .. }) => timestamps += 1,
            Some(QueueEntry::Notice(Notice::ZeroCopy { first, last })) => {
                notices += last.wrapping_sub(first) as usize + 1;
            }
            _ => {}
        }
    }
    Ok((timestamps, notices))
}
