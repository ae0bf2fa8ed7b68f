//! Row 2: what a NIC could timestamp, what it timestamps now, and what was seen.

use super::Behaviour;
use crate::Outcome;
use crate::exchange::outcome_of;
use crate::refusal::refused;
use crate::rig::{Family, Need, Rig};
use wirestamp::interface::{Direction, HardwareCapabilities, Observed};
use wirestamp::socket::AddressFamily;
use wirestamp::time::Frequency;
use wirestamp::{Capabilities, ErrorKind, HardwareGuard, HardwareRequest, Source, Timestamping};

/// `linux/net_tstamp.h`.
const TX_SOFTWARE: u32 = 1 << 1;
const RX_HARDWARE: u32 = 1 << 2;
const RX_SOFTWARE: u32 = 1 << 3;
const SOFTWARE: u32 = 1 << 4;
const TX_ON: u32 = 1 << 1;
const FILTER_ALL: u32 = 1 << 1;
const FILTER_PTP_V2_EVENT: u32 = 1 << 12;

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(
        2,
        "software-timestamps-both-ways-need-no-switch",
        software_needs_no_switch,
    ),
    Behaviour::new(2, "an-nic-without-hardware-says-so", no_hardware)
        .needs(&[Need::NoHardwareClock])
        .preset("software-only"),
    Behaviour::new(2, "raw-kernel-masks-agree-with-the-flags", masks_agree).also(&[Need::Linux]),
    Behaviour::new(2, "raw-kernel-masks-of-a-poorer-nic-agree-too", masks_agree)
        .preset("igb")
        .also(&[Need::Linux]),
    Behaviour::new(
        2,
        "what-is-supported-is-not-active-before-it-is-switched-on",
        supported_is_not_active,
    )
    .needs(&[Need::HardwareClock])
    .also(&[Need::Switch]),
    Behaviour::new(2, "the-nominal-frequency-is-the-drivers", nominal_frequency)
        .needs(&[Need::HardwareClock, Need::Scenario])
        .preset("windows-modern"),
    Behaviour::new(
        2,
        "a-frequency-that-the-driver-does-not-tell-is-none",
        untold_frequency,
    )
    .needs(&[Need::HardwareClock, Need::Scenario])
    .preset("windows-no-frequency"),
    Behaviour::new(2, "receive-filters-become-flags", filters_become_flags)
        .needs(&[Need::HardwareClock, Need::Driver("igb")])
        .preset("igb"),
    Behaviour::new(
        2,
        "a-query-that-some-layer-refuses-keeps-the-systems-number",
        query_refused,
    )
    .needs(&[Need::Simulation])
    .preset("windows-oid-rejected"),
    Behaviour::new(
        2,
        "a-bad-drivers-number-is-kept-and-means-unknown",
        bad_driver,
    )
    .needs(&[Need::Simulation])
    .preset("windows-bad-driver"),
    Behaviour::new(
        2,
        "a-system-without-the-queries-is-not-supported",
        no_queries,
    )
    .needs(&[Need::Simulation])
    .preset("windows-no-api"),
    Behaviour::new(2, "observed-is-only-what-was-seen", observed),
    Behaviour::new(
        2,
        "advertised-and-switched-on-is-not-yet-observed",
        advertised_is_not_observed,
    )
    .needs(&[
        Need::HardwareClock,
        Need::Driver("e1000e"),
        Need::HardwareSilent,
    ])
    .preset("e1000e-silent")
    .also(&[Need::Switch]),
];

fn software_needs_no_switch(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    for capabilities in [near.supported()?, near.active()?] {
        for direction in [Direction::Receive, Direction::Transmit] {
            assert!(
                capabilities.software.timestamps(direction),
                "{direction:?}: {capabilities:?}"
            );
        }
    }
    Ok(())
}

fn no_hardware(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    for capabilities in [near.supported()?, near.active()?] {
        assert_eq!(capabilities.hardware, HardwareCapabilities::default());
        assert_eq!(
            (capabilities.nominal_frequency, capabilities.cross_timestamp),
            (None, false)
        );
    }
    Ok(())
}

fn masks_agree(rig: &Rig) -> Outcome {
    let Capabilities {
        hardware,
        software,
        kernel_masks,
        ..
    } = rig.near()?.supported()?;
    let masks = kernel_masks.expect("Linux has masks, and the simulated Linux too");
    let says = |mask: u32, bits: u32| mask & bits == bits;
    assert_eq!(
        software.all_receive,
        says(masks.so_timestamping, RX_SOFTWARE | SOFTWARE),
        "{masks:?}"
    );
    assert_eq!(
        software.timestamps(Direction::Transmit),
        says(masks.so_timestamping, TX_SOFTWARE),
        "{masks:?}"
    );
    assert_eq!(
        hardware.tagged_transmit,
        says(masks.transmit_types, TX_ON),
        "{masks:?}"
    );
    let receives = says(masks.so_timestamping, RX_HARDWARE);
    assert_eq!(
        hardware.all_receive,
        receives && says(masks.receive_filters, FILTER_ALL),
        "{masks:?}"
    );
    let events = receives && says(masks.receive_filters, FILTER_PTP_V2_EVENT);
    assert_eq!(
        hardware.ptp_v2_over_udp_ipv4_event_message_receive, events,
        "{masks:?}"
    );
    assert_eq!(
        rig.near()?.active()?.kernel_masks,
        kernel_masks,
        "masks are of what is supported"
    );
    Ok(())
}

