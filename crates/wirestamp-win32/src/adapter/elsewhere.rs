//! The answer where there are no adapters of this machine: none. The clock is real.

use crate::winsock::setting::Setting;
use std::net::{IpAddr, SocketAddr};
use wirestamp_core::backend::{Backend, ChangeSink, HardwareClock, InternetSocket};
use wirestamp_core::capability::Capabilities;
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::interface::InterfaceDescription;
use wirestamp_core::time::{Frequency, MonotonicTime};
use wirestamp_core::{Error, ErrorKind, Result};

/// How often the performance counter ticks a second: Windows' own.
#[cfg(windows)]
pub(crate) fn frequency() -> Frequency {
    wirestamp_sys::counter_frequency()
}

/// How often the performance counter ticks a second: as on nearly all Windows.
#[cfg(not(windows))]
pub(crate) fn frequency() -> Frequency {
    Frequency::from_hertz(10_000_000).unwrap_or(Frequency::GIGAHERTZ)
}

/// Reads the monotonic clock, which the performance counter counts.
pub(crate) fn now() -> MonotonicTime {
    wirestamp_sys::System::new().now()
}

fn none<T>(operation: &'static str) -> Result<T> {
    let cause = "there are simulated adapters only";
    Err(
        Error::new(ErrorKind::NotSupported, operation, "this machine", cause)
            .with_remedy("set WIRESTAMP_SIM"),
    )
}

pub(crate) fn interfaces() -> Result<Vec<InterfaceDescription>> {
    Ok(Vec::new())
}

pub(crate) fn supported(_: &InterfaceDescription) -> Result<Capabilities> {
    none("ask what is supported")
}

pub(crate) fn active(_: &InterfaceDescription) -> Result<Capabilities> {
    none("ask what is active")
}

pub(crate) fn open_clock(_: &InterfaceDescription) -> Result<Clock> {
    none("open the hardware clock")
}

/// There are no routes.
pub(crate) fn source_towards(_: SocketAddr) -> Result<IpAddr> {
    none("ask for a route")
}

/// There are no sockets to wait for.
pub(crate) fn wait_any(_: &[&Socket], _: MonotonicTime) -> Result<()> {
    none("wait for sockets")
}

/// There is nothing to report.
pub(crate) fn subscribe(_: ChangeSink) -> Result<Subscription> {
    Ok(Subscription)
}

pub(crate) struct Subscription;

/// MAC address and speed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Link {
    pub(crate) hardware_address: Vec<u8>,
    pub(crate) bits_per_second: Option<u64>,
}

pub(crate) fn link(_: &InterfaceDescription) -> Link {
    Link::default()
}

/// There is none.
#[derive(Debug)]
pub(crate) enum Clock {}

impl HardwareClock for Clock {
    fn cross_timestamps(&mut self, _: usize, _: &mut Vec<CrossTimestamp>) -> Result<()> {
        match *self {}
    }
}

/// There is none.
#[derive(Debug)]
pub(crate) enum Stream {}

impl Stream {
    pub(crate) fn open(_ipv6: bool) -> Result<Self> {
        none("open a stream socket")
    }
}

/// There is none.
#[derive(Debug)]
pub(crate) enum Socket {}

impl Socket {
    pub(crate) fn unbound(_ipv6: bool) -> Result<Self> {
        none("open a UDP socket")
    }

    pub(crate) fn bind_to(&self, _: SocketAddr) -> Result<()> {
        match *self {}
    }

    pub(crate) fn datagrams(&self) -> &dyn InternetSocket {
        match *self {}
    }

    pub(crate) fn apply(&self, _: &Setting, _ipv6: bool) -> Result<(), i32> {
        match *self {}
    }

    pub(crate) fn pending_error(&self) -> i32 {
        match *self {}
    }

    pub(crate) fn buffer(&self, _receive: bool) -> u32 {
        match *self {}
    }

    pub(crate) fn readable(&self) -> Result<u32, i32> {
        match *self {}
    }
}
