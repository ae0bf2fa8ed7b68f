//! Owns one socket: where it lives, its options, its stamping. Sending and receiving are beside.
//!
//! A socket lives here or in the simulation. Without a simulation it is made at once; with one,
//! the first address tells where: until then options are only recorded.

use crate::abi::codes::{WSAEAFNOSUPPORT, WSAEINVAL, WSAENOPROTOOPT, WSAENOTCONN, WSAEOPNOTSUPP, WSASYSNOTREADY};
use crate::abi::numbers as n;
use crate::abi::winsock::TimestampingConfig;
use crate::adapter::simulated::{self, Simulation};
use crate::adapter::wire::{Wire, any_address};
use crate::adapter::{self, activity, native};
use crate::winsock::failure::code;
use crate::winsock::overlapped::Pending;
use crate::winsock::ready::{Ready, Sink};
use crate::winsock::receive::Held;
use crate::winsock::setting::{Place, Setting, Settings, Value};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use wirestamp_core::configuration::{Source, Timestamping};
use wirestamp_core::stamp::Stamps;

/// A socket.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(super) ipv6: bool,
    /// Streams can be opened and closed.
    stream: Option<native::Stream>,
    wire: OnceLock<Wire>,
    /// Held while it is decided where the socket lives, and while it is configured.
    pub(super) settings: Mutex<Settings>,
    peer: Mutex<Option<SocketAddr>>,
    bound: AtomicBool,
    pub(super) closed: AtomicBool,
    pub(super) nonblocking: AtomicBool,
    /// `SIO_UDP_CONNRESET` is off.
    pub(super) silent_resets: AtomicBool,
    pub(super) receive_shut: AtomicBool,
    pub(super) send_shut: AtomicBool,
    receive_stamps: AtomicBool,
    /// The system was told of stamping once, so that it must be told of "off".
    told: AtomicBool,
    ready: Mutex<Ready>,
    /// The index of the adapter that it sends by; 0: not known.
    home: AtomicU32,
    pub(super) held: Mutex<Option<Held>>,
    pub(super) pending: Pending,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn simulation() -> Result<Option<&'static Simulation>, i32> {
    simulated::chosen().map_err(|_| WSASYSNOTREADY)
}

/// What a packet without a stamp looks like: 0, instead of nothing.
pub(super) fn zero_for_none() -> bool {
    static ZERO: OnceLock<bool> = OnceLock::new();
    *ZERO.get_or_init(|| std::env::var_os("WIRESTAMP_WIN32_UNSTAMPED").is_some_and(|value| value == "zero"))
}

impl Socket {
    /// A UDP socket.
    pub(crate) fn datagram(ipv6: bool) -> Result<Self, i32> {
        let socket = Self::new(ipv6, None);
        if simulation()?.is_none() {
            let wire = Wire::native(ipv6).map_err(|error| code(&error))?;
            socket.take_place(wire, &Settings::new(ipv6))?;
        }
        Ok(socket)
    }

    /// A TCP socket.
    pub(crate) fn stream(ipv6: bool) -> Result<Self, i32> {
        let stream = native::Stream::open(ipv6).map_err(|error| code(&error))?;
        Ok(Self::new(ipv6, Some(stream)))
    }

    fn new(ipv6: bool, stream: Option<native::Stream>) -> Self {
        Self {
            ipv6,
            stream,
            wire: OnceLock::new(),
            settings: Mutex::new(Settings::new(ipv6)),
            peer: Mutex::new(None),
            bound: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            nonblocking: AtomicBool::new(false),
            silent_resets: AtomicBool::new(false),
            receive_shut: AtomicBool::new(false),
            send_shut: AtomicBool::new(false),
            receive_stamps: AtomicBool::new(false),
            told: AtomicBool::new(false),
            ready: Mutex::new(Ready::default()),
            home: AtomicU32::new(0),
            held: Mutex::new(None),
            pending: Pending::default(),
        }
    }

