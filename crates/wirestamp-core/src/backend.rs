//! The traits that a system with timestamps implements, with what each operation must do. `wirestamp-sys` fulfils it for Linux and Windows, `wirestamp-sim` in virtual
//! time; the facade picks one at run time behind a private enum, and the conformance suite
//! holds all of them to it.
//!
//! Nothing here blocks except [`DatagramSocket::wait`]. Everything can be called from several
//! threads at once.

use crate::capability::Capabilities;
use crate::configuration::{Granted, HardwareConfiguration, Timestamping};
use crate::cross::CrossTimestamp;
use crate::error::{Error, ErrorKind, Result};
use crate::ethernet::{Ethertype, FrameDestination, MacAddress};
use crate::interface::{InterfaceDescription, InterfaceIndex};
use crate::time::{Frequency, MonotonicTime, RealTimeClock, Span, UtcCrossTimestamp};
use crate::timestamp::{Timestamps, TransmitId, TransmitTracker};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::fmt::{Debug, Display};
use core::hash::Hash;
use core::net::{IpAddr, SocketAddr};

/// How long a turn of [`Backend::wait_any`] takes where sockets are asked in turn.
const TURN: Span = Span::from_milliseconds(1);

/// A carrier of payloads, which decides what addresses are.
pub trait Transport: Debug + Clone + Copy + PartialEq + Eq + Send + Sync + 'static {
    /// Where a packet comes from, and where one is sent to.
    type Address: Debug + Display + Clone + Copy + PartialEq + Eq + Hash + Send + Sync;
    /// To which of our addresses a packet came.
    type Destination: Debug + Clone + Copy + PartialEq + Eq + Hash + Send + Sync;
    /// A group whose packets a socket can receive.
    type Group: Debug + Display + Clone + Copy;
}

/// UDP over IPv4 or IPv6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Udp {}

impl Transport for Udp {
    type Address = SocketAddr;
    type Destination = IpAddr;
    type Group = IpAddr;
}

/// Ethernet frames of one ethertype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ethernet {}

impl Transport for Ethernet {
    type Address = MacAddress;
    type Destination = FrameDestination;
    type Group = MacAddress;
}

/// One datagram or frame to send.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a, T: Transport = Udp> {
    /// The payload.
    pub payload: &'a [u8],
    /// The destination; `None` on a connected socket.
    pub to: Option<T::Address>,
    /// `Some`: timestamp this datagram under this id; ignored where transmit timestamps are off.
    /// `None`: send it without timestamp.
    pub id: Option<TransmitId>,
}

/// Room for one received datagram or frame, and what was received into it.
#[derive(Debug)]
pub struct Incoming<'a, T: Transport = Udp> {
    buffer: &'a mut [u8],
    /// What was received, besides the payload.
    pub received: Received<T>,
}

/// What is known of a received datagram or frame besides its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(
    feature = "serde",
    serde(bound = "T::Address: serde::Serialize, T::Destination: serde::Serialize")
)]
pub struct Received<T: Transport = Udp> {
    /// Bytes of payload in the buffer. Of a frame, padding counts: a frame has at least 46.
    #[cfg_attr(feature = "serde", serde(rename = "length_bytes"))]
    pub length: usize,
    /// Who sent it. `None` if the system did not say.
    pub source: Option<T::Address>,
    /// To which of our addresses it came. Of a datagram `None` unless
    /// [`Timestamping::packet_information`] asks for it.
    pub destination: Option<T::Destination>,
    /// Through which interface it came. Of a datagram populated where
    /// [`Timestamping::packet_information`] asks for it; otherwise only where timestamps need it.
    pub interface: Option<InterfaceIndex>,
    /// Its traffic class (DSCP and ECN). Populated on: Linux, after `UdpSocket::report_header`.
    pub traffic_class: Option<u8>,
    /// Its hop limit or TTL on arrival. Populated on: Linux, after `UdpSocket::report_header`.
    pub hop_limit: Option<u8>,
    /// Its timestamps; none is no fault of the datagram.
    pub timestamps: Timestamps,
    /// Whether the payload was cut to the buffer.
    pub truncated: bool,
    /// Whether control data was cut: a timestamp may be missing for that reason.
    pub control_truncated: bool,
}

impl<T: Transport> Received<T> {
    /// A message before anything was received.
    pub const EMPTY: Self = Self {
        length: 0,
        source: None,
        destination: None,
        interface: None,
        traffic_class: None,
        hop_limit: None,
        timestamps: Timestamps::NONE,
        truncated: false,
        control_truncated: false,
    };
}

