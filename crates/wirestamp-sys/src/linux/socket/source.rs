//! The address that datagrams come from, where it is not left to the system.
//!
//! Source: ip(7) and ipv6(7), `IP_PKTINFO` and `IPV6_PKTINFO` in a control message of a send.

use super::messages::SEND_CONTROL;
use super::{Kind, Socket};
use crate::cmsg::ControlBuffer;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};
use wirestamp_core::Result;

/// The source address that was set for a socket.
#[derive(Debug, Default)]
pub(super) struct SourceAddress {
    /// Read before each send: the lock is for those that need it.
    is_set: AtomicBool,
    address: RwLock<Option<IpAddr>>,
}

impl SourceAddress {
    #[inline]
    pub(super) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    pub(super) fn get(&self) -> Option<IpAddr> {
        let address = || *self.address.read().unwrap_or_else(PoisonError::into_inner);
        self.is_set().then(address).flatten()
    }

    fn set(&self, address: Option<IpAddr>) {
        let mut known = self.address.write().unwrap_or_else(PoisonError::into_inner);
        *known = address;
        self.is_set.store(address.is_some(), Ordering::Release);
    }
}

impl Socket {
    pub(super) fn send_from(&self, source: Option<IpAddr>) -> Result<()> {
        let source = source.map(|source| self.kind.source(source)).transpose()?;
        self.source.set(source);
        Ok(())
    }
}

/// Says where a datagram comes from. An IPv4 address is written as one on a dual-stack socket as well: its IPv4 datagrams take the way of IPv4's.
pub(super) fn write(source: IpAddr, control: &mut ControlBuffer<SEND_CONTROL>) {
    let fits = match source {
        IpAddr::V4(address) => control.push(
            libc::IPPROTO_IP,
            libc::IP_PKTINFO,
            &in_pktinfo(address.octets()),
        ),
        IpAddr::V6(address) => control.push(
            libc::IPPROTO_IPV6,
            libc::IPV6_PKTINFO,
            &in6_pktinfo(address.octets()),
        ),
    };
    debug_assert!(
        fits,
        "the control buffer holds the source beside what asks for a timestamp"
    );
}

/// Interface (0: whichever the route has), source, and what a send does not read.
fn in_pktinfo([a, b, c, d]: [u8; 4]) -> [u8; size_of::<libc::in_pktinfo>()] {
    [0, 0, 0, 0, a, b, c, d, 0, 0, 0, 0]
}

/// Source, interface (0: whichever the route has).
fn in6_pktinfo(address: [u8; 16]) -> [u8; size_of::<libc::in6_pktinfo>()] {
    let mut information = [0; size_of::<libc::in6_pktinfo>()];
    information[..address.len()].copy_from_slice(&address);
    information
}
