//! Waiting: by ppoll(2), to a deadline, without a busy loop.

use super::bell::Bell;
use super::{Kind, Socket, lock};
use crate::native::{System, call, clock};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::Ordering;
use wirestamp_core::backend::{AnySocket, Interest, Readiness};
use wirestamp_core::time::MonotonicTime;
use wirestamp_core::{Error, Result};

fn descriptor(fd: BorrowedFd<'_>, events: i16) -> libc::pollfd {
    libc::pollfd {
        fd: fd.as_raw_fd(),
        events,
        revents: 0,
    }
}

/// What a wait for several sockets needs of each, whatever its kind.
trait Watched {
    fn fd(&self) -> BorrowedFd<'_>;

    /// What a close rings.
    fn closing(&self) -> &Bell;

    fn is_closing(&self) -> bool;

    /// Whether datagrams were taken from the socket already: poll(2) does not show them.
    fn holds_any(&self) -> bool;

    /// Notes that its error queue has something.
    fn note_error(&self);

    fn failure(&self, error: &io::Error) -> Error;
}

impl<K: Kind> Watched for Socket<K> {
    fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    fn closing(&self) -> &Bell {
        &self.closing
    }

    fn is_closing(&self) -> bool {
        Self::is_closing(self)
    }

    fn holds_any(&self) -> bool {
        Self::holds_any(self)
    }

    fn note_error(&self) {
        self.error_seen.store(true, Ordering::Release);
    }

    fn failure(&self, error: &io::Error) -> Error {
        Self::failure(self, "wait", error)
    }
}

fn watched<'a>(socket: &AnySocket<'a, System>) -> &'a dyn Watched {
    match *socket {
        AnySocket::Udp(socket) => socket,
        AnySocket::Ethernet(socket) => socket,
    }
}