impl<'a, T: Transport> Incoming<'a, T> {
    /// Room in the caller's buffer.
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Self {
            buffer,
            received: Received::EMPTY,
        }
    }

    /// The received payload.
    pub fn payload(&self) -> &[u8] {
        &self.buffer[..self.received.length.min(self.buffer.len())]
    }

    /// The whole buffer: for backends.
    pub fn buffer_mut(&mut self) -> &mut [u8] {
        self.buffer
    }
}

/// The events that a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// A datagram to receive.
    Receive,
    /// Something in the queue of transmit timestamps.
    Timestamps,
    /// Room to send.
    Send,
    /// Nothing but the socket's being closed: a pause.
    Close,
}

/// The reason for which a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Readiness {
    /// A datagram waits, or receiving would report an error.
    pub receive: bool,
    /// The queue of transmit timestamps is not empty (or the system reports an error).
    pub timestamps: bool,
    /// There is room to send.
    pub send: bool,
    /// [`DatagramSocket::wake`] was called.
    pub woken: bool,
    /// [`DatagramSocket::close`] was called, now or earlier.
    pub closed: bool,
}

impl Readiness {
    /// Returns whether the time passed without an event.
    pub fn timed_out(&self) -> bool {
        *self == Self::default()
    }
}

/// A possible change on the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Change {
    /// Which interface; `None`: any of them (events were lost, or the system does not say).
    pub interface: Option<InterfaceIndex>,
    /// What about it.
    pub kind: ChangeKind,
}

/// The property of an interface that may have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ChangeKind {
    /// It appeared.
    Added,
    /// It went away.
    Removed,
    /// Up, down, carrier, name, MTU.
    Link,
    /// Its hardware clock appeared or went away.
    HardwareClock,
    /// Its timestamping configuration.
    Configuration,
    /// The system does not say, or reports were lost.
    Unspecified,
}

impl ChangeKind {
    /// Returns a short, stable name: the one in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Link => "link",
            Self::HardwareClock => "hardware_clock",
            Self::Configuration => "configuration",
            Self::Unspecified => "unspecified",
        }
    }
}

/// Receives changes. Runs on a thread of the backend's choice, one call at a time.
pub type ChangeSink = Box<dyn FnMut(Change) + Send>;

/// Work done again and again: returns after which span to run next, `None` to stop.
pub type Job = Box<dyn FnMut() -> Option<Span> + Send>;

/// A system that timestamps packets.
pub trait Backend {
    /// An open hardware clock.
    type HardwareClock: HardwareClock;
    /// A UDP socket.
    type Socket: InternetSocket;
    /// A socket for Ethernet frames; [`NoSocket`] where there are none.
    type EthernetSocket: DatagramSocket<Ethernet>;
    /// A running subscription; dropping it ends it without waiting for a running call.
    type Subscription: Send;
    /// A running job; dropping it ends it and waits for a running call (unless dropped by
    /// that call itself).
    type Task: Send;

    /// Reads the monotonic clock.
    fn now(&self) -> MonotonicTime;

    /// Reads the real-time clock between two readings of the monotonic clock, as closely as it can.
    fn utc_cross_timestamp(&self) -> UtcCrossTimestamp;

    /// Says how the real-time clock may run against the monotonic clock.
    fn real_time_clock(&self) -> RealTimeClock {
        RealTimeClock::LINUX
    }

    /// Lists the interfaces, loopback included.
    ///
    /// # Errors
    /// `Io` if the system can't list them.
    fn interfaces(&self) -> Result<Vec<InterfaceDescription>>;

    /// Says what `interface` could timestamp.
    ///
    /// # Errors
    /// `NoSuchDevice` if it is gone; `NotSupported` if the system can't tell; `Io` otherwise,
    /// with the system's number.
    fn supported(&self, interface: &InterfaceDescription) -> Result<Capabilities>;

    /// Says what `interface` timestamps now.
    ///
    /// # Errors
    /// As [`supported`](Self::supported).
    fn active(&self, interface: &InterfaceDescription) -> Result<Capabilities>;

    /// Reads how the hardware timestamping of `interface` is switched.
    ///
    /// # Errors
    /// `NotSupported` if the NIC has none, or the driver can't tell.
    fn configuration(&self, interface: &InterfaceDescription) -> Result<HardwareConfiguration>;

    /// Switches the hardware timestamping of `interface` and returns what the driver really granted.
    ///
    /// # Errors
    /// `NotPermitted` without the privilege; `NotSupported` if the NIC or the system
    /// can't; `InvalidInput` if the driver rejects the value; `Busy`.
    fn configure(
        &self,
        interface: &InterfaceDescription,
        wanted: HardwareConfiguration,
    ) -> Result<HardwareConfiguration>;

