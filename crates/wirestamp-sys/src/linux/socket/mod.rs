//! Sockets with timestamps, for UDP and Ethernet frames. The parts: kind (the differences), options,
//! send, receive, the error queue, rings, waiting.
//!
//! Receiving has a lock of its own, and so has the ring for transmit timestamps, if there is one;
//! senders share a lock only with each other. The tracker, which each call lends, interprets
//! transmit timestamps.

mod adopt;
mod bell;
mod charge;
mod engine;
mod frames;
mod header;
mod kind;
mod lent;
pub(crate) mod messages;
mod naming;
mod options;
#[cfg(feature = "io-uring")]
mod packet_ring;
pub(super) mod place;
mod probe;
mod queue;
mod receive;
#[cfg(feature = "io-uring")]
pub(super) mod ring;
#[cfg(not(feature = "io-uring"))]
mod ring_absent;
#[cfg(not(feature = "io-uring"))]
use ring_absent as ring;
mod room;
mod send;
mod source;
mod through_ring;
mod wait;

use super::error::system_error;
use super::wire::address;
use adopt::Former;
use bell::Bell;
pub use frames::Frames;
pub use kind::{Datagrams, Kind};
pub use lent::Tag;
pub use messages::Header;
use naming::Naming;
#[cfg(feature = "io-uring")]
pub use packet_ring::{Lent, PacketRing};
use ring::TimestampIoUring;
use send::Sending;
use socket2::SockRef;
use source::SourceAddress;
use std::fmt::Display;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use through_ring::Receiving;
pub(super) use wait::wait_any;
use wirestamp_core::backend::{
    BindOptions, DatagramSocket, Incoming, Interest, InternetSocket, Outgoing, Readiness, Transport,
};
use wirestamp_core::configuration::{Granted, Timestamping};
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};
use wirestamp_core::time::MonotonicTime;
use wirestamp_core::timestamp::TransmitTracker;
use wirestamp_core::{Error, ErrorKind, Result};

/// A socket that timestamps; of UDP unless said otherwise.
#[derive(Debug)]
#[repr(C)] // what receiving needs stands together: the cache has no room for all of a thousand sockets
pub struct Socket<K = Datagrams> {
    fd: OwnedFd,
    /// Readable for ever once the socket was closed, and while it is [kept awake](Self::keep_awake).
    closing: Bell,
    /// Readable after [`DatagramSocket::wake`], and for ever once the socket was closed: a wait for
    /// timestamps watches this alone beside the socket.
    nudge: Bell,
    closed: AtomicBool,
    /// Whether it is of the network namespace of the thread that made it. Elsewhere the same number is
    /// another interface.
    is_local: bool,
    /// Whether receive timestamps are wanted.
    receive_timestamps: AtomicBool,
    /// Whether the destination is wanted.
    packet_information: AtomicBool,
    /// Whether software timestamps are reported for the time in the queue alone: before Linux 6.12 also those of
    /// received datagrams that another socket asked for.
    hides_software: AtomicBool,
    /// Whether there is a ring to receive through, or was one that still holds datagrams.
    receive_ring: AtomicBool,
    /// A wait saw an error condition: an empty error queue then means a pending error.
    error_seen: AtomicBool,
    icmp_errors: AtomicBool,
    kind: K,
    dropped: AtomicU64,
    /// How many datagrams waited when a batch was received last.
    waiting_lately: AtomicUsize,
    receiving: Mutex<Receiving>,
    /// `SO_TIMESTAMPING` as it was set last.
    flags: AtomicU32,
    /// `TX_*` bits for a datagram with an id; 0 while transmit timestamps are off.
    transmit_bits: AtomicU32,
    /// Whether the kernel carries the caller's ids; otherwise it counts, or nothing is timestamped yet.
    carried: AtomicBool,
    /// Whether there is a ring for transmit timestamps.
    timestamp_ring: AtomicBool,
    /// Who sends reads; written when the socket is set differently.
    sending: RwLock<Sending>,
    source: SourceAddress,
    ring: Mutex<Option<TimestampIoUring>>,
    /// What messages call this socket.
    name: String,
    /// The interface it is bound to.
    interface: Option<InterfaceIndex>,
    /// Which devices make the hardware timestamps of its packets.
    naming: Naming,
    /// How it was set before.
    former: Former,
}

