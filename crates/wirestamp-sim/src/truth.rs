//! The truth: the true times of every datagram and of every counter.
//! The simulated system never looks here; tests do.

use crate::world::World;
use std::collections::VecDeque;
use std::net::SocketAddr;
use wirestamp_core::ethernet::{Ethertype, MacAddress};
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::time::{HardwareTicks, MonotonicTime, UtcTime};
use wirestamp_core::timestamp::TransmitId;

/// So many datagrams are remembered.
const REMEMBERED: usize = 1 << 18;

/// The fate of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fate {
    /// Still under way.
    UnderWay,
    /// An application can have it, or had it.
    Delivered,
    /// The cable was out, or no host has the destination.
    NotOnTheWire,
    /// Lost on the cable.
    LostOnTheWire,
    /// A NIC on its way was gone.
    NicGone,
    /// The receive queue was full.
    QueueFull,
    /// No socket was listening.
    Refused,
}

/// Between whom a packet goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ends {
    /// A UDP datagram. No address is v4-mapped.
    Internet {
        /// From where.
        source: SocketAddr,
        /// To where.
        destination: SocketAddr,
    },
    /// An Ethernet frame.
    Ethernet {
        /// From where.
        source: MacAddress,
        /// To where.
        destination: MacAddress,
        /// Of what kind.
        ethertype: Ethertype,
    },
}

/// The true course of one datagram or frame. Where it was received twice or by several sockets: that
/// of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Datagram {
    /// Counts all datagrams sent, from 0.
    pub sequence: u64,
    /// The caller's id, if it was sent with one.
    pub id: Option<TransmitId>,
    /// From where to where.
    pub ends: Ends,
    /// The application called send (of this datagram's turn, in a batch).
    pub sent_at: MonotonicTime,
    /// It entered the queueing discipline.
    pub queued_at: MonotonicTime,
    /// The kernel's timestamp point on transmit.
    pub transmit_software_at: MonotonicTime,
    /// The NIC's timestamp point on transmit.
    pub transmit_hardware_at: Option<MonotonicTime>,
    /// The NIC's timestamp point on receive.
    pub receive_hardware_at: Option<MonotonicTime>,
    /// The kernel's timestamp point on receive.
    pub receive_software_at: Option<MonotonicTime>,
    /// An application can have it from now on.
    pub delivered_at: Option<MonotonicTime>,
    /// How it ended.
    pub fate: Fate,
}

impl Datagram {
    /// A datagram that passed the kernel's timestamp point.
    pub(crate) fn sent(
        sequence: u64,
        id: Option<TransmitId>,
        ends: Ends,
        sent_at: i64,
        queued_at: i64,
        timestamped_at: i64,
    ) -> Self {
        Self {
            sequence,
            id,
            ends,
            sent_at: MonotonicTime::from_nanoseconds(sent_at),
            queued_at: MonotonicTime::from_nanoseconds(queued_at),
            transmit_software_at: MonotonicTime::from_nanoseconds(timestamped_at),
            transmit_hardware_at: None,
            receive_hardware_at: None,
            receive_software_at: None,
            delivered_at: None,
            fate: Fate::UnderWay,
        }
    }
}

/// The datagrams that are remembered.
#[derive(Debug, Default)]
pub(crate) struct Record {
    datagrams: VecDeque<Datagram>,
    forgotten: u64,
}

impl Record {
    pub(crate) fn next_sequence(&self) -> u64 {
        self.forgotten + self.datagrams.len() as u64
    }

    pub(crate) fn add(&mut self, datagram: Datagram) {
        if self.datagrams.len() == REMEMBERED {
            self.datagrams.pop_front();
            self.forgotten += 1;
        }
        self.datagrams.push_back(datagram);
    }

    pub(crate) fn note(&mut self, sequence: u64, change: impl FnOnce(&mut Datagram)) {
        let place = sequence
            .checked_sub(self.forgotten)
            .and_then(|place| usize::try_from(place).ok());
        if let Some(datagram) = place.and_then(|place| self.datagrams.get_mut(place)) {
            change(datagram);
        }
    }

    fn find(&self, sequence: u64) -> Option<Datagram> {
        let place = usize::try_from(sequence.checked_sub(self.forgotten)?).ok()?;
        self.datagrams.get(place).copied()
    }

    fn newest(&self, matches: impl Fn(&Datagram) -> bool) -> Option<Datagram> {
        self.datagrams
            .iter()
            .rev()
            .find(|datagram| matches(datagram))
            .copied()
    }
}

/// The true times and fates of a simulation, for tests. From [`World::truth`].
#[derive(Debug, Clone)]
pub struct Truth(pub(crate) World);

impl Truth {
    /// Virtual time, exactly; asking costs none.
    pub fn now(&self) -> MonotonicTime {
        self.0
            .with(|state| MonotonicTime::from_nanoseconds(state.now))
    }

    /// Returns the real-time clock's time now, to the nanosecond; the call takes no time.
    pub fn utc(&self) -> UtcTime {
        self.0.with(|state| state.clocks.exact_utc(state.now))
    }

    /// Returns how many datagrams were sent.
    pub fn datagrams(&self) -> u64 {
        self.0.with(|state| state.record.next_sequence())
    }

    /// The course of a datagram. `None` if it was never sent or is forgotten (the last
    /// 262,144 datagrams are remembered).
    pub fn datagram(&self, sequence: u64) -> Option<Datagram> {
        self.0.with(|state| state.record.find(sequence))
    }

    /// The newest datagram that was sent with this id.
    pub fn datagram_with_id(&self, id: TransmitId) -> Option<Datagram> {
        self.0
            .with(|state| state.record.newest(|datagram| datagram.id == Some(id)))
    }

    /// Returns the value of the hardware clock of `interface` at `at`: of the clock that was behind it then, whichever is
    /// behind it now. `None` for an unknown interface or one without a clock, for the future, and for the forgotten past.
    pub fn hardware_ticks_at(
        &self,
        interface: InterfaceIndex,
        at: MonotonicTime,
    ) -> Option<HardwareTicks> {
        self.0.with(|state| {
            let past = at.nanoseconds() <= state.now;
            state
                .nic_mut(interface)
                .filter(|_| past)?
                .ticks_behind(at.nanoseconds())
        })
    }

    /// When the hardware clock that was behind `interface` at the time began to show `ticks`, the latest time if it did
    /// so repeatedly. `None` if none did.
    pub fn monotonic_time_of(
        &self,
        interface: InterfaceIndex,
        ticks: HardwareTicks,
    ) -> Option<MonotonicTime> {
        self.0.with(|state| {
            let now = state.now;
            let nic = state
                .nic_mut(interface)
                .filter(|nic| nic.settings.clock.present)?;
            nic.when_behind(ticks, now)
                .map(MonotonicTime::from_nanoseconds)
        })
    }

    /// Returns how far programs have moved the hardware clock that is behind `interface` now by steps and frequency
    /// adjustments since the start, in nanoseconds: without them it would show so much less.
    /// `None` for an unknown interface or one without a clock.
    pub fn clock_moved_by(&self, interface: InterfaceIndex) -> Option<i64> {
        self.0.with(|state| {
            let now = state.now;
            let nic = state
                .nic_mut(interface)
                .filter(|nic| nic.settings.clock.present)?;
            Some(nic.counter.moved(now))
        })
    }

    /// Returns how many readings of hardware clocks were invalid and kept from the caller.
    pub fn invalid_readings(&self) -> u64 {
        self.0.with(|state| state.invalid_readings)
    }
}
