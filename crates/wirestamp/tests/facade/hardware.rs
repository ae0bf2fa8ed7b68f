//! Switching hardware timestamping on, and restoring the previous configuration.

use crate::pair::{ideal_but, simulation};
use wirestamp::interface::{HardwareConfiguration, ReceiveFilter};
use wirestamp::sim::NicName;
use wirestamp::{ErrorKind, HardwareRequest, Interface, Simulation};

fn nic(simulation: &Simulation) -> Interface {
    simulation.interface("sim0").expect("a NIC")
}

fn on(receive: ReceiveFilter) -> HardwareConfiguration {
    HardwareConfiguration {
        transmit: true,
        receive,
    }
}

#[test]
fn the_guard_restores_what_was_there() {
    let simulation = simulation("i225");
    let nic = nic(&simulation);
    for before in [
        HardwareConfiguration::OFF,
        HardwareConfiguration {
            transmit: true,
            receive: ReceiveFilter::None,
        },
    ] {
        nic.enable_hardware(HardwareRequest::Exactly(before))
            .expect("granted")
            .keep();
        let guard = nic
            .enable_hardware(HardwareRequest::AllPackets)
            .expect("granted");
        assert_eq!(guard.granted(), on(ReceiveFilter::All));
        assert_eq!(guard.previous(), Some(before));
        assert_eq!(nic.configuration().expect("told"), on(ReceiveFilter::All));
        drop(guard);
        assert_eq!(nic.configuration().expect("told"), before);
    }
}

#[test]
fn what_another_program_changed_meanwhile_is_left_alone() {
    let simulation = simulation("i225");
    let nic = nic(&simulation);
    let theirs = HardwareConfiguration {
        transmit: false,
        receive: ReceiveFilter::All,
    };
    let enable = || {
        let guard = nic
            .enable_hardware(HardwareRequest::AllPackets)
            .expect("granted");
        simulation
            .world()
            .reconfigure_by_another(NicName::Sim0, theirs);
        guard
    };
    drop(enable());
    assert_eq!(nic.configuration().expect("told"), theirs);
    let error = enable().restore().expect_err("somebody else's now");
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert_eq!(nic.configuration().expect("told"), theirs);
}

#[test]
fn a_guard_can_be_told_to_keep_and_hardware_be_switched_off() {
    let simulation = simulation("i225");
    let nic = nic(&simulation);
    nic.enable_hardware(HardwareRequest::AllPackets)
        .expect("granted")
        .keep();
    assert_eq!(nic.configuration().expect("told"), on(ReceiveFilter::All));
    nic.disable_hardware().expect("off");
    assert_eq!(
        nic.configuration().expect("told"),
        HardwareConfiguration::OFF
    );
    let guard = nic
        .enable_hardware(HardwareRequest::AllPackets)
        .expect("granted");
    guard.restore().expect("restored");
    assert_eq!(
        nic.configuration().expect("told"),
        HardwareConfiguration::OFF
    );
}

