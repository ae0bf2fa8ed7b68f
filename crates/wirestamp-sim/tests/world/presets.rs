//! Every preset shows the behaviour that it is named after, through the contract alone.

use crate::station::{EVERYTHING, Station, cross, interface, world};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wirestamp_core::ErrorKind;
use wirestamp_core::backend::Backend;
use wirestamp_core::capability::{Capabilities, PtpVerdict};
use wirestamp_core::configuration::{HardwareConfiguration, ReceiveFilter, Source, Timestamping};
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::time::{MonotonicTime, Span};
use wirestamp_core::timestamp::MissingReason;
use wirestamp_sim::{Scenario, World};

/// A second, in which late timestamps come.
const SECOND: Span = Span::from_seconds(1);
const GAP: Span = Span::from_microseconds(100);

#[test]
fn every_preset_shows_what_it_is_named_after() {
    for (name, _) in Scenario::presets() {
        show(name);
    }
}

fn show(name: &str) {
    match name {
        "i225" => good_nic(),
        "ideal" => ideal(),
        "igb" => igb(),
        "igb-vm" => igb_vm(),
        "igc" => igc(),
        "e1000e-silent" => e1000e(),
        "software-only" => software_only(),
        "ena" => ena(),
        "rx-only" => rx_only(),
        "tx-never" => tx_never(),
        "tx-zero" => tx_zero(),
        "tx-late" => tx_late(),
        "cold-start" => cold_start(),
        "buffer-full" => buffer_full(),
        "counter-ids" => counter_ids("counter-ids"),
        "counter-old" => counter_ids("counter-old"),
        "miscounted-ids" => miscounted_ids(),
        "control-truncated" => control_truncated(),
        "filter-downgrade" => filter_downgrade(),
        "hardware-no-cross" => hardware_no_cross(),
        "equal-brackets" => equal_brackets(),
        "counter-reset" => counter_reset(),
        "counter-wrap" => counter_wrap(),
        "clock-steps" => clock_steps(),
        "noisy-cross" => noisy_cross(),
        "slow-cross" => slow_cross(),
        "poor-oscillator" => poor_oscillator(),
        "lossy-link" => lossy_link(),
        "storm" => storm(),
        "vanishing" => vanishing(),
        "unprivileged" => unprivileged(),
        "windows-modern" => windows("windows-modern", None, None),
        "windows-api-off" => windows_api_off(),
        "windows-no-api" => windows("windows-no-api", Some(10_045), Some(10_045)),
        "windows-old-abi" => windows("windows-old-abi", None, Some(50)),
        "windows-bad-driver" => windows("windows-bad-driver", Some(2_001), Some(2_001)),
        "windows-by-value" => windows_by_value(),
        "windows-oid-rejected" => windows("windows-oid-rejected", Some(23), Some(23)),
        "windows-no-frequency" => windows_no_frequency(),
        unknown => panic!("the preset {unknown} has no test"),
    }
}

fn capabilities(world: &World) -> (Capabilities, Capabilities) {
    let sim0 = interface(world, "sim0");
    (
        world.supported(&sim0).expect("works"),
        world.active(&sim0).expect("works"),
    )
}

fn hardware(preset: &str, source: Source) -> Station {
    Station::new(preset).with_hardware().timestamping(source)
}

fn good_nic() {
    let (supported, active) = capabilities(&world("i225"));
    assert_eq!(supported.ptp_verdict(), PtpVerdict::Hardware);
    assert!(
        supported.hardware.all_receive
            && supported.hardware.tagged_transmit
            && supported.cross_timestamp
    );
    assert_eq!(
        active.ptp_verdict(),
        PtpVerdict::Software,
        "hardware is off until it is switched on"
    );
    let mut station = hardware("i225", Source::Both);
    station.send_many(200, Span::ZERO);
    assert!(
        station
            .receive_all()
            .iter()
            .all(|(received, _)| received.timestamps.hardware.is_some())
    );
    let collected = station.collect();
    assert_eq!((collected.hardware(), collected.software()), (200, 200));
}

