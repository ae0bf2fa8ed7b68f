//! Requests for hardware timestamping, and which of a driver's configurations satisfy them.

use wirestamp_core::configuration::{HardwareConfiguration, ReceiveFilter};

/// All received packets, and no sent ones.
const RECEIVED: HardwareConfiguration = HardwareConfiguration {
    transmit: false,
    receive: ReceiveFilter::All,
};

/// The packets that a program wants hardware timestamps for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum HardwareRequest {
    /// PTPv2 event messages over UDP, by the narrowest filter that covers them. A wider filter that
    /// is already set stays.
    Ptp,
    /// PTPv2 event messages over Ethernet (ethertype 0x88f7), by the narrowest filter that covers
    /// them. A wider filter that is already set stays.
    PtpOverEthernet,
    /// All packets, sent and received.
    AllPackets,
    /// All received packets: for programs that only listen, and for NICs that timestamp received
    /// packets only.
    Received,
    /// Received PTPv2 event messages, over UDP and Ethernet if the NIC supports both, else over one
    /// of them.
    ReceivedPtp,
    /// All sent packets: for programs that only send.
    Sent,
    /// This configuration, or one that covers it. A wider one that is set is replaced, unless
    /// another guard needs it.
    Exactly(HardwareConfiguration),
}

impl HardwareRequest {
    /// The configurations to try, best first. All keep what other holders have `needed`; the first
    /// ones also keep the `current` configuration, regardless of which program set it.
    pub(super) fn candidates(
        self,
        current: HardwareConfiguration,
        needed: HardwareConfiguration,
    ) -> Vec<HardwareConfiguration> {
        let with = |receive| HardwareConfiguration {
            transmit: true,
            receive,
        };
        let mut candidates = match self {
            Self::Ptp => [
                ReceiveFilter::PtpV2Udp,
                ReceiveFilter::PtpV2,
                ReceiveFilter::All,
            ]
            .map(with)
            .to_vec(),
            Self::PtpOverEthernet => [
                ReceiveFilter::PtpV2Ethernet,
                ReceiveFilter::PtpV2,
                ReceiveFilter::All,
            ]
            .map(with)
            .to_vec(),
            Self::AllPackets => vec![with(ReceiveFilter::All)],
            Self::Received => vec![RECEIVED],
            Self::ReceivedPtp => [
                ReceiveFilter::PtpV2,
                ReceiveFilter::PtpV2Udp,
                ReceiveFilter::PtpV2Ethernet,
            ]
            .map(|receive| HardwareConfiguration {
                receive,
                ..RECEIVED
            })
            .to_vec(),
            // some drivers make no transmit timestamps without a receive filter
            Self::Sent => [
                ReceiveFilter::None,
                ReceiveFilter::PtpV2,
                ReceiveFilter::All,
            ]
            .map(with)
            .to_vec(),
            Self::Exactly(configuration) => vec![configuration],
        };
        candidates
            .iter_mut()
            .for_each(|candidate| *candidate = candidate.joined(needed));
        let kept = self.kept(current);
        let mut all = Vec::new();
        for candidate in candidates
            .iter()
            .map(|candidate| candidate.joined(kept))
            .chain(candidates.iter().copied())
        {
            if !all.contains(&candidate) {
                all.push(candidate);
            }
        }
        all
    }

    /// The part of the current configuration to keep, regardless of which program set it. The
    /// filter "some" cannot be kept: only the program that set it knows which packets it covers.
    fn kept(self, current: HardwareConfiguration) -> HardwareConfiguration {
        match self {
            Self::Exactly(_) => HardwareConfiguration::OFF,
            _ if current.receive == ReceiveFilter::Some => HardwareConfiguration {
                receive: ReceiveFilter::None,
                ..current
            },
            _ => current,
        }
    }

    /// Whether the configuration that the driver granted for candidate `wanted` satisfies the
    /// request.
    pub(super) fn is_served_by(
        self,
        wanted: HardwareConfiguration,
        granted: HardwareConfiguration,
    ) -> bool {
        let receives = match self {
            // "some" means the requested packets and possibly others
            _ if granted.receive == ReceiveFilter::Some => wanted.receive != ReceiveFilter::All,
            Self::Ptp => granted.receive.timestamps_ptp_v2_udp_events(),
            Self::PtpOverEthernet => granted.receive.covers(ReceiveFilter::PtpV2Ethernet),
            Self::Sent => true,
            Self::AllPackets | Self::Received | Self::ReceivedPtp | Self::Exactly(_) => {
                granted.receive.covers(wanted.receive)
            }
        };
        receives && (granted.transmit || !wanted.transmit)
    }

