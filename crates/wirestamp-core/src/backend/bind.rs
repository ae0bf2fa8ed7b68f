//! How a socket is bound, where that is not as usual.

use crate::error::{Error, ErrorKind, Result};
use core::net::SocketAddr;

/// Options of a UDP socket that count before it is bound. What is omitted is as the system has it.
///
/// For options that are not here, set them on a socket of `socket2`, bind that, and adopt it with `UdpSocket::adopt`. One
/// interface alone: `Interface::bind_with`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct BindOptions {
    /// Whether the address may be bound although others have it: `SO_REUSEADDR`. On Linux several sockets then have the
    /// address of a multicast group or of a broadcast, and each gets every datagram of it.
    pub reuse_address: bool,
    /// Whether several sockets of one user share the address, and the system spreads datagrams over them:
    /// `SO_REUSEPORT`. All of them need it.
    pub reuse_port: bool,
    /// Whether an IPv6 socket leaves IPv4 alone: `IPV6_V6ONLY`. `None`: it serves both if it is bound to the "any"
    /// address.
    pub ipv6_only: Option<bool>,
}

impl BindOptions {
    /// Everything as usual.
    pub const fn new() -> Self {
        Self {
            reuse_address: false,
            reuse_port: false,
            ipv6_only: None,
        }
    }

    /// Binds although others have the address.
    #[must_use]
    pub const fn reuse_address(mut self) -> Self {
        self.reuse_address = true;
        self
    }

    /// Shares the address with other sockets that do the same.
    #[must_use]
    pub const fn reuse_port(mut self) -> Self {
        self.reuse_port = true;
        self
    }

    /// Chooses whether an IPv6 socket leaves IPv4 alone.
    #[must_use]
    pub const fn ipv6_only(mut self, only: bool) -> Self {
        self.ipv6_only = Some(only);
        self
    }

    /// Refuses what a backend has no way to do, for backends.
    ///
    /// # Errors
    /// `NotSupported` if anything is not as usual.
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
