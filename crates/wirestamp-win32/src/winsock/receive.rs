//! Receiving a datagram with what came with it: blocking or not, taken or only looked at.

use crate::abi::codes::{
    WSAECONNRESET, WSAEINTR, WSAEINVAL, WSAESHUTDOWN, WSAETIMEDOUT, WSAEWOULDBLOCK,
};
use crate::abi::numbers::{MSG_BCAST, MSG_CTRUNC, MSG_MCAST, MSG_TRUNC};
use crate::adapter::machine;
use crate::adapter::wire::Wire;
use crate::system::clock;
use crate::winsock::control::Writer;
use crate::winsock::failure::code;
use crate::winsock::send::deadline;
use crate::winsock::socket::{Socket, lock};
use crate::winsock::timestamping::zero_for_none_received;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use wirestamp_core::backend::{Incoming, Interest, Received};
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::time::{MonotonicTime, Span};

/// Room for every datagram.
const LONGEST: usize = 65_535;
/// Where datagrams are looked at, a receive that waits tries again after so long.
const UNTIL_LOOKED_AGAIN: Span = Span::from_milliseconds(10);

/// A datagram that somebody looked at: the next receive gets it.
#[derive(Debug)]
pub(crate) struct Held {
    payload: Vec<u8>,
    received: Received,
}

impl Held {
    pub(crate) fn length(&self) -> u32 {
        self.payload.len() as u32
    }

    fn show(&self, buffer: &mut [u8]) -> Received {
        let length = self.payload.len().min(buffer.len());
        buffer[..length].copy_from_slice(&self.payload[..length]);
        let mut received = self.received;
        received.length = length;
        received.truncated = length < self.payload.len();
        received
    }
}

/// How a receive behaves.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Manner {
    /// The datagram stays.
    pub(crate) peek: bool,
    /// Answers at once, whatever the socket's mode.
    pub(crate) at_once: bool,
}

impl Socket {
    /// Receives a datagram into `buffer`. The event of `WSAEventSelect` may be set again then.
    ///
    /// # Errors
    /// The Winsock error. A datagram that was cut is none here: see [`Received::truncated`].
    pub(crate) fn receive(&self, buffer: &mut [u8], manner: Manner) -> Result<Received, i32> {
        let received = self.receive_as(buffer, manner);
        self.selection.receive_was_called();
        received
    }

    fn receive_as(&self, buffer: &mut [u8], manner: Manner) -> Result<Received, i32> {
        self.check_datagram()?;
        if !self.is_bound() {
            return Err(WSAEINVAL);
        }
        if self.receive_shut.load(Ordering::Acquire) {
            return Err(WSAESHUTDOWN);
        }
        let wire = self.wire().ok_or(WSAEINVAL)?;
        let at_once = manner.at_once || self.nonblocking.load(Ordering::Acquire);
        let mut until = None;
        self.look_around();
        loop {
            if let Some(received) = self.try_receive(wire, buffer, manner.peek)? {
                return Ok(received);
            }
            if at_once {
                return Err(WSAEWOULDBLOCK);
            }
            let limit = || deadline(lock(&self.settings).receive_timeout());
            let until = *until.get_or_insert_with(limit);
            if clock::now() >= until {
                return Err(WSAETIMEDOUT);
            }
            let ready = self.wait_for(Interest::Receive, self.try_again_at(until))?;
            if ready.closed || self.is_closed() {
                return Err(WSAEINTR);
            }
        }
    }

    /// Waits until a datagram may be there, as long as it takes.
    ///
    /// # Errors
    /// The Winsock error; `WSAEINTR` once the socket is closed.
    pub(super) fn wait_for_datagram(&self) -> Result<(), i32> {
        while !self.receive_would_end()? {
            self.look_around();
            let until = self.try_again_at(MonotonicTime::MAX);
            if self.wait_for(Interest::Receive, until)?.closed {
                return Err(WSAEINTR);
            }
        }
        Ok(())
    }

    fn try_receive(
        &self,
        wire: &Wire,
        buffer: &mut [u8],
        peek: bool,
    ) -> Result<Option<Received>, i32> {
        if peek {
            return self.look(wire, buffer);
        }
        // Shared: those who receive do not wait for one another. Who looks has it alone, so that
        // nobody receives the next datagram before the one that is looked at.
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        if held.is_none() {
            return self.receive_from(wire, buffer);
        }
        drop(held);
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        match held.take() {
            Some(datagram) => Ok(Some(datagram.show(buffer))),
            None => self.receive_from(wire, buffer), // another thread took it
        }
    }

