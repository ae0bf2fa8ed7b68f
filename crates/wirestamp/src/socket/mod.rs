//! The UDP socket that timestamps: its life, its configuration, and where it sends.
//! Sending is in `send`, receiving in `receive`, transmit timestamps in `transmit`.

#[cfg(any(unix, windows))]
mod adopt;
mod collecting;
mod outcome;
mod receive;
mod send;
mod state;
#[cfg(feature = "tokio")]
mod tasks;
mod transmit;
mod waiting;

pub use receive::ReceiveCounters;

use crate::deadline::Deadline;
use crate::host::Host;
use crate::inner::Socket;
use crate::observed::Observer;
use receive::ReceiveCounts;
use state::Transmit;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32};
use wirestamp_core::backend::{Backend, DatagramSocket};
use wirestamp_core::configuration::{Granted, Timestamping};
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};
use wirestamp_core::time::{MonotonicTime, UtcCrossTimestamp};
use wirestamp_core::timestamp::TransmitTracker;
use wirestamp_core::{Error, ErrorKind, Result};

/// A UDP socket whose datagrams carry timestamps, received ones and sent ones.
///
/// [`bind`](Self::bind) makes one; [`adopt`](Self::adopt) takes one that the program has already, from `std`,
/// `socket2` or elsewhere.
///
/// Timestamping is off until [`configure`](Self::configure) switches it on. Every method takes
/// `&self` and can be called from several threads at once; nothing blocks except the methods
/// that take a time to wait, and [`send`](Self::send) while there is no room.
///
/// A datagram sent with a [`TransmitId`](crate::TransmitId) has its outcome fetched by that
/// id, and every id ends exactly once: timestamped, or lost with a reason.
pub struct UdpSocket {
    host: Arc<Host>,
    socket: Socket,
    transmit: Transmit,
    receiving: ReceiveCounts,
    observer: Observer,
    /// The one interface that this socket's packets can leave by, where there is only one.
    leaves_by: Option<InterfaceIndex>,
    /// Nanoseconds that a receive lets datagrams gather.
    gather: AtomicI64,
    /// Counts the ids that the socket chose itself.
    next_own: AtomicU32,
}

impl UdpSocket {
    /// Binds a socket of this system to `local`, on any interface. For one interface, or for
    /// a simulated one, see [`Interface::bind`](crate::Interface::bind).
    ///
    /// # Errors
    /// `Busy` if the address is taken; `NoSuchDevice` if the address is none of this
    /// system's; `NotPermitted` for a port that needs privilege.
    pub fn bind(local: SocketAddr) -> Result<Self> {
        Self::on(Host::native(), local, None)
    }

    pub(crate) fn on(
        host: &Arc<Host>,
        local: SocketAddr,
        interface: Option<&InterfaceDescription>,
    ) -> Result<Self> {
        let socket = host.bind(local, interface)?;
        let leaves_by = match interface {
            Some(interface) => Some(interface.index),
            None if local.ip().is_loopback() => host
                .look_up(|description| description.loopback)?
                .map(|lo| lo.index),
            None => None,
        };
        let tracker = socket.tracker();
        Ok(Self::around(host, socket, tracker, leaves_by))
    }

    fn around(
        host: &Arc<Host>,
        socket: Socket,
        tracker: TransmitTracker,
        leaves_by: Option<InterfaceIndex>,
    ) -> Self {
        Self {
            host: Arc::clone(host),
            socket,
            transmit: Transmit::new(tracker),
            receiving: ReceiveCounts::default(),
            observer: Observer::default(),
            leaves_by,
            gather: AtomicI64::new(0),
            next_own: AtomicU32::new(0),
        }
    }

    /// Returns the address that the socket is bound to.
    ///
    /// # Errors
    /// `Closed`.
    pub fn local_address(&self) -> Result<SocketAddr> {
        self.socket.local_address()
    }

    /// Connects to a peer: [`send`](Self::send) goes there, and only its datagrams are received.
    ///
    /// # Errors
    /// `Unreachable` if there is no route; `InvalidInput` for the wrong address family.
    pub fn connect(&self, peer: SocketAddr) -> Result<()> {
        self.socket.connect(peer)
    }

