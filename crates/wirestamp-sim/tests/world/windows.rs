//! The differences of the Windows-like presets: numbers, one timestamp a packet, ids asked one by one.

use crate::station::{EVERYTHING, Station, cross, interface, world};
use std::sync::{Arc, Mutex};
use wirestamp_core::ErrorKind;
use wirestamp_core::backend::{Backend, Change, ChangeKind, DatagramSocket, Interest};
use wirestamp_core::capability::PtpVerdict;
use wirestamp_core::configuration::{HardwareConfiguration, Source, Timestamping};
use wirestamp_core::cross::CrossMethod;
use wirestamp_core::time::Span;
use wirestamp_core::timestamp::{MissingReason, TransmitId};

#[test]
fn a_modern_windows_timestamps_in_hardware_from_the_start() {
    let mut station = Station::new("windows-modern").timestamping(Source::Both);
    let sim0 = interface(&station.world, "sim0");
    assert!(sim0.luid.is_some());
    let active = station.world.active(&sim0).expect("works");
    assert_eq!(
        active
            .nominal_frequency
            .map(wirestamp_core::time::Frequency::hertz),
        Some(156_250_000)
    );
    assert_eq!(
        (active.ptp_verdict(), active.kernel_masks),
        (PtpVerdict::Hardware, None)
    );
    let granted = station
        .configure(Timestamping::OFF.transmit(16).source(Source::Both))
        .expect("on");
    assert_eq!(
        granted.timestamping.source,
        Source::HardwareElseSoftware,
        "one timestamp a packet"
    );
    station.send(1, b"x").expect("sent");
    let timestamps = station.receive().expect("received").0.timestamps;
    assert!(timestamps.hardware.is_some() && timestamps.software.is_none());
    let collected = station.collect_after(Span::from_milliseconds(10));
    assert_eq!((collected.hardware(), collected.software()), (1, 0));
    let reading = cross(&station.world, "sim0", 1).expect("works")[0];
    assert_eq!(reading.method(), CrossMethod::Driver);
    assert_eq!(
        reading.monotonic_before().nanoseconds() % 100,
        0,
        "the performance counter's tick"
    );
}

#[test]
fn timestamps_that_nobody_asks_for_clog_the_buffer() {
    let mut station = Station::new("windows-modern");
    station
        .configure(
            Timestamping::OFF
                .transmit(2)
                .source(Source::HardwareElseSoftware),
        )
        .expect("on");
    for id in 0..3 {
        station.send(id, b"x").expect("sent");
        station.world.advance(Span::from_milliseconds(5));
    }
    station.collected.awaited = vec![TransmitId(2)];
    assert!(
        station.collect().timestamped.is_empty(),
        "the third found the buffer full"
    );
    station.collected.awaited = vec![TransmitId(1)];
    assert_eq!(station.collect().ids(), [1]);
    station.send(3, b"x").expect("sent");
    assert_eq!(
        station.collect_after(Span::from_milliseconds(5)).ids(),
        [1, 3]
    );
    let until = station.world.truth().now() + Span::from_seconds(1);
    let readiness = station
        .sender
        .wait(Interest::Timestamps, until)
        .expect("waits");
    assert!(readiness.timed_out(), "an abandoned timestamp ends no wait");
}

#[test]
fn a_capacity_of_zero_discards_every_timestamp() {
    let mut station = Station::new("windows-modern");
    station
        .configure(Timestamping::OFF.transmit(0))
        .expect("on");
    station.send_many(5, Span::from_milliseconds(1));
    let collected = station.collect_after(Span::from_seconds(1));
    assert!(collected.timestamped.is_empty() && collected.lost.is_empty());
}

