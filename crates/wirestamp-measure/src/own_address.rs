//! The address that an interface sends from.

use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use wirestamp::{Error, ErrorKind, Interface, Result};

/// Returns one of the interface's own addresses of the wanted kind, with any port; link-local ones last.
///
/// # Errors
/// `InvalidInput` if it has none: give the interface one, or ask for the other family.
pub fn own_address(interface: &Interface, wanted: impl Fn(&IpAddr) -> bool) -> Result<SocketAddr> {
    let is_local =
        |address: &IpAddr| matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local());
    let addresses = interface
        .description()
        .addresses
        .iter()
        .map(|own| own.address);
    match addresses.filter(wanted).min_by_key(is_local) {
        Some(IpAddr::V6(address)) if address.is_unicast_link_local() => {
            Ok(SocketAddrV6::new(address, 0, 0, interface.index().get()).into())
        }
        Some(address) => Ok((address, 0).into()),
        None => {
            let cause = "the interface has no address that fits";
            let (kind, name) = (ErrorKind::InvalidInput, interface.name());
            let error = Error::new(kind, "choose an address to send from", name, cause);
            Err(error.with_remedy("give it one, or send to an address of the other family"))
        }
    }
}
