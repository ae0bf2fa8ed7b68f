//! The handles of sockets and clocks that the contract sees. Holds no state of its own.

use crate::codes::closed;
use crate::scenario::Platform;
use crate::socket::{SocketId, SocketState};
use crate::state::State;
use crate::transmit::Carried;
use crate::world::World;
use std::marker::PhantomData;
use std::net::{IpAddr, SocketAddr};
use wirestamp_core::Result;
use wirestamp_core::backend::{
    DatagramSocket, HardwareClock, Incoming, Interest, InternetSocket, Outgoing, Readiness, Udp,
};
use wirestamp_core::configuration::{Granted, Timestamping};
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};
use wirestamp_core::time::{Frequency, MonotonicTime};
use wirestamp_core::timestamp::{TransmitId, TransmitTracker};

/// Entries of an error queue that are read together.
const CHUNK: usize = 64;

/// An open simulated hardware clock.
#[derive(Debug)]
pub struct SimulatedClock {
    pub(crate) world: World,
    pub(crate) index: InterfaceIndex,
    /// Its number, which stays when another clock is behind the interface.
    pub(crate) number: u32,
}

impl HardwareClock for SimulatedClock {
    /// Takes no time here: on Linux it is one system call of about a microsecond.
    fn behind(&self, interface: &InterfaceDescription) -> Result<Option<u32>> {
        self.world.with(|state| {
            let place = state.place(interface, "ask for the hardware clock")?;
            Ok(state.nics[place].clock_number())
        })
    }

    fn system_frequency(&self) -> Frequency {
        self.world.with(|state| state.clocks.frequency())
    }

    fn cross_timestamps(&mut self, count: usize, readings: &mut Vec<CrossTimestamp>) -> Result<()> {
        self.world
            .with(|state| state.cross((self.index, self.number), count, readings))
    }
}

/// A simulated socket, of UDP unless said otherwise.
#[derive(Debug)]
pub struct SimulatedSocket<T = Udp> {
    pub(crate) world: World,
    pub(crate) id: SocketId,
    transport: PhantomData<T>,
}

impl<T> SimulatedSocket<T> {
    pub(crate) fn new(world: World, id: SocketId) -> Self {
        Self {
            world,
            id,
            transport: PhantomData,
        }
    }
}

impl<T> SimulatedSocket<T> {
    /// Does something to the open socket.
    fn open<A>(
        &self,
        operation: &'static str,
        act: impl FnOnce(&mut State) -> Result<A>,
    ) -> Result<A> {
        self.world.with(|state| match state.sockets.get(&self.id) {
            Some(socket) if socket.closed => Err(closed(operation, socket.local)),
            _ => act(state),
        })
    }

    fn change(&self, act: impl FnOnce(&mut SocketState)) {
        self.world
            .with(|state| state.sockets.get_mut(&self.id).map(act));
    }

    /// Takes something out. Who waits for it must look again at once: until it was woken by whoever
    /// took it, it would let virtual time pass, without anything left to wait for.
    fn take(&self, take: impl FnOnce(&mut State) -> Result<bool>) -> Result<bool> {
        self.world.with(|state| {
            let taken = take(state)?;
            if let Some(socket) = state.sockets.get_mut(&self.id).filter(|_| taken) {
                socket.woken |= socket.waiting > 0;
            }
            Ok(taken)
        })
    }

    fn send_batch(
        &self,
        batch: &[Outgoing<'_, T>],
        mut tracker: Option<&mut TransmitTracker>,
    ) -> Result<usize>
    where
        T: Carried,
    {
        for (sent, outgoing) in batch.iter().enumerate() {
            let send = |state: &mut State| state.send(self.id, outgoing, tracker.as_deref_mut());
            match self.world.with(send) {
                Ok(true) => {}
                Ok(false) => return Ok(sent),
                // packets sent before count; the next call meets the error again
                Err(_) if sent > 0 => return Ok(sent),
                Err(error) => return Err(error),
            }
        }
        Ok(batch.len())
    }
}

impl<T: Carried> DatagramSocket<T> for SimulatedSocket<T> {
    fn local_address(&self) -> Result<T::Address> {
        const OPERATION: &str = "read the address";
        self.open(OPERATION, |state| {
            T::local(state, self.id).ok_or_else(|| closed(OPERATION, "the socket"))
        })
    }

    fn join_multicast(&self, group: T::Group, interface: InterfaceIndex) -> Result<()> {
        self.open("join the multicast group", |state| {
            T::join(state, self.id, group, interface)
        })
    }

    fn leave_multicast(&self, group: T::Group, interface: InterfaceIndex) -> Result<()> {
        self.open("leave the multicast group", |state| {
            T::leave(state, self.id, group, interface)
        })
    }

    fn tracker(&self) -> TransmitTracker {
        TransmitTracker::new(self.world.with(|state| state.transmit_placement(self.id)))
    }

