//! Row 4: the NIC's own switch, for all programs: off by default, granted as the
//! driver says, put back afterwards.

use super::Behaviour;
use crate::refusal::{refused, refused_with_remedy};
use crate::rig::{Need, OtherProgram, Rig, is_privileged, without_privilege};
use crate::{Outcome, Stop};
use wirestamp::interface::{HardwareConfiguration, ReceiveFilter};
use wirestamp::{ErrorKind, HardwareRequest, Interface};

const ALL_PACKETS: HardwareConfiguration = HardwareConfiguration {
    transmit: true,
    receive: ReceiveFilter::All,
};

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(4, "off-by-default", off_by_default)
        .needs(&[Need::HardwareClock])
        .also(&[Need::Switch]),
    Behaviour::new(
        4,
        "without-hardware-there-is-nothing-to-switch",
        nothing_to_switch,
    )
    .needs(&[Need::NoHardwareClock])
    .preset("software-only"),
    Behaviour::new(4, "switched-on-until-the-guard-is-dropped", until_dropped)
        .needs(&[Need::HardwareClock])
        .also(&[Need::Switch]),
    Behaviour::new(4, "what-was-on-before-is-on-again", previous_is_restored)
        .needs(&[Need::HardwareClock])
        .also(&[Need::Switch]),
    Behaviour::new(
        4,
        "the-driver-may-grant-more-and-it-is-reported",
        granted_more,
    )
    .needs(&[Need::HardwareClock, Need::Driver("igb")])
    .preset("igb")
    .also(&[Need::Switch]),
    Behaviour::new(
        4,
        "a-filter-that-the-driver-refuses-changes-nothing",
        refused_filter,
    )
    .needs(&[Need::HardwareClock, Need::Driver("igb")])
    .preset("igb")
    .also(&[Need::Switch]),
    Behaviour::new(4, "some-means-what-was-asked-for", some_is_what_was_asked)
        .needs(&[Need::HardwareClock, Need::Driver("e1000e")])
        .preset("e1000e-silent")
        .also(&[Need::Switch]),
    Behaviour::new(4, "somebody-elses-change-is-left-alone", left_alone)
        .needs(&[Need::HardwareClock])
        .also(&[Need::Switch]),
    Behaviour::new(4, "the-last-of-several-guards-restores", several_guards)
        .needs(&[Need::HardwareClock])
        .also(&[Need::Switch]),
    Behaviour::new(
        4,
        "guards-of-other-programs-count-until-they-end-or-are-killed",
        other_programs,
    )
    .needs(&[Need::HardwareClock, Need::Native, Need::Linux])
    .also(&[Need::Switch]),
    Behaviour::new(4, "kept-it-stays-and-can-be-switched-off", kept)
        .needs(&[Need::HardwareClock])
        .also(&[Need::Switch]),
    Behaviour::new(4, "without-privilege-it-says-which", no_privilege).preset("unprivileged"),
    Behaviour::new(
        4,
        "a-driver-that-can-not-be-switched-says-so",
        not_configurable,
    )
    .needs(&[Need::HardwareClock, Need::Scenario])
    .preset("windows-api-off"),
];

/// The most that the NIC can timestamp, and how to ask for it.
fn widest(near: &Interface) -> Outcome<(HardwareRequest, HardwareConfiguration)> {
    Ok(match near.supported()?.hardware.all_receive {
        true => (HardwareRequest::AllPackets, ALL_PACKETS),
        false => (
            HardwareRequest::Ptp,
            HardwareConfiguration {
                transmit: true,
                receive: ReceiveFilter::PtpV2,
            },
        ),
    })
}

fn off_by_default(rig: &Rig) -> Outcome {
    assert_eq!(rig.near()?.configuration()?, HardwareConfiguration::OFF);
    assert_eq!(
        rig.at_far(|| rig.far()?.configuration().map_err(Stop::from))?,
        HardwareConfiguration::OFF
    );
    Ok(())
}

