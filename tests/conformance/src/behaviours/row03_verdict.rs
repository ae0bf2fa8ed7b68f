//! Row 3: the PTPv2 verdict by the specification's rule, and the matrix that it hides.

use super::Behaviour;
use crate::Outcome;
use crate::rig::{Need, Rig};
use wirestamp::interface::{Direction, HardwareConfiguration, PtpVerdict, ReceiveFilter};
use wirestamp::socket::AddressFamily;
use wirestamp::{Capabilities, HardwareRequest};

/// A NIC that recognises PTP over IPv4 alone.
const IPV4_ONLY: &str = r#"
preset = "igb"
[nic]
ptp_over_ipv6 = false
"#;

/// A NIC that timestamps PTP over IPv4 alone, without a kernel that timestamps.
const IPV4_ONLY_WITHOUT_SOFTWARE: &str = r#"
preset = "igb"
[nic]
ptp_over_ipv6 = false
software_receive = false
software_transmit = false
"#;

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(3, "software-where-only-software-timestamps", software)
        .needs(&[Need::NoHardwareClock])
        .preset("software-only"),
    Behaviour::new(
        3,
        "hardware-once-every-packet-is-timestamped",
        hardware_for_all,
    )
    .needs(&[Need::HardwareClock, Need::AllPackets])
    .also(&[Need::Switch]),
    Behaviour::new(
        3,
        "hardware-once-ptp-events-are-timestamped",
        hardware_for_events,
    )
    .needs(&[Need::HardwareClock, Need::Driver("igb")])
    .preset("igb"),
    Behaviour::new(3, "none-where-one-direction-is-missing", none)
        .needs(&[Need::Simulation])
        .preset("rx-only"),
    Behaviour::new(
        3,
        "an-ipv4-only-nic-is-software-and-the-matrix-shows-why",
        ipv4_only,
    )
    .needs(&[Need::HardwareClock, Need::Scenario])
    .toml(IPV4_ONLY)
    .also(&[Need::Switch]),
    Behaviour::new(
        3,
        "an-ipv4-only-nic-without-software-is-none",
        ipv4_only_without_software,
    )
    .needs(&[Need::HardwareClock, Need::Scenario])
    .toml(IPV4_ONLY_WITHOUT_SOFTWARE),
    Behaviour::new(3, "half-switched-on-is-not-hardware", half_switched_on)
        .needs(&[Need::HardwareClock, Need::AllPackets])
        .also(&[Need::Switch]),
];

/// Direction and family, in the order receive IPv4, receive IPv6, transmit IPv4, transmit IPv6.
fn matrix(capabilities: &Capabilities) -> [bool; 4] {
    use AddressFamily::{Ipv4, Ipv6};
    use Direction::{Receive, Transmit};
    [
        (Receive, Ipv4),
        (Receive, Ipv6),
        (Transmit, Ipv4),
        (Transmit, Ipv6),
    ]
    .map(|(direction, family)| {
        capabilities
            .hardware
            .timestamps_ptp_events(direction, family)
    })
}

fn software(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    assert_eq!(near.ptp_verdict()?, PtpVerdict::Software);
    assert_eq!(near.supported()?.ptp_verdict(), PtpVerdict::Software);
    assert_eq!(matrix(&near.supported()?), [false; 4]);
    Ok(())
}

fn hardware_for_all(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    assert_eq!(
        near.supported()?.ptp_verdict(),
        PtpVerdict::Hardware,
        "it could"
    );
    assert_eq!(near.ptp_verdict()?, PtpVerdict::Software, "it does not yet");
    let _guard = near.enable_hardware(HardwareRequest::AllPackets)?;
    assert_eq!(near.ptp_verdict()?, PtpVerdict::Hardware);
    assert_eq!(matrix(&near.active()?), [true; 4]);
    assert!(
        near.active()?
            .hardware
            .timestamps_any_datagram(Direction::Receive)
    );
    Ok(())
}

fn hardware_for_events(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let _guard = near.enable_hardware(HardwareRequest::Ptp)?;
    let active = near.active()?;
    assert_eq!(
        (active.ptp_verdict(), matrix(&active)),
        (PtpVerdict::Hardware, [true; 4])
    );
    assert!(
        !active.hardware.timestamps_any_datagram(Direction::Receive),
        "the verdict is about PTP alone"
    );
    Ok(())
}

fn none(rig: &Rig) -> Outcome {
    let active = rig.near()?.active()?;
    assert_eq!(
        (active.ptp_verdict(), matrix(&active)),
        (PtpVerdict::None, [false; 4])
    );
    assert!(
        active.software.timestamps(Direction::Receive)
            && !active.software.timestamps(Direction::Transmit)
    );
    Ok(())
}

fn ipv4_only(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let _guard = near.enable_hardware(HardwareRequest::Ptp)?;
    let active = near.active()?;
    assert_eq!(active.ptp_verdict(), PtpVerdict::Software);
    assert_eq!(matrix(&active), [true, false, true, true]);
    Ok(())
}

fn ipv4_only_without_software(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let _guard = near.enable_hardware(HardwareRequest::Ptp)?;
    assert_eq!(near.ptp_verdict()?, PtpVerdict::None);
    assert!(
        near.active()?
            .hardware
            .timestamps_ptp_events(Direction::Receive, AddressFamily::Ipv4)
    );
    Ok(())
}

fn half_switched_on(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    for wanted in [
        HardwareConfiguration {
            transmit: true,
            receive: ReceiveFilter::None,
        },
        HardwareConfiguration {
            transmit: false,
            receive: ReceiveFilter::All,
        },
    ] {
        let guard = near.enable_hardware(HardwareRequest::Exactly(wanted))?;
        assert_eq!(guard.granted(), wanted);
        assert_eq!(near.ptp_verdict()?, PtpVerdict::Software, "{wanted:?}");
    }
    Ok(())
}