impl<K> AsFd for Socket<K> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Socket {
    /// Binds to `local`, and to `interface` alone where one is given.
    pub(super) fn bind(
        local: SocketAddr,
        interface: Option<&InterfaceDescription>,
    ) -> Result<Self> {
        Self::bind_with(local, interface, &BindOptions::new())
    }

    /// As [`bind`](Self::bind), with options.
    pub(super) fn bind_with(
        local: SocketAddr,
        interface: Option<&InterfaceDescription>,
        options: &BindOptions,
    ) -> Result<Self> {
        let place = match interface {
            Some(interface) => format!("{local} ({})", interface.name),
            None => local.to_string(),
        };
        let name = format!("the socket bound to {place}");
        let socket = Self::open(local, interface, options, name);
        let socket = socket.map_err(|error| bind_error(&place, local, &error))?;
        socket.bind_to(local)?;
        Ok(socket)
    }

    /// A socket that is bound to nothing yet: for callers that set options on its descriptor
    /// first. Of an IPv6 socket, `IPV6_V6ONLY` is off.
    ///
    /// # Errors
    /// `Busy` if there are too many descriptors; `NotSupported` without this family.
    pub fn unbound(ipv6: bool) -> Result<Self> {
        let any: IpAddr = if ipv6 {
            Ipv6Addr::UNSPECIFIED.into()
        } else {
            Ipv4Addr::UNSPECIFIED.into()
        };
        let failed = |error: io::Error| {
            system_error(
                "open a UDP socket",
                if ipv6 { "IPv6" } else { "IPv4" },
                &error,
            )
        };
        Self::open(
            SocketAddr::new(any, 0),
            None,
            &BindOptions::new(),
            String::from("an unbound socket"),
        )
        .map_err(failed)
    }

    /// Binds an [`unbound`](Self::unbound) socket.
    ///
    /// # Errors
    /// As [`Backend::bind`](wirestamp_core::backend::Backend::bind); `InvalidInput` if it is bound already.
    pub fn bind_to(&self, local: SocketAddr) -> Result<()> {
        SockRef::from(&self.fd)
            .bind(&address::mapped(local, self.kind.ipv6).into())
            .map_err(|error| bind_error(&local, local, &error))
    }

    fn open(
        local: SocketAddr,
        interface: Option<&InterfaceDescription>,
        options: &BindOptions,
        name: String,
    ) -> io::Result<Self> {
        let fd = options::open(local, interface, options)?;
        let interface = interface.map(|interface| interface.index);
        let ipv6 = local.is_ipv6();
        let kind = Datagrams { ipv6 };
        Ok(Self::around(fd, kind, interface, name, Former::ours()))
    }
}