fn ideal() {
    let mut station = hardware("ideal", Source::Software);
    station.send_many(10, GAP);
    let times: Vec<MonotonicTime> = station
        .receive_all()
        .iter()
        .filter_map(|(got, _)| Some(got.timestamps.software?.at.value))
        .collect();
    let gaps: std::collections::BTreeSet<Span> =
        times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!((times.len(), gaps.len()), (10, 1), "one like the other");
}

fn igb() {
    let (supported, _) = capabilities(&world("igb"));
    assert!(
        !supported.hardware.all_receive
            && supported
                .hardware
                .ptp_v2_over_udp_ipv4_event_message_receive
    );
    let world = world("igb");
    let sim0 = interface(&world, "sim0");
    assert_eq!(
        world.configure(&sim0, EVERYTHING).expect_err("ALL").kind(),
        ErrorKind::InvalidInput
    );
    let mut wanted = EVERYTHING;
    wanted.receive = ReceiveFilter::PtpV2Udp;
    assert_eq!(
        world.configure(&sim0, wanted).expect("upgraded").receive,
        ReceiveFilter::PtpV2
    );
    let mut station = Station::of(world).timestamping(Source::Hardware);
    station.send_many(40, Span::ZERO);
    assert!(station.collect_after(SECOND).hardware() < 20, "one slot");
}

/// As wide as the recording, half of the time.
fn igb_vm() {
    let world = world("igb-vm");
    let mut widths = Vec::new();
    for _ in 0..100 {
        let readings = cross(&world, "sim0", 5).expect("readings");
        assert!(
            readings[0]
                .bracket()
                .is_some_and(|first| first > Span::from_microseconds(10))
        );
        widths.extend(readings[1..].iter().filter_map(CrossTimestamp::bracket));
    }
    widths.sort_unstable();
    assert!(
        (800..1_100).contains(&widths[200].nanoseconds()),
        "{}",
        widths[200]
    );
    assert!(
        (1_300..4_000).contains(&widths[396].nanoseconds()),
        "{}",
        widths[396]
    );
}

fn igc() {
    let mut burst = hardware("igc", Source::Hardware);
    burst.send_many(40, Span::ZERO);
    let timestamped = burst.collect_after(SECOND).hardware();
    assert!((4..20).contains(&timestamped), "four slots: {timestamped}");
    let mut four = hardware("igc", Source::Hardware);
    four.send_many(4, Span::ZERO);
    assert_eq!(four.collect_after(SECOND).hardware(), 4);
}

fn e1000e() {
    let (supported, _) = capabilities(&world("e1000e-silent"));
    assert_eq!(
        supported.ptp_verdict(),
        PtpVerdict::Hardware,
        "says the driver"
    );
    let mut station = hardware("e1000e-silent", Source::Hardware);
    station.send_many(10, GAP);
    assert!(
        station
            .receive_all()
            .iter()
            .all(|(received, _)| received.timestamps.is_none())
    );
    assert!(station.collect_after(SECOND).timestamped.is_empty());
    let sim0 = interface(&station.world, "sim0");
    let mut wanted = EVERYTHING;
    wanted.receive = ReceiveFilter::PtpV2UdpSync;
    assert_eq!(
        station
            .world
            .configure(&sim0, wanted)
            .expect("granted")
            .receive,
        ReceiveFilter::Some
    );
}

fn software_only() {
    let world = world("software-only");
    let (supported, _) = capabilities(&world);
    assert_eq!(
        (supported.ptp_verdict(), supported.nominal_frequency),
        (PtpVerdict::Software, None)
    );
    assert_eq!(supported.kernel_masks.expect("Linux").so_timestamping, 0x1a);
    let sim0 = interface(&world, "sim0");
    assert_eq!(sim0.hardware_clock, None);
    assert_eq!(
        world.configure(&sim0, EVERYTHING).expect_err("none").kind(),
        ErrorKind::NotSupported
    );
    assert_eq!(
        world.configuration(&sim0).expect_err("none").kind(),
        ErrorKind::NotSupported
    );
}

