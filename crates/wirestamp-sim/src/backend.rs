//! The fulfilment of [`Backend`]: each call goes to the state behind the lock.

use crate::handles::{SimulatedClock, SimulatedSocket};
use crate::state::State;
use crate::work::{Subscription, Task};
use crate::world::World;
use std::net::SocketAddr;
use wirestamp_core::Result;
use wirestamp_core::backend::{AnySocket, Backend, ChangeSink, Ethernet, Job};
use wirestamp_core::capability::Capabilities;
use wirestamp_core::configuration::HardwareConfiguration;
use wirestamp_core::ethernet::Ethertype;
use wirestamp_core::interface::InterfaceDescription;
use wirestamp_core::time::{Adjusted, MonotonicTime, RealTimeClock, Span, UtcCrossTimestamp};

impl Backend for World {
    type HardwareClock = SimulatedClock;
    type Socket = SimulatedSocket;
    type EthernetSocket = SimulatedSocket<Ethernet>;
    type Subscription = Subscription;
    type Task = Task;

    fn now(&self) -> MonotonicTime {
        self.with(|state| {
            state.pass(state.cost.now);
            state.monotonic_now()
        })
    }

    fn utc_cross_timestamp(&self) -> UtcCrossTimestamp {
        self.with(|state| {
            let before = state.monotonic_now();
            state.pass(state.cost.now);
            let utc = state.clocks.utc(state.now);
            state.pass(state.cost.now);
            UtcCrossTimestamp {
                before,
                utc,
                after: state.monotonic_now(),
            }
        })
    }

    fn adjusted(&self) -> Adjusted {
        self.with(|state| state.clocks.adjusted(state.now))
    }

    fn real_time_clock(&self) -> RealTimeClock {
        self.with(|state| state.clocks.real_time_clock())
    }

    fn interfaces(&self) -> Result<Vec<InterfaceDescription>> {
        Ok(self.with(State::interfaces))
    }

    fn supported(&self, interface: &InterfaceDescription) -> Result<Capabilities> {
        self.with(|state| state.supported(interface))
    }

    fn active(&self, interface: &InterfaceDescription) -> Result<Capabilities> {
        self.with(|state| state.active(interface))
    }

    fn configuration(&self, interface: &InterfaceDescription) -> Result<HardwareConfiguration> {
        self.with(|state| state.configuration(interface))
    }

    fn configure(
        &self,
        interface: &InterfaceDescription,
        wanted: HardwareConfiguration,
    ) -> Result<HardwareConfiguration> {
        let granted = self.with(|state| state.configure(interface, wanted));
        self.tell_sinks();
        granted
    }

    fn open_clock(&self, interface: &InterfaceDescription) -> Result<SimulatedClock> {
        let (index, number) = self.with(|state| state.open_clock(interface))?;
        Ok(SimulatedClock {
            world: self.clone(),
            index,
            number,
        })
    }

    fn bind(
        &self,
        local: SocketAddr,
        interface: Option<&InterfaceDescription>,
    ) -> Result<SimulatedSocket> {
        let id = self.with(|state| state.bind(local, interface))?;
        Ok(SimulatedSocket::new(self.clone(), id))
    }

    fn open_ethernet(
        &self,
        interface: &InterfaceDescription,
        ethertype: Ethertype,
    ) -> Result<SimulatedSocket<Ethernet>> {
        let id = self.with(|state| state.open_ethernet(interface, ethertype))?;
        Ok(SimulatedSocket::new(self.clone(), id))
    }

    fn wait_any(
        &self,
        sockets: &[AnySocket<'_, Self>],
        until: MonotonicTime,
        ready: &mut Vec<usize>,
    ) -> Result<()> {
        let id = |socket: &AnySocket<'_, Self>| match socket {
            AnySocket::Udp(socket) => socket.id,
            AnySocket::Ethernet(socket) => socket.id,
        };
        let sockets: Vec<_> = sockets.iter().map(id).collect();
        self.with(|state| state.pass(state.cost.now));
        let mut seen = None;
        self.pass_until(until.nanoseconds(), |state| {
            let before = seen.replace(state.sockets.changes());
            (before != seen && sockets.iter().any(|id| state.is_ready(*id))).then_some(())
        });
        self.with(|state| {
            let places = (0..).zip(&sockets);
            let with_news = places.filter(|(_, id)| state.is_ready(**id));
            ready.extend(with_news.map(|(place, _)| place));
        });
        Ok(())
    }

    fn subscribe(&self, sink: ChangeSink) -> Result<Subscription> {
        let id = self.with(|state| state.work.subscribe(sink));
        Ok(Subscription {
            world: self.clone(),
            id,
        })
    }

    fn run(&self, first_after: Span, job: Job) -> Result<Task> {
        let id = self.with(|state| {
            let due = state
                .now
                .saturating_add(first_after.saturating_nanoseconds().max(0));
            state.work.add_job(due, job)
        });
        Ok(Task {
            world: self.clone(),
            id,
        })
    }
}
