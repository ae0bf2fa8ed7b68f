//! A socket of this machine or of the simulation. Calls of a simulated one take place in real time.

use crate::abi::codes::WSAENOTSOCK;
use crate::adapter::machine::now;
use crate::adapter::simulated::Simulation;
use crate::adapter::{machine, native};
use crate::system::clock;
use crate::winsock::setting::Settings;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use wirestamp::choice::Socket;
use wirestamp_core::backend::{
    AnySocket, Backend, DatagramSocket, Incoming, Interest, Outgoing, Readiness,
};
use wirestamp_core::configuration::Timestamping;
use wirestamp_core::time::{MonotonicTime, Span};
use wirestamp_core::timestamp::{Arrival, TransmitId, TransmitTracker};
use wirestamp_core::{Error, Result};

/// So long one kind of sockets is waited for where both kinds are.
const TURN: Span = Span::from_milliseconds(1);
/// So often the system is read in one collection.
const MOST_READS: usize = 1 << 10;

/// A socket of this machine or of the simulation.
pub(crate) struct Wire {
    socket: Socket,
    /// `None`: it is this machine's.
    simulation: Option<&'static Simulation>,
    tracker: Mutex<TransmitTracker>,
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire")
            .field("is_simulated", &self.simulation.is_some())
            .finish_non_exhaustive()
    }
}

impl Wire {
    /// A socket of this machine, bound to nothing.
    pub(crate) fn native(ipv6: bool) -> Result<Self> {
        Ok(Self::new(Socket::Native(native::unbound(ipv6)?), None))
    }

    /// A simulated socket, bound to `local`.
    pub(crate) fn simulated(simulation: &'static Simulation, local: SocketAddr) -> Result<Self> {
        let socket = simulation.system().bind(local, None)?;
        Ok(Self::new(socket, Some(simulation)))
    }

    fn new(socket: Socket, simulation: Option<&'static Simulation>) -> Self {
        let tracker = Mutex::new(socket.tracker());
        Self {
            socket,
            simulation,
            tracker,
        }
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// This machine's socket; `None` for a simulated one.
    pub(crate) fn machines(&self) -> Option<&wirestamp_sys::Socket> {
        self.socket.native()
    }

    fn tracker(&self) -> MutexGuard<'_, TransmitTracker> {
        self.tracker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn simulation(&self) -> Option<&'static Simulation> {
        self.simulation
    }

    /// The socket, with all that happened to it until now.
    fn caught_up(&self) -> &Socket {
        self.simulation.map(Simulation::caught_up);
        &self.socket
    }

    /// The count of the performance counter at an instant that this socket reported.
    pub(crate) fn count(&self, at: MonotonicTime) -> u64 {
        clock::count(
            self.simulation()
                .map_or(at, |simulation| simulation.to_counter(at)),
        )
    }

    /// One operation, in pace with real time before and after it.
    fn in_pace<T>(&self, operation: impl FnOnce(&Socket) -> T) -> T {
        let result = operation(self.caught_up());
        if let Some(simulation) = self.simulation() {
            simulation.wait_for_real_time();
        }
        result
    }

    /// Sends one datagram; `false` if there is no room now.
    pub(crate) fn send(&self, outgoing: Outgoing<'_>) -> Result<bool> {
        let sent = self
            .in_pace(|socket| socket.send_counted(&[outgoing], &mut self.tracker()))
            .map(|count| count == 1);
        if let Some(simulation) = self.simulation() {
            simulation.announce();
        }
        sent
    }

    /// Receives one datagram; `false` if none waits.
    pub(crate) fn receive(&self, incoming: &mut Incoming<'_>) -> Result<bool> {
        self.in_pace(|socket| socket.receive(std::slice::from_mut(incoming)))
            .map(|count| count == 1)
    }

    /// Hands out all that came; `ids`: what to ask for where the system is asked for each.
    pub(crate) fn collect(&self, ids: &[TransmitId], take: impl FnMut(&Arrival)) -> Result<()> {
        let mut tracker = self.tracker();
        let read = self.in_pace(|socket| {
            if socket.is_asked_by_id() {
                return socket.ask_for_timestamps(&mut tracker, ids);
            }
            for _ in 0..MOST_READS {
                if !socket.read_transmit_timestamps(&mut tracker, 0)? {
                    break;
                }
            }
            Ok(())
        });
        tracker.take(take);
        read
    }