/// Waits until one of them has something to receive or to collect, or is closed; adds the places of those to `ready`.
pub(in super::super) fn wait_any(
    sockets: &[AnySocket<'_, System>],
    until: MonotonicTime,
    ready: &mut Vec<usize>,
) -> Result<()> {
    let sockets: Vec<_> = sockets.iter().map(watched).collect();
    let Some(first) = sockets.first() else {
        return Ok(());
    };
    let holding = (0..).zip(&sockets).filter(|(_, socket)| socket.holds_any());
    ready.extend(holding.map(|(place, _)| place));
    let until = if ready.is_empty() {
        until
    } else {
        MonotonicTime::MIN
    };
    let mut descriptors: Vec<_> = sockets
        .iter()
        .map(|socket| descriptor(socket.fd(), libc::POLLIN))
        .collect();
    let poll = |descriptors: &mut [libc::pollfd], until| {
        call::poll(descriptors, clock::timeout(until)).map_err(|error| first.failure(&error))
    };
    let is_bell_made = |socket: &&dyn Watched| socket.closing().without_descriptor().is_none();
    if !sockets.iter().all(is_bell_made) {
        poll(&mut descriptors, MonotonicTime::MIN)?;
        let is_closing = sockets.iter().map(|socket| socket.is_closing());
        let come = descriptors.iter().map(|watched| watched.revents);
        note_ready(&sockets, come.zip(is_closing), ready);
        if !ready.is_empty() || until <= clock::now() {
            return Ok(());
        }
    }
    for socket in &sockets {
        let bell = socket.closing().descriptor();
        let bell = bell.map_err(|error| socket.failure(&error))?;
        descriptors.push(descriptor(bell, libc::POLLIN));
    }
    poll(&mut descriptors, until)?;
    let (come, closing) = descriptors.split_at(sockets.len());
    let come = come.iter().map(|watched| watched.revents);
    let closing = closing.iter().map(|watched| watched.revents != 0);
    note_ready(&sockets, come.zip(closing), ready);
    Ok(())
}

/// Adds the places of those to which something came or that are closing.
fn note_ready(
    sockets: &[&dyn Watched],
    seen: impl Iterator<Item = (i16, bool)>,
    ready: &mut Vec<usize>,
) {
    for (place, (socket, (came, is_closing))) in (0..).zip(sockets.iter().zip(seen)) {
        if came & libc::POLLERR != 0 {
            socket.note_error();
        }
        if (came != 0 || is_closing) && !socket.holds_any() {
            ready.push(place);
        }
    }
}

impl<K: Kind> Socket<K> {
    fn is_closing(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// While `awake`, waits return at once, also those that block now; waits for [`Interest::Timestamps`] block as ever.
    /// Call it after you took an error from the kernel that other threads' waits should have shown. Not for a socket in
    /// a [`PacketRing`](crate::PacketRing), which would take it for closed.
    pub fn keep_awake(&self, awake: bool) {
        if awake {
            self.closing.ring();
            return;
        }
        self.closing.hush();
        if self.is_closing() {
            self.closing.ring(); // it was that of a close, too
        }
    }

    /// Waits for events of the socket until `until`. Returns them, and whether the bell rings. The bell's descriptor is created only
    /// for blocking: a process without free descriptors continues without it.
    fn watch(&self, events: i16, bell: &Bell, until: MonotonicTime) -> Result<(i16, bool)> {
        let failed = |error: io::Error| self.failure("wait", &error);
        let mut descriptors = [descriptor(self.fd.as_fd(), events); 2];
        if let Some(rung) = bell.without_descriptor() {
            call::poll(&mut descriptors[..1], clock::timeout(MonotonicTime::MIN))
                .map_err(failed)?;
            let came = descriptors[0].revents;
            if came != 0 || rung || until <= clock::now() {
                return Ok((came, rung));
            }
        }
        descriptors[1] = descriptor(self.bell(bell)?, libc::POLLIN);
        call::poll(&mut descriptors, clock::timeout(until)).map_err(failed)?;
        let [socket, bell] = descriptors.map(|descriptor| descriptor.revents);
        Ok((socket, bell != 0))
    }

    /// Waits until the socket is closed, at most until `until`; returns whether it is.
    fn is_closed(&self, until: MonotonicTime) -> Result<bool> {
        if let Some(rung) = self.closing.without_descriptor() {
            if rung || until <= clock::now() {
                return Ok(self.is_closing());
            }
        }
        let mut closing = [descriptor(self.bell(&self.closing)?, libc::POLLIN)];
        call::poll(&mut closing, clock::timeout(until))
            .map_err(|error| self.failure("wait", &error))?;
        Ok(self.is_closing())
    }

    pub(super) fn poll(&self, interest: Interest, until: MonotonicTime) -> Result<Readiness> {
        if interest == Interest::Receive && self.holds_any() {
            let closed = self.closed.load(Ordering::Acquire);
            return Ok(Readiness {
                receive: true,
                closed,
                ..Readiness::default()
            });
        }
        if interest == Interest::Close {
            return Ok(Readiness {
                closed: self.is_closed(until)?,
                ..Readiness::default()
            });
        }
        let (events, other) = match interest {
            Interest::Receive => (libc::POLLIN, &self.closing),
            // The error queue shows as POLLERR, which is reported whatever is asked for. Only this wait
            // takes nudges: others would take them away from it.
            Interest::Timestamps | Interest::Close => (0, &self.nudge),
            Interest::Send => (libc::POLLOUT, &self.closing),
        };
        let (socket, rung) = self.watch(events, other, until)?;
        let error = socket & libc::POLLERR != 0;
        if error {
            self.error_seen.store(true, Ordering::Release);
        }
        let woken = rung && interest == Interest::Timestamps;
        let closed = if woken {
            self.take_nudge()
        } else {
            rung && self.is_closing()
        };
        Ok(Readiness {
            receive: socket & libc::POLLIN != 0 || error,
            timestamps: error,
            send: socket & libc::POLLOUT != 0,
            woken,
            closed,
        })
    }

    fn bell<'a>(&self, bell: &'a Bell) -> Result<BorrowedFd<'a>> {
        let descriptor = bell.descriptor();
        descriptor.map_err(|error| self.failure("wait", &error))
    }

    /// Takes a nudge, unless it is that of a close, which every wait must see: then it stays, and
    /// this returns `true`.
    fn take_nudge(&self) -> bool {
        self.nudge.hush();
        let closed = self.closed.load(Ordering::Acquire);
        if closed {
            self.nudge.ring();
        }
        closed
    }

    /// Whether datagrams were taken from the socket already: no poll reports them.
    fn holds_any(&self) -> bool {
        self.receive_ring.load(Ordering::Relaxed) && lock(&self.receiving).holds_any()
    }
}
