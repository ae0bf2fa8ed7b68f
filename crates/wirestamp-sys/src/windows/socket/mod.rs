//! One UDP socket that timestamps. The parts: options, send, receive, transmit timestamps, waiting.
//!
//! Transmit timestamps have a lock; receiving has one for what is remembered of adapters. Nothing
//! else is shared.

mod adopt;
mod alarm;
mod options;
mod receive;
mod send;
mod timestamps;
mod wait;

pub use alarm::Alarm;

use super::call::{self, ReceiveMessage};
use super::clock;
use super::error::system_error;
use super::handle::Event;
use super::interface;
use super::wire::socket_address;
use receive::KnownClocks;
use socket2::SockRef;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::windows::io::{AsSocket, BorrowedSocket, OwnedSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use timestamps::TransmitState;
use windows_sys::Win32::Networking::WinSock as ws;
use wirestamp_core::backend::{
    DatagramSocket, Incoming, Interest, InternetSocket, Outgoing, Readiness,
};
use wirestamp_core::configuration::{Granted, Timestamping};
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};
use wirestamp_core::time::{MonotonicTime, UtcModel};
use wirestamp_core::timestamp::{Placement, TransmitId, TransmitTracker};
use wirestamp_core::{Error, ErrorKind, Result};

/// A UDP socket that timestamps.
#[derive(Debug)]
pub struct Socket {
    socket: OwnedSocket,
    receive_message: ReceiveMessage,
    /// Set while something may wait to be received; see [`wait`].
    readable: Event,
    /// Set for ever once the socket was closed.
    closing: Event,
    /// Set by [`DatagramSocket::wake`].
    nudge: Event,
    closed: AtomicBool,
    /// AF_INET6: IPv4 addresses are written as mapped ones.
    ipv6: bool,
    /// What messages call this socket.
    name: String,
    /// The interface that its packets leave by, where there can be only one.
    leaves_by: Option<InterfaceIndex>,
    /// Whether receive timestamps are wanted, and whether of the adapter's clock alone.
    receive_timestamps: AtomicBool,
    hardware_alone: AtomicBool,
    /// Whether the destination is wanted.
    packet_information: AtomicBool,
    /// Whether transmit timestamps are wanted; decided under the lock of `timestamping`.
    transmit_timestamps: AtomicBool,
    /// Set when a datagram with an id left while tasks wait for timestamps.
    departed: Event,
    tasks_wait: AtomicBool,
    /// Whether a thread sleeps until it is worth asking for timestamps.
    parked: AtomicBool,
    known: Mutex<KnownClocks>,
    timestamping: Mutex<TransmitState>,
    /// Which address datagrams are to come from.
    source: Mutex<Option<IpAddr>>,
}

impl AsSocket for Socket {
    fn as_socket(&self) -> BorrowedSocket<'_> {
        self.socket.as_socket()
    }
}

impl Socket {
    /// Binds to `local`, and to `interface` alone where one is given.
    pub(super) fn bind(
        local: SocketAddr,
        interface: Option<&InterfaceDescription>,
    ) -> Result<Self> {
        let place = match interface {
            Some(interface) => format!("{local} ({})", interface.name),
            None => local.to_string(),
        };
        let failed = |error: io::Error| system_error("bind a UDP socket", &place, &error);
        if let Some(interface) = interface {
            check_present(interface.index, &place)?;
        }
        let socket = options::open(local, interface).map_err(failed)?;
        SockRef::from(&socket).bind(&local.into()).map_err(failed)?;
        let interface = interface.map(|interface| interface.index);
        let name = format!("the socket bound to {place}");
        Self::around(socket, local, interface, name).map_err(failed)
    }

    /// A socket around one of the system's that nobody else uses, bound to `local`.
    fn around(
        socket: OwnedSocket,
        local: SocketAddr,
        interface: Option<InterfaceIndex>,
        name: String,
    ) -> io::Result<Self> {
        let readable = Event::new()?;
        call::select_event(
            socket.as_socket(),
            Some(std::os::windows::io::AsHandle::as_handle(&readable)),
        )?;
        Ok(Self {
            receive_message: call::receive_message_function(socket.as_socket())?,
            socket,
            readable,
            closing: Event::new()?,
            nudge: Event::new()?,
            departed: Event::new()?,
            tasks_wait: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            ipv6: local.is_ipv6(),
            leaves_by: interface.or_else(|| owner_of(socket_address::canonical(local).ip())),
            receive_timestamps: AtomicBool::new(false),
            hardware_alone: AtomicBool::new(false),
            packet_information: AtomicBool::new(false),
            transmit_timestamps: AtomicBool::new(false),
            parked: AtomicBool::new(false),
            known: Mutex::new(KnownClocks::default()),
            timestamping: Mutex::new(TransmitState::default()),
            source: Mutex::new(None),
            name,
        })
    }

    fn failure(&self, operation: &'static str, error: &io::Error) -> Error {
        system_error(operation, &self.name, error)
    }