    pub(crate) fn configure(&self, wanted: &Timestamping) -> Result<()> {
        self.in_pace(|socket| socket.configure(wanted, &mut self.tracker()))
            .map(drop) // it may have waited for its cold start
    }

    /// Waits until `interest` can be served, the socket is closed, or `until` has passed.
    pub(crate) fn wait(&self, interest: Interest, until: MonotonicTime) -> Result<Readiness> {
        let Some(simulation) = self.simulation else {
            return self.socket.wait(interest, until);
        };
        loop {
            let seen = simulation.activity();
            simulation.caught_up();
            let ready = self.socket.wait(interest, MonotonicTime::MIN)?;
            if !ready.timed_out() || now() >= until {
                return Ok(ready);
            }
            simulation.wait_for_activity(seen, until);
        }
    }

    /// While `awake`, no wait for datagrams or for room blocks. Does nothing in the simulation, which has no errors of earlier
    /// datagrams.
    pub(crate) fn keep_awake(&self, awake: bool) {
        if let Some(socket) = self.machines() {
            native::keep_awake(socket, awake);
        }
    }

    /// Ends every wait.
    pub(crate) fn close(&self) {
        self.socket().close();
        if let Some(simulation) = self.simulation() {
            simulation.announce();
        }
    }

    /// Puts options in force: `changed` of them, or all.
    ///
    /// # Errors
    /// The Winsock error.
    pub(crate) fn apply(&self, settings: &Settings, ipv6: bool) -> Result<(), i32> {
        let Some(simulation) = self.simulation else {
            let socket = self.machines().ok_or(WSAENOTSOCK)?;
            let mut all = settings.all().iter();
            return all.try_for_each(|setting| native::apply(socket, setting, ipv6));
        };
        // Groups and multicast; the simulated network has none of the rest.
        let adapters = simulation.system().interfaces();
        let applied = adapters.and_then(|known| settings.apply_simulated(&self.socket, &known));
        applied.map_err(|error| code(&error))
    }
}

fn code(error: &Error) -> i32 {
    crate::winsock::failure::code(error)
}

/// The wildcard address of a family, any port.
pub(crate) fn any_address(ipv6: bool) -> SocketAddr {
    let address: IpAddr = if ipv6 {
        Ipv6Addr::UNSPECIFIED.into()
    } else {
        Ipv4Addr::UNSPECIFIED.into()
    };
    SocketAddr::new(address, 0)
}

/// How often simulated sockets did something so far; 0 without any.
pub(crate) fn activity<'a>(mut wires: impl Iterator<Item = &'a Wire>) -> u64 {
    wires
        .find_map(Wire::simulation)
        .map_or(0, Simulation::activity)
}

/// Waits until one of `wires` may have something, or until `until`; `seen` is the result of [`activity`] before they
/// were looked at. Where some are simulated and others are not, both are looked at in turn.
///
/// # Errors
/// The Winsock error.
pub(crate) fn wait_any(wires: &[&Wire], seen: u64, until: MonotonicTime) -> Result<(), i32> {
    let native: Vec<_> = wires
        .iter()
        .filter(|wire| wire.simulation.is_none())
        .map(|wire| AnySocket::Udp(&wire.socket))
        .collect();
    let simulation = wires.iter().find_map(|wire| wire.simulation());
    let mixed = !native.is_empty() && simulation.is_some();
    let until = if mixed || wires.is_empty() {
        until.min(now() + TURN)
    } else {
        until
    };
    if !native.is_empty() {
        let waited = machine::system().wait_any(&native, until, &mut Vec::new());
        return waited.map_err(|error| code(&error));
    }
    match simulation {
        Some(simulation) => {
            simulation.caught_up();
            simulation.wait_for_activity(seen, until);
        }
        None => std::thread::sleep((until - now()).to_duration()),
    }
    Ok(())
}
