//! Transmit timestamps as completions (Linux 6.17): one command that stays active, and how it
//! recovers when the completion queue was full. Timestamps are matched elsewhere.
//!
//! A full queue ends the delivery silently on 6.18, and the command with `ENOBUFS` on later kernels.
//! So the queue is larger than the socket's capacity. If it was full nevertheless, the rest is read
//! by calls, and the command is issued again.
//!
//! If room for completions was reserved up to the last slot of the queue but not into it, 6.18 fills
//! that slot with a meaningless completion, but writes it into the middle of the queue. The last
//! slot then has its entry of the previous round, and the timestamp in the middle is lost. So the
//! last slot is not read again, and the queue is twice as long as a delivery, so that the middle has
//! been read by then.

use super::owner::{Owner, Turn};
use super::{build, enter, refusal};
use crate::native::call;
use crate::native::wire::completion;
use crate::native::wire::constants::{OPT_ID, OPT_TSONLY, SO_TIMESTAMPING_NEW, SOFTWARE};
use crate::native::wire::control::QueueEntry;
use io_uring::types::Fd;
use io_uring::{IoUring, cqueue, opcode, squeue};
use socket2::{Domain, Protocol, Type};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::OnceLock;
use wirestamp_core::configuration::IoUringUnavailable;

/// `SOCKET_URING_OP_TX_TIMESTAMP`.
const TRANSMIT_TIMESTAMPS: u32 = 4;
/// The kernel's limit.
const MOST_COMPLETIONS: u32 = 1 << 16;
/// So often calls may find timestamps that the ring did not give, before the command is given anew.
/// Once is no sign: they may have come in between.
const MOST_MISSED: u32 = 3;

/// A socket's ring for transmit timestamps.
pub(in super::super) struct TimestampIoUring {
    ring: IoUring<squeue::Entry, cqueue::Entry32>,
    owner: Owner,
    /// Which command is in force, if `armed`; a new one has the next number.
    command: u64,
    armed: bool,
    missed: u32,
    refused: Option<i32>,
    most: u32,
    /// Where in the queue the next completion is.
    place: u32,
    /// What the last place had when it was read.
    last: Option<Completion>,
}

/// All of a completion: command, result, flags, extra.
type Completion = (u64, i32, u32, [u64; 2]);

impl fmt::Debug for TimestampIoUring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimestampIoUring")
            .field("command", &self.command)
            .field("armed", &self.armed)
            .finish_non_exhaustive()
    }
}

impl TimestampIoUring {
    /// For a socket that keeps up to `most` timestamps.
    pub(in super::super) fn new(most: u32) -> Result<Self, IoUringUnavailable> {
        if let Some(refusal) = *refused_by_this_kernel() {
            return Err(refusal);
        }
        Self::build(most)
    }

    fn build(most: u32) -> Result<Self, IoUringUnavailable> {
        let completions = most
            .checked_mul(2)
            .and_then(u32::checked_next_power_of_two)
            .map(|count| count.max(16));
        let Some(completions) = completions.filter(|count| *count <= MOST_COMPLETIONS) else {
            return Err(IoUringUnavailable::new(
                "the socket keeps more timestamps than a ring has room for",
                None,
            ));
        };
        let ring = build(4, completions).map_err(|error| refusal::of_setup(&error))?;
        let owner = Owner::default();
        Ok(Self {
            ring,
            owner,
            command: 0,
            armed: false,
            missed: 0,
            refused: None,
            most,
            place: 0,
            last: None,
        })
    }

    /// One like this, that is nobody's yet.
    pub(in super::super) fn another(&self) -> Result<Self, IoUringUnavailable> {
        Self::build(self.most)
    }

