//! Timestamps for a socket that the program uses with its own system calls and event loop. The
//! tracker and the matcher interpret the kernel's entries, as for `UdpSocket`.

mod sending;

pub use sending::Tag;

use crate::host::Host;
use crate::observed::Observer;
use std::fmt;
use std::os::fd::AsFd;
use std::time::Duration;
use wirestamp_core::backend::{Backend, DatagramSocket, Incoming};
use wirestamp_core::capability::Direction;
use wirestamp_core::configuration::{Engine, Granted, Timestamping};
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::time::{MonotonicTime, Span};
use wirestamp_core::timestamp::{
    Arrival, LateTimestamp, Matcher, Notice, Timestamps, TransmitAnswer, TransmitCounters,
    TransmitId, TransmitRecord, TransmitTracker,
};
use wirestamp_core::{Error, ErrorKind, Result};
use wirestamp_sys::Socket;

/// Timestamps the datagrams of a UDP socket that the program uses with its own system calls: it
/// sends, receives and waits itself, with `mio`, `tokio`, `io_uring` or plain `poll`.
///
/// [`UdpSocket`](crate::UdpSocket) makes the calls itself and is simpler. This type is for
/// programs that already have a socket and an event loop:
///
/// * **Send:** [`tag`](Self::tag) returns the control messages for a datagram to be timestamped.
///   Pass them to `sendmsg`, then report the result with [`sent`](Self::sent) or
///   [`failed`](Self::failed). Send datagrams without a timestamp as before.
/// * **Receive:** pass the control messages from `recvmsg` to [`received`](Self::received), or let
///   [`receive_batch`](Self::receive_batch) make the call.
/// * **Wait:** when the error queue has an entry, `poll` or `epoll` reports an error condition
///   (`POLLERR`, `EPOLLERR`). Then call [`read_error_queue`](Self::read_error_queue), or read it
///   yourself (`recvmsg` with `MSG_ERRQUEUE`) and pass each entry to
///   [`error_queue_entry`](Self::error_queue_entry). Wait no longer than
///   [`timeout`](Self::timeout).
/// * **Fetch:** [`transmit_timestamps`](Self::transmit_timestamps) returns the outcomes. Every ID
///   resolves exactly once: to the timestamps or to the reason there are none.
///
/// No method waits, except the first [`configure`](Self::configure) of a process: see
/// [`Socket::configure`](crate::socket::Socket::configure). Dropping this switches timestamping of
/// the socket off and restores its other options.
///
/// Available on Linux only.
///
/// ```
/// use socket2::{MsgHdr, SockRef};
/// use std::io::IoSlice;
/// use std::net::UdpSocket;
/// use wirestamp::{Timestamper, Timestamping, TransmitId, TransmitRecord};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let socket = UdpSocket::bind("127.0.0.1:0")?;
/// let to = socket.local_addr()?.into();
/// let mut timestamper = Timestamper::attach(&socket)?;
/// timestamper.configure(Timestamping::new().transmit(64))?;
///
/// let tag = timestamper.tag(TransmitId(7))?;
/// let payload = [IoSlice::new(b"hello")];
/// let message = MsgHdr::new().with_addr(&to).with_buffers(&payload).with_control(tag.control());
/// match SockRef::from(&socket).sendmsg(&message, 0) {
///     Ok(_) => timestamper.sent(tag),
///     Err(error) => timestamper.failed(tag, &error, payload[0].len()),
/// }
///
/// let mut records = [TransmitRecord::EMPTY; 8];
/// while let Some(timeout) = timestamper.timeout() {
///     std::thread::sleep(timeout.min(std::time::Duration::from_millis(1))); // poll(2), in a real program
///     timestamper.read_error_queue()?;
///     let ended = timestamper.transmit_timestamps(&mut records)?;
///     for record in &records[..ended] {
///         println!("{}: {:?}", record.id, record.outcome);
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub struct Timestamper {
    /// Holds a duplicate of the descriptor of the program's socket.
    socket: Socket,
    tracker: TransmitTracker,
    matcher: Matcher,
    observer: Observer,
    /// The number of IDs whose timestamps are left in the error queue at most: half its capacity.
    part: usize,
    /// The interface that all packets of this socket leave by, if there is only one.
    leaves_by: Option<InterfaceIndex>,
}

