//! The answer where there are no adapters and sockets of this machine: none. The clock is real.

use crate::abi::codes::WSAEOPNOTSUPP;
use crate::winsock::setting::Setting;
use std::net::{IpAddr, SocketAddr};
use wirestamp_core::interface::InterfaceDescription;
use wirestamp_core::time::Frequency;
use wirestamp_core::{Error, ErrorKind, Result};
use wirestamp_sys::Socket;

/// Its adapters and sockets are not used: under Wine they would be this library's own.
pub(crate) const IS_USED: bool = false;

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

fn none<T>(operation: &'static str) -> Result<T> {
    let cause = "there are simulated adapters only";
    Err(
        Error::new(ErrorKind::NotSupported, operation, "this machine", cause)
            .with_remedy("set WIRESTAMP_SIM"),
    )
}

/// There are no routes.
pub(crate) fn source_towards(_: SocketAddr) -> Result<IpAddr> {
    none("ask for a route")
}

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
pub(crate) enum Stream {}

impl Stream {
    pub(crate) fn open(_ipv6: bool) -> Result<Self> {
        none("open a stream socket")
    }
}

pub(crate) fn unbound(_ipv6: bool) -> Result<Socket> {
    none("open a UDP socket")
}

// There is no socket to ask.

pub(crate) fn bind_to(_: &Socket, _: SocketAddr) -> Result<()> {
    none("bind a UDP socket")
}

pub(crate) fn apply(_: &Socket, _: &Setting, _ipv6: bool) -> Result<(), i32> {
    Err(WSAEOPNOTSUPP)
}

pub(crate) fn pending_error(_: &Socket) -> i32 {
    0
}

pub(crate) fn keep_awake(_: &Socket, _awake: bool) {}

pub(crate) fn buffer(_: &Socket, _receive: bool) -> u32 {
    0
}

pub(crate) fn readable(_: &Socket) -> Result<u32, i32> {
    Err(WSAEOPNOTSUPP)
}
