//! Receiving through a ring: one command that stays active (multishot), and the buffers that it
//! fills. Timestamps are read elsewhere.

use super::buffers::{Buffers, GROUP};
use super::owner::{Owner, Turn};
use super::{build, enter, refusal};
use crate::native::wire::address::LENGTH;
use io_uring::types::Fd;
use io_uring::{IoUring, cqueue, opcode};
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use wirestamp_core::configuration::IoUringUnavailable;

/// Room for control data, as it is for calls less what an even header takes.
const CONTROL: usize = 208;
const NAME: usize = 32;
/// `io_uring_recvmsg_out`: four lengths.
pub(super) const HEADER: usize = 16 + NAME + CONTROL;
const _: () = assert!(HEADER == 256 && NAME >= LENGTH);
/// The kernel takes so many datagrams for one request to look (`MULTISHOT_MAX_RETRY`).
const ROUND: usize = 32;

/// A received datagram, in a buffer of the ring.
#[derive(Debug)]
pub(in super::super) struct Datagram<'a> {
    pub(in super::super) name: &'a [u8],
    pub(in super::super) control: &'a [u8],
    pub(in super::super) payload: &'a [u8],
    pub(in super::super) truncated: bool,
    pub(in super::super) control_truncated: bool,
}

/// A socket's ring for receiving.
pub(in super::super) struct ReceiveRing {
    // Dropped before the memory that it writes to.
    ring: IoUring,
    buffers: Buffers,
    owner: Owner,
    /// Whether the kernel has the command.
    armed: bool,
    /// An error of the socket, to be reported after the datagrams before it.
    failed: Option<i32>,
    longest: u16,
}

impl fmt::Debug for ReceiveRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceiveRing")
            .field("armed", &self.armed)
            .finish_non_exhaustive()
    }
}

impl ReceiveRing {
    pub(in super::super) fn new(longest: u16) -> Result<Self, IoUringUnavailable> {
        let make = || {
            let buffers = Buffers::new(HEADER + usize::from(longest))?;
            let ring = build(2, 2 * buffers.count())?;
            buffers.register(&ring)?;
            Ok(Self {
                ring,
                buffers,
                owner: Owner::default(),
                armed: false,
                failed: None,
                longest,
            })
        };
        make().map_err(|error: io::Error| refusal::of_setup(&error))
    }

    /// One like this, that is nobody's yet.
    pub(in super::super) fn another(&self) -> Result<Self, IoUringUnavailable> {
        Self::new(self.longest)
    }

    /// Whether datagrams were taken from the socket and not from here.
    pub(in super::super) fn holds_any(&mut self) -> bool {
        !self.ring.completion().is_empty()
    }

    /// Takes datagrams from the socket into the ring until it holds `wanted`. `None`: the ring
    /// is another thread's; use a call. What it holds anybody may take.
    pub(in super::super) fn fill(
        &mut self,
        fd: BorrowedFd<'_>,
        wanted: usize,
    ) -> io::Result<Option<usize>> {
        let mut held = self.ring.completion().len();
        if held >= wanted {
            return Ok(Some(held));
        }
        match self.owner.turn() {
            Turn::First => self.ring.submitter().register_enable_rings()?,
            Turn::Mine => {}
            Turn::Others | Turn::Abandoned if held > 0 => return Ok(Some(held)),
            Turn::Others => return Ok(None),
            Turn::Abandoned => return Err(io::Error::from_raw_os_error(libc::EOWNERDEAD)),
        }
        loop {
            self.ask(fd)?;
            let holds = self.ring.completion().len();
            if holds >= wanted || holds < held + ROUND {
                return Ok(Some(holds));
            }
            held = holds;
        }
    }

    fn ask(&mut self, fd: BorrowedFd<'_>) -> io::Result<()> {
        if self.armed {
            return enter(&self.ring, 0).map(drop);
        }
        let header = header();
        let command =
            opcode::RecvMsgMulti::new(Fd(fd.as_raw_fd()), &raw const header, GROUP).build();
        let mut commands = self.ring.submission();
        if commands.is_empty() {
            // SAFETY: the kernel reads `header` while it takes the command, which is below; the
            // buffers of the group live longer than the ring.
            unsafe { commands.push(&command) }
                .map_err(|_| io::Error::from_raw_os_error(libc::ENOSPC))?;
        }
        drop(commands);
        self.armed = enter(&self.ring, 1)? > 0;
        if !self.armed {
            // It would be read later, when `header` is gone.
            return Err(io::Error::from_raw_os_error(libc::ECANCELED));
        }
        Ok(())
    }

    /// Hands out what it holds, oldest first, at most `most`; returns how many.
    ///
    /// # Errors
    /// The socket's own, such as a refused datagram, when there is nothing else to hand out.
    pub(in super::super) fn take(
        &mut self,
        most: usize,
        mut each: impl FnMut(usize, Datagram<'_>),
    ) -> io::Result<usize> {
        let mut taken = 0;
        let mut completions = self.ring.completion();
        while taken < most {
            let Some(completion) = completions.next() else {
                break;
            };
            self.armed &= cqueue::more(completion.flags());
            let Some(id) = cqueue::buffer_select(completion.flags()) else {
                let code = -completion.result();
                // no buffer was left, or the thread that armed it ended: it is armed again
                self.failed =
                    Some(code).filter(|code| !matches!(*code, libc::ENOBUFS | libc::ECANCELED));
                continue;
            };
            let length = usize::try_from(completion.result()).unwrap_or(0);
            if let Some(datagram) = Datagram::read(self.buffers.filled(id, length)) {
                each(taken, datagram);
                taken += 1;
            }
            self.buffers.give_back(id);
        }
        drop(completions);
        self.buffers.publish();
        match self.failed.take() {
            Some(code) if taken == 0 => Err(io::Error::from_raw_os_error(code)),
            failed => {
                self.failed = failed;
                Ok(taken)
            }
        }
    }

    /// Whether the command has ended, so that more may wait than was taken.
    pub(in super::super) fn has_ended(&self) -> bool {
        !self.armed
    }
}

impl<'a> Datagram<'a> {
    /// Reads what the kernel wrote into a buffer: four lengths (`io_uring_recvmsg_out`), then room for name and
    /// control data, then the payload.
    pub(super) fn read(filled: &'a [u8]) -> Option<Self> {
        let (lengths, rest) = filled.split_first_chunk::<16>()?;
        let (name, rest) = rest.split_at_checked(NAME)?;
        let (control, payload) = rest.split_at_checked(CONTROL)?;
        let word = |at: usize| {
            let bytes = [
                lengths[at],
                lengths[at + 1],
                lengths[at + 2],
                lengths[at + 3],
            ];
            u32::from_ne_bytes(bytes)
        };
        let (name_length, control_length, flags) = (word(0) as usize, word(4) as usize, word(12));
        let flags = flags as i32;
        Some(Self {
            name: &name[..name_length.min(NAME)],
            control: &control[..control_length.min(CONTROL)],
            payload,
            truncated: flags & libc::MSG_TRUNC != 0,
            control_truncated: control_length > CONTROL || flags & libc::MSG_CTRUNC != 0,
        })
    }
}

/// How a buffer is divided: name, control data, then the payload.
pub(super) fn header() -> libc::msghdr {
    // SAFETY: integers and null pointers are all valid when zero.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_namelen = NAME as libc::socklen_t;
    header.msg_controllen = CONTROL as _;
    header
}
