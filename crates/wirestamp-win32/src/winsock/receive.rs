//! Owns receiving a datagram with what came with it: blocking or not, taken or only looked at.

use crate::abi::codes::{WSAECONNRESET, WSAEINTR, WSAEINVAL, WSAESHUTDOWN, WSAETIMEDOUT, WSAEWOULDBLOCK};
use crate::abi::numbers::{MSG_BCAST, MSG_CTRUNC, MSG_MCAST, MSG_TRUNC};
use crate::adapter::wire::Wire;
use crate::system::clock;
use crate::winsock::control::Writer;
use crate::winsock::failure::code;
use crate::winsock::send::deadline;
use crate::winsock::socket::{Socket, lock};
use crate::winsock::stamping::zero_for_none;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::Ordering;
use wirestamp_core::backend::{Incoming, Interest, Received};
use wirestamp_core::interface::InterfaceIndex;
#[cfg(windows)]
use wirestamp_core::time::SystemTime;

/// Room for every datagram.
const LONGEST: usize = 65_535;

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
}

/// How a receive behaves.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Manner {
    /// The datagram stays.
    pub(crate) peek: bool,
    /// Answers at once, whatever the socket's mode.
    pub(crate) at_once: bool,
    /// Waits as long as it takes, whatever the socket's mode and timeout.
    pub(crate) patient: bool,
}

impl Socket {
    /// Receives a datagram into `buffer`.
    ///
    /// # Errors
    /// The Winsock error. A datagram that was cut is none here: see [`Received::truncated`].
    pub(crate) fn receive(&self, buffer: &mut [u8], manner: Manner) -> Result<Received, i32> {
        self.check_datagram()?;
        if !self.is_bound() {
            return Err(WSAEINVAL);
        }
        if self.receive_shut.load(Ordering::Acquire) {
            return Err(WSAESHUTDOWN);
        }
        let wire = self.wire().ok_or(WSAEINVAL)?;
        let at_once = manner.at_once || self.nonblocking.load(Ordering::Acquire) && !manner.patient;
        let mut until = None;
        self.look_around();
        loop {
            if let Some(received) = self.try_receive(wire, buffer, manner.peek)? {
                return Ok(received);
            }
            if at_once {
                return Err(WSAEWOULDBLOCK);
            }
            let limit = if manner.patient { 0 } else { lock(&self.settings).receive_timeout() };
            let until = *until.get_or_insert_with(|| deadline(limit));
            let ready = wire.wait(Interest::Receive, until).map_err(|error| code(&error))?;
            if ready.closed || self.closed.load(Ordering::Acquire) {
                return Err(WSAEINTR);
            }
            // Stamps that wait wake a receive, and would again.
            self.collect()?;
            if !ready.receive && clock::now() >= until {
                return Err(WSAETIMEDOUT);
            }
        }
    }

    fn try_receive(&self, wire: &Wire, buffer: &mut [u8], peek: bool) -> Result<Option<Received>, i32> {
        let mut held = lock(&self.held);
        if held.is_none() && peek {
            let mut payload = vec![0; LONGEST];
            let Some(received) = self.receive_from(wire, &mut payload)? else { return Ok(None) };
            payload.truncate(received.length);
            *held = Some(Held { payload, received });
        }
        let Some(datagram) = &*held else {
            drop(held); // others may look at the queue meanwhile
            return self.receive_from(wire, buffer);
        };
        let length = datagram.payload.len().min(buffer.len());
        buffer[..length].copy_from_slice(&datagram.payload[..length]);
        let truncated = length < datagram.payload.len();
        let received = Received { length, truncated, ..datagram.received };
        if !peek {
            *held = None;
        }
        Ok(Some(received))
    }

    /// Whether receiving would give something. Takes nothing: another thread may receive now.
    #[cfg(windows)]
    pub(crate) fn has_datagram(&self) -> bool {
        let waits = |wire: &Wire| wire.wait(Interest::Receive, SystemTime::MIN).is_ok_and(|ready| ready.receive);
        lock(&self.held).is_some() || self.wire().is_some_and(waits)
    }

    /// Bytes of the next datagram, which is held back; 0: none.
    pub(super) fn look_ahead(&self) -> Result<u32, i32> {
        match self.receive(&mut [], Manner { peek: true, at_once: true, patient: false }) {
            Ok(_) => Ok(lock(&self.held).as_ref().map_or(0, Held::length)),
            Err(WSAEWOULDBLOCK) => Ok(0),
            Err(code) => Err(code),
        }
    }

    fn receive_from(&self, wire: &Wire, buffer: &mut [u8]) -> Result<Option<Received>, i32> {
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
        if self.stamps_received() {
            let index = received.interface.map_or(0, InterfaceIndex::get);
            match self.value(&received.stamps, index) {
                Some(value) => writer.stamp(value),
                None if zero_for_none() => writer.stamp(0),
                None => {}
            }
            if received.control_truncated {
                writer.note_cut();
            }
        }
        let (mapped, destination) = self.destination(received);
        if let (Some(destination), Some(index)) = (destination, received.interface)
            && lock(&self.settings).packet_information(destination.is_ipv6())
        {
            writer.packet_information(destination, index.get());
        }
        let mut flags = 0;
        let mut set = |condition: bool, flag: u32| flags |= if condition { flag } else { 0 };
        set(received.truncated, MSG_TRUNC);
        set(writer.is_cut(), MSG_CTRUNC);
        set(mapped.is_some_and(|address| address.is_multicast()), MSG_MCAST);
        set(mapped == Some(IpAddr::V4(Ipv4Addr::BROADCAST)), MSG_BCAST);
        (writer.used(), flags)
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
