//! Receiving: datagrams with their timestamps, and which clock each interface timestamps with.

use super::{Socket, lock, would_block};
use crate::native::wire::clock_of::{Clocking, Clocks};
use crate::native::wire::{control, socket_address};
use crate::native::{call, capability, clock, interface};
use std::num::NonZeroU64;
use std::os::windows::io::AsSocket;
use std::sync::atomic::Ordering;
use windows_sys::Win32::Networking::WinSock as ws;
use wirestamp_core::Result;
use wirestamp_core::backend::{Incoming, Received};
use wirestamp_core::capability::{AddressFamily, Direction, TimestampSource};
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::time::{Bounded, HardwareTicks, MonotonicTime, Span};
use wirestamp_core::timestamp::{HardwareTimestamp, SoftwareTimestamp, Timestamps};

/// So many interfaces' clocks are remembered; more are asked for each time.
const REMEMBERED: usize = 8;
/// Where Windows does not report changes, what was asked holds so long.
const TRUSTED_FOR: Span = Span::from_seconds(1);
/// How often a stale "nothing to read" is thought possible in a row: refusals of other peers.
const REFUSALS: usize = 16;

/// Which clock the timestamps of each interface are of, as last asked.
#[derive(Debug, Default)]
pub(super) struct KnownClocks {
    known: [Option<Known>; REMEMBERED],
    next: usize,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    index: InterfaceIndex,
    clocking: Clocking,
    generation: Option<u64>,
    asked_at: MonotonicTime,
}

impl KnownClocks {
    /// The clocks of an interface: as remembered, or asked for if anything has changed.
    pub(super) fn of(&mut self, index: InterfaceIndex, now: MonotonicTime) -> Clocking {
        let generation = crate::native::config_change::generation();
        let holds = |known: &Known| {
            known.generation == generation
                && !known.clocking.is_stale(now)
                && (generation.is_some() || now - known.asked_at < TRUSTED_FOR)
        };
        let place = self
            .known
            .iter()
            .position(|known| known.is_some_and(|known| known.index == index));
        if let Some(known) = place.and_then(|place| self.known[place]).filter(holds) {
            return known.clocking;
        }
        let (clocking, generation) = ask(index);
        let place = place.unwrap_or(self.next % REMEMBERED);
        self.next += 1;
        self.known[place] = Some(Known {
            index,
            clocking,
            generation,
            asked_at: now,
        });
        clocking
    }
}

fn ask(index: InterfaceIndex) -> (Clocking, Option<u64>) {
    let listed = interface::list().unwrap_or_default();
    let luid = listed
        .iter()
        .find(|known| known.index == index)
        .and_then(|known| known.luid);
    let unknown = Clocking::Active(Clocks::UNKNOWN);
    luid.map_or((unknown, None), capability::clocks)
}

/// Makes of a raw value what its clock says. A value of no known clock is no timestamp.
pub(super) fn place(
    raw: NonZeroU64,
    source: Option<TimestampSource>,
    interface: Option<InterfaceIndex>,
    read_at: MonotonicTime,
) -> Timestamps {
    match source {
        Some(TimestampSource::Software) => {
            let at = clock::place(raw.get());
            let software = SoftwareTimestamp::new(Bounded::new(at, clock::tick()));
            Timestamps::new(Some(software), None)
        }
        Some(TimestampSource::Hardware) => {
            let hardware = HardwareTimestamp {
                ticks: HardwareTicks::new(raw.get()),
                interface,
                read_at,
            };
            Timestamps::new(None, Some(hardware))
        }
        None => Timestamps::NONE,
    }
}

impl Socket {
    pub(super) fn receive_batch(&self, batch: &mut [Incoming<'_>]) -> Result<usize> {
        for (received, slot) in batch.iter_mut().enumerate() {
            match self.receive_one(slot) {
                Ok(true) => {}
                Ok(false) => return Ok(received),
                // What came before is delivered; the error is met again at the next call.
                Err(_) if received > 0 => return Ok(received),
                Err(error) => return Err(error),
            }
        }
        Ok(batch.len())
    }

    fn receive_one(&self, slot: &mut Incoming<'_>) -> Result<bool> {
        let connected = lock(&self.timestamping).peer.is_some();
        let mut refusals = 0;
        let message = loop {
            match call::receive_message(self.receive_message, self.as_socket(), slot.buffer_mut()) {
                Ok(message) => break message,
                Err(error) if would_block(&error) => return Ok(false),
                // Old news of datagrams to others: nothing of this socket's is lost.
                Err(error) if !connected && is_a_refusal(&error) && refusals < REFUSALS => {
                    refusals += 1;
                }
                Err(error) => return Err(self.failure("receive", &error)),
            }
        };
        let wanted = self.receive_timestamps.load(Ordering::Relaxed);
        let source = socket_address::read(&message.name);
        let found = control::received(message.control.filled());
        let timestamps = match found.timestamp.filter(|_| wanted) {
            Some(raw) => self.place_received(
                raw,
                source.is_some_and(|source| source.is_ipv6()),
                found.interface,
            ),
            None => Timestamps::NONE,
        };
        let mut received = Received::EMPTY;
        received.length = message.length.min(slot.buffer_mut().len());
        received.source = source;
        received.destination = found
            .destination
            .filter(|_| self.packet_information.load(Ordering::Relaxed));
        received.interface = found.interface;
        received.timestamps = timestamps;
        received.truncated = message.truncated;
        received.control_truncated = message.control_truncated;
        slot.received = received;
        Ok(true)
    }

    fn place_received(
        &self,
        raw: NonZeroU64,
        ipv6: bool,
        interface: Option<InterfaceIndex>,
    ) -> Timestamps {
        let now = clock::now();
        // Without packet information, a socket that is bound to an address knows its interface.
        let interface = interface.or(self.leaves_by);
        let family = if ipv6 {
            AddressFamily::Ipv6
        } else {
            AddressFamily::Ipv4
        };
        let unknown = Clocking::Active(Clocks::UNKNOWN);
        let clocking = interface.map_or(unknown, |index| lock(&self.known).of(index, now));
        let source = clocking.made(Direction::Receive, family, raw.get(), now, clock::place);
        let wanted = |source: &TimestampSource| {
            *source == TimestampSource::Hardware || !self.hardware_alone.load(Ordering::Relaxed)
        };
        place(raw, source.filter(wanted), interface, now)
    }
}

/// `WSAECONNRESET`: a port was unreachable; `WSAENETRESET`: a hop limit was reached.
fn is_a_refusal(error: &std::io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(ws::WSAECONNRESET | ws::WSAENETRESET)
    )
}