fn supported_is_not_active(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let supported = near.supported()?.hardware;
    assert!(supported.tagged_transmit, "{supported:?}");
    assert!(!near.active()?.hardware.any(), "{:?}", near.active()?);
    let request = if supported.all_receive {
        HardwareRequest::AllPackets
    } else {
        HardwareRequest::Ptp
    };
    let guard = near.enable_hardware(request)?;
    let active = near.active()?.hardware;
    assert!(
        active.tagged_transmit && active.all_receive == supported.all_receive,
        "{active:?}"
    );
    for family in [AddressFamily::Ipv4, AddressFamily::Ipv6] {
        assert!(
            active.timestamps_ptp_events(Direction::Receive, family),
            "{active:?}"
        );
    }
    drop(guard);
    assert!(!near.active()?.hardware.any());
    Ok(())
}

fn nominal_frequency(rig: &Rig) -> Outcome {
    let supported = rig.near()?.supported()?;
    assert_eq!(
        supported.nominal_frequency.map(Frequency::hertz),
        Some(156_250_000)
    );
    assert!(supported.cross_timestamp);
    assert_eq!(supported.kernel_masks, None, "Windows has none");
    assert!(rig.near()?.description().luid.is_some());
    Ok(())
}

fn untold_frequency(rig: &Rig) -> Outcome {
    let supported = rig.near()?.supported()?;
    assert_eq!(supported.nominal_frequency, None);
    assert!(
        supported.cross_timestamp && supported.hardware.any(),
        "the rest is there: {supported:?}"
    );
    Ok(())
}

fn filters_become_flags(rig: &Rig) -> Outcome {
    let hardware = rig.near()?.supported()?.hardware;
    for family in [AddressFamily::Ipv4, AddressFamily::Ipv6] {
        assert!(
            hardware.timestamps_ptp_events(Direction::Receive, family),
            "{hardware:?}"
        );
        assert!(
            hardware.timestamps_ptp_events(Direction::Transmit, family),
            "{hardware:?}"
        );
    }
    assert!(
        !hardware.timestamps_any_datagram(Direction::Receive),
        "only PTP events are received: {hardware:?}"
    );
    assert!(
        hardware.timestamps_any_datagram(Direction::Transmit),
        "{hardware:?}"
    );
    Ok(())
}

fn query_refused(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    assert_eq!(refused(near.supported(), ErrorKind::Io).code(), Some(23));
    assert_eq!(refused(near.active(), ErrorKind::Io).code(), Some(23));
    Ok(())
}

fn bad_driver(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    assert!(near.supported()?.hardware.any());
    assert_eq!(refused(near.active(), ErrorKind::Io).code(), Some(2001));
    refused(near.ptp_verdict(), ErrorKind::Io);
    Ok(())
}

fn no_queries(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    // as Winsock says it, and as the other functions of Windows
    let code = if let Rig::Model(_) = rig { 50 } else { 10_045 };
    assert_eq!(
        refused(near.supported(), ErrorKind::NotSupported).code(),
        Some(code)
    );
    assert_eq!(
        refused(near.active(), ErrorKind::NotSupported).code(),
        Some(code)
    );
    Ok(())
}

fn observed(rig: &Rig) -> Outcome {
    let (near, far) = (rig.near()?, rig.at_far(|| rig.far())?);
    if rig.is_simulated() {
        // natively, other behaviours observe on the same numbers in the same process
        assert_eq!(
            (near.observed(), far.observed()),
            (Observed::default(), Observed::default())
        );
    }
    rig.timestamping_pair()?.exchange(1)?;
    assert!(near.observed().transmit_software, "{:?}", near.observed());
    assert!(far.observed().receive_software, "{:?}", far.observed());
    if rig.cable().is_none() {
        assert!(!near.observed().transmit_hardware && !far.observed().receive_hardware);
    }
    Ok(())
}

fn advertised_is_not_observed(rig: &Rig) -> Outcome {
    let (near, far) = (rig.near()?, rig.at_far(|| rig.far())?);
    near.enable_hardware(HardwareRequest::AllPackets)?.keep();
    rig.at_far(|| {
        far.enable_hardware(HardwareRequest::AllPackets)
            .map(HardwareGuard::keep)
    })?;
    assert!(near.active()?.hardware.any());
    let both = Timestamping::OFF.source(Source::Both);
    let pair = rig.pair(Family::V4, both.transmit(8), both.receive())?;
    for id in 0..3 {
        pair.send(id)?;
        assert!(pair.receive()?.timestamps.hardware.is_none());
        // the packet that reserved the unit loses its software timestamp too
        outcome_of(&pair.sender, id)?;
    }
    assert!(!near.observed().transmit_hardware && !far.observed().receive_hardware);
    assert!(near.observed().transmit_software && far.observed().receive_software);
    Ok(())
}