fn ena() {
    let (supported, _) = capabilities(&world("ena"));
    assert!(
        supported.hardware.all_receive
            && !supported.hardware.tagged_transmit
            && supported.software.tagged_transmit
    );
    let world = world("ena");
    assert!(cross(&world, "sim0", 1).is_ok());
    assert_eq!(
        cross(&world, "sim0", 1).expect_err("too soon").kind(),
        ErrorKind::Busy
    );
}

fn rx_only() {
    let mut station = Station::new("rx-only").timestamping(Source::Software);
    station.send(1, b"x").expect("sent");
    assert!(
        station
            .receive()
            .expect("received")
            .0
            .timestamps
            .software
            .is_some()
    );
    assert!(station.collect_after(SECOND).timestamped.is_empty());
    assert!(!capabilities(&station.world).0.software.tagged_transmit);
}

fn tx_never() {
    let mut station = hardware("tx-never", Source::Both);
    assert_eq!(
        capabilities(&station.world).1.ptp_verdict(),
        PtpVerdict::Hardware
    );
    station.send_many(10, GAP);
    let collected = station.collect_after(SECOND);
    assert!(collected.timestamped.is_empty() && collected.lost.is_empty());
    assert_eq!(station.receive_all().len(), 10);
}

fn tx_zero() {
    let mut station = hardware("tx-zero", Source::Hardware);
    station.send_many(10, GAP);
    let collected = station.collect_after(SECOND);
    assert!(collected.timestamped.is_empty() && collected.lost.len() == 10);
    assert!(
        collected
            .lost
            .iter()
            .all(|(_, reason)| *reason == MissingReason::NeverGenerated)
    );
}

fn tx_late() {
    let mut station = hardware("tx-late", Source::Hardware);
    station.send_many(200, Span::ZERO);
    let soon = station
        .collect_after(Span::from_milliseconds(1))
        .timestamped
        .len();
    let late = station
        .collect_after(Span::from_milliseconds(1_100))
        .timestamped
        .len()
        - soon;
    assert!(
        (60..140).contains(&soon) && (60..140).contains(&late),
        "{soon} and {late}"
    );
    let mut ids = station.collected.ids();
    assert!(!ids.is_sorted(), "out of order");
    ids.sort_unstable();
    let all = ids.len();
    ids.dedup();
    assert!(ids.len() < all && ids.len() < 200, "some twice, some never");
}

fn cold_start() {
    let mut station = Station::new("cold-start").timestamping(Source::Software);
    station.send(1, b"x").expect("sent");
    assert!(station.receive().expect("received").0.timestamps.is_none());
    station.world.advance(Span::from_milliseconds(5));
    station.send(2, b"x").expect("sent");
    assert!(!station.receive().expect("received").0.timestamps.is_none());
}

fn buffer_full() {
    let mut station = hardware("buffer-full", Source::Software);
    station.send_many(10, GAP);
    let collected = station.collect();
    assert_eq!((collected.ids(), collected.overflows), (vec![0, 1], 1));
}

fn counter_ids(preset: &str) {
    let mut station = hardware(preset, Source::Software);
    let failed = (0..500)
        .filter(|id| station.send(*id, b"x").is_err())
        .count();
    assert!((5..40).contains(&failed), "{failed}");
    let truth = station.world.truth();
    station.collect_after(SECOND);
    for (id, timestamps) in &station.collected.timestamped {
        let left = truth
            .datagram_with_id(*id)
            .expect("it left")
            .transmit_software_at;
        assert_eq!(
            timestamps.software.map(|timestamp| timestamp.at.value),
            Some(left),
            "the counts are mapped to the caller's ids"
        );
    }
}

fn miscounted_ids() {
    let mut station = hardware("miscounted-ids", Source::Software);
    station.send_many(5, GAP);
    station.collect();
    let truth = station.world.truth();
    assert_eq!(station.collected.ids(), [1, 2, 3, 4]);
    for (id, timestamps) in &station.collected.timestamped {
        let neighbour = truth
            .datagram(u64::from(id.0) - 1)
            .expect("sent")
            .transmit_software_at;
        assert_eq!(
            timestamps.software.map(|timestamp| timestamp.at.value),
            Some(neighbour),
            "another datagram's"
        );
    }
}

