//! Options that must be set before a socket is bound.

use crate::error::{Error, ErrorKind, Result};
use core::net::SocketAddr;

/// Options of a UDP socket that must be set before it is bound. Options that are not set keep the
/// system's default.
///
/// To use other options, set them on a socket of `socket2`, bind it, and adopt it with
/// `UdpSocket::adopt`. To bind to one interface, use `Interface::bind_with`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct BindOptions {
    /// Whether the address may be bound although another socket has it (`SO_REUSEADDR`). On Linux
    /// several sockets can then share a multicast or broadcast address, and each receives all of
    /// its datagrams.
    pub reuse_address: bool,
    /// Whether several sockets of one user share the address and the system distributes datagrams
    /// among them (`SO_REUSEPORT`). All of them must set it.
    pub reuse_port: bool,
    /// Whether an IPv6 socket does not serve IPv4 (`IPV6_V6ONLY`). `None`: it serves both if it is
    /// bound to the "any" address.
    pub ipv6_only: Option<bool>,
}

impl BindOptions {
    /// Returns the system's defaults.
    pub const fn new() -> Self {
        Self {
            reuse_address: false,
            reuse_port: false,
            ipv6_only: None,
        }
    }

    /// Allows an address that another socket has.
    #[must_use]
    pub const fn reuse_address(mut self) -> Self {
        self.reuse_address = true;
        self
    }

    /// Shares the address with other sockets that have this option.
    #[must_use]
    pub const fn reuse_port(mut self) -> Self {
        self.reuse_port = true;
        self
    }

    /// Sets whether an IPv6 socket does not serve IPv4.
    #[must_use]
    pub const fn ipv6_only(mut self, only: bool) -> Self {
        self.ipv6_only = Some(only);
        self
    }

    /// Returns an error if an option is set. For backends without options.
    ///
    /// # Errors
    /// `NotSupported` if any option is set.
    pub fn refuse(&self, local: SocketAddr) -> Result<()> {
        if *self == Self::new() {
            return Ok(());
        }
        let cause = "this backend binds sockets without options";
        Err(
            Error::new(ErrorKind::NotSupported, "bind a UDP socket", local, cause)
                .with_remedy("bind a socket of socket2 with them, and adopt it"),
        )
    }
}
