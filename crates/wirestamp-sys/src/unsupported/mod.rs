//! The backend of systems that wirestamp does not support: every call returns `NotSupported` with the
//! system's name. Simulated NICs work everywhere.

use std::net::{IpAddr, SocketAddr};
#[cfg(unix)]
use std::os::fd::OwnedFd;
#[cfg(windows)]
use std::os::windows::io::OwnedSocket as OwnedFd;
use std::sync::OnceLock;
use std::time::{Instant, SystemTime as StandardTime, UNIX_EPOCH};
use wirestamp_core::backend::{
    Backend, ChangeSink, DatagramSocket, HardwareClock, Incoming, Interest, InternetSocket, Job,
    NoSocket, Outgoing, Readiness,
};
use wirestamp_core::capability::Capabilities;
use wirestamp_core::configuration::{Granted, HardwareConfiguration, Timestamping};
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::ethernet::Ethertype;
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};
use wirestamp_core::time::{MonotonicTime, Span, UtcCrossTimestamp, UtcTime};
use wirestamp_core::timestamp::TransmitTracker;
use wirestamp_core::{Error, ErrorKind, Result};

/// This system, which wirestamp does not know.
#[derive(Debug, Clone, Copy, Default)]
pub struct System;

/// Never made: no hardware clock can be opened here.
#[derive(Debug)]
pub enum Clock {}

/// Never made: no socket can be bound here.
#[derive(Debug)]
pub enum Socket {}

/// Never made: nothing is reported here.
#[derive(Debug)]
pub enum Subscription {}

/// Never made: nothing is run here.
#[derive(Debug)]
pub enum Task {}

fn unsupported(operation: &'static str) -> Error {
    Error::new(
        ErrorKind::NotSupported,
        operation,
        std::env::consts::OS,
        "wirestamp has no backend for this system",
    )
    .with_remedy("use Linux or Windows, or a simulated NIC (sim0)")
}

impl System {
    /// The running system.
    pub const fn new() -> Self {
        Self
    }
}

fn since_first_use() -> MonotonicTime {
    static START: OnceLock<Instant> = OnceLock::new();
    let elapsed = START.get_or_init(Instant::now).elapsed();
    MonotonicTime::from_nanoseconds(1) + Span::from(elapsed)
}

impl Backend for System {
    type HardwareClock = Clock;
    type Socket = Socket;
    type EthernetSocket = NoSocket;
    type Subscription = Subscription;
    type Task = Task;

    fn now(&self) -> MonotonicTime {
        since_first_use()
    }

    fn utc_cross_timestamp(&self) -> UtcCrossTimestamp {
        let before = since_first_use();
        let since_1970 = StandardTime::now()
            .duration_since(UNIX_EPOCH)
            .map(Span::from)
            .unwrap_or_default();
        let utc = UtcTime::from_nanoseconds(0) + since_1970;
        UtcCrossTimestamp {
            before,
            utc,
            after: since_first_use(),
        }
    }

    fn interfaces(&self) -> Result<Vec<InterfaceDescription>> {
        Err(unsupported("list interfaces"))
    }

    fn supported(&self, _: &InterfaceDescription) -> Result<Capabilities> {
        Err(unsupported("query supported capabilities"))
    }

    fn active(&self, _: &InterfaceDescription) -> Result<Capabilities> {
        Err(unsupported("query active capabilities"))
    }

    fn configuration(&self, _: &InterfaceDescription) -> Result<HardwareConfiguration> {
        Err(unsupported("read the hardware configuration"))
    }

    fn configure(
        &self,
        _: &InterfaceDescription,
        _: HardwareConfiguration,
    ) -> Result<HardwareConfiguration> {
        Err(unsupported("configure hardware timestamping"))
    }

    fn open_clock(&self, _: &InterfaceDescription) -> Result<Clock> {
        Err(unsupported("open the hardware clock"))
    }

    fn open_ethernet(&self, _: &InterfaceDescription, _: Ethertype) -> Result<NoSocket> {
        Err(unsupported("open an Ethernet socket"))
    }

    fn bind(&self, _: SocketAddr, _: Option<&InterfaceDescription>) -> Result<Socket> {
        Err(unsupported("bind a timestamping socket"))
    }

    fn subscribe(&self, _: ChangeSink) -> Result<Subscription> {
        Err(unsupported("watch for changes"))
    }

    fn run(&self, _: Span, _: Job) -> Result<Task> {
        Err(unsupported("run periodic work"))
    }
}

impl HardwareClock for Clock {
    fn cross_timestamps(&mut self, _: usize, _: &mut Vec<CrossTimestamp>) -> Result<()> {
        match *self {}
    }
}

impl Socket {
    /// Refused.
    ///
    /// # Errors
    /// `NotSupported`.
    #[cfg(any(unix, windows))]
    pub fn adopt(_: OwnedFd) -> Result<(Self, TransmitTracker)> {
        Err(unsupported("adopt a socket"))
    }

    /// Never called.
    #[cfg(any(unix, windows))]
    pub fn into_handle(self) -> OwnedFd {
        match self {}
    }

    /// Never called.
    pub fn interface(&self) -> Option<InterfaceIndex> {
        match *self {}
    }

    /// Never called.
    pub fn is_local(&self) -> bool {
        match *self {}
    }
}

impl DatagramSocket for Socket {
    fn tracker(&self) -> TransmitTracker {
        match *self {}
    }

    fn local_address(&self) -> Result<SocketAddr> {
        match *self {}
    }

    fn join_multicast(&self, _: IpAddr, _: InterfaceIndex) -> Result<()> {
        match *self {}
    }

    fn leave_multicast(&self, _: IpAddr, _: InterfaceIndex) -> Result<()> {
        match *self {}
    }

    fn configure(&self, _: &Timestamping, _: &mut TransmitTracker) -> Result<Granted> {
        match *self {}
    }

    fn send(&self, _: &[Outgoing<'_>]) -> Result<usize> {
        match *self {}
    }

    fn receive(&self, _: &mut [Incoming<'_>]) -> Result<usize> {
        match *self {}
    }

    fn read_transmit_timestamps(&self, _: &mut TransmitTracker, _: usize) -> Result<bool> {
        match *self {}
    }

    fn wait(&self, _: Interest, _: MonotonicTime) -> Result<Readiness> {
        match *self {}
    }

    fn wake(&self) {
        match *self {}
    }

    fn close(&self) {
        match *self {}
    }

    fn dropped(&self) -> u64 {
        match *self {}
    }
}

impl InternetSocket for Socket {
    fn connect(&self, _: SocketAddr) -> Result<()> {
        match *self {}
    }

    fn set_source(&self, _: Option<IpAddr>) -> Result<()> {
        match *self {}
    }

    fn set_multicast(&self, _: InterfaceIndex, _: u32, _: bool) -> Result<()> {
        match *self {}
    }
}
