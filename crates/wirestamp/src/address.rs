//! Conversion of a caller's address (`SocketAddr`, host name and port, MAC address) to a socket's
//! address type.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use wirestamp_core::backend::{Ethernet, Transport, Udp};
use wirestamp_core::ethernet::MacAddress;
use wirestamp_core::{Error, ErrorKind, Result};

/// A value that converts to an address of transport `T`: for UDP everything that implements
/// [`ToSocketAddrs`] (a `SocketAddr`, an address and a port, `"time.example:123"`), for Ethernet a
/// [`MacAddress`].
///
/// Each call that takes a name resolves it first, which can block. If it has several addresses, the
/// first is used.
pub trait ToAddress<T: Transport>: Sized {
    /// Returns the address.
    ///
    /// # Errors
    /// `NoSuchDevice` if a name cannot be resolved; `InvalidInput` if the text is not an address,
    /// or resolves to none.
    fn to_address(self) -> Result<T::Address>;
}

impl<A: ToSocketAddrs> ToAddress<Udp> for A {
    #[inline]
    fn to_address(self) -> Result<SocketAddr> {
        match self.to_socket_addrs() {
            Ok(mut addresses) => addresses.next().ok_or_else(nothing),
            Err(error) => Err(not_found(&error)),
        }
    }
}

impl ToAddress<Ethernet> for MacAddress {
    #[inline]
    fn to_address(self) -> Result<MacAddress> {
        Ok(self)
    }
}

/// Calls `attempt` with each address until it succeeds, as the standard library does; the error is that of the last one.
pub(crate) fn first_that<A>(
    addresses: impl ToSocketAddrs,
    mut attempt: impl FnMut(SocketAddr) -> Result<A>,
) -> Result<A> {
    let addresses = addresses.to_socket_addrs();
    let mut refused = None;
    for address in addresses.map_err(|error| not_found(&error))? {
        match attempt(address) {
            Err(error) => refused = Some(error),
            done => return done,
        }
    }
    Err(refused.unwrap_or_else(nothing))
}

#[cold]
fn not_found(error: &io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::InvalidInput => ErrorKind::InvalidInput,
        _ => ErrorKind::NoSuchDevice,
    };
    Error::new(kind, OPERATION, TARGET, error.to_string())
        .with_system(error)
        .with_remedy("check its spelling, and that names can be looked up")
}

#[cold]
fn nothing() -> Error {
    let cause = "no addresses were given";
    Error::new(ErrorKind::InvalidInput, OPERATION, TARGET, cause)
}

const OPERATION: &str = "look up an address";
const TARGET: &str = "what was given for one";
