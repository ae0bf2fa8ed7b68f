//! The rings that a socket shares with the kernel (io_uring): datagrams received into
//! buffers of the ring, and transmit timestamps as completions. Decides nothing about what they
//! mean, and waits for nothing: on any engine a wait is ppoll(2).
//!
//! A ring is of one thread, and completions are made only while that thread asks for them
//! (`SINGLE_ISSUER`, `DEFER_TASKRUN`): nothing is taken from the socket behind anybody's back,
//! so other threads can take from it by calls at the same time.
//!
//! Source: io_uring_setup(2), io_uring_enter(2), `linux/io_uring.h`.

#[cfg(feature = "bare")]
pub(in crate::linux) mod bare;
mod buffers;
mod lending;
mod owner;
mod receiving;
mod refusal;
mod timestamps;

pub(super) use lending::{Arrived, Completed, LendingRing};
pub(super) use receiving::ReceiveRing;
pub(super) use timestamps::TimestampIoUring;

use io_uring::{IoUring, cqueue, squeue};
use std::io;

/// `IORING_ENTER_GETEVENTS`.
const GET_EVENTS: u32 = 1;

/// Has the kernel take `to_submit` commands, and make the completions that are due. Does not wait.
fn enter<C: cqueue::EntryMarker>(
    ring: &IoUring<squeue::Entry, C>,
    to_submit: u32,
) -> io::Result<usize> {
    // SAFETY: no argument is passed that could be wrong; the commands are checked where they
    // are pushed.
    let entered = unsafe { ring.submitter().enter::<()>(to_submit, 0, GET_EVENTS, None) };
    match entered {
        Err(error) if is_passing(&error) => Ok(0),
        other => other,
    }
}

/// Try again later.
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EINTR | libc::EAGAIN | libc::EBUSY)
    )
}

/// A ring that belongs to nobody yet.
fn build<C: cqueue::EntryMarker>(
    commands: u32,
    completions: u32,
) -> io::Result<IoUring<squeue::Entry, C>> {
    let mut builder = IoUring::<squeue::Entry, C>::builder();
    builder
        .setup_cqsize(completions)
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_r_disabled();
    builder.build(commands)
}

#[cfg(test)]
mod tests;
