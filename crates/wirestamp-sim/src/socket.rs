//! Owns a socket as the system keeps it: its addresses, its stamping, its queues. Moves no packet.

use crate::adapter::Adapter;
use crate::codes::Refusal;
use crate::host::KernelStamp;
use crate::packet::Tag;
use crate::scenario::{Host, Platform};
use crate::stamps::{ENTRY_BYTES, RawStamps, Waiting};
use crate::state::State;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use wirestamp_core::configuration::{Identification, Source, Timestamping};
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::stamp::{CountRules, CounterMap, CounterState, SendFailure, TransmitId};
use wirestamp_core::time::{HardwareTicks, SystemTime, WallOffset};

/// What a datagram takes of the receive buffer besides its payload.
const DATAGRAM_BYTES: u32 = 768;
/// Ids that may end without a stamp between two collections.
const MOST_UNSTAMPED: usize = 1 << 16;

/// Names a socket; never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SocketId(pub(crate) u64);

/// A datagram that the application can have.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub(crate) payload: Vec<u8>,
    pub(crate) source: SocketAddr,
    pub(crate) destination: IpAddr,
    pub(crate) interface: Option<InterfaceIndex>,
    pub(crate) software: Option<KernelStamp>,
    pub(crate) hardware: Option<(HardwareTicks, InterfaceIndex)>,
    pub(crate) control_truncated: bool,
}

/// A multicast group joined on an adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Membership {
    pub(crate) group: IpAddr,
    pub(crate) place: usize,
}

/// One socket.
#[derive(Debug)]
pub(crate) struct SocketState {
    /// Never v4-mapped, as no address inside the system is, nor any that it tells.
    pub(crate) local: SocketAddr,
    /// The interface it is bound to alone.
    pub(crate) interface: Option<InterfaceIndex>,
    /// The address of which adapter it is bound to.
    pub(crate) home: Option<usize>,
    pub(crate) peer: Option<SocketAddr>,
    pub(crate) memberships: Vec<Membership>,
    pub(crate) multicast_from: Option<usize>,
    pub(crate) multicast_loopback: bool,

    pub(crate) timestamping: Timestamping,
    /// Counts configurations.
    pub(crate) configured: u32,
    /// The kernel's count of stamped sends, and whose they are.
    pub(crate) count: u32,
    pub(crate) counter: Option<CounterMap>,

    /// How far the civil clock is ahead of the steady one, as those know who collect and who receive.
    pub(crate) collecting: WallOffset,
    pub(crate) receiving: WallOffset,

    /// Bytes that both queues may take, and take.
    pub(crate) room: u32,
    pub(crate) taken: u32,
    pub(crate) queue: VecDeque<Waiting>,
    /// Something came into the queue since it was last asked.
    pub(crate) fresh: bool,
    /// Ids whose datagrams had to be sent unstamped.
    pub(crate) unstamped: VecDeque<TransmitId>,
    /// Stamps read early, to get the count back in step.
    pub(crate) early: VecDeque<(TransmitId, RawStamps)>,
    pub(crate) overflowed: bool,
    pub(crate) arrived: VecDeque<Arrived>,
    pub(crate) dropped: u64,
    /// What the next call reports.
    pub(crate) pending: Option<Refusal>,
    pub(crate) zero_copies: u32,
    pub(crate) woken: bool,
    /// Threads that wait for stamps.
    pub(crate) waiting: usize,
    pub(crate) closed: bool,
}

