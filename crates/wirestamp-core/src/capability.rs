//! The timestamping capabilities of an interface: which packets it can timestamp or timestamps now,
//! in hardware and in software.
//!
//! Source: `INTERFACE_TIMESTAMP_CAPABILITIES`, `INTERFACE_HARDWARE_TIMESTAMP_CAPABILITIES` and
//! `INTERFACE_SOFTWARE_TIMESTAMP_CAPABILITIES` (`iphlpapi.h`); the specification's page
//! "Packet timestamping", example 1.

use crate::time::Frequency;

/// The packets that a NIC's hardware recognises and timestamps: the specification's 11 flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HardwareCapabilities {
    /// PTPv2 event messages in UDP over IPv4, on receive.
    pub ptp_v2_over_udp_ipv4_event_message_receive: bool,
    /// Any PTPv2 message in UDP over IPv4, on receive.
    pub ptp_v2_over_udp_ipv4_all_message_receive: bool,
    /// PTPv2 event messages in UDP over IPv4, on transmit.
    pub ptp_v2_over_udp_ipv4_event_message_transmit: bool,
    /// Any PTPv2 message in UDP over IPv4, on transmit.
    pub ptp_v2_over_udp_ipv4_all_message_transmit: bool,
    /// PTPv2 event messages in UDP over IPv6, on receive.
    pub ptp_v2_over_udp_ipv6_event_message_receive: bool,
    /// Any PTPv2 message in UDP over IPv6, on receive.
    pub ptp_v2_over_udp_ipv6_all_message_receive: bool,
    /// PTPv2 event messages in UDP over IPv6, on transmit.
    pub ptp_v2_over_udp_ipv6_event_message_transmit: bool,
    /// Any PTPv2 message in UDP over IPv6, on transmit.
    pub ptp_v2_over_udp_ipv6_all_message_transmit: bool,
    /// Every received packet.
    pub all_receive: bool,
    /// Every sent packet.
    pub all_transmit: bool,
    /// Each sent packet for which a timestamp is asked.
    pub tagged_transmit: bool,
}

/// The packets that the driver or kernel timestamps in software: the specification's 3 flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SoftwareCapabilities {
    /// Every received packet.
    pub all_receive: bool,
    /// Every sent packet.
    pub all_transmit: bool,
    /// Each sent packet for which a timestamp is asked.
    pub tagged_transmit: bool,
}

/// Linux' own bit masks, which have more detail than the 14 flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
pub struct KernelMasks {
    /// `SOF_TIMESTAMPING_*` bits (`ethtool_ts_info.so_timestamping`).
    pub so_timestamping: u32,
    /// `1 << HWTSTAMP_TX_*` bits.
    pub transmit_types: u32,
    /// `1 << HWTSTAMP_FILTER_*` bits.
    pub receive_filters: u32,
}

/// The timestamping capabilities of an interface: supported, or active now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
pub struct Capabilities {
    /// The nominal frequency of the hardware clock, from which the true one differs. `None` if
    /// there is no hardware clock, or the driver does not report it.
    #[cfg_attr(feature = "serde", serde(rename = "nominal_frequency_hz"))]
    pub nominal_frequency: Option<Frequency>,
    /// Whether cross timestamps can be taken.
    pub cross_timestamp: bool,
    /// The packets that are timestamped in hardware.
    pub hardware: HardwareCapabilities,
    /// The packets that are timestamped in software.
    pub software: SoftwareCapabilities,
    /// Linux' bit masks; `None` on other systems.
    pub kernel_masks: Option<KernelMasks>,
}

/// The direction of a packet as seen from this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Direction {
    /// From the wire to the application.
    Receive,
    /// From the application to the wire.
    Transmit,
}

/// The Internet protocol that carries a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum AddressFamily {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
}

/// The place where a timestamp is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum TimestampSource {
    /// By the kernel or driver, on the system clock.
    Software,
    /// By the NIC, on its own clock.
    Hardware,
}

/// The timestamps that a PTPv2 application would get, by the specification's rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum PtpVerdict {
    /// Neither software nor hardware timestamps in both directions.
    None,
    /// Software timestamps in both directions.
    Software,
    /// Hardware timestamps in both directions for IPv4 *and* for IPv6.
    Hardware,
}

impl PtpVerdict {
    /// Returns a short, stable name: the one in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Software => "software",
            Self::Hardware => "hardware",
        }
    }
}

impl TimestampSource {
    /// Returns a short, stable name: the one in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Software => "software",
            Self::Hardware => "hardware",
        }
    }
}