    fn configure(&self, wanted: &Timestamping, tracker: &mut TransmitTracker) -> Result<Granted> {
        self.world
            .with(|state| state.configure_timestamping(self.id, wanted, tracker))
    }

    fn send(&self, batch: &[Outgoing<'_, T>]) -> Result<usize> {
        self.send_batch(batch, None)
    }

    fn send_counted(
        &self,
        batch: &[Outgoing<'_, T>],
        tracker: &mut TransmitTracker,
    ) -> Result<usize> {
        self.send_batch(batch, Some(tracker))
    }

    fn receive(&self, batch: &mut [Incoming<'_, T>]) -> Result<usize> {
        for (received, incoming) in batch.iter_mut().enumerate() {
            match self.world.with(|state| state.receive(self.id, incoming)) {
                Ok(true) => {}
                Err(error) if received == 0 => return Err(error),
                _ => return Ok(received),
            }
        }
        Ok(batch.len())
    }

    fn read_transmit_timestamps(
        &self,
        tracker: &mut TransmitTracker,
        awaited: usize,
    ) -> Result<bool> {
        let mut entries = 0;
        while entries < CHUNK {
            if !self.take(|state| state.read_next(self.id, tracker))? {
                break;
            }
            entries += 1;
        }
        if entries > 0 || awaited > 0 {
            self.world
                .with(|state| state.look_at_buffer(self.id, tracker, entries));
        }
        Ok(entries == CHUNK)
    }

    fn is_asked_by_id(&self) -> bool {
        self.world.with(|state| state.platform) == Platform::Windows
    }

    /// Timestamps that nobody awaits any more stay in the buffer, and must not end waits for ever.
    fn ask_for_timestamps(&self, tracker: &mut TransmitTracker, ids: &[TransmitId]) -> Result<()> {
        self.open("ask for transmit timestamps", |_| Ok(()))?;
        self.change(|socket| socket.fresh = false);
        for id in ids {
            self.take(|state| state.read_one(self.id, *id, tracker))?;
        }
        Ok(())
    }

    fn wait(&self, interest: Interest, until: MonotonicTime) -> Result<Readiness> {
        let threads = usize::from(interest == Interest::Timestamps);
        self.change(|socket| socket.waiting += threads);
        self.world.with(|state| state.pass(state.cost.now));
        let ready = self.world.pass_until(until.nanoseconds(), |state| {
            let readiness = state.readiness(self.id, interest);
            (!readiness.timed_out()).then_some(readiness)
        });
        self.change(|socket| socket.waiting -= threads);
        Ok(ready.unwrap_or_default())
    }

    fn wake(&self) {
        self.change(|socket| socket.woken = true);
    }

    fn close(&self) {
        self.change(|socket| socket.closed = true);
    }

    fn dropped(&self) -> u64 {
        self.world.with(|state| {
            state
                .sockets
                .get(&self.id)
                .map_or(0, |socket| socket.dropped)
        })
    }
}

impl InternetSocket for SimulatedSocket {
    fn connect(&self, peer: SocketAddr) -> Result<()> {
        self.open("connect", |state| state.connect(self.id, peer))
    }

    fn set_source(&self, source: Option<IpAddr>) -> Result<()> {
        self.open("send from an address", |state| {
            state.set_source(self.id, source)
        })
    }

    fn set_multicast(&self, interface: InterfaceIndex, hops: u32, loopback: bool) -> Result<()> {
        let operation = "choose how multicast is sent";
        self.open(operation, |state| {
            state.set_multicast(self.id, interface, hops, loopback)
        })
    }
}

impl<T> Drop for SimulatedSocket<T> {
    fn drop(&mut self) {
        self.world.with(|state| {
            state.sockets.remove(&self.id);
            state.note_receivers();
        });
    }
}

impl State {
    /// Whether a socket has a datagram or a timestamp waiting, or is closed.
    pub(crate) fn is_ready(&mut self, id: SocketId) -> bool {
        let timestamped = self
            .sockets
            .get(&id)
            .is_some_and(|socket| socket.has_timestamps(self.platform));
        timestamped || !self.readiness(id, Interest::Receive).timed_out()
    }

    /// Returns the parts of `interest` that a socket can serve now; takes a waking call.
    fn readiness(&mut self, id: SocketId, interest: Interest) -> Readiness {
        let Some(socket) = self.sockets.get(&id) else {
            return Readiness {
                closed: true,
                ..Readiness::default()
            };
        };
        let homeless = self.homeless(socket);
        let waiting = socket.has_timestamps(self.platform);
        let readiness = Readiness {
            receive: interest == Interest::Receive
                && (!socket.arrived.is_empty() || socket.pending.is_some() || homeless),
            timestamps: interest == Interest::Timestamps && waiting,
            send: interest == Interest::Send,
            woken: interest == Interest::Timestamps && socket.woken,
            closed: socket.closed,
        };
        if readiness.woken {
            if let Some(socket) = self.sockets.get_mut(&id) {
                socket.woken = false;
            }
        }
        readiness
    }
}
