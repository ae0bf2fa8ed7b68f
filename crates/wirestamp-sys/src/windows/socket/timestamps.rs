//! The timestamping configuration and the transmit timestamps: Windows keeps them in a buffer for each
//! socket, is asked for them id by id, and discards what finds the buffer full.
//!
//! Every id that can still come is asked for, also those that nobody awaits any more: what stays
//! in the buffer takes the place of timestamps to come. The caller says which these are.
//!
//! Source: `SIO_TIMESTAMPING`, `SIO_GET_TX_TIMESTAMP` (`mstcpip.h`).

use super::receive::place;
use super::{Socket, lock, options, would_block};
use crate::abi::address::AddressBytes;
use crate::abi::numbers::{
    SIO_GET_TX_TIMESTAMP, SIO_TIMESTAMPING, TIMESTAMPING_FLAG_RX, TIMESTAMPING_FLAG_TX,
};
use crate::abi::winsock::TimestampingConfig;
use crate::native::error::system_error;
use crate::native::wire::departures::{Departure, Departures};
use crate::native::{api, call, clock};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU64;
use std::os::windows::io::AsSocket;
use std::sync::atomic::Ordering;
use wirestamp_core::capability::{AddressFamily, Direction};
use wirestamp_core::configuration::{Granted, Identification, Source, Timestamping};
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::time::{MonotonicTime, Span};
use wirestamp_core::timestamp::{Arrival, Timestamps, TransmitId, TransmitTracker};
use wirestamp_core::{Error, Result};

/// Room in the system's buffer for timestamps that nobody fetched yet, beside those that the
/// caller asked for.
const SPARE: u16 = 256;

/// The state of a socket's transmit timestamps.
#[derive(Debug, Default)]
pub(super) struct TransmitState {
    /// Where a connected socket sends to.
    pub(super) peer: Option<SocketAddr>,
    pub(super) departures: Departures,
    /// The last destination, and the interface that leads there.
    route: Option<(IpAddr, Option<InterfaceIndex>)>,
}

impl TransmitState {
    /// A datagram left with an id.
    pub(super) fn departed(
        &mut self,
        id: TransmitId,
        to: Option<SocketAddr>,
        leaves_by: Option<InterfaceIndex>,
        now: MonotonicTime,
    ) {
        let to = to.or(self.peer);
        let interface = leaves_by.or_else(|| to.and_then(|to| self.route_to(to)));
        let family = if to.is_some_and(|to| to.is_ipv6()) {
            AddressFamily::Ipv6
        } else {
            AddressFamily::Ipv4
        };
        self.departures
            .note(Departure::new(id, interface, family, now));
    }

    /// By which interface datagrams to `to` leave; asked once for each run of one destination.
    fn route_to(&mut self, to: SocketAddr) -> Option<InterfaceIndex> {
        match self.route {
            Some((known, interface)) if known == to.ip() => interface,
            _ => {
                let found = call::best_interface(&AddressBytes::new(to, false))
                    .ok()
                    .and_then(InterfaceIndex::new);
                self.route = Some((to.ip(), found));
                found
            }
        }
    }

    pub(super) fn pause(&mut self, now: MonotonicTime) -> Option<Span> {
        self.departures.pause(now)
    }
}