#[test]
fn ptp_takes_the_narrowest_filter_that_the_driver_grants() {
    let advertising = |filters: &str| ideal_but(&format!("[nic]\nreceive_filters = [{filters}]"));
    for (filters, granted) in [
        (
            r#""none", "ptpv2_udp", "ptpv2", "all""#,
            ReceiveFilter::PtpV2Udp,
        ),
        (r#""none", "ptpv2", "all""#, ReceiveFilter::PtpV2),
        (r#""none", "all""#, ReceiveFilter::All),
    ] {
        let simulation = advertising(filters);
        let guard = nic(&simulation)
            .enable_hardware(HardwareRequest::Ptp)
            .expect("granted");
        assert_eq!(guard.granted(), on(granted), "{filters}");
    }
}

#[test]
fn a_grant_that_does_not_serve_is_undone_and_named() {
    let simulation = ideal_but(
        "[nic]\nreceive_filters = [\"none\", \"ptpv2_udp\", \"all\"]\n[nic.grants]\nall = \"ptpv2_udp\"",
    );
    let nic = nic(&simulation);
    let error = nic
        .enable_hardware(HardwareRequest::AllPackets)
        .expect_err("a downgrade");
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    assert!(
        error
            .cause()
            .contains("granted transmit on, receive ptpv2_udp"),
        "{error}"
    );
    assert_eq!(
        nic.configuration().expect("told"),
        HardwareConfiguration::OFF
    );
}

#[test]
fn a_refusal_lists_everything_that_was_tried() {
    let simulation = ideal_but("[nic]\nreceive_filters = [\"none\", \"ntp\"]");
    let error = nic(&simulation)
        .enable_hardware(HardwareRequest::Ptp)
        .expect_err("no such filter");
    for tried in ["receive ptpv2_udp", "receive ptpv2 ", "receive all"] {
        assert!(error.cause().contains(tried), "{error}");
    }
}

#[test]
fn missing_privilege_and_missing_hardware_are_told_apart() {
    let refused = |preset| {
        let simulation = simulation(preset);
        nic(&simulation)
            .enable_hardware(HardwareRequest::AllPackets)
            .expect_err("refused")
            .kind()
    };
    assert_eq!(refused("unprivileged"), ErrorKind::NotPermitted);
    assert_eq!(refused("software-only"), ErrorKind::NotSupported);
}

#[test]
fn cross_timestamps_come_in_the_number_asked_for_and_hold_the_truth() {
    let simulation = simulation("i225");
    let nic = nic(&simulation);
    let clock = nic.hardware_clock().expect("it has one");
    let readings = clock.cross_timestamps(100).expect("taken");
    assert_eq!(readings.len(), 100);
    let one = clock.cross_timestamp().expect("taken");
    for reading in readings.iter().chain([&one]) {
        let truth = simulation
            .world()
            .truth()
            .monotonic_time_of(nic.index(), reading.hardware())
            .expect("it showed");
        assert!(
            reading.monotonic_before() <= truth && truth <= reading.monotonic_after(),
            "{reading:?}: {truth:?}"
        );
    }
    assert_eq!(
        clock
            .cross_timestamps(0)
            .expect_err("none asked for")
            .kind(),
        ErrorKind::InvalidInput
    );
    let none = simulation_without_clock()
        .interface("sim0")
        .expect("a NIC")
        .hardware_clock();
    assert_eq!(none.expect_err("no clock").kind(), ErrorKind::NotSupported);
}

fn simulation_without_clock() -> Simulation {
    simulation("software-only")
}

#[test]
fn the_last_of_several_guards_restores_in_any_order() {
    let simulation = simulation("i225");
    let nic = nic(&simulation);
    let before = HardwareConfiguration {
        transmit: true,
        receive: ReceiveFilter::None,
    };
    nic.enable_hardware(HardwareRequest::Exactly(before))
        .expect("granted")
        .keep();
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let mut guards: Vec<_> = [
            HardwareRequest::Ptp,
            HardwareRequest::AllPackets,
            HardwareRequest::Ptp,
        ]
        .map(|request| Some(nic.enable_hardware(request).expect("granted")))
        .into();
        assert!(
            guards
                .iter()
                .flatten()
                .all(|guard| guard.previous() == Some(before))
        );
        for (step, place) in order.into_iter().enumerate() {
            assert_eq!(
                nic.configuration().expect("told"),
                on(ReceiveFilter::All),
                "{order:?}, {step}"
            );
            guards[place]
                .take()
                .expect("held")
                .restore()
                .expect("restored, or left to the last");
        }
        assert_eq!(nic.configuration().expect("told"), before, "{order:?}");
    }
}

#[test]
fn a_guard_that_needs_less_does_not_narrow_what_others_have() {
    let simulation = simulation("i225");
    let nic = nic(&simulation);
    let wide = nic
        .enable_hardware(HardwareRequest::AllPackets)
        .expect("granted");
    for request in [
        HardwareRequest::Ptp,
        HardwareRequest::Exactly(on(ReceiveFilter::PtpV2Udp)),
    ] {
        assert_eq!(
            nic.enable_hardware(request).expect("granted").granted(),
            on(ReceiveFilter::All)
        );
        assert_eq!(
            nic.configuration().expect("told"),
            on(ReceiveFilter::All),
            "{request:?}"
        );
    }
    drop(wide);
    assert_eq!(
        nic.configuration().expect("told"),
        HardwareConfiguration::OFF
    );
    // nor the configuration of a program without a guard
    simulation
        .world()
        .reconfigure_by_another(NicName::Sim0, on(ReceiveFilter::All));
    drop(nic.enable_hardware(HardwareRequest::Ptp).expect("granted"));
    assert_eq!(nic.configuration().expect("told"), on(ReceiveFilter::All));
}

#[test]
fn what_can_t_be_had_beside_other_guards_is_refused_and_theirs_stays() {
    let simulation = ideal_but("[nic]\nreceive_filters = [\"none\", \"ptpv2_udp\", \"ntp\"]");
    let nic = nic(&simulation);
    let first = nic.enable_hardware(HardwareRequest::Ptp).expect("granted");
    let ntp = HardwareRequest::Exactly(on(ReceiveFilter::Ntp));
    nic.enable_hardware(ntp).expect_err("not both");
    assert_eq!(
        nic.configuration().expect("told"),
        on(ReceiveFilter::PtpV2Udp)
    );
    drop(first);
    let alone = nic.enable_hardware(ntp).expect("granted");
    assert_eq!(nic.configuration().expect("told"), on(ReceiveFilter::Ntp));
    drop(alone);
    assert_eq!(
        nic.configuration().expect("told"),
        HardwareConfiguration::OFF
    );
}

#[test]
fn what_another_program_changed_between_two_guards_is_what_the_last_restores() {
    let simulation = simulation("i225");
    let nic = nic(&simulation);
    let theirs = HardwareConfiguration {
        transmit: false,
        receive: ReceiveFilter::All,
    };
    let first = nic.enable_hardware(HardwareRequest::Ptp).expect("granted");
    simulation
        .world()
        .reconfigure_by_another(NicName::Sim0, theirs);
    let second = nic.enable_hardware(HardwareRequest::Ptp).expect("granted");
    assert_eq!(second.previous(), Some(theirs));
    drop(first);
    assert!(
        nic.configuration().expect("told").transmit,
        "the second needs it"
    );
    drop(second);
    assert_eq!(nic.configuration().expect("told"), theirs);
}

#[test]
fn what_one_guard_keeps_the_others_do_not_switch_off() {
    let simulation = simulation("i225");
    let nic = nic(&simulation);
    let first = nic
        .enable_hardware(HardwareRequest::AllPackets)
        .expect("granted");
    nic.enable_hardware(HardwareRequest::Ptp)
        .expect("granted")
        .keep();
    drop(first);
    assert_eq!(nic.configuration().expect("told"), on(ReceiveFilter::All));
}

#[test]
fn guards_of_many_threads_leave_what_they_found() {
    let simulation = simulation("i225");
    let nic = nic(&simulation);
    std::thread::scope(|scope| {
        for request in [HardwareRequest::Ptp, HardwareRequest::AllPackets]
            .into_iter()
            .cycle()
            .take(8)
        {
            let nic = &nic;
            scope.spawn(move || {
                for _ in 0..50 {
                    let guard = nic.enable_hardware(request).expect("granted");
                    let current = nic.configuration().expect("told");
                    assert!(current.covers(on(ReceiveFilter::PtpV2Udp)), "{current:?}");
                    assert!(
                        request == HardwareRequest::Ptp || current == on(ReceiveFilter::All),
                        "{current:?}"
                    );
                    drop(guard);
                }
            });
        }
    });
    assert_eq!(
        nic.configuration().expect("told"),
        HardwareConfiguration::OFF
    );
}

/// A cloud NIC: a program that only listens gets timestamps, and no remedy suggests a request that
/// has just failed.
#[test]
fn a_nic_that_timestamps_received_packets_alone_is_asked_for_those() {
    let simulation = simulation("ena");
    let nic = nic(&simulation);
    let received = HardwareConfiguration {
        transmit: false,
        receive: ReceiveFilter::All,
    };
    for refused in [
        HardwareRequest::AllPackets,
        HardwareRequest::Sent,
        HardwareRequest::Ptp,
    ] {
        let error = nic
            .enable_hardware(refused)
            .expect_err("no transmit timestamps");
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(error.remedy().contains("received packets alone"), "{error}");
    }
    let guard = nic
        .enable_hardware(HardwareRequest::Received)
        .expect("granted");
    assert_eq!(guard.granted(), received);
    guard.restore().expect("restored");
    assert_eq!(
        nic.configuration().expect("told"),
        HardwareConfiguration::OFF
    );
}

/// Another program, such as ptp4l, has none of our guards.
#[test]
fn what_another_program_switched_on_stays_on() {
    for request in [
        HardwareRequest::Received,
        HardwareRequest::ReceivedPtp,
        HardwareRequest::Sent,
        HardwareRequest::Ptp,
    ] {
        let filters = "preset = \"i225\"\n[nic]\nreceive_filters = [\"none\", \"ptpv2_udp\", \"ptpv2\", \"all\"]\n";
        let simulation = Simulation::from_toml(filters, 7).expect("a scenario");
        let nic = nic(&simulation);
        for theirs in [
            on(ReceiveFilter::PtpV2),
            HardwareConfiguration {
                transmit: false,
                receive: ReceiveFilter::All,
            },
        ] {
            nic.enable_hardware(HardwareRequest::Exactly(theirs))
                .expect("granted")
                .keep();
            let guard = nic.enable_hardware(request).expect("granted");
            let now = nic.configuration().expect("told");
            assert!(now.covers(theirs), "{request:?}: {theirs:?}, {now:?}");
            guard.restore().expect("restored");
            assert_eq!(nic.configuration().expect("told"), theirs, "{request:?}");
        }
    }
}