    /// Has the kernel complete what waits in the error queue; returns how many came. `None`: the
    /// ring is another thread's; use a call.
    pub(in super::super) fn fill(&mut self, fd: BorrowedFd<'_>) -> io::Result<Option<usize>> {
        match self.owner.turn() {
            Turn::First => self.ring.submitter().register_enable_rings()?,
            Turn::Mine => {}
            Turn::Others => return Ok(None),
            Turn::Abandoned => return Err(io::Error::from_raw_os_error(libc::EOWNERDEAD)),
        }
        let mut to_submit = 0;
        if !self.armed {
            to_submit = self.push_commands(fd)?;
        }
        let submitted = enter(&self.ring, to_submit)?;
        self.armed |= to_submit > 0 && submitted == to_submit as usize;
        Ok(Some(self.ring.completion().len()))
    }

    /// Ends the command in force, if there is one, and gives a new one.
    fn push_commands(&mut self, fd: BorrowedFd<'_>) -> io::Result<u32> {
        let mut commands = self.ring.submission();
        if commands.is_empty() {
            let cancel = opcode::AsyncCancel::new(self.command).build().user_data(0);
            self.command += 1;
            let command = opcode::UringCmd16::new(Fd(fd.as_raw_fd()), TRANSMIT_TIMESTAMPS)
                .build()
                .user_data(self.command);
            // SAFETY: neither command points to memory.
            unsafe { commands.push_multiple(&[cancel, command]) }
                .map_err(|_| io::Error::from_raw_os_error(libc::ENOSPC))?;
        }
        Ok(commands.len() as u32)
    }

    /// Hands out what was completed; returns how many completions there were.
    pub(in super::super) fn take(&mut self, mut each: impl FnMut(QueueEntry)) -> io::Result<usize> {
        let mut taken = 0;
        let last_place = self.ring.params().cq_entries() - 1;
        for completion in self.ring.completion() {
            let place = self.place;
            self.place = (place + 1) & last_place;
            if place == last_place {
                let read = (
                    completion.user_data(),
                    completion.result(),
                    completion.flags(),
                    *completion.big_cqe(),
                );
                if self.last.replace(read) == Some(read) {
                    continue; // nothing was written there
                }
            }
            if cqueue::more(completion.flags()) {
                taken += 1;
                each(completion::transmit_timestamp(
                    completion.result(),
                    completion.flags(),
                    *completion.big_cqe(),
                ));
            } else if completion.user_data() == self.command {
                self.armed = false;
                let code = -completion.result();
                self.refused =
                    Some(code).filter(|code| !matches!(*code, 0 | libc::ENOBUFS | libc::ECANCELED));
            }
        }
        if taken > 0 {
            self.missed = 0;
        }
        match self.refused.take() {
            Some(code) if taken == 0 => Err(io::Error::from_raw_os_error(code)),
            _ => Ok(taken),
        }
    }

    /// Whether so many completions filled the queue: then there may be more, and no more come.
    pub(in super::super) fn is_stalled_after(&mut self, taken: usize) -> bool {
        let stalled = taken + 2 >= self.ring.params().cq_entries() as usize;
        self.armed &= !stalled;
        stalled
    }

    /// A call found timestamps although the ring had given none.
    pub(in super::super) fn missed_some(&mut self) {
        self.missed += 1;
        if self.missed >= MOST_MISSED {
            (self.missed, self.armed) = (0, false);
        }
    }
}

/// Whether the kernel has the command; asked once.
fn refused_by_this_kernel() -> &'static Option<IoUringUnavailable> {
    static REFUSED: OnceLock<Option<IoUringUnavailable>> = OnceLock::new();
    REFUSED.get_or_init(|| attempt().err())
}

fn attempt() -> Result<(), IoUringUnavailable> {
    let failed = |error: io::Error| refusal::of_setup(&error);
    let mut ring = TimestampIoUring::build(1)?;
    let socket = socket2::Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP));
    let socket = socket.map_err(failed)?;
    let flags = (OPT_ID | OPT_TSONLY | SOFTWARE).to_ne_bytes();
    call::set_option(
        socket.as_fd(),
        libc::SOL_SOCKET,
        SO_TIMESTAMPING_NEW,
        &flags,
    )
    .map_err(failed)?;
    ring.fill(socket.as_fd()).map_err(failed)?;
    let taken = ring.take(|_| {});
    taken
        .map(drop)
        .map_err(|error| refusal::of_timestamps(error.raw_os_error().unwrap_or_default()))
}