    /// Whether `current` already satisfies the request. If `is_held`, other holders rely on it.
    pub(super) fn is_served_already(self, current: HardwareConfiguration, is_held: bool) -> bool {
        match self {
            Self::Sent => current.transmit,
            // only the program that set "some" knows which packets it covers
            _ if current.receive == ReceiveFilter::Some => false,
            Self::Ptp => current.transmit && current.receive.timestamps_ptp_v2_udp_events(),
            Self::PtpOverEthernet => {
                current.transmit && current.receive.covers(ReceiveFilter::PtpV2Ethernet)
            }
            Self::AllPackets => current.transmit && current.receive == ReceiveFilter::All,
            Self::Received => current.receive == ReceiveFilter::All,
            Self::ReceivedPtp => {
                current.receive.timestamps_ptp_v2_udp_events()
                    || current.receive.covers(ReceiveFilter::PtpV2Ethernet)
            }
            Self::Exactly(wanted) if is_held => current.covers(wanted),
            Self::Exactly(wanted) => current == wanted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(receive: ReceiveFilter) -> HardwareConfiguration {
        HardwareConfiguration {
            transmit: true,
            receive,
        }
    }

    #[test]
    fn what_others_need_stays_in_every_candidate() {
        use ReceiveFilter as F;
        let off = HardwareConfiguration::OFF;
        assert_eq!(
            HardwareRequest::Ptp.candidates(off, off),
            [F::PtpV2Udp, F::PtpV2, F::All].map(on)
        );
        assert_eq!(
            HardwareRequest::Ptp.candidates(off, on(F::PtpV2)),
            [F::PtpV2, F::All].map(on)
        );
        assert_eq!(
            HardwareRequest::Ptp.candidates(off, on(F::Ntp)),
            [on(F::All)]
        );
        let over_ethernet = HardwareRequest::PtpOverEthernet;
        assert_eq!(
            over_ethernet.candidates(off, off),
            [F::PtpV2Ethernet, F::PtpV2, F::All].map(on)
        );
        assert!(over_ethernet.is_served_already(on(F::PtpV2), false));
        assert!(!over_ethernet.is_served_already(on(F::PtpV2Udp), false));
        assert!(!over_ethernet.is_served_by(on(F::PtpV2Ethernet), on(F::PtpV2Udp)));
        let receive = HardwareConfiguration {
            transmit: false,
            receive: F::All,
        };
        assert_eq!(
            HardwareRequest::Exactly(receive).candidates(off, on(F::PtpV2)),
            [on(F::All)]
        );
    }

    #[test]
    fn each_direction_is_asked_for_alone_and_what_is_on_for_the_other_serves() {
        use ReceiveFilter as F;
        let (off, received) = (HardwareConfiguration::OFF, HardwareRequest::Received);
        assert_eq!(received.candidates(off, off), [RECEIVED]);
        assert_eq!(
            received.candidates(off, on(F::Ntp)),
            [on(F::All)],
            "others need transmit timestamps"
        );
        assert!(received.is_served_by(RECEIVED, RECEIVED));
        assert!(received.is_served_already(on(F::All), false));
        assert!(!received.is_served_already(on(F::PtpV2), false));
        let sent = HardwareRequest::Sent;
        assert_eq!(
            sent.candidates(off, off),
            [F::None, F::PtpV2, F::All].map(on)
        );
        assert!(sent.is_served_already(on(F::None), false));
        assert!(!sent.is_served_already(RECEIVED, false));
        assert!(!sent.is_served_by(on(F::None), RECEIVED));
    }

    /// It was switched on by another program, not by one of our guards.
    #[test]
    fn what_another_program_switched_on_stays_where_the_driver_can_do_both() {
        use ReceiveFilter as F;
        let off = HardwareConfiguration::OFF;
        let received = |receive| HardwareConfiguration {
            receive,
            ..RECEIVED
        };
        let ptp = on(F::PtpV2);
        assert_eq!(
            HardwareRequest::Received.candidates(ptp, off),
            [on(F::All), RECEIVED]
        );
        let captured = HardwareRequest::ReceivedPtp.candidates(on(F::Ntp), off);
        assert_eq!(captured[0], on(F::All));
        assert!(HardwareRequest::ReceivedPtp.is_served_already(ptp, false));
        assert!(HardwareRequest::ReceivedPtp.is_served_already(on(F::PtpV2Ethernet), false));
        assert!(!HardwareRequest::ReceivedPtp.is_served_already(on(F::Ntp), false));
        let sent = HardwareRequest::Sent.candidates(RECEIVED, off);
        assert_eq!(sent[0], on(F::All), "another program captures");
        let some = received(F::Some);
        assert_eq!(HardwareRequest::Sent.candidates(some, off)[0], on(F::None));
        let exactly = HardwareRequest::Exactly(ptp);
        assert_eq!(exactly.candidates(on(F::All), off), [ptp]);
    }

    #[test]
    fn a_wider_configuration_serves_unless_exactly_one_is_asked_for() {
        use ReceiveFilter as F;
        assert!(HardwareRequest::Ptp.is_served_already(on(F::All), false));
        assert!(!HardwareRequest::AllPackets.is_served_already(on(F::PtpV2), true));
        assert!(!HardwareRequest::Exactly(on(F::PtpV2)).is_served_already(on(F::All), false));
        assert!(HardwareRequest::Exactly(on(F::PtpV2)).is_served_already(on(F::All), true));
        let receive = HardwareConfiguration {
            transmit: false,
            receive: F::All,
        };
        assert!(!HardwareRequest::Ptp.is_served_already(receive, false));
        assert!(!HardwareRequest::Ptp.is_served_already(on(F::Some), true));
    }
}