impl HardwareCapabilities {
    /// Returns whether PTPv2 event messages of this direction and family are timestamped.
    pub const fn timestamps_ptp_events(&self, direction: Direction, family: AddressFamily) -> bool {
        let (event, all) = match (direction, family) {
            (Direction::Receive, AddressFamily::Ipv4) => (
                self.ptp_v2_over_udp_ipv4_event_message_receive,
                self.ptp_v2_over_udp_ipv4_all_message_receive,
            ),
            (Direction::Receive, AddressFamily::Ipv6) => (
                self.ptp_v2_over_udp_ipv6_event_message_receive,
                self.ptp_v2_over_udp_ipv6_all_message_receive,
            ),
            (Direction::Transmit, AddressFamily::Ipv4) => (
                self.ptp_v2_over_udp_ipv4_event_message_transmit,
                self.ptp_v2_over_udp_ipv4_all_message_transmit,
            ),
            (Direction::Transmit, AddressFamily::Ipv6) => (
                self.ptp_v2_over_udp_ipv6_event_message_transmit,
                self.ptp_v2_over_udp_ipv6_all_message_transmit,
            ),
        };
        event || all || self.timestamps_any_datagram(direction)
    }

    /// Returns whether ordinary UDP datagrams of this direction are timestamped, without regard to
    /// the PTP flags.
    pub const fn timestamps_any_datagram(&self, direction: Direction) -> bool {
        match direction {
            Direction::Receive => self.all_receive,
            Direction::Transmit => self.all_transmit || self.tagged_transmit,
        }
    }

    /// Returns whether ordinary UDP datagrams are timestamped in every direction in which
    /// `supported` timestamps them.
    pub fn timestamps_datagrams_as(&self, supported: &Self) -> bool {
        [Direction::Receive, Direction::Transmit]
            .into_iter()
            .all(|direction| {
                self.timestamps_any_datagram(direction)
                    || !supported.timestamps_any_datagram(direction)
            })
    }

    /// Returns whether any packets are timestamped.
    pub fn any(&self) -> bool {
        *self != Self::default()
    }
}

impl SoftwareCapabilities {
    /// Returns whether datagrams of this direction are timestamped.
    pub const fn timestamps(&self, direction: Direction) -> bool {
        match direction {
            Direction::Receive => self.all_receive,
            Direction::Transmit => self.all_transmit || self.tagged_transmit,
        }
    }
}

impl Capabilities {
    /// Returns whether all sent and received UDP datagrams get a hardware timestamp that can be
    /// converted.
    pub fn timestamps_every_datagram(&self) -> bool {
        let timestamps = |direction| self.hardware.timestamps_any_datagram(direction);
        timestamps(Direction::Receive) && timestamps(Direction::Transmit) && self.cross_timestamp
    }

    /// Returns which timestamps a PTPv2 application would get: hardware, software or none. A NIC
    /// that timestamps IPv4 only is not `Hardware` here;
    /// [`timestamps_ptp_events`](HardwareCapabilities::timestamps_ptp_events) has the details.
    pub fn ptp_verdict(&self) -> PtpVerdict {
        use AddressFamily::{Ipv4, Ipv6};
        use Direction::{Receive, Transmit};
        let hardware = [Ipv4, Ipv6].into_iter().all(|family| {
            self.hardware.timestamps_ptp_events(Receive, family)
                && self.hardware.timestamps_ptp_events(Transmit, family)
        });
        if hardware {
            PtpVerdict::Hardware
        } else if self.software.timestamps(Receive) && self.software.timestamps(Transmit) {
            PtpVerdict::Software
        } else {
            PtpVerdict::None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv4_only() -> HardwareCapabilities {
        HardwareCapabilities {
            ptp_v2_over_udp_ipv4_event_message_receive: true,
            ptp_v2_over_udp_ipv4_event_message_transmit: true,
            ..HardwareCapabilities::default()
        }
    }

    #[test]
    fn the_rule_asks_for_both_families_and_the_matrix_shows_why() {
        let software = SoftwareCapabilities {
            all_receive: true,
            tagged_transmit: true,
            ..Default::default()
        };
        let capabilities = Capabilities {
            hardware: ipv4_only(),
            software,
            ..Default::default()
        };
        assert_eq!(capabilities.ptp_verdict(), PtpVerdict::Software);
        assert!(
            capabilities
                .hardware
                .timestamps_ptp_events(Direction::Receive, AddressFamily::Ipv4)
        );
        assert!(
            !capabilities
                .hardware
                .timestamps_ptp_events(Direction::Receive, AddressFamily::Ipv6)
        );
        assert!(
            !capabilities
                .hardware
                .timestamps_any_datagram(Direction::Receive)
        );
    }

    #[test]
    fn all_receive_and_tagged_transmit_make_hardware() {
        let hardware = HardwareCapabilities {
            all_receive: true,
            tagged_transmit: true,
            ..Default::default()
        };
        assert_eq!(
            Capabilities {
                hardware,
                ..Default::default()
            }
            .ptp_verdict(),
            PtpVerdict::Hardware
        );
    }

    #[test]
    fn one_direction_is_not_enough() {
        let hardware = HardwareCapabilities {
            all_receive: true,
            ..Default::default()
        };
        let software = SoftwareCapabilities {
            all_receive: true,
            ..Default::default()
        };
        assert_eq!(
            Capabilities {
                hardware,
                software,
                ..Default::default()
            }
            .ptp_verdict(),
            PtpVerdict::None
        );
    }
}