/// The contents of a received datagram's control messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ReceivedControl {
    /// The receive timestamps; empty if neither the NIC nor the kernel made one.
    pub timestamps: Timestamps,
    /// The interface that received the datagram; `None` if the control messages do not contain it.
    pub interface: Option<InterfaceIndex>,
    /// The address of this host that the datagram was sent to; `None` unless
    /// [`Timestamping::packet_information`] requests it.
    pub destination: Option<std::net::IpAddr>,
}

impl Timestamper {
    /// Attaches to a UDP socket of `std`, `socket2`, `mio` or tokio, or to any descriptor of one.
    /// Timestamping is off until [`configure`](Self::configure).
    ///
    /// It changes the socket's options, and handles timestamps of a previous owner, like
    /// [`UdpSocket::adopt`](crate::UdpSocket::adopt). Attach only one to a socket.
    ///
    /// # Errors
    /// `InvalidInput` for anything but a UDP socket (the message names its type); `Busy` if the
    /// process has too many descriptors.
    pub fn attach(socket: &impl AsFd) -> Result<Self> {
        let descriptor = socket.as_fd().try_clone_to_owned().map_err(|error| {
            Error::new(
                ErrorKind::Busy,
                "attach to a socket",
                "its descriptor",
                error.to_string(),
            )
            .with_system(&error)
        })?;
        let (socket, tracker) = Socket::adopt(descriptor)?;
        socket.assume_long_datagrams();
        Ok(Self {
            leaves_by: socket.interface(),
            socket,
            tracker,
            matcher: Matcher::new(),
            observer: Observer::default(),
            part: usize::MAX,
        })
    }

    /// Replaces the whole timestamping configuration: everything that `timestamping` does not
    /// switch on is off. Unresolved IDs resolve to `Missing(Reset)`. Returns the granted
    /// configuration.
    ///
    /// # Errors
    /// `NotSupported` if the system does not support the configuration. All timestamping of this
    /// socket is then off. `InvalidInput` for [`Engine::Ring`] and for
    /// [`gather`](Timestamping::gather), because the program makes the calls itself.
    pub fn configure(&mut self, timestamping: Timestamping) -> Result<Granted> {
        if matches!(timestamping.engine, Engine::Ring { .. }) || timestamping.gather != Span::ZERO {
            let cause = "this program makes the socket calls itself, so it cannot set an engine or a time to gather";
            let shown = format!("{self:?}");
            return Err(Error::new(
                ErrorKind::InvalidInput,
                "configure timestamping",
                shown,
                cause,
            )
            .with_remedy("leave both as in Timestamping::OFF, or use UdpSocket::adopt"));
        }
        self.read_error_queue()?;
        let wanted = timestamping.engine(Engine::Calls);
        let granted = self.socket.configure(&wanted, &mut self.tracker);
        let now = self.now();
        let (in_force, queue) = match &granted {
            Ok(granted) => (granted.timestamping, granted.system_queue),
            Err(_) => (Timestamping::OFF, None),
        };
        self.matcher.configure(&in_force, now);
        self.part = queue.map_or(usize::MAX, |queue| {
            (queue / 2 / in_force.entries_per_id()).max(1) as usize
        });
        granted
    }

    /// Converts the control messages of a received datagram: its timestamps, interface and
    /// destination. Pass the bytes that `recvmsg` filled, soon after it returned.
    pub fn received(&mut self, control: &[u8]) -> ReceivedControl {
        let received = self.socket.received(control);
        self.note_received(received.interface, &received.timestamps);
        ReceivedControl {
            timestamps: received.timestamps,
            interface: received.interface,
            destination: received.destination,
        }
    }