    /// Says which set of interfaces the calling thread sees; elsewhere the same name or number
    /// is another interface's (Linux: the network namespace).
    fn network(&self) -> u64 {
        0
    }

    /// Opens what programs share about who holds the hardware timestamping of `interface` on.
    /// `None`: this backend has nothing of the kind, or this program may not use it.
    fn shared_holders(&self, _interface: &InterfaceDescription) -> Option<Box<dyn SharedHolders>> {
        None
    }

    /// Opens the hardware clock of `interface` for reading.
    ///
    /// # Errors
    /// `NotSupported` if it has none; `NotPermitted` if the clock may not be opened.
    fn open_clock(&self, interface: &InterfaceDescription) -> Result<Self::HardwareClock>;

    /// Binds a UDP socket to `local`, and to `interface` alone where one is given.
    ///
    /// # Errors
    /// `Busy` if the address is taken; `NoSuchDevice` if the address or interface is none
    /// of this system's; `NotPermitted` for a port or interface that needs privilege.
    fn bind(
        &self,
        local: SocketAddr,
        interface: Option<&InterfaceDescription>,
    ) -> Result<Self::Socket>;

    /// Opens a socket for the frames of one ethertype on `interface`.
    ///
    /// # Errors
    /// `NotPermitted` without the privilege; `NoSuchDevice` if the interface is gone; `NotSupported` where the
    /// system has no such sockets, or the interface has no Ethernet frames.
    fn open_ethernet(
        &self,
        interface: &InterfaceDescription,
        _ethertype: Ethertype,
    ) -> Result<Self::EthernetSocket> {
        Err(NoSocket::refused(interface))
    }

    /// Waits until one of `sockets` has a datagram to receive, or something in its queue of
    /// transmit timestamps, or is closed, or `until` has passed. May end early for no reason.
    /// Adds the places of those that ended it to `ready`.
    ///
    /// Where a backend can't wait for several at once, it asks them in turn.
    ///
    /// # Errors
    /// `Io`.
    fn wait_any(
        &self,
        sockets: &[&Self::Socket],
        until: MonotonicTime,
        ready: &mut Vec<usize>,
    ) -> Result<()> {
        let Some((last, others)) = sockets.split_last() else {
            return Ok(());
        };
        loop {
            let now = self.now();
            for (place, socket) in others.iter().enumerate() {
                if !socket.wait(Interest::Receive, now)?.timed_out() {
                    ready.push(place);
                }
            }
            let turn = if ready.is_empty() {
                until.min(now + TURN)
            } else {
                now
            };
            if !last.wait(Interest::Receive, turn)?.timed_out() {
                ready.push(others.len());
            }
            if !ready.is_empty() || turn == until {
                return Ok(());
            }
        }
    }

    /// Reports every change from now on; may coalesce, may report too much, loses none.
    ///
    /// # Errors
    /// `Io` if the system call fails.
    fn subscribe(&self, sink: ChangeSink) -> Result<Self::Subscription>;

    /// Runs `job` `first_after` from now, and again as it asks, in this backend's time.
    ///
    /// # Errors
    /// `Io` if no thread can be had.
    fn run(&self, first_after: Span, job: Job) -> Result<Self::Task>;
}

/// What programs share about one NIC: whose turn it is to switch its hardware timestamping,
/// who holds it on, and a text. A program that ends in any way holds nothing any more.
pub trait SharedHolders: Send {
    /// Waits for this program's turn; until [`end_turn`](Self::end_turn) no other has one.
    ///
    /// # Errors
    /// `Busy` if another program's turn does not end; `Io`.
    fn begin_turn(&mut self) -> Result<()>;

    /// Ends the turn.
    fn end_turn(&mut self);

    /// Whether other programs hold, in a turn, while this one does not.
    ///
    /// # Errors
    /// `Io`.
    fn are_others(&mut self) -> Result<bool>;

    /// Holds from now on.
    ///
    /// # Errors
    /// `Io`.
    fn hold(&mut self) -> Result<()>;

    /// Holds no longer.
    fn release(&mut self);

    /// Reads the text, in a turn. `None`: there is none, or it can't be read.
    fn read(&mut self) -> Option<String>;

    /// Replaces the text, in a turn.
    ///
    /// # Errors
    /// `Io`.
    fn write(&mut self, text: &str) -> Result<()>;

    /// Removes everything, in a turn, when nobody holds.
    fn clear(&mut self);
}