fn control_truncated() {
    let mut station = hardware("control-truncated", Source::Software);
    station.send_many(100, GAP);
    let received = station.receive_all();
    assert!(
        received
            .iter()
            .all(|(got, _)| got.control_truncated == got.timestamps.is_none())
    );
    assert!(
        (30..70).contains(
            &received
                .iter()
                .filter(|(got, _)| got.control_truncated)
                .count()
        )
    );
}

fn filter_downgrade() {
    let world = world("filter-downgrade");
    let sim0 = interface(&world, "sim0");
    assert_eq!(
        world.configure(&sim0, EVERYTHING).expect("granted").receive,
        ReceiveFilter::PtpV2Udp
    );
    world.advance(Span::from_seconds(3));
    assert_eq!(
        world.configuration(&sim0).expect("readable"),
        HardwareConfiguration::OFF,
        "another program's doing"
    );
}

fn hardware_no_cross() {
    let world = world("hardware-no-cross");
    let (_, active) = capabilities(&world);
    assert!(active.hardware.all_receive && !active.cross_timestamp);
    assert_eq!(
        cross(&world, "sim0", 1).expect_err("none").kind(),
        ErrorKind::NotSupported
    );
}

fn equal_brackets() {
    let readings = cross(&world("equal-brackets"), "sim0", 5).expect("works");
    assert!(readings.iter().all(|reading| reading.bracket().is_none()));
}

/// The counter at `at` and again after `span`.
fn around(preset: &str, at: Span, span: Span) -> (u64, u64) {
    let world = world(preset);
    world.advance(at);
    let ticks = || cross(&world, "sim0", 1).expect("works")[0].hardware().raw();
    let first = ticks();
    world.advance(span);
    (first, ticks())
}

fn counter_reset() {
    let (before, after) = around(
        "counter-reset",
        Span::from_milliseconds(2_900),
        Span::from_milliseconds(200),
    );
    assert!(after < before && after < 1_000_000_000);
}

fn counter_wrap() {
    let (before, after) = around(
        "counter-wrap",
        Span::from_milliseconds(2_900),
        Span::from_milliseconds(200),
    );
    assert!(after < 200_000_000 && before > u64::MAX - 200_000_000);
}

fn clock_steps() {
    let (before, after) = around(
        "clock-steps",
        Span::from_milliseconds(1_900),
        Span::from_milliseconds(200),
    );
    assert!(
        (198_000_000..200_000_000).contains(&(after - before)),
        "a millisecond is missing"
    );
    let world = world("clock-steps");
    let first = world.utc_cross_timestamp();
    world.advance(Span::from_seconds(4));
    assert!(world.utc_cross_timestamp().utc - first.utc > Span::from_seconds(103));
}

fn noisy_cross() {
    let world = world("noisy-cross");
    let tries: Vec<bool> = (0..200).map(|_| cross(&world, "sim0", 5).is_ok()).collect();
    assert!(tries.contains(&false), "busy now and then");
    assert!(world.truth().invalid_readings() > 0);
}

fn slow_cross() {
    let readings = cross(&world("slow-cross"), "sim0", 5).expect("works");
    assert!(
        readings
            .iter()
            .all(|reading| reading.bracket() > Some(Span::from_microseconds(36)))
    );
}

fn poor_oscillator() {
    let rate = |at| {
        let (first, second) = around(
            "poor-oscillator",
            Span::from_seconds(at),
            Span::from_seconds(1),
        );
        (second - first) as i64
    };
    let change = rate(75) - rate(225);
    assert!(
        (1_500..2_500).contains(&change),
        "from +1 ppm to -1 ppm of a second: {change} ns"
    );
}

