//! The list of interfaces. Their capabilities are elsewhere.

use super::call;
use super::error::system_error;
use super::wire::adapter::AdapterRecord;
use wirestamp_core::Result;
use wirestamp_core::interface::InterfaceDescription;

/// Lists the interfaces that a protocol is bound to.
pub(super) fn list() -> Result<Vec<InterfaceDescription>> {
    let records =
        call::adapters().map_err(|error| system_error("list interfaces", "this system", &error))?;
    Ok(records
        .into_iter()
        .filter_map(AdapterRecord::describe)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};
    use wirestamp_core::interface::InterfaceState;

    #[test]
    fn the_loopback_interface_is_there_with_its_address() {
        let interfaces = list().expect("a list");
        let loopback = interfaces
            .iter()
            .find(|interface| interface.loopback)
            .expect("loopback");
        assert_eq!(loopback.state, InterfaceState::Up);
        assert!(
            loopback
                .addresses
                .iter()
                .any(|known| known.address == IpAddr::V4(Ipv4Addr::LOCALHOST))
        );
        assert!(
            loopback.luid.is_some_and(|luid| luid >> 48 == 24),
            "{:#x?}",
            loopback.luid
        );
    }
}
