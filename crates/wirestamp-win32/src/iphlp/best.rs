//! The exported questions for the interface that packets to an address leave by.

use crate::abi::codes::ERROR_INVALID_PARAMETER;
use crate::adapter::simulated::{self, Simulation};
use crate::adapter::{self, Adapter, native};
use crate::address;
use crate::iphlp::exports::told;
use crate::memory;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// `ERROR_NETWORK_UNREACHABLE`.
const ERROR_NETWORK_UNREACHABLE: u32 = 1231;

fn has(adapter: &Adapter, address: IpAddr) -> bool {
    let mut own = adapter.description.addresses.iter();
    own.any(|known| known.address == address)
}

/// The index of the interface towards `to`.
fn towards(to: SocketAddr) -> Result<u32, u32> {
    if let SocketAddr::V6(to) = to {
        if to.scope_id() != 0 {
            return Ok(to.scope_id());
        }
    }
    let simulation = simulated::chosen().map_err(|_| ERROR_INVALID_PARAMETER)?;
    let found = match simulation.filter(|_| Simulation::owns(to.ip())) {
        // Both simulated adapters are in one network; an own address is its own interface's.
        Some(_) => adapter::find(|one| one.simulation.is_some() && has(one, to.ip()))
            .or_else(|_| adapter::find(|one| one.simulation.is_some())),
        None => {
            let from = native::source_towards(to).map_err(|_| ERROR_NETWORK_UNREACHABLE)?;
            adapter::find(|one| one.simulation.is_none() && has(one, from))
        }
    };
    found
        .map(|adapter| adapter.description.index.get())
        .map_err(|_| ERROR_NETWORK_UNREACHABLE)
}

/// # Safety
/// `index` is null or writable.
unsafe fn give(found: Result<u32, u32>, index: *mut u32) -> u32 {
    told(found.and_then(|found| {
        // SAFETY: the caller's promise.
        unsafe { memory::write(index, found) }.ok_or(ERROR_INVALID_PARAMETER)
    }))
}

export! {
    /// The index of the interface towards an address.
    ///
    /// # Safety
    /// `to` is null or a socket address of its family; `index` is null or writable.
    fn GetBestInterfaceEx(to: *const u8, index: *mut u32) -> u32 {
        // SAFETY: the caller's promise.
        let to = unsafe { address::of_its_family(to) }.map_err(|_| ERROR_INVALID_PARAMETER);
        // SAFETY: the caller's promise.
        unsafe { give(to.and_then(towards), index) }
    }

    /// The index of the interface towards an IPv4 address, in network byte order.
    ///
    /// # Safety
    /// `index` is null or writable.
    fn GetBestInterface(to: u32, index: *mut u32) -> u32 {
        let to = Ipv4Addr::from(to.to_ne_bytes());
        // SAFETY: the caller's promise.
        unsafe { give(towards(SocketAddr::new(to.into(), 0)), index) }
    }
}