    /// Ends all waits; what waits to be completed is aborted.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        if let Some(wire) = self.wire.get() {
            wire.close();
        }
        self.pending.abort();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(crate) fn is_datagram(&self) -> bool {
        self.stream.is_none()
    }

    pub(super) fn check_datagram(&self) -> Result<(), i32> {
        if self.is_datagram() { Ok(()) } else { Err(WSAEOPNOTSUPP) }
    }

    pub(super) fn check_family(&self, address: SocketAddr) -> Result<(), i32> {
        if address.is_ipv6() == self.ipv6 { Ok(()) } else { Err(WSAEAFNOSUPPORT) }
    }

    pub(super) fn wire(&self) -> Option<&Wire> {
        self.wire.get()
    }

    pub(crate) fn is_bound(&self) -> bool {
        self.bound.load(Ordering::Acquire)
    }

    pub(super) fn peer(&self) -> Option<SocketAddr> {
        *lock(&self.peer)
    }

    /// Puts a wire in place, with all options that were recorded.
    fn take_place(&self, wire: Wire, settings: &Settings) -> Result<&Wire, i32> {
        wire.apply(settings, self.ipv6)?;
        let wire = self.wire.get_or_init(|| wire);
        self.put_stamping_in_force(settings)?;
        Ok(wire)
    }

    /// The wire for a datagram to `address`: where the socket lives is decided now at the latest.
    pub(super) fn wire_for(&self, address: IpAddr) -> Result<&Wire, i32> {
        if let Some(wire) = self.wire.get() {
            return Ok(wire);
        }
        let settings = lock(&self.settings);
        if let Some(wire) = self.wire.get() {
            return Ok(wire);
        }
        let wire = match simulation()?.filter(|_| is_simulated(address)) {
            Some(simulation) => Wire::simulated(simulation, any_address(self.ipv6)),
            None => Wire::native(self.ipv6),
        };
        self.take_place(wire.map_err(|error| code(&error))?, &settings)
    }

    /// Binds it.
    pub(crate) fn bind(&self, local: SocketAddr) -> Result<(), i32> {
        self.check_datagram()?;
        self.check_family(local)?;
        let settings = lock(&self.settings);
        if self.is_bound() {
            return Err(WSAEINVAL);
        }
        if self.wire.get().is_none() {
            let wire = match simulation()?.filter(|_| is_simulated(local.ip())) {
                Some(simulation) => Wire::simulated(simulation, local),
                None => Wire::native(self.ipv6),
            };
            self.take_place(wire.map_err(|error| code(&error))?, &settings)?;
        }
        if let Some(Wire::Native(native)) = self.wire.get() {
            native.bind_to(local).map_err(|error| code(&error))?;
        }
        self.bound.store(true, Ordering::Release);
        self.find_home(&settings);
        Ok(())
    }

    /// A send or a connection bound it.
    pub(super) fn note_bound(&self) {
        self.bound.store(true, Ordering::Release);
    }

    /// Fixes the peer.
    pub(crate) fn connect(&self, peer: SocketAddr) -> Result<(), i32> {
        self.check_datagram()?;
        self.check_family(peer)?;
        let wire = self.wire_for(peer.ip())?;
        wire.socket().connect(peer).map_err(|error| code(&error))?;
        *lock(&self.peer) = Some(peer);
        self.note_bound();
        self.find_home(&lock(&self.settings));
        Ok(())
    }

    /// The local address.
    pub(crate) fn local(&self) -> Result<SocketAddr, i32> {
        self.check_datagram()?;
        let wire = self.wire.get().filter(|_| self.is_bound()).ok_or(WSAEINVAL)?;
        wire.socket().local_address().map_err(|error| code(&error))
    }

    /// The peer's address.
    pub(crate) fn remote(&self) -> Result<SocketAddr, i32> {
        self.peer().ok_or(WSAENOTCONN)
    }

    /// Sets an option.
    pub(crate) fn set(&self, level: i32, name: i32, value: &[u8]) -> Result<(), i32> {
        self.check_datagram()?;
        let setting = Setting::read(level, name, value)?;
        let mut settings = lock(&self.settings);
        let is_information = matches!(setting.value, Value::PacketInformation(_));
        if let Some(wire) = self.wire.get()
            && !is_information
        {
            wire.apply(&settings.changed_by(setting), self.ipv6)?;
        }
        settings.record(setting);
        if is_information {
            self.put_stamping_in_force(&settings)?;
        }
        if matches!(setting.value, Value::MulticastInterface(_)) {
            self.find_home(&settings);
        }
        Ok(())
    }

    /// Asks for an option.
    pub(crate) fn get(&self, level: i32, name: i32) -> Result<[u8; 4], i32> {
        let native = match self.wire.get() {
            Some(Wire::Native(native)) => Some(native),
            _ => None,
        };
        match (level, name, native) {
            (n::SOL_SOCKET, n::SO_TYPE, _) => {
                Ok((if self.is_datagram() { n::SOCK_DGRAM } else { n::SOCK_STREAM }).to_ne_bytes())
            }
            (n::SOL_SOCKET, n::SO_ERROR, native) => Ok(native.map_or(0, native::Socket::pending_error).to_ne_bytes()),
            (n::SOL_SOCKET, n::SO_RCVBUF, Some(native)) => Ok(native.buffer(true).to_ne_bytes()),
            (n::SOL_SOCKET, n::SO_SNDBUF, Some(native)) => Ok(native.buffer(false).to_ne_bytes()),
            _ if !self.is_datagram() => Err(WSAENOPROTOOPT),
            _ => lock(&self.settings).answer(level, name),
        }
    }

    /// Replaces the whole stamping configuration.
    pub(crate) fn configure_stamping(&self, config: TimestampingConfig) -> Result<(), i32> {
        let settings = lock(&self.settings);
        let receive = config.flags & n::TIMESTAMPING_FLAG_RX != 0;
        let capacity = (config.flags & n::TIMESTAMPING_FLAG_TX != 0).then_some(config.transmit_timestamps_buffered);
        let before = (self.receive_stamps.load(Ordering::Acquire), lock(&self.ready).capacity());
        self.collect()?; // what was stamped until now belongs to the old configuration
        self.remember(receive, capacity);
        if let Err(refused) = self.put_stamping_in_force(&settings) {
            self.remember(before.0, before.1);
            return Err(refused);
        }
        lock(&self.ready).configure(capacity);
        activity::forget();
        self.find_home(&settings);
        Ok(())
    }

    fn remember(&self, receive: bool, capacity: Option<u16>) {
        self.receive_stamps.store(receive, Ordering::Release);
        lock(&self.ready).set_capacity(capacity);
    }

    /// Tells the system what is wanted. Before the socket has a place, tries it on another one.
    fn put_stamping_in_force(&self, settings: &Settings) -> Result<(), i32> {
        let receive = self.receive_stamps.load(Ordering::Acquire);
        let capacity = lock(&self.ready).capacity();
        let information = settings.packet_information(false) || settings.packet_information(true);
        let trial;
        let wire = match self.wire.get() {
            Some(wire) => wire,
            None if !receive && capacity.is_none() => return Ok(()),
            None => {
                let Some(simulation) = simulation()? else { return Ok(()) };
                trial = Wire::simulated(simulation, any_address(self.ipv6)).map_err(|error| code(&error))?;
                &trial
            }
        };
        // The simulated system tells the interface only together with stamps.
        let receive_in_force = receive || information && wire.simulation().is_some();
        let wanted = Timestamping {
            receive: receive_in_force,
            transmit: capacity,
            source: Source::HardwareElseSoftware,
            ..Timestamping::OFF
        };
        let any = wanted.receive || wanted.transmit.is_some();
        if any || self.told.load(Ordering::Acquire) {
            wire.configure(&wanted).map_err(|error| code(&error))?;
            self.told.store(true, Ordering::Release);
        }
        if let Wire::Native(native) = wire
            && !receive
        {
            let is_information = |setting: &&Setting| matches!(setting.value, Value::PacketInformation(_));
            settings.all().iter().filter(is_information).try_for_each(|it| native.apply(it, self.ipv6))?;
        }
        Ok(())
    }

    /// Collects transmit stamps into the buffer.
    pub(super) fn collect(&self) -> Result<(), i32> {
        let Some(wire) = self.wire.get() else { return Ok(()) };
        let mut ready = lock(&self.ready);
        if !ready.is_on() {
            return Ok(());
        }
        let value = |stamps: &Stamps| self.value(stamps, self.home.load(Ordering::Acquire));
        let mut sink = Sink { ready: &mut ready, value: &value, zero: zero_for_none() };
        wire.collect(&mut sink).map(drop).map_err(|error| code(&error))
    }

    /// Takes the transmit stamp of an id.
    pub(crate) fn fetch(&self, id: u32) -> Result<u64, i32> {
        self.check_datagram()?;
        self.collect()?;
        lock(&self.ready).fetch(id)
    }

    /// Bytes of the next datagram; 0: none.
    pub(crate) fn readable(&self) -> Result<u32, i32> {
        if let Some(held) = &*lock(&self.held) {
            return Ok(held.length());
        }
        match self.wire.get() {
            Some(Wire::Native(native)) => native.readable(),
            Some(Wire::Simulated(_)) => self.look_ahead(),
            None => Ok(0),
        }
    }

    /// Whether a datagram with an id is stamped.
    pub(super) fn stamps_sent(&self) -> bool {
        lock(&self.ready).is_on()
    }

    pub(super) fn ready(&self) -> MutexGuard<'_, Ready> {
        lock(&self.ready)
    }

    pub(super) fn stamps_received(&self) -> bool {
        self.receive_stamps.load(Ordering::Acquire)
    }

    /// What a stamp counts: the adapter's raw counter, or the performance counter where the
    /// adapter does not stamp in hardware. `None`: the packet has no stamp.
    pub(super) fn value(&self, stamps: &Stamps, index: u32) -> Option<u64> {
        if let Some(hardware) = stamps.hardware {
            return Some(hardware.ticks.raw());
        }
        let software = stamps.software?;
        let index = if index == 0 { self.home.load(Ordering::Acquire) } else { index };
        if index != 0 && activity::in_hardware(index) {
            return None;
        }
        self.wire.get().map(|wire| wire.count(software.at))
    }

    /// Finds the adapter by which it sends, where options or the local address tell.
    fn find_home(&self, settings: &Settings) {
        if !self.stamps_sent() && !self.stamps_received() {
            return;
        }
        let place = match settings.multicast_interface() {
            Place::Any => self.local().ok().map(|local| local.ip().to_canonical()),
            Place::Index(index) => {
                self.home.store(index, Ordering::Release);
                return;
            }
            Place::Address(address) => Some(address.into()),
        };
        let simulated = self.wire.get().is_some_and(|wire| wire.simulation().is_some());
        let found = adapter::find(|adapter| {
            let has = |address: IpAddr| adapter.description.addresses.iter().any(|known| known.address == address);
            let any = |address: IpAddr| address.is_unspecified() && simulated;
            let loops = |address: IpAddr| adapter.description.loopback && address.is_loopback();
            adapter.simulation.is_some() == simulated
                && place.is_some_and(|address| has(address) || any(address) || loops(address))
        });
        let index = found.map_or(0, |adapter| adapter.description.index.get());
        self.home.store(index, Ordering::Release);
    }
}

/// Whether a socket with this address lives in the simulation, where there is one.
fn is_simulated(address: IpAddr) -> bool {
    address.is_unspecified() || address.is_multicast() || Simulation::owns(address)
}
