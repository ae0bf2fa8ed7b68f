//! A socket as the system keeps it: its addresses, its timestamping, its queues. Moves no packet.

use crate::codes::Refusal;
use crate::nic::Nic;
use crate::packet::Tag;
use crate::scenario::{Host, Platform};
use crate::state::State;
use crate::timestamps::{ENTRY_BYTES, Waiting};
use crate::truth::Ends;
use std::collections::VecDeque;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use wirestamp_core::configuration::{Identification, Timestamping};
use wirestamp_core::ethernet::{Ethertype, MacAddress};
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::time::{HardwareTicks, MonotonicTime};
use wirestamp_core::timestamp::{
    CounterState, KernelTime, Placement, ReceiveBuffer, TransmitId, TransmitTracker,
};

/// Bytes of the receive buffer that a datagram takes besides its payload.
const DATAGRAM_BYTES: u32 = 768;

/// Names a socket; never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SocketId(pub(crate) u64);

/// A datagram that the application can have.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub(crate) payload: Vec<u8>,
    pub(crate) ends: Ends,
    pub(crate) interface: Option<InterfaceIndex>,
    pub(crate) software: Option<KernelTime>,
    pub(crate) hardware: Option<(HardwareTicks, InterfaceIndex)>,
    pub(crate) control_truncated: bool,
}

/// A multicast group joined on a NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Membership {
    pub(crate) group: IpAddr,
    pub(crate) place: usize,
}

/// The binding of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Local {
    /// Never v4-mapped, as no address inside the system is, nor any that it reports.
    Internet(SocketAddr),
    /// On the interface of the socket.
    Ethernet(Ethertype),
}

impl fmt::Display for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Internet(address) => address.fmt(f),
            Self::Ethernet(ethertype) => ethertype.fmt(f),
        }
    }
}

/// One socket.
#[derive(Debug)]
pub(crate) struct SocketState {
    pub(crate) local: Local,
    /// The interface it is bound to alone.
    pub(crate) interface: Option<InterfaceIndex>,
    /// The address of which NIC it is bound to.
    pub(crate) home: Option<usize>,
    pub(crate) peer: Option<SocketAddr>,
    /// Which address its datagrams are to come from.
    pub(crate) source: Option<IpAddr>,
    pub(crate) memberships: Vec<Membership>,
    /// Groups of an Ethernet socket, as often as they were joined.
    pub(crate) groups: Vec<MacAddress>,
    pub(crate) multicast_from: Option<usize>,
    pub(crate) multicast_loopback: bool,

    pub(crate) timestamping: Timestamping,
    /// Counts configurations.
    pub(crate) configured: u32,
    /// The kernel's count of timestamped sends.
    pub(crate) count: u32,
    /// Where received timestamps lie.
    pub(crate) receiving: Placement,

    /// Bytes that both queues may take, and take.
    pub(crate) room: u32,
    pub(crate) taken: u32,
    pub(crate) queue: VecDeque<Waiting>,
    /// Something came into the queue since it was last asked.
    pub(crate) fresh: bool,
    pub(crate) arrived: VecDeque<Arrived>,
    pub(crate) dropped: u64,
    /// The error that the next call returns.
    pub(crate) pending: Option<Refusal>,
    pub(crate) zero_copies: u32,
    pub(crate) woken: bool,
    /// Threads that wait for timestamps.
    pub(crate) waiting: usize,
    pub(crate) closed: bool,
}

impl SocketState {
    pub(crate) fn new(local: Local, host: &Host, placement: Placement) -> Self {
        Self {
            local,
            interface: None,
            home: None,
            peer: None,
            source: None,
            memberships: Vec::new(),
            groups: Vec::new(),
            multicast_from: None,
            multicast_loopback: true,
            timestamping: Timestamping::OFF,
            configured: 0,
            count: 0,
            receiving: placement,
            room: host.receive_buffer,
            taken: 0,
            queue: VecDeque::new(),
            fresh: false,
            arrived: VecDeque::new(),
            dropped: 0,
            pending: None,
            zero_copies: 0,
            woken: false,
            waiting: 0,
            closed: false,
        }
    }

    /// Whether its datagrams can go to, or come from, an address of this family.
    pub(crate) fn can_name(&self, address: SocketAddr) -> bool {
        self.address().is_some_and(|local| match address {
            SocketAddr::V4(_) => local.is_ipv4() || local.ip().is_unspecified(),
            SocketAddr::V6(_) => local.is_ipv6(),
        })
    }

