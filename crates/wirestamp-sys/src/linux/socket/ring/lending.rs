//! A ring that receives from many sockets into buffers that are lent to the caller: one command a socket
//! that stays in force (multishot), one queue of completions. Does not know what a timestamp is.

use super::buffers::{Buffers, GROUP};
use super::receiving::{Datagram, HEADER, header};
use super::{build, enter, is_passing, refusal};
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use wirestamp_core::configuration::IoUringUnavailable;

/// Commands that are given at once.
const COMMANDS: u32 = 256;
/// The kernel keeps completions for which there is no room, but then takes no more datagrams.
const LEAST_COMPLETIONS: u32 = 4_096;
/// The number of commands whose completion nobody waits for.
const NOBODYS: u64 = u64::MAX;
/// Set in the number of the command that watches a socket's descriptor for its end.
const WATCH: u64 = 1 << 32;

/// Where a received datagram is.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Arrived {
    pub(in super::super) slot: u32,
    buffer: u16,
    length: u32,
}

/// What a completion means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Completed {
    /// The command of this socket is over; with the system's error, or 0.
    Ended { slot: u32, code: i32 },
    /// The socket was closed.
    Closed { slot: u32 },
}

/// What the kernel reads while it takes the commands.
struct Layout(Box<libc::msghdr>);

// SAFETY: its pointers are null, and nobody writes it.
unsafe impl Send for Layout {}

/// See the module.
pub(in super::super) struct LendingRing {
    // Dropped before the memory that it writes to.
    ring: IoUring,
    buffers: Buffers,
    layout: Layout,
    enabled: bool,
    /// The datagrams that are lent now.
    lent: Vec<Arrived>,
}

impl fmt::Debug for LendingRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LendingRing")
            .field("lent", &self.lent.len())
            .finish_non_exhaustive()
    }
}

impl LendingRing {
    /// For payloads of up to `longest` bytes, with at most `most` buffers.
    pub(in super::super) fn new(longest: u16, most: u16) -> Result<Self, IoUringUnavailable> {
        let make = || {
            let buffers = Buffers::with(HEADER + usize::from(longest), most.into())?;
            let completions = (4 * buffers.count()).max(LEAST_COMPLETIONS);
            let ring = build(COMMANDS, completions)?;
            buffers.register(&ring)?;
            let lent = Vec::with_capacity(buffers.count() as usize);
            Ok(Self {
                ring,
                buffers,
                layout: Layout(Box::new(header())),
                enabled: false,
                lent,
            })
        };
        make().map_err(|error: io::Error| refusal::of_setup(&error))
    }

    /// Receives from a socket until its command ends. It must stay open until then.
    pub(in super::super) fn arm(&mut self, slot: u32, fd: BorrowedFd<'_>) -> io::Result<()> {
        let layout = &raw const *self.layout.0;
        let command = opcode::RecvMsgMulti::new(Fd(fd.as_raw_fd()), layout, GROUP).build();
        self.push(&command.user_data(slot.into()))
    }

    /// Has the ring report the end of a socket, when `closing` becomes readable.
    pub(in super::super) fn watch(&mut self, slot: u32, closing: BorrowedFd<'_>) -> io::Result<()> {
        let command = opcode::PollAdd::new(Fd(closing.as_raw_fd()), libc::POLLIN as u32).build();
        self.push(&command.user_data(WATCH | u64::from(slot)))
    }

    /// Ends both commands of a socket; [`Completed::Ended`] reports when they have ended.
    pub(in super::super) fn cancel(&mut self, slot: u32) -> io::Result<()> {
        for number in [slot.into(), WATCH | u64::from(slot)] {
            let cancel = opcode::AsyncCancel::new(number).build();
            self.push(&cancel.user_data(NOBODYS))?;
        }
        Ok(())
    }

    fn push(&mut self, command: &squeue::Entry) -> io::Result<()> {
        if self.ring.submission().is_full() {
            self.look()?;
        }
        // SAFETY: what a command points to, the layout, lives as long as the ring; the buffers of the
        // group live longer than the ring.
        unsafe { self.ring.submission().push(command) }
            .map_err(|_| io::Error::from_raw_os_error(libc::EBUSY))
    }

    /// Gives the commands, and has the kernel complete what is due. Does not wait.
    pub(in super::super) fn look(&mut self) -> io::Result<()> {
        self.enable()?;
        let commands = self.ring.submission().len() as u32;
        enter(&self.ring, commands).map(drop)
    }

    /// The same, and waits for a completion; `None`: for ever. May end early.
    pub(in super::super) fn wait(&mut self, time: Option<libc::timespec>) -> io::Result<()> {
        self.enable()?;
        let limit = time.unwrap_or(libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        });
        let limit = Timespec::new()
            .sec(limit.tv_sec.max(0) as u64)
            .nsec(limit.tv_nsec.clamp(0, 999_999_999) as u32);
        let mut arguments = SubmitArgs::new();
        if time.is_some() {
            arguments = arguments.timespec(&limit);
        }
        match self.ring.submitter().submit_with_args(1, &arguments) {
            Err(error) if error.raw_os_error() == Some(libc::ETIME) || is_passing(&error) => Ok(()),
            other => other.map(drop),
        }
    }

    /// A ring is its first user's.
    fn enable(&mut self) -> io::Result<()> {
        if !self.enabled {
            self.ring.submitter().register_enable_rings()?;
            self.enabled = true;
        }
        Ok(())
    }

    /// Gives back what is lent.
    pub(in super::super) fn give_back(&mut self) {
        if self.lent.is_empty() {
            return;
        }
        for arrived in self.lent.drain(..) {
            self.buffers.give_back(arrived.buffer);
        }
        self.buffers.publish();
    }

    /// Takes the completions: lends the datagrams from now on, and passes everything else to `each`.
    pub(in super::super) fn take(&mut self, mut each: impl FnMut(Completed)) {
        for completion in self.ring.completion() {
            let (number, flags) = (completion.user_data(), completion.flags());
            if number == NOBODYS {
                continue;
            }
            let slot = number as u32;
            if number & WATCH != 0 {
                if completion.result() >= 0 {
                    each(Completed::Closed { slot });
                }
                continue;
            }
            if let Some(buffer) = cqueue::buffer_select(flags) {
                let length = u32::try_from(completion.result()).unwrap_or(0);
                self.lent.push(Arrived {
                    slot,
                    buffer,
                    length,
                });
            }
            if !cqueue::more(flags) {
                let code = (-completion.result()).max(0);
                each(Completed::Ended { slot, code });
            }
        }
    }

    /// Returns the lent datagrams, in the order of their completion.
    pub(in super::super) fn lent(&self) -> &[Arrived] {
        &self.lent
    }

    /// A lent datagram; `None` if the kernel wrote less than its own header.
    pub(in super::super) fn datagram(&self, arrived: Arrived) -> Option<Datagram<'_>> {
        let filled = self.buffers.filled(arrived.buffer, arrived.length as usize);
        Datagram::read(filled)
    }

    /// The payload of a lent datagram.
    #[inline]
    pub(in super::super) fn payload(&self, arrived: Arrived) -> &[u8] {
        let filled = self.buffers.filled(arrived.buffer, arrived.length as usize);
        filled.get(HEADER..).unwrap_or_default()
    }
}
