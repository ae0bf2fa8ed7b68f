//! AF_XDP: packets taken from the driver before the kernel has made anything of them, and frames handed to it. What can be asked for,
//! what a NIC can, and in which order the ways to have it are tried. Reads no packet.

mod send;

pub use send::{SendLedger, XdpSendOptions, XdpSendStatistics, frame_fault};

use crate::ethernet::Ethertype;

/// Which packets are taken from the driver. The others go on to the kernel as ever; those that are taken don't.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum XdpFilter {
    /// Frames of one ethertype, without a VLAN tag: PTP over Ethernet, say.
    Ethertype(Ethertype),
    /// UDP datagrams to one port over IPv4 or IPv6: without a VLAN tag, in one piece, without IPv4 options or IPv6 extension headers.
    UdpPort(u16),
    /// Every packet of the queue. The host is cut off from what comes in there.
    Everything,
}

/// What to take, and with which memory. Every method returns the changed options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct XdpOptions {
    /// Which packets.
    pub filter: XdpFilter,
    /// From which of the NIC's receive queues.
    pub queue: u32,
    /// How many packets may wait: a power of two, 64 to 65,536. Each takes 2 KiB (4 KiB where packets may be larger).
    pub frames: u32,
    /// Whether the driver is asked, which many restart the NIC for. Otherwise the kernel runs the program, later and with a copy, and the NIC is left as it is.
    pub driver: bool,
}

impl XdpOptions {
    /// Takes what `filter` says from the first queue, with room for 4,096 packets, from the driver where it can.
    pub const fn new(filter: XdpFilter) -> Self {
        Self {
            filter,
            queue: 0,
            frames: 4_096,
            driver: true,
        }
    }

    /// Chooses the receive queue.
    #[must_use]
    pub const fn queue(self, queue: u32) -> Self {
        Self { queue, ..self }
    }

    /// Sets how many packets may wait.
    #[must_use]
    pub const fn frames(self, frames: u32) -> Self {
        Self { frames, ..self }
    }

    /// Sets whether the driver is asked. `false`: packets come by the kernel's copy, without the NIC's timestamps, and its link stays up.
    #[must_use]
    pub const fn driver(self, driver: bool) -> Self {
        Self { driver, ..self }
    }
}

/// What a driver says that it can do with AF_XDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct XdpFeatures {
    /// The driver runs XDP programs, and can hand packets to AF_XDP sockets. Without it the kernel does, later and with a copy.
    pub driver: bool,
    /// The NIC writes packets into the program's own memory.
    pub zero_copy: bool,
    /// Received packets have the NIC's timestamp.
    pub receive_timestamp: bool,
    /// Sent packets have the NIC's timestamp.
    pub transmit_timestamp: bool,
}

impl XdpFeatures {
    /// Makes them from the kernel's masks: `xdp-features`, `xdp-rx-metadata-features` and `xsk-features` of the netlink family `netdev`.
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

/// How packets come from the NIC into the program's memory, or from there to the NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum XdpMode {
    /// The NIC writes and reads them there.
    ZeroCopy,
    /// The driver copies them.
    Copy,
    /// The kernel copies them, after it has made a socket buffer of each: for drivers without XDP.
    Generic,
}

/// A way to receive, or to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct XdpWay {
    /// How packets come, or go.
    pub mode: XdpMode,
    /// Whether the NIC is asked for its timestamps: of received packets the XDP program asks, bound to the NIC (Linux 6.3); of sent ones
    /// each frame (Linux 6.11).
    pub hardware: bool,
}

impl XdpWay {
    /// Returns the ways to receive that a driver may offer, best first. The first that the system accepts is taken.
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

/// What an AF_XDP socket counted since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct XdpStatistics {
    /// Packets that were dropped because the program did not fetch others in time: no frame was free, or the ring was full.
    pub dropped: u64,
    /// Packets that were dropped for other reasons: longer than a frame, mostly.
    pub invalid: u64,
    /// Packets that went on to the kernel instead, because the driver keeps no room for their timestamps.
    pub passed_on: u64,
}

impl XdpStatistics {
    /// Makes them from three counts.
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