/// An open hardware clock.
pub trait HardwareClock: Send {
    /// Returns how finely the system clock counts, which the readings bracket the hardware clock with.
    fn system_frequency(&self) -> Frequency {
        Frequency::GIGAHERTZ
    }

    /// Takes up to `count` readings in one go by the best method that works, and appends the
    /// valid ones to `readings`.
    ///
    /// # Errors
    /// `NotSupported` if no method works; `NoSuchDevice` if the NIC is gone; `Busy`;
    /// `Io` if every reading was invalid.
    fn cross_timestamps(&mut self, count: usize, readings: &mut Vec<CrossTimestamp>) -> Result<()>;
}

/// A socket that timestamps: one of UDP, or one for Ethernet frames.
///
/// Whoever owns a socket owns its [`TransmitTracker`] and lends it, always the same one: so the socket
/// decides nothing about transmit timestamps, and needs no lock for them.
pub trait DatagramSocket<T: Transport = Udp>: Send + Sync {
    /// A tracker for this socket, which places timestamps by what its clocks show now. An adopted
    /// socket comes with its own.
    fn tracker(&self) -> TransmitTracker;

    /// The address it is bound to.
    ///
    /// # Errors
    /// `Closed`.
    fn local_address(&self) -> Result<T::Address>;

    /// Joins a multicast group on an interface.
    ///
    /// # Errors
    /// `InvalidInput` if `group` is no multicast address; `NoSuchDevice`; `Busy`.
    fn join_multicast(&self, group: T::Group, interface: InterfaceIndex) -> Result<()>;

    /// Leaves a multicast group on an interface.
    ///
    /// # Errors
    /// `NoSuchDevice` if it is not joined there.
    fn leave_multicast(&self, group: T::Group, interface: InterfaceIndex) -> Result<()>;

    /// Replaces the whole timestamping configuration; returns what is in force.
    ///
    /// # Errors
    /// `NotSupported` if the system can't timestamp; the configuration is then off.
    fn configure(&self, wanted: &Timestamping, tracker: &mut TransmitTracker) -> Result<Granted>;

