//! What Linux's masks and filter numbers mean in the specification's terms.
//!
//! Source: `ethtool_ts_info` (`linux/ethtool.h`), `hwtstamp_config` (`linux/net_tstamp.h`).

use super::constants::{RX_HARDWARE, RX_SOFTWARE, SOFTWARE, TX_HARDWARE, TX_SOFTWARE};
use wirestamp_core::capability::{
    Capabilities, HardwareCapabilities, KernelMasks, SoftwareCapabilities,
};
use wirestamp_core::configuration::{HardwareConfiguration, ReceiveFilter};
use wirestamp_core::time::Frequency;

/// `struct ethtool_ts_info`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct EthtoolTsInfo {
    /// `ETHTOOL_GET_TS_INFO`.
    pub command: u32,
    /// `SOF_TIMESTAMPING_*` bits.
    pub so_timestamping: u32,
    /// Number of the hardware clock, or -1.
    pub phc_index: i32,
    /// `1 << HWTSTAMP_TX_*` bits.
    pub tx_types: u32,
    /// Reserved.
    pub tx_reserved: [u32; 3],
    /// `1 << HWTSTAMP_FILTER_*` bits.
    pub rx_filters: u32,
    /// Reserved.
    pub rx_reserved: [u32; 3],
}
const _: () = assert!(size_of::<EthtoolTsInfo>() == 44);

/// `struct hwtstamp_config`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct HwtstampConfig {
    /// `HWTSTAMP_FLAG_*`.
    pub flags: i32,
    /// `HWTSTAMP_TX_*`.
    pub tx_type: i32,
    /// `HWTSTAMP_FILTER_*`.
    pub rx_filter: i32,
}
const _: () = assert!(size_of::<HwtstampConfig>() == 12);

const TX_ON: u32 = 1;

/// The kernel's number of a filter (`HWTSTAMP_FILTER_*`).
pub fn filter_number(filter: ReceiveFilter) -> Option<i32> {
    ReceiveFilter::ALL
        .iter()
        .position(|known| *known == filter)
        .and_then(|number| i32::try_from(number).ok())
}

/// The filter of a kernel number; `None` for one that this program does not know.
pub fn filter(number: i32) -> Option<ReceiveFilter> {
    ReceiveFilter::ALL
        .get(usize::try_from(number).ok()?)
        .copied()
}

impl HwtstampConfig {
    /// As the kernel wants it; `None` for a filter that has no number.
    pub fn wanted(configuration: HardwareConfiguration) -> Option<Self> {
        let rx_filter = filter_number(configuration.receive)?;
        Some(Self {
            flags: 0,
            tx_type: i32::from(configuration.transmit),
            rx_filter,
        })
    }

    /// What the kernel answered; `None` for a filter unknown to this program. One-step
    /// modes give no timestamps for the affected messages, so only plain "on" counts as on.
    pub fn granted(self) -> Option<HardwareConfiguration> {
        Some(HardwareConfiguration {
            transmit: self.tx_type == TX_ON as i32,
            receive: filter(self.rx_filter)?,
        })
    }
}

impl EthtoolTsInfo {
    /// Number of the hardware clock.
    pub fn hardware_clock(&self) -> Option<u32> {
        u32::try_from(self.phc_index).ok()
    }

    fn has(&self, flag: u32) -> bool {
        self.so_timestamping & flag == flag
    }

    fn has_filter(&self, filter: ReceiveFilter) -> bool {
        filter_number(filter).is_some_and(|number| self.rx_filters & (1 << number) != 0)
    }

    /// What the NIC could do. `cross_timestamp`: whether its clock answered a reading.
    pub fn supported(&self, cross_timestamp: bool) -> Capabilities {
        // Some drivers omit RAW_HARDWARE where they do timestamp: the RX and TX bits decide.
        let receive = self.has(RX_HARDWARE);
        let transmit = self.has(TX_HARDWARE) && self.tx_types & (1 << TX_ON) != 0;
        let ptp = receive
            && (self.has_filter(ReceiveFilter::PtpV2Udp) || self.has_filter(ReceiveFilter::PtpV2));
        self.capabilities(
            hardware(
                transmit,
                receive && self.has_filter(ReceiveFilter::All),
                ptp,
            ),
            cross_timestamp,
        )
    }

    /// What the NIC does under `configuration`; `requested` is what was asked for when
    /// the driver answered "some".
    pub fn active(
        &self,
        configuration: HardwareConfiguration,
        requested: Option<ReceiveFilter>,
        cross_timestamp: bool,
    ) -> Capabilities {
        let filter = match configuration.receive {
            ReceiveFilter::Some => requested.unwrap_or(ReceiveFilter::Some),
            filter => filter,
        };
        let all = filter == ReceiveFilter::All;
        let ptp = matches!(filter, ReceiveFilter::PtpV2Udp | ReceiveFilter::PtpV2);
        self.capabilities(hardware(configuration.transmit, all, ptp), cross_timestamp)
    }

