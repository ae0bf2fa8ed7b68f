//! The room for transmit timestamps in a socket's receive buffer, which they share with unread datagrams: asks the kernel for
//! enough, and knows how many fit.

use super::charge::{LONGEST, USUAL, with_packet};
use super::lock;
use crate::native::call;
use crate::native::wire::constants::{SO_RCVBUFFORCE, TIMESTAMP_CHARGE};
use socket2::{Domain, SockRef, Type};
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The most receive buffer that is asked for, in bytes as the kernel counts them: room for 8,192 timestamps between two
/// drains; for 3,276 that come with packets of 1,500 bytes, 496 of 9,000, and 63 of the longest.
const MOST_BUFFER: u64 = 8 << 20;

/// The room for a socket's transmit timestamps. All zero before it is configured.
#[derive(Debug, Default)]
pub(super) struct Room {
    /// Bytes that one timestamp takes at most; 0: without its packet. Set after the buffer was made for it.
    with_packet: AtomicU32,
    /// Bytes of the receive buffer.
    buffer: AtomicU32,
    /// Whether any datagram can be long: the caller sends by itself, and says no length.
    assumes_long: AtomicBool,
    /// Held while the buffer is made.
    asked: Mutex<Asked>,
}

/// What shall fit into the receive buffer.
#[derive(Debug, Default)]
struct Asked {
    timestamps: u32,
    /// Bytes for unread datagrams: the size that the buffer had before.
    datagrams: usize,
}

impl Room {
    /// Any datagram can be long from the next configuration on.
    pub(super) fn assume_long_datagrams(&self) {
        self.assumes_long.store(true, Ordering::Relaxed);
    }

    /// Starts anew with room for so many timestamps: no datagram has been sent.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn configure(
        &self,
        fd: BorrowedFd<'_>,
        with_packets: bool,
        timestamps: u32,
    ) -> io::Result<()> {
        let mut asked = lock(&self.asked);
        let size = SockRef::from(&fd).recv_buffer_size()?;
        // otherwise it has the size that it was given here
        if size != self.buffer.load(Ordering::Relaxed) as usize {
            asked.datagrams = size;
        }
        asked.timestamps = timestamps;
        let charge = match (with_packets, self.assumes_long.load(Ordering::Relaxed)) {
            (false, _) => 0,
            (true, false) => with_packet(USUAL),
            (true, true) => with_packet(LONGEST),
        };
        self.make(fd, &asked, charge)
    }

    /// Whether timestamps come with packets: then their number depends on the length of the datagrams.
    pub(super) fn is_for_packets(&self) -> bool {
        self.with_packet.load(Ordering::Relaxed) != 0
    }

    /// Makes room for the timestamps of datagrams with payloads of up to so many bytes; returns how many of such fit.
    pub(super) fn make_for(&self, fd: BorrowedFd<'_>, payload: u32) -> u32 {
        let charge = with_packet(payload);
        if self.with_packet.load(Ordering::Acquire) < charge {
            self.enlarge(fd, charge);
        }
        self.entries()
    }

    #[cold]
    fn enlarge(&self, fd: BorrowedFd<'_>, charge: u32) {
        let asked = lock(&self.asked);
        let so_far = self.with_packet.load(Ordering::Relaxed);
        if so_far != 0 && so_far < charge {
            let _ = self.make(fd, &asked, charge); // as large as it is, it has room for fewer
        }
    }

    fn make(&self, fd: BorrowedFd<'_>, asked: &Asked, charge: u32) -> io::Result<()> {
        let timestamps = u64::from(asked.timestamps) * u64::from(charge.max(TIMESTAMP_CHARGE));
        let needed = (timestamps + asked.datagrams as u64).min(MOST_BUFFER);
        let made = at_least(fd, needed as usize);
        if let Ok(size) = made {
            self.buffer.store(size as u32, Ordering::Relaxed);
        }
        self.with_packet.store(charge, Ordering::Release);
        made.map(drop)
    }

    /// Bytes that one timestamp takes at most.
    pub(super) fn charge(&self) -> u32 {
        self.with_packet
            .load(Ordering::Acquire)
            .max(TIMESTAMP_CHARGE)
    }

    /// How many timestamps fit.
    pub(super) fn entries(&self) -> u32 {
        let charge = self.charge();
        self.buffer.load(Ordering::Relaxed) / charge
    }
}

/// Makes a receive buffer as large as `needed`, or as large as this process may. Never makes it smaller. Returns its size.
fn at_least(fd: BorrowedFd<'_>, needed: usize) -> io::Result<usize> {
    let socket = SockRef::from(&fd);
    let size = socket.recv_buffer_size()?;
    if size >= needed {
        return Ok(size);
    }
    // the kernel doubles what is asked for
    let half = needed / 2;
    let forced = call::set_number(fd, libc::SOL_SOCKET, SO_RCVBUFFORCE, half as i32);
    // without CAP_NET_ADMIN it is cut to the limit, which can be less than it is
    if forced.is_err() && size < limit().unwrap_or(0) {
        socket.set_recv_buffer_size(half)?;
    }
    socket.recv_buffer_size()
}

/// The largest receive buffer without CAP_NET_ADMIN: twice net.core.rmem_max, which older kernels show in no network namespace
/// but the first. A filter of system calls may allow the families of IP alone.
pub(super) fn limit() -> io::Result<usize> {
    let prober = socket2::Socket::new(Domain::IPV4, Type::DGRAM, None)?;
    prober.set_recv_buffer_size(i32::MAX as usize / 2)?;
    prober.recv_buffer_size()
}