impl<K: Kind> Socket<K> {
    /// A socket around a descriptor that nobody else uses.
    fn around(
        fd: OwnedFd,
        kind: K,
        interface: Option<InterfaceIndex>,
        name: String,
        former: Former,
    ) -> Self {
        Self {
            closing: Bell::default(),
            nudge: Bell::default(),
            fd,
            closed: AtomicBool::new(false),
            kind,
            interface,
            naming: Naming::new(interface),
            is_local: true,
            flags: AtomicU32::new(0),
            transmit_bits: AtomicU32::new(0),
            carried: AtomicBool::new(true),
            receive_timestamps: AtomicBool::new(false),
            packet_information: AtomicBool::new(false),
            hides_software: AtomicBool::new(false),
            icmp_errors: AtomicBool::new(false),
            error_seen: AtomicBool::new(false),
            dropped: AtomicU64::new(former.dropped),
            timestamp_ring: AtomicBool::new(false),
            ring: Mutex::default(),
            receive_ring: AtomicBool::new(false),
            waiting_lately: AtomicUsize::new(0),
            receiving: Mutex::new(Receiving::new(place::placement())),
            sending: RwLock::default(),
            source: SourceAddress::default(),
            name,
            former,
        }
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
}

fn bind_error(place: &impl Display, local: SocketAddr, error: &io::Error) -> Error {
    let described = system_error("bind a UDP socket", place, error);
    match error.raw_os_error() {
        Some(libc::EACCES) if local.port() < 1024 => {
            described.with_remedy("ports below 1024 need root or CAP_NET_BIND_SERVICE")
        }
        _ => described,
    }
}

type Address<K> = <<K as Kind>::Transport as Transport>::Address;
type Group<K> = <<K as Kind>::Transport as Transport>::Group;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K: Kind> DatagramSocket<K::Transport> for Socket<K> {
    fn tracker(&self) -> TransmitTracker {
        TransmitTracker::new(place::placement())
    }

    fn local_address(&self) -> Result<Address<K>> {
        self.kind
            .local_address(self.fd.as_fd())
            .map_err(|error| self.failure("read the address", &error))
    }

    fn join_multicast(&self, group: Group<K>, interface: InterfaceIndex) -> Result<()> {
        self.check_local("join a multicast group")?;
        self.kind.membership(&self.fd, group, interface, true)
    }

    fn leave_multicast(&self, group: Group<K>, interface: InterfaceIndex) -> Result<()> {
        self.check_local("leave a multicast group")?;
        self.kind.membership(&self.fd, group, interface, false)
    }

    fn configure(&self, wanted: &Timestamping, tracker: &mut TransmitTracker) -> Result<Granted> {
        self.check_open("configure timestamping")?;
        self.apply(wanted, tracker)
    }

    fn send(&self, batch: &[Outgoing<'_, K::Transport>]) -> Result<usize> {
        self.check_open("send")?;
        self.send_batch(batch, None)
    }

    fn send_counted(
        &self,
        batch: &[Outgoing<'_, K::Transport>],
        tracker: &mut TransmitTracker,
    ) -> Result<usize> {
        self.check_open("send")?;
        self.send_batch(batch, Some(tracker))
    }

    fn make_room(&self, batch: &[Outgoing<'_, K::Transport>]) -> Option<u32> {
        self.room_for(batch)
    }

    fn receive(&self, batch: &mut [Incoming<'_, K::Transport>]) -> Result<usize> {
        self.check_open("receive")?;
        self.receive_batch(batch)
    }

    fn read_transmit_timestamps(
        &self,
        tracker: &mut TransmitTracker,
        awaited: usize,
    ) -> Result<bool> {
        self.check_open("read transmit timestamps")?;
        self.read_queue(tracker, awaited)
    }

    fn wait(&self, interest: Interest, until: MonotonicTime) -> Result<Readiness> {
        self.poll(interest, until)
    }

    fn wake(&self) {
        self.nudge.ring();
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.closing.ring();
        self.nudge.ring();
    }

    fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed) - self.former.dropped
    }
}

impl InternetSocket for Socket {
    fn connect(&self, peer: SocketAddr) -> Result<()> {
        self.check_open("connect")?;
        self.kind.check_family("connect", peer)?;
        SockRef::from(&self.fd)
            .connect(&address::mapped(peer, self.kind.ipv6).into())
            .map_err(|error| system_error("connect", peer, &error))
    }

    fn set_multicast(&self, interface: InterfaceIndex, hops: u32, loopback: bool) -> Result<()> {
        self.check_local("configure multicast")?;
        options::multicast(&self.fd, self.kind.ipv6, interface, hops, loopback)
    }

    fn set_source(&self, source: Option<IpAddr>) -> Result<()> {
        self.check_open("send from an address")?;
        self.send_from(source)
    }

    fn report_header(&self) -> Result<()> {
        self.check_open("report packet headers")?;
        self.set_header_reports()
    }

    fn set_traffic_class(&self, traffic_class: u8) -> Result<()> {
        self.check_open("set the traffic class")?;
        self.set_header_field(header::Field::TrafficClass, traffic_class)
    }

    fn set_hop_limit(&self, hop_limit: u8) -> Result<()> {
        self.check_open("set the hop limit")?;
        self.set_header_field(header::Field::HopLimit, hop_limit)
    }

    fn forbid_fragments(&self) -> Result<()> {
        self.check_open("forbid fragments")?;
        self.set_whole()
    }

    fn path_mtu(&self) -> Result<u32> {
        self.check_open("read the path's MTU")?;
        self.known_path_mtu()
    }
}

#[cfg(test)]
mod tests;
