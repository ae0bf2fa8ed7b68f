//! An NTP server on a simulated host whose clock is right.

use crate::moment::Moment;
use crate::place::Place;
use crate::state::State;
use crate::task::{Task, Turn, is_no_end};
use std::net::SocketAddr;
use std::slice;
use wirestamp::socket::AnySocket;
use wirestamp::{Incoming, MonotonicTime, Received, Result, Timestamping, UdpSocket};
use wirestamp_ntp::{NtpTimestamp, ServerState, answer};

/// RFC 5905, figure 12: an X begins what is not registered. Its clock is read in steps of 30 ns.
const STATE: ServerState = ServerState::primary(*b"XSIM", -25);

/// Answers in basic mode.
pub(crate) struct NtpServerTask {
    socket: UdpSocket,
}

impl NtpServerTask {
    pub(crate) fn open(address: SocketAddr, place: &Place) -> Result<Self> {
        let socket = place.bind_own(None, address)?;
        socket.configure(Timestamping::new().receive())?;
        Ok(Self { socket })
    }

    /// A time of arrival that is too late and one of departure that is too early widen what the client can know, and spoil nothing.
    fn answer(&self, request: &[u8], received: &Received) -> Option<()> {
        let now = || self.socket.utc_cross_timestamp().utc;
        let stamped = received.timestamps.software.and_then(|stamp| stamp.utc);
        let times = [stamped.unwrap_or_else(now), now()].map(NtpTimestamp::from_utc);
        let packet = answer(request, &STATE, times)?;
        // one that is not sent is asked for again
        let _ = self.socket.send_to(&packet, received.source?, None);
        Some(())
    }
}

impl Task for NtpServerTask {
    fn serve(&mut self, turn: &mut Turn<'_>) -> Result<MonotonicTime> {
        loop {
            let mut incoming = Incoming::new(turn.buffer);
            let read = self
                .socket
                .try_receive_batch(slice::from_mut(&mut incoming));
            match read {
                Ok(0) => return Ok(MonotonicTime::MAX),
                Ok(_) => {}
                // the answer to an earlier packet
                Err(error) => return is_no_end(error).map(|()| MonotonicTime::MAX),
            }
            let received = incoming.received;
            self.answer(incoming.payload(), &received);
        }
    }

    fn sockets<'a>(&'a self, into: &mut Vec<AnySocket<'a>>) {
        into.push((&self.socket).into());
    }

    fn show(&self, _moment: &Moment, _into: &mut State) {}
}
