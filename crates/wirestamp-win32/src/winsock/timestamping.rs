//! A socket's timestamping: its settings, the clock that a timestamp counts, the way of transmit timestamps
//! into the buffer. The buffer itself is [`Ready`].

use crate::abi::numbers::{TIMESTAMPING_FLAG_RX, TIMESTAMPING_FLAG_TX};
use crate::abi::winsock::TimestampingConfig;
use crate::adapter::wire::{Wire, any_address};
use crate::adapter::{activity, native};
use crate::winsock::failure::code;
use crate::winsock::ready::Ready;
use crate::winsock::setting::{Place, Setting, Settings, Value};
use crate::winsock::socket::{Socket, lock, simulation};
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, OnceLock};
use wirestamp_core::configuration::{Source, Timestamping};
use wirestamp_core::interface::InterfaceAddress;
use wirestamp_core::timestamp::Timestamps;
use wirestamp_sys::environment::variable;

/// Whether `WIRESTAMP_WIN32_UNSTAMPED` has this value.
fn unstamped_is(value: &str) -> bool {
    static CHOSEN: OnceLock<Option<std::ffi::OsString>> = OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| variable("WIRESTAMP_WIN32_UNSTAMPED"));
    chosen.as_deref().is_some_and(|chosen| chosen == value)
}

/// Whether a received packet without a timestamp has one of 0: so it was seen on Windows.
pub(super) fn zero_for_none_received() -> bool {
    !unstamped_is("absent")
}

/// Whether a sent packet that certainly has no timestamp has one of 0.
fn zero_for_none_sent() -> bool {
    unstamped_is("zero")
}

impl Socket {
    /// Replaces the whole timestamping configuration.
    pub(crate) fn configure_timestamping(&self, config: TimestampingConfig) -> Result<(), i32> {
        let settings = lock(&self.settings);
        let receive = config.flags & TIMESTAMPING_FLAG_RX != 0;
        let capacity = (config.flags & TIMESTAMPING_FLAG_TX != 0)
            .then_some(config.transmit_timestamps_buffered);
        let before = (
            self.receive_timestamps.load(Ordering::Acquire),
            lock(&self.ready).capacity(),
        );
        if before == (receive, capacity) {
            return Ok(()); // the pages' samples say the same before each datagram
        }
        self.collect()?; // what was timestamped until now belongs to the old configuration
        self.remember(receive, capacity);
        if let Err(refused) = self.put_timestamping_in_force(&settings) {
            self.remember(before.0, before.1);
            return Err(refused);
        }
        lock(&self.ready).configure(capacity);
        self.find_home(&settings);
        Ok(())
    }

    fn remember(&self, receive: bool, capacity: Option<u16>) {
        self.receive_timestamps.store(receive, Ordering::Release);
        lock(&self.ready).set_capacity(capacity);
    }

    /// Sets timestamping at the system. Before the socket has a place, tries it on another one.
    pub(super) fn put_timestamping_in_force(&self, settings: &Settings) -> Result<(), i32> {
        let receive = self.receive_timestamps.load(Ordering::Acquire);
        let capacity = lock(&self.ready).capacity();
        let information = settings.packet_information(false) || settings.packet_information(true);
        let trial;
        let wire = match self.wire() {
            Some(wire) => wire,
            None if !receive && capacity.is_none() => return Ok(()),
            None => {
                let Some(simulation) = simulation()? else {
                    return Ok(());
                };
                trial = Wire::simulated(simulation, any_address(self.ipv6))
                    .map_err(|error| code(&error))?;
                &trial
            }
        };
        let mut wanted = Timestamping::new().source(Source::HardwareElseSoftware);
        wanted.receive = receive;
        wanted.transmit = capacity;
        wanted.packet_information = receive || information;
        let any = wanted.packet_information || wanted.transmit.is_some();
        if any || self.told.load(Ordering::Acquire) {
            wire.configure(&wanted).map_err(|error| code(&error))?;
            self.told.store(true, Ordering::Release);
        }
        let is_information =
            |setting: &&Setting| matches!(setting.value, Value::PacketInformation(_));
        match wire.machines() {
            Some(socket) if !receive => settings
                .all()
                .iter()
                .filter(is_information)
                .try_for_each(|it| native::apply(socket, it, self.ipv6)),
            _ => Ok(()),
        }
    }

