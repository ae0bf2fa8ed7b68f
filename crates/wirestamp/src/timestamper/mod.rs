//! Timestamps of a socket that the program keeps, with its own calls and its own event loop.
//! What the kernel's entries mean is the tracker's and the matcher's business, as for `UdpSocket`.

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

/// Timestamps of a UDP socket that the program keeps: it sends, receives and waits by itself, with
/// `mio`, `tokio`, `io_uring` or plain `poll`, and reports here what it did.
///
/// [`UdpSocket`](crate::UdpSocket) makes the calls itself and is simpler. This is for programs
/// that have a socket and an event loop already:
///
/// * **Send:** [`tag`](Self::tag) gives the control messages of a datagram that is to be timestamped. Send
///   it with them (`sendmsg`), then say that it was [`sent`](Self::sent) or [`failed`](Self::failed).
///   Datagrams without a timestamp are sent as ever.
/// * **Receive:** give the control messages of what `recvmsg` returned to [`received`](Self::received), or
///   have [`receive_batch`](Self::receive_batch) make the call.
/// * **Wait:** the error queue makes the socket report an error condition (`EPOLLERR`, `POLLERR`). Then
///   [`read_error_queue`](Self::read_error_queue), or read it yourself (`recvmsg` with `MSG_ERRQUEUE`) and give each
///   entry to [`error_queue_entry`](Self::error_queue_entry). Wait no longer than [`timeout`](Self::timeout).
/// * **Fetch:** [`transmit_timestamps`](Self::transmit_timestamps) has the outcomes. Each id ends
///   exactly once: timestamped, or missing with a reason.
///
/// Nothing here waits, except the first [`configure`](Self::configure) of a process, as
/// [`Socket::configure`](crate::socket::Socket::configure) does. When this is dropped, timestamping of the socket is off, and its options are as
/// they were.
///
/// Populated on: Linux.
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
    /// Around another descriptor of the program's socket.
    socket: Socket,
    tracker: TransmitTracker,
    matcher: Matcher,
    observer: Observer,
    /// How many timestamps the system's queue may be trusted with: half of what it holds.
    part: usize,
    /// The one interface that its packets can leave by, where there is only one.
    leaves_by: Option<InterfaceIndex>,
}

/// The contents of a received datagram's control messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ReceivedControl {
    /// When it arrived. Neither: nothing timestamped it.
    pub timestamps: Timestamps,
    /// The interface that delivered it, where the control messages tell.
    pub interface: Option<InterfaceIndex>,
    /// To which of the host's addresses it came; `None` unless [`Timestamping::packet_information`] asks for it.
    pub destination: Option<std::net::IpAddr>,
}

impl Timestamper {
    /// For `socket`: one of `std`'s, `socket2`'s, `mio`'s, `tokio`'s, or any descriptor of a UDP socket.
    /// Its timestamping is off until [`configure`](Self::configure).
    ///
    /// What is changed of the socket's options, and what a former owner's timestamps mean, is as for
    /// [`UdpSocket::adopt`](crate::UdpSocket::adopt). Attach one to a socket, not two.
    ///
    /// # Errors
    /// `InvalidInput` for anything but a UDP socket: the message says what it is. `Busy` if the process
    /// has too many descriptors.
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

    /// Replaces the whole timestamping configuration. One call sets everything: what is omitted is
    /// off. Ids that are still awaited end as missing by reset. Returns what is in force.
    ///
    /// # Errors
    /// `NotSupported` if the system can't timestamp so; all timestamping of the socket is then off.
    /// `InvalidInput` for [`Engine::Ring`] and for [`gather`](Timestamping::gather): the calls are the
    /// program's own.
    pub fn configure(&mut self, timestamping: Timestamping) -> Result<Granted> {
        if matches!(timestamping.engine, Engine::Ring { .. }) || timestamping.gather != Span::ZERO {
            let cause =
                "an engine and a time to gather are for who makes the calls: the program here";
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

    /// Reads the control messages of a received datagram: its timestamps, on the interface by which
    /// it came. Give it the bytes that `recvmsg` filled, soon after it returned.
    pub fn received(&mut self, control: &[u8]) -> ReceivedControl {
        let received = self.socket.received(control);
        self.note_received(received.interface, &received.timestamps);
        ReceivedControl {
            timestamps: received.timestamps,
            interface: received.interface,
            destination: received.destination,
        }
    }

    /// Receives what waits, as far as `batch` has room, without waiting; returns how many. 0: nothing waits.
    ///
    /// # Errors
    /// `Unreachable` if a datagram that a connected socket sent was rejected (nothing is lost; call
    /// again); `Io`.
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

    /// Reads all that waits in the socket's error queue. Does not wait.
    ///
    /// # Errors
    /// `Io` if the queue can't be read.
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

    /// Takes one entry of the error queue that the program read itself, by `recvmsg` with `MSG_ERRQUEUE`:
    /// the control messages, and the address (`msg_name`) that an ICMP error has, or nothing.
    ///
    /// Give `recvmsg` at least 256 bytes for control messages: what it cuts off, a timestamp perhaps, is lost. An entry takes
    /// up to 168 bytes (IPv6), more with options of the program's own. On a bridge, bond, VRF or tunnel, or bound to no
    /// interface, a socket with hardware timestamps has entries that carry the packet that was sent, by which the kernel names
    /// the NIC; no other entry of a timestamp has a payload. The packet need not be read: a buffer of no bytes will do.
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

    /// Returns how long the program may wait before it fetches: until the oldest awaited id ends by time.
    /// `None`: none is awaited.
    pub fn timeout(&self) -> Option<Duration> {
        let left = self.matcher.next_deadline()? - self.now();
        Some(left.max(Span::ZERO).to_duration())
    }

    /// Takes the outcomes of ended ids, oldest first, as far as `records` has room; returns how many.
    /// The error queue is read before an id ends by time.
    ///
    /// # Errors
    /// `Io` if the queue can't be read.
    pub fn transmit_timestamps(&mut self, records: &mut [TransmitRecord]) -> Result<usize> {
        let now = self.expired()?;
        Ok(self.matcher.fetch_batch(now, records))
    }

    /// Asks for the outcome of `id`. The error queue is read before an id ends by time.
    ///
    /// # Errors
    /// `Io` if the queue can't be read.
    pub fn transmit_timestamp(&mut self, id: TransmitId) -> Result<TransmitAnswer> {
        let now = self.expired()?;
        Ok(self.matcher.fetch(id, now))
    }

    /// Ends what is overdue, after a last look; returns since when it was.
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

    /// Takes timestamps that came after their id had ended as missing; returns how many.
    pub fn late_timestamps(&mut self, late: &mut [LateTimestamp]) -> usize {
        self.matcher.late(late)
    }

    /// Takes what else was in the error queue: ICMP errors, zero-copy reports; returns how many.
    pub fn notices(&mut self, notices: &mut [Notice]) -> usize {
        self.matcher.take_notices(notices)
    }

    /// Returns counts of the ids by outcome.
    pub fn counters(&self) -> TransmitCounters {
        self.matcher.counters()
    }

    /// The monotonic clock, the one that timestamps are converted to.
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