#[test]
fn switched_off_in_the_driver_means_supported_inactive_and_zero() {
    let mut station = Station::new("windows-api-off").timestamping(Source::HardwareElseSoftware);
    let sim0 = interface(&station.world, "sim0");
    assert!(
        station
            .world
            .supported(&sim0)
            .expect("works")
            .hardware
            .any()
    );
    let active = station.world.active(&sim0).expect("works");
    assert!(!active.hardware.any() && active.ptp_verdict() == PtpVerdict::None);
    station.send(1, b"x").expect("sent");
    assert!(station.receive().expect("received").0.timestamps.is_none());
    let collected = station.collect();
    assert_eq!(
        collected.lost,
        [(TransmitId(1), MissingReason::NeverGenerated)]
    );
    let refused = station
        .world
        .configure(&sim0, EVERYTHING)
        .expect_err("by the driver's properties only");
    assert_eq!(refused.kind(), ErrorKind::NotSupported);
}

#[test]
fn without_the_interface_packets_flow_and_everything_else_is_not_supported() {
    let mut station = Station::new("windows-no-api");
    let sim0 = interface(&station.world, "sim0");
    let refusals = [
        station.world.supported(&sim0).map(drop),
        station.world.active(&sim0).map(drop),
        station.configure(Timestamping::OFF.transmit(8)).map(drop),
        cross(&station.world, "sim0", 1).map(drop),
    ];
    for refusal in refusals {
        let error = refusal.expect_err("not supported");
        assert_eq!(
            (error.kind(), error.code()),
            (ErrorKind::NotSupported, Some(10045)),
            "{error}"
        );
    }
    assert_eq!(
        station.world.configuration(&sim0).expect_err("none").kind(),
        ErrorKind::NotSupported
    );
    station.send(1, b"x").expect("sent");
    let (received, payload) = station.receive().expect("received");
    assert!(received.timestamps.is_none() && payload == b"x");
}

#[test]
fn each_windows_answers_with_its_own_number() {
    let code = |preset: &str| {
        let world = world(preset);
        let sim0 = interface(&world, "sim0");
        let number = |error: wirestamp_core::Error| (error.kind(), error.code());
        (
            world.supported(&sim0).err().map(number),
            world.active(&sim0).err().map(number),
            cross(&world, "sim0", 1).err().map(number),
        )
    };
    let io = |code| Some((ErrorKind::Io, Some(code)));
    assert_eq!(code("windows-modern"), (None, None, None));
    assert_eq!(code("windows-bad-driver"), (None, io(2001), io(2001)));
    assert_eq!(code("windows-by-value"), (None, io(2001), None));
    assert_eq!(code("windows-oid-rejected"), (io(23), io(23), io(23)));
    assert_eq!(
        code("windows-old-abi"),
        (None, None, Some((ErrorKind::NotSupported, Some(50))))
    );
    let no_cross = code("hardware-no-cross").2.expect("none");
    assert_eq!(no_cross.0, ErrorKind::NotSupported);
}

#[test]
fn a_driver_may_not_tell_its_frequency() {
    let world = world("windows-no-frequency");
    let supported = world.supported(&interface(&world, "sim0")).expect("works");
    assert_eq!(
        (supported.nominal_frequency, supported.cross_timestamp),
        (None, true)
    );
}

#[test]
fn reconfiguring_restarts_the_nic_and_the_callback_names_nobody() {
    let world = world("windows-modern");
    let sim0 = interface(&world, "sim0");
    let told: Arc<Mutex<Vec<Change>>> = Arc::default();
    let sink = Arc::clone(&told);
    let _subscription = world
        .subscribe(Box::new(move |change| {
            sink.lock().expect("free").push(change);
        }))
        .expect("on");
    world.advance(Span::from_seconds(10));
    let before = cross(&world, "sim0", 1).expect("works")[0].hardware();
    world
        .configure(&sim0, HardwareConfiguration::OFF)
        .expect("granted");
    let after = cross(&world, "sim0", 1).expect("works")[0].hardware();
    assert!(after.since(before) < 0, "the counter started anew");
    assert_eq!(
        *told.lock().expect("free"),
        [Change {
            interface: None,
            kind: ChangeKind::Unspecified
        }]
    );
}

#[test]
fn equal_brackets_are_of_unknown_width() {
    let readings = cross(&world("equal-brackets"), "sim0", 5).expect("works");
    assert!(
        readings
            .iter()
            .all(|reading| reading.monotonic_before() == reading.monotonic_after())
    );
    assert!(readings.iter().all(|reading| reading.bracket().is_none()));
}
