//! Waiting: by ppoll(2), to a deadline, without a busy loop.

use super::bell::Bell;
use super::{Kind, Socket, lock};
use crate::native::{call, clock};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::Ordering;
use wirestamp_core::Result;
use wirestamp_core::backend::{Interest, Readiness};
use wirestamp_core::time::MonotonicTime;

fn descriptor(fd: BorrowedFd<'_>, events: i16) -> libc::pollfd {
    libc::pollfd {
        fd: fd.as_raw_fd(),
        events,
        revents: 0,
    }
}

impl<K: Kind> Socket<K> {
    /// Waits until one of them has something to receive or to collect, or is closed; adds the places of those to `ready`.
    pub(in super::super) fn wait_any(
        sockets: &[&Self],
        until: MonotonicTime,
        ready: &mut Vec<usize>,
    ) -> Result<()> {
        let Some(first) = sockets.first() else {
            return Ok(());
        };
        let holding = (0..).zip(sockets).filter(|(_, socket)| socket.holds_any());
        ready.extend(holding.map(|(place, _)| place));
        let until = if ready.is_empty() {
            until
        } else {
            MonotonicTime::MIN
        };
        let mut descriptors = Vec::with_capacity(2 * sockets.len());
        for socket in sockets {
            descriptors.push(descriptor(socket.fd.as_fd(), libc::POLLIN));
            descriptors.push(descriptor(socket.bell(&socket.closing)?, libc::POLLIN));
        }
        call::poll(&mut descriptors, clock::timeout(until))
            .map_err(|error| first.failure("wait", &error))?;
        for (place, (socket, watched)) in (0..).zip(sockets.iter().zip(descriptors.chunks_exact(2)))
        {
            if watched[0].revents & libc::POLLERR != 0 {
                socket.error_seen.store(true, Ordering::Release);
            }
            let has_come = watched[0].revents != 0 || watched[1].revents != 0;
            if has_come && !socket.holds_any() {
                ready.push(place);
            }
        }
        Ok(())
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
            let mut closing = [descriptor(self.bell(&self.closing)?, libc::POLLIN)];
            call::poll(&mut closing, clock::timeout(until))
                .map_err(|error| self.failure("wait", &error))?;
            return Ok(Readiness {
                closed: closing[0].revents != 0,
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
        let mut descriptors = [
            descriptor(self.fd.as_fd(), events),
            descriptor(self.bell(other)?, libc::POLLIN),
        ];
        call::poll(&mut descriptors, clock::timeout(until))
            .map_err(|error| self.failure("wait", &error))?;
        let [socket, other] = descriptors.map(|descriptor| descriptor.revents);
        let error = socket & libc::POLLERR != 0;
        if error {
            self.error_seen.store(true, Ordering::Release);
        }
        let woken = other != 0 && interest == Interest::Timestamps;
        Ok(Readiness {
            receive: socket & libc::POLLIN != 0 || error,
            timestamps: error,
            send: socket & libc::POLLOUT != 0,
            woken,
            closed: other != 0 && (!woken || self.take_nudge()),
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

    /// Whether datagrams were taken from the socket already: no poll tells of them.
    fn holds_any(&self) -> bool {
        self.receive_ring.load(Ordering::Relaxed) && lock(&self.receiving).holds_any()
    }
}