fn lossy_link() {
    let mut station = hardware("lossy-link", Source::Software);
    station.send_many(200, GAP);
    let received = station.receive_all();
    let mut order: Vec<Vec<u8>> = received
        .iter()
        .map(|(_, payload)| payload.clone())
        .collect();
    order.sort_unstable();
    order.dedup();
    assert!(order.len() < 200, "some are lost");
    assert!(order.len() < received.len(), "some come twice");
    assert!(
        received.iter().any(|(got, _)| got.control_truncated)
            && received.iter().any(|(got, _)| got.timestamps.is_none())
    );
}

fn storm() {
    let world = world("storm");
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    let _subscription = world.subscribe(Box::new(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
    }));
    world.advance(Span::from_milliseconds(1_500));
    assert!(told.load(Ordering::Relaxed) >= 2);
    let before = told.load(Ordering::Relaxed);
    world.advance(SECOND);
    assert_eq!(
        told.load(Ordering::Relaxed),
        before,
        "the reconfiguration was not told"
    );
    assert!(capabilities(&world).1.hardware.all_receive);
    world.advance(SECOND);
    assert_eq!(
        told.load(Ordering::Relaxed),
        before + 1,
        "that something was lost is"
    );
}

fn vanishing() {
    let world = world("vanishing");
    let names = || {
        world
            .interfaces()
            .expect("interfaces")
            .into_iter()
            .map(|own| (own.name, own.index.get()))
    };
    world.advance(Span::from_seconds(3));
    assert_eq!(names().collect::<Vec<_>>(), [(String::from("sim1"), 1_001)]);
    world.advance(Span::from_seconds(2));
    assert_eq!(names().next(), Some((String::from("sim0"), 1_002)));
}

fn unprivileged() {
    let world = world("unprivileged");
    let sim0 = interface(&world, "sim0");
    let error = world.configure(&sim0, EVERYTHING).expect_err("may not");
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::NotPermitted, Some(1))
    );
    assert_eq!(
        world.open_clock(&sim0).expect_err("may not").kind(),
        ErrorKind::NotPermitted
    );
    assert!(
        world.supported(&sim0).is_ok() && world.configuration(&sim0).is_ok(),
        "asking needs no privilege"
    );
}

fn windows(preset: &str, active: Option<i32>, capture: Option<i32>) {
    let world = world(preset);
    let sim0 = interface(&world, "sim0");
    assert!(sim0.luid.is_some());
    assert_eq!(
        world.active(&sim0).err().and_then(|error| error.code()),
        active,
        "{preset}"
    );
    assert_eq!(
        cross(&world, "sim0", 1)
            .err()
            .and_then(|error| error.code()),
        capture,
        "{preset}"
    );
    let mut station = Station::of(world);
    let wanted = Timestamping::OFF
        .receive()
        .source(Source::HardwareElseSoftware);
    let configured = station.configure_receiver(wanted);
    assert_eq!(configured.is_err(), preset == "windows-no-api");
    station.send(1, b"x").expect("packets flow");
    let timestamps = station.receive().expect("received").0.timestamps;
    assert_eq!(timestamps.hardware.is_some(), active.is_none(), "{preset}");
}

fn windows_api_off() {
    let (supported, active) = capabilities(&world("windows-api-off"));
    assert!(supported.hardware.any() && !active.hardware.any() && !active.software.all_receive);
}

fn windows_no_frequency() {
    let (supported, active) = capabilities(&world("windows-no-frequency"));
    assert_eq!(
        (supported.nominal_frequency, active.nominal_frequency),
        (None, None)
    );
    assert!(supported.cross_timestamp);
}

fn windows_by_value() {
    let world = world("windows-by-value");
    let sim0 = interface(&world, "sim0");
    let active = world.active(&sim0).err().and_then(|error| error.code());
    assert_eq!(active, Some(2_001));
    assert!(cross(&world, "sim0", 1).is_ok());
    let mut station = Station::of(world);
    let wanted = Timestamping::OFF
        .receive()
        .source(Source::HardwareElseSoftware);
    station.configure_receiver(wanted).expect("granted");
    station.send(1, b"x").expect("packets flow");
    let timestamps = station.receive().expect("received").0.timestamps;
    assert!(timestamps.hardware.is_some(), "the NIC's, by its value");
}