    /// Shows the next datagram, which is held back for the next receive.
    fn look(&self, wire: &Wire, buffer: &mut [u8]) -> Result<Option<Received>, i32> {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        self.looked_at.store(true, Ordering::Release);
        if held.is_none() {
            let mut payload = vec![0; LONGEST];
            let Some(received) = self.receive_from(wire, &mut payload)? else {
                return Ok(None);
            };
            payload.truncate(received.length);
            *held = Some(Held { payload, received });
        }
        Ok(held.as_ref().map(|datagram| datagram.show(buffer)))
    }

    /// Until when a receive waits before it tries again. The system does not say that a datagram
    /// was looked at meanwhile and is held here now.
    fn try_again_at(&self, until: MonotonicTime) -> MonotonicTime {
        if self.looked_at.load(Ordering::Acquire) {
            until.min(machine::now() + UNTIL_LOOKED_AGAIN)
        } else {
            until
        }
    }

    /// Whether a receive would end at once, with a datagram or an error.
    pub(super) fn receive_would_end(&self) -> Result<bool, i32> {
        let holds = || self.held.read().is_ok_and(|held| held.is_some());
        Ok(self.is_receive_shut() || holds() || self.ready_for(Interest::Receive)?.receive)
    }

    /// Bytes of the next datagram, which is held back; 0: none.
    pub(super) fn look_ahead(&self) -> Result<u32, i32> {
        match self.receive(
            &mut [],
            Manner {
                peek: true,
                at_once: true,
            },
        ) {
            Ok(_) => Ok(self
                .held
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .as_ref()
                .map_or(0, Held::length)),
            Err(WSAEWOULDBLOCK) => Ok(0),
            Err(code) => Err(code),
        }
    }

    fn receive_from(&self, wire: &Wire, buffer: &mut [u8]) -> Result<Option<Received>, i32> {
        self.take_earlier_error()?;
        let mut incoming = Incoming::new(buffer);
        loop {
            match wire.receive(&mut incoming).map_err(|error| code(&error)) {
                Ok(true) => return Ok(Some(incoming.received)),
                Ok(false) => return Ok(None),
                Err(WSAECONNRESET) if self.silent_resets.load(Ordering::Acquire) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes what came with a datagram into `control`; returns how many bytes, and `MSG_*`.
    pub(crate) fn describe(&self, received: &Received, control: &mut [u8]) -> (usize, u32) {
        let mut writer = Writer::new(control);
        if self.timestamps_received() {
            let index = received.interface.map_or(0, InterfaceIndex::get);
            match self.value(&received.timestamps, index) {
                Some(value) => writer.timestamp(value),
                None if zero_for_none_received() => writer.timestamp(0),
                None => {}
            }
            if received.control_truncated {
                writer.note_cut();
            }
        }
        let (mapped, destination) = self.destination(received);
        if let (Some(destination), Some(index)) = (destination, received.interface) {
            if lock(&self.settings).packet_information(destination.is_ipv6()) {
                writer.packet_information(destination, index.get());
            }
        }
        self.describe_header(received, &mut writer);
        let mut flags = 0;
        let mut set = |condition: bool, flag: u32| flags |= if condition { flag } else { 0 };
        set(received.truncated, MSG_TRUNC);
        set(writer.is_cut(), MSG_CTRUNC);
        set(
            mapped.is_some_and(|address| address.is_multicast()),
            MSG_MCAST,
        );
        set(mapped == Some(IpAddr::V4(Ipv4Addr::BROADCAST)), MSG_BCAST);
        (writer.used(), flags)
    }

    /// Writes the fields of the IP header that options asked for.
    fn describe_header(&self, received: &Received, writer: &mut Writer<'_>) {
        if received.hop_limit.is_none() && received.traffic_class.is_none() {
            return;
        }
        let ipv6 = received
            .source
            .map_or(self.ipv6, |source| source.ip().to_canonical().is_ipv6());
        let wanted = lock(&self.settings).reported(ipv6);
        if let Some(value) = received.hop_limit.filter(|_| wanted.hop_limit) {
            writer.hop_limit(ipv6, value);
        }
        if let Some(value) = received.traffic_class {
            if wanted.traffic_class {
                writer.traffic_class(ipv6, value);
            }
            if wanted.ecn {
                writer.ecn(ipv6, value);
            }
        }
    }

    /// To which address it came: itself, and as this socket names it.
    fn destination(&self, received: &Received) -> (Option<IpAddr>, Option<IpAddr>) {
        let as_named = |address: IpAddr| match address {
            IpAddr::V4(address) if self.ipv6 => IpAddr::V6(address.to_ipv6_mapped()),
            other => other,
        };
        (received.destination, received.destination.map(as_named))
    }

    /// From whom it came, as this socket names it.
    pub(crate) fn source(received: &Received) -> Option<SocketAddr> {
        received.source
    }
}