    /// Receives as many datagrams as are available and fit into `batch`, without waiting. Returns
    /// their number.
    ///
    /// # Errors
    /// `Unreachable` if a datagram that this connected socket sent was rejected with an ICMP error
    /// (no received datagram is lost; call again); `Io`.
    pub fn receive_batch(&mut self, batch: &mut [Incoming<'_>]) -> Result<usize> {
        let count = self.socket.receive(batch)?;
        for Incoming { received, .. } in &batch[..count] {
            self.note_received(received.interface, &received.timestamps);
        }
        Ok(count)
    }

    fn note_received(&self, interface: Option<InterfaceIndex>, timestamps: &Timestamps) {
        let (seen, interface) = (&Host::native().observed, interface.or(self.leaves_by));
        self.observer
            .note(seen, Direction::Receive, interface, timestamps);
    }

    /// Empties the socket's error queue, without waiting.
    ///
    /// # Errors
    /// `Io` if the error queue cannot be read.
    pub fn read_error_queue(&mut self) -> Result<()> {
        let now = self.now();
        self.matcher.advance(now);
        loop {
            let awaited = self.matcher.awaited();
            let read = self
                .socket
                .read_transmit_timestamps(&mut self.tracker, awaited);
            self.deliver();
            if !read? {
                return Ok(());
            }
        }
    }

    /// Takes one entry of the error queue that the program read itself (`recvmsg` with
    /// `MSG_ERRQUEUE`): its control messages, and the address (`msg_name`), which only ICMP errors
    /// have.
    ///
    /// Give `recvmsg` at least 256 bytes for control messages, or timestamps can be cut off and
    /// lost: an entry takes up to 168 bytes (IPv6), more if the program sets further options. The
    /// payload buffer may be empty. Entries contain the sent packet only if the socket has hardware
    /// timestamps and is on a bridge, bond, VRF or tunnel, or bound to no interface: only so does
    /// the kernel name the NIC.
    pub fn error_queue_entry(&mut self, control: &[u8], name: &[u8]) {
        self.matcher.advance(self.now());
        self.socket.take_entry(control, name, &mut self.tracker);
        self.deliver();
    }

    fn deliver(&mut self) {
        self.tracker.take(|arrival| {
            if let Arrival::Timestamped(_, timestamps) = arrival {
                let by = timestamps.hardware.and_then(|hardware| hardware.interface);
                let seen = &Host::native().observed;
                let interface = self.leaves_by.or(by);
                self.observer
                    .note(seen, Direction::Transmit, interface, timestamps);
            }
            self.matcher.arrived(arrival);
        });
    }

    /// Returns how long the program may wait before it fetches outcomes: until the earliest
    /// deadline of an unresolved ID. `None` if no ID is unresolved.
    pub fn timeout(&self) -> Option<Duration> {
        let left = self.matcher.next_deadline()? - self.now();
        Some(left.max(Span::ZERO).to_duration())
    }

    /// Takes the outcomes of resolved IDs, oldest first, as many as fit into `records`. Returns
    /// their number. Reads the error queue before an ID resolves by its deadline.
    ///
    /// # Errors
    /// `Io` if the error queue cannot be read.
    pub fn transmit_timestamps(&mut self, records: &mut [TransmitRecord]) -> Result<usize> {
        let now = self.expired()?;
        Ok(self.matcher.fetch_batch(now, records))
    }

    /// Fetches the outcome of `id`. Reads the error queue before the ID resolves by its deadline.
    ///
    /// # Errors
    /// `Io` if the error queue cannot be read.
    pub fn transmit_timestamp(&mut self, id: TransmitId) -> Result<TransmitAnswer> {
        let now = self.expired()?;
        Ok(self.matcher.fetch(id, now))
    }

    /// Resolves overdue IDs, after reading the error queue once more. Returns the time before.
    fn expired(&mut self) -> Result<MonotonicTime> {
        let now = self.now();
        if self
            .matcher
            .next_deadline()
            .is_some_and(|deadline| deadline <= now)
        {
            self.read_error_queue()?;
        }
        self.matcher.expire(now);
        Ok(now)
    }

    /// Takes late timestamps: those that came after their ID had resolved without one. Returns
    /// their number.
    pub fn late_timestamps(&mut self, late: &mut [LateTimestamp]) -> usize {
        self.matcher.late(late)
    }

    /// Takes the other entries of the error queue: ICMP errors and zero-copy reports. Returns their
    /// number.
    pub fn notices(&mut self, notices: &mut [Notice]) -> usize {
        self.matcher.take_notices(notices)
    }

    /// Returns the numbers of transmit IDs by outcome.
    pub fn counters(&self) -> TransmitCounters {
        self.matcher.counters()
    }

    /// Reads the monotonic clock, to which timestamps are converted.
    pub fn now(&self) -> MonotonicTime {
        Host::native().now()
    }
}

impl Drop for Timestamper {
    fn drop(&mut self) {
        self.socket.restore();
    }
}

impl fmt::Debug for Timestamper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let local = self.socket.local_address();
        let local = local.map_or_else(|_| "?".to_owned(), |local| local.to_string());
        f.debug_struct("Timestamper")
            .field("local", &local)
            .finish_non_exhaustive()
    }
}
