//! The parts of AF_XDP that do not make system calls: options, drivers' features, and the order in
//! which modes are tried.

mod send;

pub use send::{SendLedger, XdpSendOptions, XdpSendStatistics, frame_fault};

use crate::ethernet::Ethertype;

/// The packets to take from the driver. The kernel's network stack does not get them; it gets all
/// others as usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum XdpFilter {
    /// Frames of one ethertype, without a VLAN tag, for example PTP over Ethernet.
    Ethertype(Ethertype),
    /// UDP datagrams to one port, over IPv4 or IPv6. Only unfragmented ones without a VLAN tag,
    /// IPv4 options or IPv6 extension headers.
    UdpPort(u16),
    /// All packets of the queue. The host receives nothing from this queue any more.
    Everything,
}

/// The options of an AF_XDP receiver. Every method returns the changed options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct XdpOptions {
    /// The packets to take.
    pub filter: XdpFilter,
    /// The NIC's receive queue.
    pub queue: u32,
    /// The number of packets that may wait: a power of two from 64 to 65,536. Each takes 2 KiB (4
    /// KiB if packets may be larger).
    pub frames: u32,
    /// Whether to attach the XDP program to the driver, for which many drivers restart the NIC.
    /// Otherwise the kernel runs it later and with a copy, and the NIC is not changed.
    pub driver: bool,
}

impl XdpOptions {
    /// Creates options for packets of `filter` from the first queue, with room for 4,096 packets,
    /// taken from the driver if it supports that.
    pub const fn new(filter: XdpFilter) -> Self {
        Self {
            filter,
            queue: 0,
            frames: 4_096,
            driver: true,
        }
    }

    /// Sets the receive queue.
    #[must_use]
    pub const fn queue(self, queue: u32) -> Self {
        Self { queue, ..self }
    }

    /// Sets the number of packets that may wait.
    #[must_use]
    pub const fn frames(self, frames: u32) -> Self {
        Self { frames, ..self }
    }

    /// Sets whether to attach the XDP program to the driver. If `false`, the kernel copies packets,
    /// they have no hardware timestamps, and the link stays up.
    #[must_use]
    pub const fn driver(self, driver: bool) -> Self {
        Self { driver, ..self }
    }
}

/// The AF_XDP features that a driver reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct XdpFeatures {
    /// Whether the driver runs XDP programs and can pass packets to AF_XDP sockets. If not, the
    /// kernel does, later and with a copy.
    pub driver: bool,
    /// Whether the NIC writes packets directly into the program's memory.
    pub zero_copy: bool,
    /// Whether received packets have the NIC's timestamp.
    pub receive_timestamp: bool,
    /// Whether sent packets get the NIC's timestamp.
    pub transmit_timestamp: bool,
}

impl XdpFeatures {
    /// Creates features from the kernel's masks: `xdp-features`, `xdp-rx-metadata-features` and
    /// `xsk-features` of the netlink family `netdev`.
    pub const fn from_masks(driver: u64, receive: u64, socket: u64) -> Self {
        const REDIRECT: u64 = 1 << 1;
        const ZERO_COPY: u64 = 1 << 3;
        const TIMESTAMP: u64 = 1;
        Self {
            driver: driver & REDIRECT != 0,
            zero_copy: driver & ZERO_COPY != 0,
            receive_timestamp: receive & TIMESTAMP != 0,
            transmit_timestamp: socket & TIMESTAMP != 0,
        }
    }
}

/// The way in which packets get from the NIC into the program's memory, or back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum XdpMode {
    /// The NIC accesses the program's memory directly.
    ZeroCopy,
    /// The driver copies packets.
    Copy,
    /// The kernel copies packets after it has created a socket buffer for each. For drivers without
    /// XDP.
    Generic,
}

/// A mode of receiving or sending, and whether the NIC's timestamps are requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct XdpWay {
    /// How packets are transferred.
    pub mode: XdpMode,
    /// Whether the NIC's timestamps are requested: for received packets by the XDP program, which
    /// is bound to the NIC (Linux 6.3), for sent ones in each frame (Linux 6.11).
    pub hardware: bool,
}

impl XdpWay {
    /// Returns the receive modes that a driver may support, best first. The first that the system
    /// accepts is used.
    ///
    /// ```
    /// use wirestamp_core::xdp::{XdpFeatures, XdpMode, XdpWay};
    ///
    /// let ways = XdpWay::of(XdpFeatures::from_masks(0, 0, 0));
    /// assert_eq!(ways.clone().count(), 1);
    /// assert!(ways.into_iter().all(|way| way.mode == XdpMode::Generic && !way.hardware));
    /// ```
    pub fn of(features: XdpFeatures) -> impl Iterator<Item = Self> + Clone {
        let modes = [XdpMode::ZeroCopy, XdpMode::Copy, XdpMode::Generic];
        let ways = modes
            .into_iter()
            .flat_map(|mode| [true, false].map(|hardware| Self { mode, hardware }));
        ways.filter(move |way| match way.mode {
            XdpMode::ZeroCopy => {
                features.driver && features.zero_copy && way.hardware == features.receive_timestamp
            }
            XdpMode::Copy => features.driver && (features.receive_timestamp || !way.hardware),
            XdpMode::Generic => !way.hardware,
        })
    }
}

/// The counters of an AF_XDP receiver since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct XdpStatistics {
    /// Packets dropped because the program did not fetch earlier ones in time: no frame was free,
    /// or the ring was full.
    pub dropped: u64,
    /// Packets dropped for other reasons, mostly because they were longer than a frame.
    pub invalid: u64,
    /// Packets passed to the kernel instead, because the driver has no room for their timestamps.
    pub passed_on: u64,
}

impl XdpStatistics {
    /// Creates statistics from three counts.
    pub const fn new(dropped: u64, invalid: u64, passed_on: u64) -> Self {
        Self {
            dropped,
            invalid,
            passed_on,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn ways(features: XdpFeatures) -> Vec<(XdpMode, bool)> {
        XdpWay::of(features)
            .map(|way| (way.mode, way.hardware))
            .collect()
    }

    #[test]
    fn the_best_way_of_a_driver_comes_first_and_the_generic_one_last() {
        let all = XdpFeatures::from_masks(0xf, 1, 1);
        assert!(all.transmit_timestamp && all.receive_timestamp);
        assert_eq!(
            ways(all),
            [
                (XdpMode::ZeroCopy, true),
                (XdpMode::Copy, true),
                (XdpMode::Copy, false),
                (XdpMode::Generic, false)
            ]
        );
        // a veth interface: timestamps of received packets, no zero copy
        let veth = XdpFeatures::from_masks(0x33, 7, 0);
        assert_eq!(
            ways(veth),
            [
                (XdpMode::Copy, true),
                (XdpMode::Copy, false),
                (XdpMode::Generic, false)
            ]
        );
        let old = XdpFeatures::from_masks(0xb, 0, 0);
        assert_eq!(
            ways(old),
            [
                (XdpMode::ZeroCopy, false),
                (XdpMode::Copy, false),
                (XdpMode::Generic, false)
            ]
        );
        assert_eq!(ways(XdpFeatures::default()), [(XdpMode::Generic, false)]);
    }
}