impl SocketState {
    pub(crate) fn new(local: SocketAddr, host: &Host, offset: WallOffset) -> Self {
        Self {
            local,
            interface: None,
            home: None,
            peer: None,
            memberships: Vec::new(),
            multicast_from: None,
            multicast_loopback: true,
            timestamping: Timestamping::OFF,
            configured: 0,
            count: 0,
            counter: None,
            collecting: offset.clone(),
            receiving: offset,
            room: host.receive_buffer,
            taken: 0,
            queue: VecDeque::new(),
            fresh: false,
            unstamped: VecDeque::new(),
            early: VecDeque::new(),
            overflowed: false,
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
        match address {
            SocketAddr::V4(_) => self.local.is_ipv4() || self.local.ip().is_unspecified(),
            SocketAddr::V6(_) => self.local.is_ipv6(),
        }
    }

    /// Whether a datagram for this destination, come in by this adapter, is this socket's.
    pub(crate) fn claims(&self, adapter: &Adapter, source: SocketAddr, destination: SocketAddr) -> bool {
        let local = self.local.ip();
        let wildcard = local.is_unspecified() && (local.is_ipv6() || destination.is_ipv4());
        self.local.port() == destination.port()
            && (local == destination.ip() || wildcard)
            && self.interface.is_none_or(|interface| interface == adapter.index)
            && self.peer.is_none_or(|peer| peer == source)
    }

    pub(crate) fn is_member(&self, group: IpAddr, place: usize) -> bool {
        self.memberships.contains(&Membership { group, place })
    }

    /// Replaces the stamping: what waited under the old one is gone.
    pub(crate) fn configure(&mut self, in_force: Timestamping, room: u32, rules: CountRules) {
        self.taken -= self.queue.len() as u32 * ENTRY_BYTES;
        self.queue.clear();
        self.unstamped.clear();
        self.early.clear();
        self.overflowed = false;
        self.configured += 1;
        self.count = 0;
        let counted = in_force.transmit.filter(|_| in_force.identification == Identification::Counter);
        self.counter = counted.map(|_| CounterMap::new(rules));
        self.timestamping = in_force;
        self.room = room;
    }

    /// Puts a stamp or notice into the queue, unless that is full: the newest is discarded.
    ///
    /// Source: Linux, `sock_queue_err_skb`: refuses what would fill the buffer to the brim.
    pub(crate) fn push(&mut self, waiting: Waiting) {
        if self.taken + ENTRY_BYTES >= self.room {
            self.overflowed = true;
            return;
        }
        self.taken += ENTRY_BYTES;
        self.queue.push_back(waiting);
        self.fresh = true;
    }

    /// Whether there is something to collect.
    pub(crate) fn has_stamps(&self, platform: Platform) -> bool {
        match platform {
            Platform::Linux => !(self.queue.is_empty() && self.unstamped.is_empty() && self.early.is_empty()),
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

    /// The number that the next stamped send gets. `None`: it must go unstamped, because the
    /// kernel's count is not known.
    pub(crate) fn tag(&mut self, id: TransmitId, now: SystemTime) -> Option<Tag> {
        let Some(counter) = &mut self.counter else {
            return Some(Tag { number: id.0, configured: self.configured });
        };
        let Some(counter) = Some(counter).filter(|counter| counter.state() == CounterState::InStep) else {
            if self.unstamped.len() < MOST_UNSTAMPED {
                self.unstamped.push_back(id);
            }
            return None;
        };
        counter.sent(id, now);
        let number = self.count;
        self.count = self.count.wrapping_add(1);
        Some(Tag { number, configured: self.configured })
    }

    /// Whether the kernel counts the next send with an id, and it is known as what.
    pub(crate) fn counts(&mut self, now: SystemTime) -> bool {
        if self.counter.as_ref().is_some_and(|counter| counter.state() == CounterState::Unsure) {
            self.resynchronise(now);
        }
        self.counter.as_ref().is_some_and(|counter| counter.state() == CounterState::InStep)
    }

    /// A counted send failed; the kernel's count moved or it did not.
    pub(crate) fn count_failed(&mut self, (failure, moved): (SendFailure, bool)) {
        self.count = self.count.wrapping_add(u32::from(moved));
        self.counter.iter_mut().for_each(|counter| counter.failed(failure));
    }

    /// Tries to make the kernel count from 0 again.
    fn resynchronise(&mut self, now: SystemTime) {
        let mut others = VecDeque::new();
        while let Some(waiting) = self.pop() {
            match waiting {
                Waiting::Stamp(tag, raw) => {
                    let owner = self.owner(tag, raw);
                    self.early.extend(owner.map(|id| (id, raw)));
                }
                notice @ Waiting::Notice(_) => others.push_back(notice),
            }
        }
        self.taken += others.len() as u32 * ENTRY_BYTES;
        self.queue = others;
        if self.counter.as_mut().is_some_and(|counter| counter.restart(now)) {
            self.count = 0;
        }
    }

    /// Whose stamp it is. `None`: nobody's that is known.
    pub(crate) fn owner(&mut self, tag: Tag, raw: RawStamps) -> Option<TransmitId> {
        let both = self.timestamping.source == Source::Both;
        match &mut self.counter {
            None => Some(TransmitId(tag.number)),
            // the software stamp comes first; the count is needed again for the other one
            Some(counter) if both && raw.hardware.is_none() => counter.look_up(tag.number),
            Some(counter) => counter.take(tag.number),
        }
    }
}

impl State {
    /// The interface that this socket needs is gone.
    pub(crate) fn homeless(&self, socket: &SocketState) -> bool {
        socket.interface.is_some_and(|interface| self.place_of(interface).is_none())
            || socket.home.is_some_and(|place| !self.adapters[place].present)
    }
}