    /// Sends datagrams in order until one can't be sent; returns how many went. 0: no room now.
    /// Where the tracker [is needed](TransmitTracker::is_needed_to_send), they go without timestamps.
    ///
    /// # Errors
    /// That of the first datagram; later ones are met again at the next call. `InvalidInput`
    /// for one that is too long; `Unreachable`; `NotPermitted`; `Busy`; `Closed`.
    fn send(&self, batch: &[Outgoing<'_, T>]) -> Result<usize>;

    /// The same where the tracker [is needed](TransmitTracker::is_needed_to_send): with timestamps
    /// where the system counts the ids, and as soon as nothing of a former owner's can come. No wait
    /// reports what the tracker then holds.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    fn send_counted(&self, batch: &[Outgoing<'_, T>], _: &mut TransmitTracker) -> Result<usize> {
        self.send(batch)
    }

    /// Receives what waits, as far as there is room; returns how many. 0: nothing waits.
    ///
    /// # Errors
    /// `Unreachable` if an earlier datagram of a connected socket was rejected (nothing is
    /// lost; call again); `Closed`.
    fn receive(&self, batch: &mut [Incoming<'_, T>]) -> Result<usize>;

    /// Reads a part of what the system has of transmit timestamps into `tracker`; returns whether more
    /// may wait. `awaited`: how many ids are, about; where it is one, only one entry is read.
    ///
    /// # Errors
    /// `Closed`; `Io`.
    fn read_transmit_timestamps(
        &self,
        tracker: &mut TransmitTracker,
        awaited: usize,
    ) -> Result<bool>;

    /// Whether the system is [asked for each id](Self::ask_for_timestamps) instead: Windows.
    fn is_asked_by_id(&self) -> bool {
        false
    }

    /// Reads what the system has of the timestamps of `ids` into `tracker`.
    ///
    /// # Errors
    /// `Closed`; `Io`.
    fn ask_for_timestamps(
        &self,
        _tracker: &mut TransmitTracker,
        _ids: &[TransmitId],
    ) -> Result<()> {
        Ok(())
    }

    /// Waits until `interest` can be served, [`wake`](Self::wake) or [`close`](Self::close)
    /// is called, or `until` has passed. May end early for no reason; costs no busy loop.
    ///
    /// # Errors
    /// `Io`.
    fn wait(&self, interest: Interest, until: MonotonicTime) -> Result<Readiness>;

    /// Ends a wait for [`Interest::Timestamps`] that is under way, or the next one.
    fn wake(&self);

    /// Ends every wait, now and later. The address stays bound until the socket is dropped.
    fn close(&self);

    /// Datagrams that the system dropped because the receive queue was full.
    fn dropped(&self) -> u64;
}

/// A UDP socket that timestamps: the settings that only such sockets have.
pub trait InternetSocket: DatagramSocket {
    /// Fixes the peer: sends go there, and only its datagrams are received.
    ///
    /// # Errors
    /// `Unreachable` if there is no route; `InvalidInput` for the wrong address family.
    fn connect(&self, peer: SocketAddr) -> Result<()>;

    /// Chooses the interface that multicast leaves by, its hop limit, and whether it loops back.
    ///
    /// # Errors
    /// `NoSuchDevice`; `InvalidInput` for a hop limit above 255.
    fn set_multicast(&self, interface: InterfaceIndex, hops: u32, loopback: bool) -> Result<()>;

    /// Has what is sent from now on come from this address of the host; `None`: as the socket is bound, and else as the route says.
    ///
    /// # Errors
    /// `InvalidInput` for the wrong address family. That the address is none of this host's shows when sending.
    fn set_source(&self, source: Option<IpAddr>) -> Result<()>;

    /// Has received datagrams report their traffic class and hop limit.
    ///
    /// # Errors
    /// `NotSupported` where the system's are not read.
    fn report_header(&self) -> Result<()> {
        Err(no_header("report packet headers"))
    }

    /// Sets the traffic class (DSCP and ECN) of what is sent from now on.
    ///
    /// # Errors
    /// `NotSupported` where it can't be set; `NotPermitted`.
    fn set_traffic_class(&self, _traffic_class: u8) -> Result<()> {
        Err(no_header("set the traffic class"))
    }

    /// Sets the hop limit or TTL of what is sent to one host from now on.
    ///
    /// # Errors
    /// `NotSupported` where it can't be set; `InvalidInput` for 0.
    fn set_hop_limit(&self, _hop_limit: u8) -> Result<()> {
        Err(no_header("set the hop limit"))
    }

    /// Has datagrams refused that are larger than the path's MTU, instead of sent in fragments.
    ///
    /// # Errors
    /// `NotSupported` where it can't be set.
    fn forbid_fragments(&self) -> Result<()> {
        Err(no_header("forbid fragments"))
    }

    /// Returns the MTU of the path to the connected peer as far as the system knows it, in bytes with the IP header.
    ///
    /// # Errors
    /// `NotSupported` where it can't be read; that the socket is not connected.
    fn path_mtu(&self) -> Result<u32> {
        Err(no_header("read the path's MTU"))
    }
}

fn no_header(operation: &'static str) -> Error {
    let cause = "wirestamp does not read or write IP headers on this system";
    Error::new(ErrorKind::NotSupported, operation, "a socket", cause)
        .with_remedy("it works on Linux; elsewhere leave it out")
}

/// The Ethernet socket of a system that has none: never made.
#[derive(Debug)]
pub struct NoSocket(Infallible);

impl NoSocket {
    /// Says that there are none, and where there are.
    pub fn refused(interface: &InterfaceDescription) -> Error {
        let cause = "wirestamp has Ethernet sockets on Linux alone";
        let operation = "open an Ethernet socket";
        Error::new(ErrorKind::NotSupported, operation, &interface.name, cause)
            .with_remedy("use a UDP socket, which has the same timestamps")
    }
}

impl DatagramSocket<Ethernet> for NoSocket {
    fn tracker(&self) -> TransmitTracker {
        match self.0 {}
    }

    fn local_address(&self) -> Result<MacAddress> {
        match self.0 {}
    }

    fn join_multicast(&self, _: MacAddress, _: InterfaceIndex) -> Result<()> {
        match self.0 {}
    }

    fn leave_multicast(&self, _: MacAddress, _: InterfaceIndex) -> Result<()> {
        match self.0 {}
    }

    fn configure(&self, _: &Timestamping, _: &mut TransmitTracker) -> Result<Granted> {
        match self.0 {}
    }

    fn send(&self, _: &[Outgoing<'_, Ethernet>]) -> Result<usize> {
        match self.0 {}
    }

    fn receive(&self, _: &mut [Incoming<'_, Ethernet>]) -> Result<usize> {
        match self.0 {}
    }

    fn read_transmit_timestamps(&self, _: &mut TransmitTracker, _: usize) -> Result<bool> {
        match self.0 {}
    }

    fn wait(&self, _: Interest, _: MonotonicTime) -> Result<Readiness> {
        match self.0 {}
    }

    fn wake(&self) {
        match self.0 {}
    }

    fn close(&self) {
        match self.0 {}
    }

    fn dropped(&self) -> u64 {
        match self.0 {}
    }
}
