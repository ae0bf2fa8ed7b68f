//! The contract of sockets that timestamp: what each operation must do.

use super::packet::{Ethernet, Incoming, Outgoing, Transport, Udp};
use crate::configuration::{Granted, Timestamping};
use crate::error::{Error, ErrorKind, Result};
use crate::ethernet::MacAddress;
use crate::interface::{InterfaceDescription, InterfaceIndex};
use crate::time::MonotonicTime;
use crate::timestamp::{TransmitId, TransmitTracker};
use core::convert::Infallible;
use core::net::{IpAddr, SocketAddr};

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