    /// Collects transmit timestamps into the buffer, if they are on.
    pub(super) fn collect(&self) -> Result<(), i32> {
        if self.timestamps_sent() {
            self.drain()
        } else {
            Ok(())
        }
    }

    /// Empties the system's queue into the buffer, which discards what it does not want.
    pub(super) fn drain(&self) -> Result<(), i32> {
        let Some(wire) = self.wire() else {
            return Ok(());
        };
        let mut ready = lock(&self.ready);
        let awaited = ready.awaited();
        let value =
            |timestamps: &Timestamps| self.value(timestamps, self.home.load(Ordering::Acquire));
        wire.collect(&awaited, |arrival| {
            self.earlier_error.note(wire, arrival, &self.silent_resets);
            ready.take(*arrival, value, zero_for_none_sent());
        })
        .map_err(|error| code(&error))
    }

    /// Takes the transmit timestamp of an id.
    pub(crate) fn fetch(&self, id: u32) -> Result<u64, i32> {
        self.check_datagram()?;
        self.collect()?;
        lock(&self.ready).fetch(id)
    }

    /// Whether a datagram with an id is timestamped.
    pub(super) fn timestamps_sent(&self) -> bool {
        lock(&self.ready).is_on()
    }

    pub(super) fn ready(&self) -> MutexGuard<'_, Ready> {
        lock(&self.ready)
    }

    pub(super) fn timestamps_received(&self) -> bool {
        self.receive_timestamps.load(Ordering::Acquire)
    }

    /// Learns what timestamping depends on, before a datagram comes.
    pub(super) fn look_around(&self) {
        if self.timestamps_received() {
            activity::refresh(self.seen.load(Ordering::Relaxed));
        }
    }

    /// What a timestamp counts: the adapter's raw counter, or the performance counter where the
    /// adapter does not timestamp in hardware. `None`: the packet has no timestamp.
    pub(super) fn value(&self, timestamps: &Timestamps, index: u32) -> Option<u64> {
        if let Some(hardware) = timestamps.hardware {
            return Some(hardware.ticks.raw());
        }
        let software = timestamps.software?;
        let index = if index == 0 {
            self.home.load(Ordering::Acquire)
        } else {
            index
        };
        self.seen.store(index, Ordering::Relaxed);
        if index != 0 && activity::in_hardware(index) {
            return None;
        }
        self.wire().map(|wire| wire.count(software.at.value))
    }

    /// Finds the adapter by which it sends, where options or the local address determine it.
    pub(super) fn find_home(&self, settings: &Settings) {
        if !self.timestamps_sent() && !self.timestamps_received() {
            return;
        }
        activity::learn(); // now, and not when a datagram is there
        let local = || self.local().ok().map(|local| local.ip().to_canonical());
        let address = match settings.multicast_interface() {
            Place::Index(index) => return self.home.store(index, Ordering::Release),
            Place::Address(address) => Some(address.into()),
            Place::Any => local(),
        };
        let simulated = self.wire().is_some_and(|wire| wire.simulation().is_some());
        let index = match address {
            Some(address) if !address.is_unspecified() || simulated => {
                activity::index_of(|adapter| {
                    let is_its = |known: &InterfaceAddress| known.address == address;
                    let loops = adapter.description.loopback && address.is_loopback();
                    let found = adapter.description.addresses.iter().any(is_its)
                        || loops
                        || address.is_unspecified();
                    adapter.simulation.is_some() == simulated && found
                })
            }
            _ => 0, // each datagram goes where its destination is
        };
        self.home.store(index, Ordering::Release);
    }
}