impl Socket {
    /// Puts `wanted` in force, both directions in one call: what a call omits it switches off.
    pub(super) fn apply(
        &self,
        wanted: &Timestamping,
        tracker: &mut TransmitTracker,
    ) -> Result<Granted> {
        if let Err(refusal) = wanted.refuse_queueing(&self.name) {
            self.apply(&Timestamping::OFF, tracker)?;
            return Err(refusal);
        }
        let mut in_force = *wanted;
        in_force.identification = Identification::Carried;
        in_force.icmp_errors = false;
        if in_force.source != Source::Hardware {
            // The adapter's switch decides which clock timestamps, not the socket; one timestamp a packet.
            in_force.source = Source::HardwareElseSoftware;
        }
        let buffered = wanted
            .transmit
            .map(|capacity| capacity.saturating_add(SPARE));
        let mut timestamping = lock(&self.timestamping);
        let set = self.set_timestamping(wanted.receive, buffered);
        let (receive, transmit) = if set.is_ok() {
            (wanted.receive, wanted.transmit)
        } else {
            (false, None)
        };
        timestamping
            .departures
            .reserve(transmit.map_or(0, |_| 2 * usize::from(buffered.unwrap_or(0))));
        timestamping.route = None;
        self.receive_timestamps.store(receive, Ordering::Release);
        self.hardware_alone
            .store(in_force.source == Source::Hardware, Ordering::Release);
        self.transmit_timestamps
            .store(transmit.is_some(), Ordering::Release);
        let wants_information = set.is_ok() && wanted.packet_information;
        self.packet_information
            .store(wants_information, Ordering::Release);
        // Which clock a timestamp is of depends on the interface.
        let needed = receive || wants_information;
        let information = options::packet_information(self.as_socket(), self.ipv6, needed);
        drop(timestamping);
        set?;
        information.map_err(|error| self.failure("configure timestamping", &error))?;
        tracker.give_up();
        tracker.configure(&in_force, None);
        Ok(Granted::new(in_force, buffered.map(u32::from)))
    }

    fn set_timestamping(&self, receive: bool, buffered: Option<u16>) -> Result<()> {
        let flags = if receive { TIMESTAMPING_FLAG_RX } else { 0 }
            | if buffered.is_some() {
                TIMESTAMPING_FLAG_TX
            } else {
                0
            };
        let config = TimestampingConfig::new(flags, buffered.unwrap_or(0));
        match call::ioctl_in(self.as_socket(), SIO_TIMESTAMPING, &config) {
            // Off is off, also where timestamping can't be on.
            Err(_) if flags == 0 => Ok(()),
            set => set.map_err(|error| self.explain(&error)),
        }
    }

    fn explain(&self, error: &std::io::Error) -> Error {
        let operation = "configure timestamping";
        match api::get(operation, &self.name) {
            // The socket part came with the adapter part.
            Err(missing) => missing.with_system(error),
            Ok(_) => system_error(operation, &self.name, error),
        }
    }

    /// Asks for each of `ids` that is due.
    pub(super) fn ask_for(&self, tracker: &mut TransmitTracker, ids: &[TransmitId]) -> Result<()> {
        if !self.transmit_timestamps.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut timestamping = lock(&self.timestamping);
        for id in ids {
            if !timestamping.departures.is_due(*id, clock::now()) {
                continue;
            }
            match call::ioctl_in_out::<u32, u64>(self.as_socket(), SIO_GET_TX_TIMESTAMP, &id.0) {
                Ok(raw) => {
                    let timestamps = self.timestamps(raw, timestamping.departures.find(*id));
                    tracker.arrived(Arrival::of(*id, timestamps, false));
                }
                Err(error) if would_block(&error) => {}
                Err(error) => return Err(self.failure("ask for transmit timestamps", &error)),
            }
        }
        Ok(())
    }

    /// A zero is the driver's word that it made no timestamp.
    fn timestamps(&self, raw: u64, departure: Option<Departure>) -> Timestamps {
        let Some(raw) = NonZeroU64::new(raw) else {
            return Timestamps::NONE;
        };
        let now = clock::now();
        let interface = departure
            .and_then(|departure| departure.interface)
            .or(self.leaves_by);
        let family = departure.map_or(AddressFamily::Ipv4, |departure| departure.family);
        let source = interface.and_then(|index| {
            lock(&self.known).of(index, now).made(
                Direction::Transmit,
                family,
                raw.get(),
                now,
                clock::place,
            )
        });
        place(raw, source, interface, now)
    }
}
