//! Sending a datagram, with or without an id.

use crate::abi::codes::{
    WSAECONNRESET, WSAEMSGSIZE, WSAENOTCONN, WSAESHUTDOWN, WSAETIMEDOUT, WSAEWOULDBLOCK,
};
use crate::system::clock;
use crate::winsock::failure::code;
use crate::winsock::socket::{Socket, lock};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wirestamp_core::backend::{Interest, Outgoing};
use wirestamp_core::time::{MonotonicTime, Span};
use wirestamp_core::timestamp::TransmitId;

/// No datagram is longer.
const LONGEST: usize = 65_535;

/// When a call that may take so many milliseconds gives up; 0: never.
pub(super) fn deadline(milliseconds: u32) -> MonotonicTime {
    match milliseconds {
        0 => MonotonicTime::MAX,
        _ => clock::now() + Span::from_milliseconds(milliseconds.into()),
    }
}

impl Socket {
    /// Sends a datagram to `to`, or to the peer; returns how many bytes went.
    ///
    /// # Errors
    /// The Winsock error.
    pub(crate) fn send(
        self: &Arc<Self>,
        payload: &[u8],
        to: Option<SocketAddr>,
        id: Option<u32>,
    ) -> Result<usize, i32> {
        self.check_datagram()?;
        if self.send_shut.load(Ordering::Acquire) {
            return Err(WSAESHUTDOWN);
        }
        let target = to.or_else(|| self.peer()).ok_or(WSAENOTCONN)?;
        self.check_family(target)?;
        if payload.len() > LONGEST {
            return Err(WSAEMSGSIZE);
        }
        let wire = self.wire_for(target.ip())?;
        let id = id.filter(|_| self.timestamps_sent());
        if let Some(id) = id {
            self.collect()?; // the system's queue is small: timestamps go into our buffer early
            if wire.simulation().is_some() {
                self.ready().await_timestamp(id);
            }
        }
        let outgoing = Outgoing::new(payload).to(to).id(id.map(TransmitId));
        let sent = self.send_when_there_is_room(&outgoing);
        match sent {
            Ok(()) => self.note_bound(),
            Err(_) => id.into_iter().for_each(|id| self.ready().cancel(id)),
        }
        if sent == Err(WSAEWOULDBLOCK) {
            self.report_room_later();
        }
        sent.map(|()| payload.len())
    }

    fn send_when_there_is_room(&self, outgoing: &Outgoing<'_>) -> Result<(), i32> {
        let Some(wire) = self.wire() else {
            return Err(WSAENOTCONN);
        };
        let mut until = None;
        loop {
            self.take_earlier_error()?; // it may have come while this waited for room
            match wire.send(*outgoing).map_err(|error| code(&error)) {
                Ok(true) => return Ok(()),
                // An earlier datagram was refused; this one did not go out.
                Err(WSAECONNRESET) if self.silent_resets.load(Ordering::Acquire) => continue,
                Err(error) => return Err(error),
                Ok(false) if self.nonblocking.load(Ordering::Acquire) => {
                    return Err(WSAEWOULDBLOCK);
                }
                Ok(false) => {}
            }
            let until = *until.get_or_insert_with(|| deadline(lock(&self.settings).send_timeout()));
            if clock::now() >= until {
                return Err(WSAETIMEDOUT);
            }
            self.wait_for(Interest::Send, until)?;
        }
    }
}