    fn check_open(&self, operation: &'static str) -> Result<()> {
        if !self.closed.load(Ordering::Acquire) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Closed,
            operation,
            &self.name,
            "the socket was closed",
        ))
    }

    /// Refuses an address that this socket's family can't name.
    fn check_family(&self, operation: &'static str, address: SocketAddr) -> Result<()> {
        if self.ipv6 || address.is_ipv4() {
            return Ok(());
        }
        let cause = "an IPv6 address on an IPv4 socket";
        Err(
            Error::new(ErrorKind::InvalidInput, operation, address, cause)
                .with_remedy("bind to an IPv6 address"),
        )
    }
}

/// What Windows answers to the number of an interface that is gone is not documented.
fn check_present(index: InterfaceIndex, place: &str) -> Result<()> {
    if interface::list()?
        .iter()
        .any(|interface| interface.index == index)
    {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::NoSuchDevice,
        "bind a UDP socket",
        place,
        "the interface is gone",
    )
    .with_remedy("list the interfaces, and find it again"))
}

/// Whose address it is: Windows sends by that interface alone.
fn owner_of(address: IpAddr) -> Option<InterfaceIndex> {
    if address.is_unspecified() || address.is_multicast() {
        return None;
    }
    let listed = interface::list().ok()?;
    let owns = |interface: &&InterfaceDescription| {
        interface.addresses.iter().any(|own| own.address == address)
    };
    listed.iter().find(owns).map(|interface| interface.index)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl DatagramSocket for Socket {
    fn tracker(&self) -> TransmitTracker {
        let offset = UtcModel::new(clock::close_wall());
        TransmitTracker::new(Placement::new(offset, clock::tick()))
    }

    fn local_address(&self) -> Result<SocketAddr> {
        let failed = |error: io::Error| self.failure("read the address", &error);
        let local = SockRef::from(&self.socket).local_addr().map_err(failed)?;
        let local = local.as_socket().ok_or_else(|| {
            Error::new(
                ErrorKind::Io,
                "read the address",
                &self.name,
                "no Internet address",
            )
        })?;
        Ok(socket_address::canonical(local))
    }

    fn join_multicast(&self, group: IpAddr, interface: InterfaceIndex) -> Result<()> {
        options::membership(self.as_socket(), group, interface, true)
    }

    fn leave_multicast(&self, group: IpAddr, interface: InterfaceIndex) -> Result<()> {
        options::membership(self.as_socket(), group, interface, false)
    }

    fn configure(&self, wanted: &Timestamping, tracker: &mut TransmitTracker) -> Result<Granted> {
        self.check_open("configure timestamping")?;
        self.apply(wanted, tracker)
    }

    fn send(&self, batch: &[Outgoing<'_>]) -> Result<usize> {
        self.check_open("send")?;
        self.send_batch(batch)
    }

    fn receive(&self, batch: &mut [Incoming<'_>]) -> Result<usize> {
        self.check_open("receive")?;
        self.receive_batch(batch)
    }

    fn read_transmit_timestamps(&self, _: &mut TransmitTracker, _: usize) -> Result<bool> {
        Ok(false)
    }

    fn is_asked_by_id(&self) -> bool {
        true
    }

    fn ask_for_timestamps(&self, tracker: &mut TransmitTracker, ids: &[TransmitId]) -> Result<()> {
        self.check_open("ask for transmit timestamps")?;
        self.ask_for(tracker, ids)
    }

    fn wait(&self, interest: Interest, until: MonotonicTime) -> Result<Readiness> {
        self.wait_for(interest, until)
            .map_err(|error| self.failure("wait", &error))
    }

    fn wake(&self) {
        self.nudge.set();
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.closing.set();
    }

    /// Windows keeps no count.
    fn dropped(&self) -> u64 {
        0
    }
}

impl InternetSocket for Socket {
    fn connect(&self, peer: SocketAddr) -> Result<()> {
        self.check_open("connect")?;
        self.check_family("connect", peer)?;
        SockRef::from(&self.socket)
            .connect(&socket_address::mapped(peer, self.ipv6).into())
            .map_err(|error| system_error("connect", peer, &error))?;
        // Before, a refusal could have been anybody's; now it is this peer's.
        options::report_refusals(self.as_socket(), true);
        lock(&self.timestamping).peer = Some(peer);
        Ok(())
    }

    fn set_source(&self, source: Option<IpAddr>) -> Result<()> {
        self.check_open("send from an address")?;
        if let Some(source) = source {
            self.check_family("send from an address", (source, 0).into())?;
        }
        *lock(&self.source) = source.map(|source| source.to_canonical());
        Ok(())
    }

    fn set_multicast(&self, interface: InterfaceIndex, hops: u32, loopback: bool) -> Result<()> {
        options::multicast(self.as_socket(), self.ipv6, interface, hops, loopback)
    }
}

/// `WSAEWOULDBLOCK`: nothing there, no room, or no timestamp with this id now.
fn would_block(error: &io::Error) -> bool {
    error.raw_os_error() == Some(ws::WSAEWOULDBLOCK)
}

#[cfg(test)]
mod tests;
