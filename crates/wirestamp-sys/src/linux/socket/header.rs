//! The fields of the IP header that programs see: traffic class (DSCP and ECN), hop limit (TTL) and whether there may be fragments.
//!
//! Source: ip(7), ipv6(7). A dual-stack socket has the options of both versions, and IPv4's may be refused where only IPv6's are there.

use super::Socket;
use crate::native::call;
use std::io;
use std::os::fd::AsFd;
use wirestamp_core::Result;

/// What can be set for sending.
#[derive(Debug, Clone, Copy)]
pub(super) enum Field {
    TrafficClass,
    HopLimit,
}

impl Socket {
    pub(super) fn set_header_reports(&self) -> Result<()> {
        let both = |name4, name6| self.set_of_both(name4, name6, 1);
        both(libc::IP_RECVTOS, libc::IPV6_RECVTCLASS)
            .and_then(|()| both(libc::IP_RECVTTL, libc::IPV6_RECVHOPLIMIT))
            .map_err(|error| self.failure("report packet headers", &error))
    }

    pub(super) fn set_header_field(&self, field: Field, value: u8) -> Result<()> {
        let (operation, name4, name6) = match field {
            Field::TrafficClass => ("set the traffic class", libc::IP_TOS, libc::IPV6_TCLASS),
            Field::HopLimit => ("set the hop limit", libc::IP_TTL, libc::IPV6_UNICAST_HOPS),
        };
        self.set_of_both(name4, name6, value.into())
            .map_err(|error| self.failure(operation, &error))
    }

    pub(super) fn set_whole(&self) -> Result<()> {
        // both versions have the same values
        self.set_of_both(
            libc::IP_MTU_DISCOVER,
            libc::IPV6_MTU_DISCOVER,
            libc::IP_PMTUDISC_DO,
        )
        .map_err(|error| self.failure("forbid fragments", &error))
    }

    pub(super) fn known_path_mtu(&self) -> Result<u32> {
        let (level, name) = if self.kind.ipv6 {
            (libc::IPPROTO_IPV6, libc::IPV6_MTU)
        } else {
            (libc::IPPROTO_IP, libc::IP_MTU)
        };
        call::number(self.as_fd(), level, name)
            .map(i32::unsigned_abs)
            .map_err(|error| self.failure("read the path's MTU", &error))
    }

    fn set_of_both(&self, name4: i32, name6: i32, value: i32) -> io::Result<()> {
        let set = |level, name| call::set_number(self.as_fd(), level, name, value);
        if !self.kind.ipv6 {
            return set(libc::IPPROTO_IP, name4);
        }
        let _ = set(libc::IPPROTO_IP, name4); // for IPv4 peers of a dual-stack socket
        set(libc::IPPROTO_IPV6, name6)
    }
}