fn nothing_to_switch(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let answer = refused(near.configuration(), ErrorKind::NotSupported);
    assert_eq!(answer.target(), near.name());
    if !rig.is_simulated() && !is_privileged() {
        return Err(Stop::lacking(
            "without CAP_NET_ADMIN Linux refuses before it asks the driver",
        ));
    }
    for request in [
        HardwareRequest::Ptp,
        HardwareRequest::AllPackets,
        HardwareRequest::Exactly(ALL_PACKETS),
    ] {
        let error = refused_with_remedy(near.enable_hardware(request), ErrorKind::NotSupported);
        assert_eq!(error.target(), near.name());
        // Windows is not asked to switch: its flags tell already that there is nothing.
        assert!(
            error.code().is_some() || matches!(rig, Rig::Model(_)),
            "the system's number: {error:?}"
        );
    }
    refused(near.disable_hardware(), ErrorKind::NotSupported);
    Ok(())
}

fn until_dropped(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let (request, widest) = widest(&near)?;
    let guard = near.enable_hardware(request)?;
    assert_eq!(
        (guard.granted(), guard.previous()),
        (widest, Some(HardwareConfiguration::OFF))
    );
    assert_eq!(near.configuration()?, widest);
    drop(guard);
    assert_eq!(near.configuration()?, HardwareConfiguration::OFF);
    near.enable_hardware(request)?.restore()?;
    assert_eq!(near.configuration()?, HardwareConfiguration::OFF);
    Ok(())
}

fn previous_is_restored(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let (request, widest) = widest(&near)?;
    let theirs = HardwareConfiguration {
        transmit: false,
        ..widest
    };
    rig.reconfigure_by_another(theirs)?;
    let guard = near.enable_hardware(request)?;
    assert_eq!(
        (guard.previous(), near.configuration()?),
        (Some(theirs), widest)
    );
    drop(guard);
    assert_eq!(near.configuration()?, theirs);
    Ok(())
}

fn granted_more(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let guard = near.enable_hardware(HardwareRequest::Ptp)?;
    assert_eq!(
        guard.granted(),
        HardwareConfiguration {
            transmit: true,
            receive: ReceiveFilter::PtpV2
        }
    );
    drop(guard);
    let asked = HardwareConfiguration {
        transmit: true,
        receive: ReceiveFilter::PtpV2UdpSync,
    };
    let guard = near.enable_hardware(HardwareRequest::Exactly(asked))?;
    assert_eq!(
        guard.granted().receive,
        ReceiveFilter::PtpV2,
        "one message was asked for, all events are timestamped"
    );
    Ok(())
}

fn refused_filter(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    rig.reconfigure_by_another(HardwareConfiguration {
        transmit: false,
        receive: ReceiveFilter::PtpV2,
    })?;
    let before = near.configuration()?;
    let error = refused_with_remedy(
        near.enable_hardware(HardwareRequest::AllPackets),
        ErrorKind::InvalidInput,
    );
    assert_eq!(error.code(), Some(34), "ERANGE");
    assert_eq!(near.configuration()?, before);
    Ok(())
}

fn some_is_what_was_asked(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let asked = HardwareConfiguration {
        transmit: true,
        receive: ReceiveFilter::PtpV2UdpSync,
    };
    let guard = near.enable_hardware(HardwareRequest::Exactly(asked))?;
    assert_eq!(guard.granted().receive, ReceiveFilter::Some);
    assert!(!near.active()?.hardware.all_receive, "some is not all");
    // what the driver answers afterwards is another thing, and nobody else's doing
    guard.restore()?;
    assert_eq!(near.configuration()?, HardwareConfiguration::OFF);
    drop(near.enable_hardware(HardwareRequest::Exactly(asked))?);
    assert_eq!(near.configuration()?, HardwareConfiguration::OFF);
    let guard = near.enable_hardware(HardwareRequest::Ptp)?;
    assert!(
        guard.granted().receive.timestamps_ptp_v2_udp_events(),
        "{:?}",
        guard.granted()
    );
    Ok(())
}

