//! What only Windows' interface asks of this machine: options and errors of sockets are in `option` and `socket`,
//! names in `names`.

mod call;
pub(crate) mod names;
mod option;
mod socket;

pub(crate) use socket::{
    Stream, apply, bind_to, buffer, keep_awake, pending_error, readable, unbound,
};

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use wirestamp_core::interface::InterfaceDescription;
use wirestamp_core::time::Frequency;

/// Its adapters and sockets are used.
pub(crate) const IS_USED: bool = true;

/// That of Windows 10 and later on nearly all machines.
const FREQUENCY: Frequency = match Frequency::from_hertz(10_000_000) {
    Some(frequency) => frequency,
    None => Frequency::GIGAHERTZ,
};

/// How often the performance counter ticks a second.
pub(crate) fn frequency() -> Frequency {
    FREQUENCY
}

/// The address of this machine that packets to `to` come from. Sends nothing.
pub(crate) fn source_towards(to: SocketAddr) -> std::io::Result<IpAddr> {
    let wildcard: IpAddr = match to {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((wildcard, 0))?;
    socket.connect((to.ip(), 9))?; // any port: only the route is asked for
    Ok(socket.local_addr()?.ip())
}

/// MAC address and speed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Link {
    pub(crate) hardware_address: Vec<u8>,
    pub(crate) bits_per_second: Option<u64>,
}

/// Returns the system's report of an interface's link; empty where there is none.
pub(crate) fn link(interface: &InterfaceDescription) -> Link {
    let same = |address: &nix::ifaddrs::InterfaceAddress| address.interface_name == interface.name;
    let physical = |address: nix::ifaddrs::InterfaceAddress| {
        address.address.and_then(|address| {
            address
                .as_link_addr()
                .and_then(nix::sys::socket::LinkAddr::addr)
        })
    };
    let known = nix::ifaddrs::getifaddrs()
        .ok()
        .and_then(|mut all| all.find_map(|it| same(&it).then(|| physical(it))?));
    let megabits = std::fs::read_to_string(format!("/sys/class/net/{}/speed", interface.name)).ok();
    let megabits = megabits.and_then(|text| text.trim().parse::<u64>().ok()); // -1 where it is not known
    Link {
        // Loopback has one of zeros, which is none.
        hardware_address: known
            .filter(|bytes| *bytes != [0; 6])
            .map(|bytes| bytes.to_vec())
            .unwrap_or_default(),
        bits_per_second: megabits.and_then(|megabits| megabits.checked_mul(1_000_000)),
    }
}
