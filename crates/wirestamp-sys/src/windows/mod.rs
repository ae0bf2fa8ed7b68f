//! Windows: what fulfils the contract, and from which file.

mod api;
mod call;
mod capability;
mod clock;
mod config_change;
mod error;
mod handle;
mod hardware_clock;
mod interface;
mod socket;
mod switch;
#[path = "../task.rs"]
mod task;
pub mod utc;
mod watch;

pub use hardware_clock::Clock;
pub use socket::{Alarm, Socket};
pub use task::Task;
pub use watch::Subscription;

use crate::windows_wire as wire;
use std::net::SocketAddr;
use wirestamp_core::Result;
use wirestamp_core::backend::{Backend, ChangeSink, Job, NoSocket};
use wirestamp_core::capability::Capabilities;
use wirestamp_core::configuration::HardwareConfiguration;
use wirestamp_core::interface::InterfaceDescription;
use wirestamp_core::time::{Frequency, MonotonicTime, RealTimeClock, Span, UtcCrossTimestamp};

/// How often the performance counter ticks a second. [`Backend::now`] reads it.
pub fn counter_frequency() -> Frequency {
    clock::rate()
}

/// The running Windows.
#[derive(Debug, Clone, Copy, Default)]
pub struct System;

impl System {
    /// The running system.
    pub const fn new() -> Self {
        Self
    }
}

impl Backend for System {
    type HardwareClock = Clock;
    type Socket = Socket;
    type EthernetSocket = NoSocket;
    type Subscription = Subscription;
    type Task = Task;

    fn now(&self) -> MonotonicTime {
        clock::now()
    }

    fn utc_cross_timestamp(&self) -> UtcCrossTimestamp {
        clock::close_wall()
    }

    fn real_time_clock(&self) -> RealTimeClock {
        clock::real_time_clock()
    }

    fn interfaces(&self) -> Result<Vec<InterfaceDescription>> {
        interface::list()
    }

    fn supported(&self, interface: &InterfaceDescription) -> Result<Capabilities> {
        capability::supported(interface)
    }

    fn active(&self, interface: &InterfaceDescription) -> Result<Capabilities> {
        capability::active(interface)
    }

    fn configuration(&self, interface: &InterfaceDescription) -> Result<HardwareConfiguration> {
        switch::configuration(interface)
    }

    fn configure(
        &self,
        interface: &InterfaceDescription,
        wanted: HardwareConfiguration,
    ) -> Result<HardwareConfiguration> {
        switch::configure(interface, wanted)
    }

    fn open_clock(&self, interface: &InterfaceDescription) -> Result<Clock> {
        Clock::open(interface)
    }

    fn bind(&self, local: SocketAddr, interface: Option<&InterfaceDescription>) -> Result<Socket> {
        Socket::bind(local, interface)
    }

    fn subscribe(&self, sink: ChangeSink) -> Result<Subscription> {
        watch::subscribe(sink)
    }

    fn run(&self, first_after: Span, job: Job) -> Result<Task> {
        task::run(first_after, job)
    }
}