    /// The address of a UDP socket.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        match self.local {
            Local::Internet(address) => Some(address),
            Local::Ethernet(_) => None,
        }
    }

    /// Whether a frame that this NIC has let through is this socket's.
    pub(crate) fn claims_frame(&self, nic: &Nic, ethertype: Ethertype) -> bool {
        self.local == Local::Ethernet(ethertype) && self.interface == Some(nic.index)
    }

    /// Whether a datagram for this destination, come in by this NIC, is this socket's.
    pub(crate) fn claims(&self, nic: &Nic, source: SocketAddr, destination: SocketAddr) -> bool {
        let Some(bound) = self.address() else {
            return false;
        };
        let local = bound.ip();
        let wildcard = local.is_unspecified() && (local.is_ipv6() || destination.is_ipv4());
        bound.port() == destination.port()
            && (local == destination.ip() || wildcard)
            && self
                .interface
                .is_none_or(|interface| interface == nic.delivers_by())
            && self.peer.is_none_or(|peer| peer == source)
    }

    pub(crate) fn is_member(&self, group: IpAddr, place: usize) -> bool {
        self.memberships.contains(&Membership { group, place })
    }

    /// Replaces the timestamping. Windows empties its buffer; Linux keeps its error queue.
    pub(crate) fn configure(&mut self, in_force: Timestamping, room: u32, platform: Platform) {
        if platform == Platform::Windows {
            self.taken -= self.queue.len() as u32 * ENTRY_BYTES;
            self.queue.clear();
            self.configured += 1;
        }
        self.timestamping = in_force;
        self.room = room;
    }

    /// Puts a timestamp or notice into the queue, unless that is full: the newest is discarded.
    ///
    /// Source: Linux, `sock_queue_err_skb`: discards an entry that would fill the buffer to the brim.
    pub(crate) fn push(&mut self, waiting: Waiting) {
        if self.taken + ENTRY_BYTES >= self.room {
            return;
        }
        self.taken += ENTRY_BYTES;
        self.queue.push_back(waiting);
        self.fresh = true;
    }

    /// Whether there is something to collect.
    pub(crate) fn has_timestamps(&self, platform: Platform) -> bool {
        match platform {
            Platform::Linux => !self.queue.is_empty(),
            Platform::Windows => self.fresh,
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Waiting> {
        self.remove(0)
    }

    /// Takes an entry from within the queue.
    pub(crate) fn remove(&mut self, place: usize) -> Option<Waiting> {
        let waiting = self.queue.remove(place)?;
        self.taken -= ENTRY_BYTES;
        Some(waiting)
    }

    /// Puts a datagram into the receive queue; gives it back if that is full.
    pub(crate) fn accept(&mut self, arrived: Arrived) -> Option<Arrived> {
        let bytes = DATAGRAM_BYTES + arrived.payload.len() as u32;
        if self.taken + bytes >= self.room {
            self.dropped += 1;
            return Some(arrived);
        }
        self.taken += bytes;
        self.arrived.push_back(arrived);
        None
    }

    pub(crate) fn take_arrived(&mut self) -> Option<Arrived> {
        let arrived = self.arrived.pop_front()?;
        self.taken -= DATAGRAM_BYTES + arrived.payload.len() as u32;
        Some(arrived)
    }

    /// How full the receive buffer is.
    pub(crate) fn buffer(&self) -> ReceiveBuffer {
        ReceiveBuffer {
            used: self.taken,
            size: self.room,
            charge: ENTRY_BYTES,
        }
    }

    /// Whether the kernel counts the ids.
    pub(crate) fn counts_ids(&self) -> bool {
        self.timestamping.transmit.is_some()
            && self.timestamping.identification == Identification::Counter
    }

    /// The number that the next datagram with an id gets. `None`: it is sent without a timestamp.
    pub(crate) fn tag(
        &mut self,
        id: TransmitId,
        now: MonotonicTime,
        tracker: Option<&mut TransmitTracker>,
    ) -> Option<Tag> {
        let counted = self.counts_ids();
        let timestamped = match &tracker {
            Some(tracker) => tracker.count_state() != Some(CounterState::Unsure),
            None => !counted,
        };
        if let Some(tracker) = tracker {
            tracker.sent(id, timestamped, now);
        }
        let number = if counted { self.count } else { id.0 };
        self.count = self.count.wrapping_add(u32::from(timestamped && counted));
        timestamped.then_some(Tag {
            number,
            configured: self.configured,
        })
    }
}

impl State {
    /// The interface that this socket needs is gone.
    pub(crate) fn homeless(&self, socket: &SocketState) -> bool {
        socket
            .interface
            .is_some_and(|interface| !self.has_interface(interface))
            || socket.home.is_some_and(|place| !self.nics[place].present)
    }
}
