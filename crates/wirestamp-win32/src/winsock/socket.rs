//! One socket: where it lives, its options, its timestamping. Sending and receiving are beside.
//!
//! A socket lives here or in the simulation. Without a simulation it is made at once; with one,
//! the first address decides where: until then options are only recorded.

use crate::abi::codes::{
    WSAEAFNOSUPPORT, WSAEINVAL, WSAENOPROTOOPT, WSAENOTCONN, WSAEOPNOTSUPP, WSASYSNOTREADY,
};
use crate::abi::numbers as n;
use crate::adapter::native;
use crate::adapter::simulated::{self, Simulation};
use crate::adapter::wire::{Wire, any_address};
use crate::winsock::failure::code;
use crate::winsock::overlapped::PortOfSocket;
use crate::winsock::pending::Pending;
use crate::winsock::readiness::EarlierError;
use crate::winsock::ready::Ready;
use crate::winsock::receive::Held;
use crate::winsock::selection::Selection;
use crate::winsock::setting::{Setting, Settings, Value};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use wirestamp_core::ErrorKind;
use wirestamp_core::backend::{DatagramSocket, InternetSocket};

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
    pub(super) receive_timestamps: AtomicBool,
    /// Timestamping was set at the system once, so that "off" must be set, too.
    pub(super) told: AtomicBool,
    pub(super) ready: Mutex<Ready>,
    pub(super) earlier_error: EarlierError,
    /// The index of the adapter that it sends by; 0: not known.
    pub(super) home: AtomicU32,
    /// The index of the adapter that its last timestamp was made on.
    pub(super) seen: AtomicU32,
    /// Written by who looks at a datagram without taking it, or takes that one.
    pub(super) held: RwLock<Option<Held>>,
    /// Somebody looked at a datagram once.
    pub(super) looked_at: AtomicBool,
    pub(super) pending: Pending,
    /// Where completions of overlapped operations are queued.
    pub(super) port: PortOfSocket,
    /// What `WSAEventSelect` asked for.
    pub(super) selection: Selection,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn simulation() -> Result<Option<&'static Simulation>, i32> {
    simulated::chosen().map_err(|_| WSASYSNOTREADY)
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
            receive_timestamps: AtomicBool::new(false),
            told: AtomicBool::new(false),
            ready: Mutex::new(Ready::default()),
            earlier_error: EarlierError::default(),
            home: AtomicU32::new(0),
            seen: AtomicU32::new(0),
            held: RwLock::new(None),
            looked_at: AtomicBool::new(false),
            pending: Pending::default(),
            port: PortOfSocket::default(),
            selection: Selection::default(),
        }
    }

    /// Ends all waits; what waits to be completed is aborted.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        // First: who waits at the system must find nothing to report once that ends.
        self.pending.abort();
        self.selection.close();
        if let Some(wire) = self.wire.get() {
            wire.close();
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(super) fn is_receive_shut(&self) -> bool {
        self.receive_shut.load(Ordering::Acquire)
    }

    pub(crate) fn is_datagram(&self) -> bool {
        self.stream.is_none()
    }

    pub(super) fn check_datagram(&self) -> Result<(), i32> {
        if self.is_datagram() {
            Ok(())
        } else {
            Err(WSAEOPNOTSUPP)
        }
    }

    pub(super) fn check_family(&self, address: SocketAddr) -> Result<(), i32> {
        if address.is_ipv6() == self.ipv6 {
            Ok(())
        } else {
            Err(WSAEAFNOSUPPORT)
        }
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
        self.put_timestamping_in_force(settings)?;
        self.selection.socket_has_a_place();
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
        if let Some(machines) = self.wire.get().and_then(Wire::machines) {
            native::bind_to(machines, local).map_err(|error| code(&error))?;
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
        let wire = self
            .wire
            .get()
            .filter(|_| self.is_bound())
            .ok_or(WSAEINVAL)?;
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
        if let Some(wire) = self.wire.get().filter(|_| !is_information) {
            wire.apply(&settings.changed_by(setting), self.ipv6)?;
        }
        settings.record(setting);
        if is_information {
            self.put_timestamping_in_force(&settings)?;
        }
        if matches!(setting.value, Value::MulticastInterface(_)) {
            self.find_home(&settings);
        }
        Ok(())
    }

    /// Asks for an option.
    pub(crate) fn get(&self, level: i32, name: i32) -> Result<[u8; 4], i32> {
        let machines = self.wire.get().and_then(Wire::machines);
        match (level, name, machines) {
            (n::SOL_SOCKET, n::SO_TYPE, _) => Ok((if self.is_datagram() {
                n::SOCK_DGRAM
            } else {
                n::SOCK_STREAM
            })
            .to_ne_bytes()),
            (n::SOL_SOCKET, n::SO_ERROR, machines) => {
                let earlier = self.take_earlier_error().err();
                let pending = || machines.map_or(0, native::pending_error);
                Ok(earlier.unwrap_or_else(pending).to_ne_bytes())
            }
            (n::SOL_SOCKET, n::SO_MAX_MSG_SIZE, _) if self.is_datagram() => {
                Ok(self.longest_datagram().to_ne_bytes())
            }
            (n::IPPROTO_IP, n::IP_MTU, _) if !self.ipv6 => self.path_mtu(),
            (n::IPPROTO_IPV6, n::IPV6_MTU, _) if self.ipv6 => self.path_mtu(),
            (n::SOL_SOCKET, n::SO_RCVBUF, Some(socket)) => {
                Ok(native::buffer(socket, true).to_ne_bytes())
            }
            (n::SOL_SOCKET, n::SO_SNDBUF, Some(socket)) => {
                Ok(native::buffer(socket, false).to_ne_bytes())
            }
            _ if !self.is_datagram() => Err(WSAENOPROTOOPT),
            _ => lock(&self.settings).answer(level, name),
        }
    }

    fn longest_datagram(&self) -> u32 {
        if self.ipv6 { 65_527 } else { 65_507 }
    }

    /// The MTU of the path to the peer.
    fn path_mtu(&self) -> Result<[u8; 4], i32> {
        self.remote()?;
        let wire = self.wire.get().ok_or(WSAENOTCONN)?;
        match wire.socket().path_mtu() {
            Ok(bytes) => Ok(bytes.to_ne_bytes()),
            // The simulated network knows no path.
            Err(error) if error.kind() == ErrorKind::NotSupported => Err(WSAENOPROTOOPT),
            Err(error) => Err(code(&error)),
        }
    }

    /// Bytes of the next datagram; 0: none.
    pub(crate) fn readable(&self) -> Result<u32, i32> {
        if let Some(held) = &*self.held.read().unwrap_or_else(PoisonError::into_inner) {
            return Ok(held.length());
        }
        match self.wire.get().map(Wire::machines) {
            Some(Some(socket)) => native::readable(socket),
            Some(None) => self.look_ahead(),
            None => Ok(0),
        }
    }
}

/// Whether a socket with this address lives in the simulation, where there is one.
fn is_simulated(address: IpAddr) -> bool {
    address.is_unspecified() || address.is_multicast() || Simulation::owns(address)
}