fn left_alone(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let (request, widest) = widest(&near)?;
    let theirs = HardwareConfiguration {
        transmit: false,
        ..widest
    };
    let guard = near.enable_hardware(request)?;
    rig.reconfigure_by_another(theirs)?;
    refused_with_remedy(guard.restore(), ErrorKind::Busy);
    assert_eq!(near.configuration()?, theirs);
    near.disable_hardware()?;
    let guard = near.enable_hardware(request)?;
    rig.reconfigure_by_another(theirs)?;
    drop(guard);
    assert_eq!(near.configuration()?, theirs);
    Ok(())
}

fn several_guards(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let (request, widest) = widest(&near)?;
    for order in [[0, 1], [1, 0]] {
        let mut guards = [
            Some(near.enable_hardware(HardwareRequest::Ptp)?),
            Some(near.enable_hardware(request)?),
        ];
        assert!(
            guards
                .iter()
                .flatten()
                .all(|guard| guard.previous() == Some(HardwareConfiguration::OFF))
        );
        for place in order {
            assert_eq!(near.configuration()?, widest, "{order:?}");
            guards[place].take().expect("held").restore()?;
        }
        assert_eq!(
            near.configuration()?,
            HardwareConfiguration::OFF,
            "{order:?}"
        );
    }
    Ok(())
}

fn other_programs(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let before = HardwareConfiguration {
        transmit: true,
        receive: ReceiveFilter::None,
    };
    rig.reconfigure_by_another(before)?;
    let found = near.configuration()?;
    let is_on = || {
        near.configuration()
            .map(|now| now.transmit && now.receive != ReceiveFilter::None)
    };
    // ours is the last
    let (other, ours) = (
        OtherProgram::holding(near.name())?,
        near.enable_hardware(HardwareRequest::Ptp)?,
    );
    assert_eq!(
        ours.previous(),
        Some(found),
        "what the other program had found"
    );
    other.end()?;
    assert!(is_on()?, "ours needs it");
    ours.restore()?;
    assert_eq!(near.configuration()?, found);
    // theirs is the last
    let (ours, other) = (
        near.enable_hardware(HardwareRequest::Ptp)?,
        OtherProgram::holding(near.name())?,
    );
    ours.restore()?;
    assert!(is_on()?, "the other program needs it");
    other.end()?;
    assert_eq!(near.configuration()?, found);
    // one is killed while ours holds
    let (other, ours) = (
        OtherProgram::holding(near.name())?,
        near.enable_hardware(HardwareRequest::Ptp)?,
    );
    other.kill();
    assert!(is_on()?);
    ours.restore()?;
    assert_eq!(near.configuration()?, found);
    // the last one is killed: it stays on, and is what the next one finds
    OtherProgram::holding(near.name())?.kill();
    assert!(is_on()?);
    drop(near.enable_hardware(HardwareRequest::Ptp)?);
    assert!(is_on()?);
    near.disable_hardware()?;
    Ok(())
}

fn kept(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let (request, widest) = widest(&near)?;
    near.enable_hardware(request)?.keep();
    assert_eq!(near.configuration()?, widest);
    near.disable_hardware()?;
    assert_eq!(near.configuration()?, HardwareConfiguration::OFF);
    Ok(())
}

fn no_privilege(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let enable = || near.enable_hardware(HardwareRequest::AllPackets);
    let enabled = if rig.is_simulated() {
        enable()
    } else {
        without_privilege(enable).map_err(Stop::Lacking)?
    };
    let error = refused_with_remedy(enabled, ErrorKind::NotPermitted);
    assert_eq!((error.code(), error.target()), (Some(1), near.name()));
    if !rig.is_simulated() {
        assert!(error.remedy().contains("CAP_NET_ADMIN"), "{error}");
        return Ok(());
    }
    assert_eq!(
        near.configuration()?,
        HardwareConfiguration::OFF,
        "asking is allowed"
    );
    Ok(())
}

fn not_configurable(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    assert!(near.supported()?.hardware.any() && !near.active()?.hardware.any());
    refused_with_remedy(
        near.enable_hardware(HardwareRequest::Ptp),
        ErrorKind::NotSupported,
    );
    refused_with_remedy(
        near.enable_hardware(HardwareRequest::AllPackets),
        ErrorKind::NotSupported,
    );
    Ok(())
}
