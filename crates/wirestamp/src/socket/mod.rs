//! Sockets whose sent and received packets have timestamps, their configuration, and the
//! `Timestamper` for sockets that a program uses with its own system calls.

#[cfg(any(unix, windows))]
mod adopt;
mod any;
mod collecting;
pub(crate) mod ethernet;
mod outcome;
mod receive;
mod send;
mod state;
#[cfg(feature = "tokio")]
mod tasks;
mod transmit;
mod udp;
mod waiting;

pub use crate::address::ToAddress;
pub use crate::deadline::Deadline;
pub use crate::inner::Supported;
#[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
pub use crate::timestamper::{ReceivedControl, Tag, Timestamper};

pub use any::AnySocket;
pub use receive::ReceiveCounters;
pub use udp::UdpSocket;
pub use wirestamp_core::backend::{BindOptions, Incoming, Outgoing, Received, Transport, Udp};
pub use wirestamp_core::capability::AddressFamily;
pub use wirestamp_core::configuration::{
    Engine, Granted, Identification, IoUringState, IoUringUnavailable, Source, Timestamping,
};

use crate::host::Host;
use crate::inner::{self};
use crate::observed::Observer;
use receive::ReceiveCounts;
use state::Transmit;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32};
use wirestamp_core::backend::{Backend, DatagramSocket};
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::time::{Adjusted, MonotonicTime, RealTimeClock, UtcCrossTimestamp};
use wirestamp_core::timestamp::TransmitTracker;
use wirestamp_core::{Error, ErrorKind, Result};

/// A socket whose sent and received packets have timestamps: a [`UdpSocket`] or an
/// [`EthernetSocket`](crate::ethernet::EthernetSocket).
///
/// Timestamping is off until [`configure`](Self::configure) switches it on. All methods take
/// `&self` and can be called from several threads at once. Methods block only if they take a
/// deadline, except [`send`](Self::send) and [`send_to`](Self::send_to) while the send buffer is
/// full, and [`configure`](Self::configure), which waits for the system.
///
/// If a packet is sent with a [`TransmitId`](crate::TransmitId), its outcome is fetched by that ID.
/// Every ID resolves exactly once: to the timestamps or to the reason there are none.
///
/// Code for both kinds is generic over the transport:
///
/// ```
/// use std::time::Duration;
/// use wirestamp::socket::{Socket, Supported};
/// use wirestamp::{Result, Timestamps, TransmitOutcome};
///
/// /// Sends `payload` and returns its transmit timestamps, if there are any.
/// fn announce<T: Supported>(socket: &Socket<T>, payload: &[u8], to: T::Address) -> Result<Timestamps> {
///     match socket.send_to_timestamped(payload, to, Duration::from_secs(1))? {
///         TransmitOutcome::Timestamped(timestamps) => Ok(timestamps),
///         TransmitOutcome::Missing(_) => Ok(Timestamps::NONE),
///     }
/// }
/// ```
#[repr(C)] // what every received packet needs stands together, and `inner::Socket` begins with the rest of it
pub struct Socket<T: Supported = Udp> {
    host: Arc<Host>,
    /// The interface that all packets of this socket leave by, if there is only one.
    leaves_by: Option<InterfaceIndex>,
    observer: Observer,
    receiving: ReceiveCounts,
    socket: inner::Socket<T>,
    transmit: Transmit,
    /// The time in nanoseconds that a receive lets datagrams accumulate.
    gather: AtomicI64,
    /// Counts the IDs that the socket chose itself.
    next_own: AtomicU32,
}

impl<T: Supported> Socket<T> {
    fn around(
        host: &Arc<Host>,
        socket: inner::Socket<T>,
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

    /// Returns the address that the socket is bound to; for Ethernet, the interface's MAC address.
    ///
    /// # Errors
    /// `Closed` if the socket was closed.
    pub fn local_address(&self) -> Result<T::Address> {
        self.socket.local_address()
    }

    /// Replaces the whole timestamping configuration: everything that `timestamping` does not
    /// switch on is off. Unresolved IDs resolve to `Missing(Reset)`. Returns the granted
    /// configuration.
    ///
    /// On Linux, the first call of a process that switches software receive timestamps on waits
    /// until the kernel makes them: some milliseconds, up to 2 s on a busy system. Datagrams that
    /// arrive during this time can lack timestamps.
    ///
    /// # Errors
    /// `NotSupported` if the system does not support the configuration. All timestamping of this
    /// socket is then off.
    pub fn configure(&self, timestamping: Timestamping) -> Result<Granted> {
        self.replace_configuration(&timestamping)
    }

    /// Reads the monotonic clock, to which timestamps are converted.
    pub fn now(&self) -> MonotonicTime {
        self.host.now()
    }

    /// Reads the real-time clock between two readings of the monotonic clock.
    pub fn utc_cross_timestamp(&self) -> UtcCrossTimestamp {
        self.host.utc_cross_timestamp()
    }

    /// Returns the limits within which this host's real-time clock runs against its monotonic clock.
    pub fn real_time_clock(&self) -> RealTimeClock {
        self.host.real_time_clock()
    }

    /// Reads how far frequency adjustments by a time daemon, adjtimex(2) or adjtime(3), have moved
    /// the monotonic clock.
    pub fn adjusted(&self) -> Adjusted {
        self.host.adjusted()
    }

    /// Sleeps until `deadline`; in a simulation, virtual time passes. For programs that have no
    /// usable socket to wait for.
    pub fn sleep_until(&self, deadline: impl Into<Deadline>) {
        let until = deadline.into().resolve(|| self.host.now());
        self.host.sleep_until(until);
    }

    /// Closes the socket for all threads: calls in progress and later ones fail with `Closed`.
    /// Unresolved IDs resolve to `Missing(SocketClosed)`; outcomes can still be fetched. The
    /// address stays bound until the socket is dropped.
    pub fn close(&self) {
        self.close_transmit();
    }

    /// Returns whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.transmit.lock().closed
    }

    pub(crate) fn closed(&self, operation: &'static str) -> Error {
        Error::new(
            ErrorKind::Closed,
            operation,
            self.shown(),
            "the socket was closed",
        )
    }

    /// Returns the system's socket; `None` for a simulated one.
    pub(crate) fn native(&self) -> Option<&T::Native> {
        self.socket.native()
    }

    /// Its name in messages.
    fn shown(&self) -> String {
        self.socket.local_address().map_or_else(
            |_| "this socket".to_owned(),
            |local| format!("socket {local}"),
        )
    }
}

impl<T: Supported> fmt::Debug for Socket<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(T::SOCKET)
            .field("local", &self.shown())
            .finish_non_exhaustive()
    }
}