    fn capabilities(&self, hardware: HardwareCapabilities, cross_timestamp: bool) -> Capabilities {
        let transmit = self.has(TX_SOFTWARE);
        Capabilities {
            nominal_frequency: self.hardware_clock().map(|_| Frequency::GIGAHERTZ),
            cross_timestamp,
            hardware,
            software: SoftwareCapabilities {
                all_receive: self.has(RX_SOFTWARE | SOFTWARE),
                all_transmit: transmit,
                tagged_transmit: transmit,
            },
            kernel_masks: Some(KernelMasks {
                so_timestamping: self.so_timestamping,
                transmit_types: self.tx_types,
                receive_filters: self.rx_filters,
            }),
        }
    }
}

/// Linux knows no filter per address family, none for all PTP messages, and no transmit
/// filter: it timestamps the packets for which a timestamp is asked.
fn hardware(
    tagged_transmit: bool,
    all_receive: bool,
    ptp_event_receive: bool,
) -> HardwareCapabilities {
    HardwareCapabilities {
        ptp_v2_over_udp_ipv4_event_message_receive: ptp_event_receive,
        ptp_v2_over_udp_ipv6_event_message_receive: ptp_event_receive,
        all_receive,
        tagged_transmit,
        ..HardwareCapabilities::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirestamp_core::capability::PtpVerdict;

    /// What the kernel says of QEMU's igb (Linux 6.18).
    const IGB: EthtoolTsInfo = EthtoolTsInfo {
        command: 0x41,
        so_timestamping: 0x5f,
        phc_index: 0,
        tx_types: 0b11,
        tx_reserved: [0; 3],
        rx_filters: 1 | 1 << 4 | 1 << 5 | 1 << 12,
        rx_reserved: [0; 3],
    };

    #[test]
    fn igb_supports_ptp_in_hardware_but_not_every_packet() {
        let supported = IGB.supported(true);
        assert_eq!(supported.ptp_verdict(), PtpVerdict::Hardware);
        assert!(!supported.hardware.all_receive);
        assert!(supported.hardware.tagged_transmit && !supported.hardware.all_transmit);
        assert_eq!(supported.nominal_frequency, Some(Frequency::GIGAHERTZ));
    }

    #[test]
    fn off_is_off_and_a_widened_filter_counts() {
        let off = IGB.active(HardwareConfiguration::OFF, None, true);
        assert!(!off.hardware.any());
        assert_eq!(off.ptp_verdict(), PtpVerdict::Software);
        let granted = HwtstampConfig {
            flags: 0,
            tx_type: 1,
            rx_filter: 12,
        }
        .granted()
        .expect("known");
        assert_eq!(
            IGB.active(granted, Some(ReceiveFilter::PtpV2Udp), true)
                .ptp_verdict(),
            PtpVerdict::Hardware
        );
    }

    #[test]
    fn some_means_what_was_asked_for() {
        let some = HardwareConfiguration {
            transmit: true,
            receive: ReceiveFilter::Some,
        };
        assert_eq!(
            IGB.active(some, Some(ReceiveFilter::PtpV2), true)
                .ptp_verdict(),
            PtpVerdict::Hardware
        );
        assert!(
            !IGB.active(some, Some(ReceiveFilter::PtpV2Sync), true)
                .hardware
                .ptp_v2_over_udp_ipv4_event_message_receive
        );
        assert!(
            !IGB.active(some, None, true)
                .hardware
                .ptp_v2_over_udp_ipv4_event_message_receive
        );
    }

    #[test]
    fn every_filter_has_its_kernel_number_and_back() {
        for number in 0..16 {
            let known = filter(number).expect("known");
            assert_eq!(filter_number(known), Some(number));
        }
        assert_eq!(filter(16), None);
        assert_eq!(filter(-1), None);
        assert_eq!(
            HwtstampConfig {
                rx_filter: 99,
                ..Default::default()
            }
            .granted(),
            None
        );
    }

    #[test]
    fn a_receive_only_nic_is_no_ptp_nic() {
        let receive_only = EthtoolTsInfo {
            so_timestamping: 0x1c,
            tx_types: 1,
            rx_filters: 0b11,
            ..IGB
        };
        let supported = receive_only.supported(false);
        assert!(
            supported.hardware.all_receive,
            "RAW_HARDWARE is not insisted on"
        );
        assert_eq!(supported.ptp_verdict(), PtpVerdict::None);
    }
}