    /// Joins a multicast group on an interface.
    ///
    /// # Errors
    /// `InvalidInput` if `group` is no multicast address; `NoSuchDevice`; `Busy` if it is
    /// joined there already or the system allows no more.
    pub fn join_multicast(&self, group: IpAddr, interface: InterfaceIndex) -> Result<()> {
        self.socket.join_multicast(group, interface)
    }

    /// Leaves a multicast group on an interface.
    ///
    /// # Errors
    /// `NoSuchDevice` if it is not joined there.
    pub fn leave_multicast(&self, group: IpAddr, interface: InterfaceIndex) -> Result<()> {
        self.socket.leave_multicast(group, interface)
    }

    /// Chooses the interface that multicast leaves by, its hop limit, and whether this host
    /// receives its own.
    ///
    /// # Errors
    /// `NoSuchDevice`; `InvalidInput` for a hop limit above 255.
    pub fn set_multicast(
        &self,
        interface: InterfaceIndex,
        hops: u32,
        loopback: bool,
    ) -> Result<()> {
        self.socket.set_multicast(interface, hops, loopback)
    }

    /// Replaces the whole timestamping configuration. One call sets everything: what is omitted
    /// is off. Ids that are still awaited end as lost by reset. Returns what is in force.
    ///
    /// The first socket of a system that switches receive timestamps on can see a few
    /// milliseconds of datagrams without timestamps (Linux).
    ///
    /// # Errors
    /// `NotSupported` if the system can't timestamp so; all timestamping of this socket is then off.
    pub fn configure(&self, timestamping: Timestamping) -> Result<Granted> {
        self.replace_configuration(&timestamping)
    }

    /// Waits until one of `sockets` has a datagram to receive or something in its queue of
    /// transmit timestamps, or is closed, or until `deadline`. May end early for no reason. For
    /// programs that serve several sockets in one thread; what has come is then fetched with
    /// [`try_receive_batch`](Self::try_receive_batch) and
    /// [`transmit_timestamps`](Self::transmit_timestamps), which do not wait.
    ///
    /// # Errors
    /// `InvalidInput` if the sockets are not all of this system, or all of one simulation; `Io`.
    pub fn wait_any(sockets: &[&Self], deadline: impl Into<Deadline>) -> Result<()> {
        let Some(first) = sockets.first() else {
            return Ok(());
        };
        if !sockets
            .iter()
            .all(|socket| Arc::ptr_eq(&socket.host, &first.host))
        {
            let cause = "the sockets are of different systems, whose times pass apart";
            return Err(Error::new(
                ErrorKind::InvalidInput,
                "wait for several sockets",
                first.shown(),
                cause,
            )
            .with_remedy("wait for the sockets of each simulation by themselves"));
        }
        let inner: Vec<_> = sockets.iter().map(|socket| &socket.socket).collect();
        let until = deadline.into().resolve(|| first.host.now());
        first.host.wait_any(&inner, until)
    }

    /// Reads the monotonic clock, the one that timestamps are converted to.
    pub fn now(&self) -> MonotonicTime {
        self.host.now()
    }

    /// Reads the real-time clock between two readings of the monotonic clock.
    pub fn utc_cross_timestamp(&self) -> UtcCrossTimestamp {
        self.host.utc_cross_timestamp()
    }

    /// Ends every wait in every thread: calls that were under way and later ones fail with
    /// `Closed`. Ids that are still awaited end as lost because the socket was closed;
    /// outcomes can still be fetched. The address stays bound until the socket is dropped.
    pub fn close(&self) {
        self.close_transmit();
    }

    /// Returns whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.transmit.lock().closed
    }

    /// Returns the socket's descriptor, for options of the system's that wirestamp does not know. `None` for a
    /// simulated socket. Timestamping options that are set behind its back are not noticed.
    ///
    /// Populated on: Linux.
    #[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
    pub fn descriptor(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        use std::os::fd::AsFd;
        self.socket.native().map(AsFd::as_fd)
    }

    pub(crate) fn closed(&self, operation: &'static str) -> Error {
        Error::new(
            ErrorKind::Closed,
            operation,
            self.shown(),
            "the socket was closed",
        )
    }

    /// What messages call it.
    fn shown(&self) -> String {
        self.socket.local_address().map_or_else(
            |_| "this socket".to_owned(),
            |local| format!("socket {local}"),
        )
    }
}

impl fmt::Debug for UdpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UdpSocket")
            .field("local", &self.shown())
            .finish_non_exhaustive()
    }
}
