//! Timestamps in both directions against the truth: sources, filters, slots, ids, queues.

use crate::station::{Station, address, configure, custom, interface, world};
use wirestamp_core::ErrorKind;
use wirestamp_core::backend::{Backend, DatagramSocket, Interest};
use wirestamp_core::capability::PtpVerdict;
use wirestamp_core::configuration::{
    HardwareConfiguration, Identification, ReceiveFilter, Source, Timestamping,
};
use wirestamp_core::time::Span;
use wirestamp_core::timestamp::{MissingReason, Timestamps, TransmitId};

fn nanoseconds(span: Span) -> i128 {
    span.nanoseconds()
}

#[test]
fn timestamps_are_the_true_times_of_their_points() {
    let mut station = Station::new("i225")
        .with_hardware()
        .timestamping(Source::Both);
    station.send(7, b"x").expect("sent");
    let (received, _) = station.receive().expect("received");
    let truth = station.world.truth();
    let sent = truth.datagram_with_id(TransmitId(7)).expect("known");
    let collected = station.collect_after(Span::from_milliseconds(1));
    assert_eq!(
        (collected.software(), collected.hardware()),
        (1, 1),
        "two entries"
    );
    let [(_, first), (_, second)] = collected.timestamped[..] else {
        panic!("{collected:?}")
    };
    let (software, hardware) = (
        first.software.expect("software first"),
        second.hardware.expect("then hardware"),
    );
    assert_eq!(software.at.value, sent.transmit_software_at);
    let near = interface(&station.world, "sim0").index;
    assert_eq!(
        truth.hardware_ticks_at(near, sent.transmit_hardware_at.expect("passed")),
        Some(hardware.ticks)
    );
    assert_eq!(hardware.interface, Some(near));
    let far = interface(&station.world, "sim1").index;
    assert_eq!(
        received.timestamps.software.expect("both").at.value,
        sent.receive_software_at.expect("passed")
    );
    let ticks = received.timestamps.hardware.expect("both").ticks;
    let seen = truth.monotonic_time_of(far, ticks).expect("shown");
    assert!(nanoseconds(sent.receive_hardware_at.expect("passed") - seen).abs() <= 1);
    assert!(
        station
            .world
            .truth()
            .monotonic_time_of(near, hardware.ticks)
            .is_some()
    );
}

#[test]
fn delays_imitate_what_was_measured_on_linux() {
    let mut station = Station::new("software-only").timestamping(Source::Software);
    let (mut send, mut wire, mut receive) = (Vec::new(), Vec::new(), Vec::new());
    for id in 0..1_000 {
        let called = station.world.now();
        station.send(id, b"x").expect("sent");
        let (received, _) = station.receive().expect("received");
        let had = station.world.now();
        station.collect();
        let out = station
            .collected
            .timestamped
            .last()
            .expect("timestamped")
            .1
            .software
            .expect("software")
            .at
            .value;
        let arrived = received.timestamps.software.expect("timestamped").at.value;
        send.push(nanoseconds(out - called));
        wire.push(nanoseconds(arrived - out));
        receive.push(nanoseconds(had - arrived));
    }
    let median = |figures: &mut Vec<i128>| {
        figures.sort_unstable();
        figures[figures.len() / 2]
    };
    assert!(
        (600..800).contains(&median(&mut send)),
        "{}",
        median(&mut send)
    );
    assert!(
        (100..140).contains(&median(&mut wire)),
        "{}",
        median(&mut wire)
    );
    assert!(
        (1_100..1_300).contains(&median(&mut receive)),
        "{}",
        median(&mut receive)
    );
}

#[test]
fn each_source_gives_what_it_says() {
    for (source, software, hardware) in [
        (Source::Software, 1, 0),
        (Source::Hardware, 0, 1),
        (Source::HardwareElseSoftware, 0, 1),
        (Source::Both, 1, 1),
    ] {
        let mut station = Station::new("i225").with_hardware().timestamping(source);
        station.send(1, b"x").expect("sent");
        let (received, _) = station.receive().expect("received");
        let got = |timestamps: Timestamps| {
            (
                usize::from(timestamps.software.is_some()),
                usize::from(timestamps.hardware.is_some()),
            )
        };
        assert_eq!(
            got(received.timestamps),
            (software, hardware),
            "receive, {source:?}"
        );
        let collected = station.collect_after(Span::from_milliseconds(1));
        assert_eq!(
            (collected.software(), collected.hardware()),
            (software, hardware),
            "transmit, {source:?}"
        );
    }
}

#[test]
fn without_hardware_switched_on_only_software_timestamps() {
    let mut station = Station::new("i225").timestamping(Source::HardwareElseSoftware);
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
    let collected = station.collect_after(Span::from_milliseconds(1));
    assert_eq!((collected.software(), collected.hardware()), (1, 0));
    let mut hardware_only = Station::new("i225").timestamping(Source::Hardware);
    hardware_only.send(1, b"x").expect("sent");
    assert!(
        hardware_only
            .receive()
            .expect("received")
            .0
            .timestamps
            .is_none()
    );
    assert!(
        hardware_only
            .collect_after(Span::from_seconds(1))
            .timestamped
            .is_empty()
    );
}

#[test]
fn software_timestamps_are_there_when_the_send_returns() {
    let mut station = Station::new("software-only").timestamping(Source::Software);
    for id in 0..1_000 {
        station.send(id, b"x").expect("sent");
        assert_eq!(station.collect().timestamped.len() as u32, id + 1);
    }
}

#[test]
fn nothing_is_timestamped_that_was_not_asked_for() {
    let mut station = Station::new("i225").with_hardware();
    let another = station
        .world
        .bind(address("192.0.2.1:0"), None)
        .expect("bind");
    configure(&another, &Timestamping::OFF.receive())
        .expect("on: the kernel timestamps for that one");
    station.send(1, b"x").expect("sent");
    let (received, _) = station.receive().expect("received");
    assert!(received.timestamps.is_none());
    assert_eq!((received.destination, received.interface), (None, None));
    assert!(
        station
            .collect_after(Span::from_seconds(1))
            .timestamped
            .is_empty()
    );
    // omitted options are off
    station
        .configure(Timestamping::OFF.transmit(8).receive())
        .expect("on");
    let granted = station
        .configure(Timestamping::OFF.receive())
        .expect("transmit off again");
    assert_eq!(
        (granted.timestamping.transmit, granted.system_queue),
        (None, None)
    );
    station.send(2, b"x").expect("sent");
    assert!(
        station
            .collect_after(Span::from_seconds(1))
            .timestamped
            .is_empty()
    );
}

#[test]
fn a_busy_slot_costs_the_hardware_timestamp_and_not_the_id() {
    let mut hardware_only = Station::new("igb")
        .with_transmit_hardware()
        .timestamping(Source::Hardware);
    hardware_only.send_many(40, Span::ZERO);
    let timestamped = hardware_only
        .collect_after(Span::from_milliseconds(100))
        .ids()
        .len();
    assert!(
        (1..20).contains(&timestamped),
        "one slot, held for half a millisecond: {timestamped}"
    );
    let mut either = Station::new("igb")
        .with_transmit_hardware()
        .timestamping(Source::HardwareElseSoftware);
    either.send_many(40, Span::ZERO);
    let collected = either.collect_after(Span::from_milliseconds(100));
    let mut ids = collected.ids();
    assert!(collected.hardware() >= 1 && collected.software() >= 20);
    assert!(
        !ids.is_sorted(),
        "software timestamps overtake the hardware timestamp"
    );
    ids.sort_unstable();
    assert_eq!(ids, (0..40).collect::<Vec<_>>(), "every id exactly once");
    let mut spaced = Station::new("igb")
        .with_transmit_hardware()
        .timestamping(Source::HardwareElseSoftware);
    spaced.send_many(40, Span::from_milliseconds(20));
    let collected = spaced.collect();
    assert_eq!((collected.hardware(), collected.software()), (40, 0));
}

impl Station {
    fn with_transmit_hardware(self) -> Self {
        let wanted = HardwareConfiguration {
            transmit: true,
            receive: ReceiveFilter::None,
        };
        self.world
            .configure(&interface(&self.world, "sim0"), wanted)
            .expect("configurable");
        self
    }
}

#[test]
fn filters_are_upgraded_granted_or_refused_as_the_driver_does() {
    let world = world("igb");
    let sim0 = interface(&world, "sim0");
    assert_eq!(
        world.configuration(&sim0).expect("readable"),
        HardwareConfiguration::OFF
    );
    let ask = |receive| {
        world.configure(
            &sim0,
            HardwareConfiguration {
                transmit: true,
                receive,
            },
        )
    };
    assert_eq!(
        ask(ReceiveFilter::PtpV2UdpSync).expect("upgraded").receive,
        ReceiveFilter::PtpV2
    );
    assert_eq!(
        world.configuration(&sim0).expect("readable").receive,
        ReceiveFilter::PtpV2
    );
    let refused = ask(ReceiveFilter::All).expect_err("not there");
    assert_eq!(
        (refused.kind(), refused.code()),
        (ErrorKind::InvalidInput, Some(34))
    );
    assert_eq!(
        world.configuration(&sim0).expect("readable").receive,
        ReceiveFilter::PtpV2,
        "unchanged"
    );
    let active = world.active(&sim0).expect("readable").hardware;
    assert!(
        active.ptp_v2_over_udp_ipv6_event_message_receive
            && !active.all_receive
            && active.tagged_transmit
    );
}

#[test]
fn a_ptp_filter_timestamps_event_messages_and_nothing_else() {
    let station = Station::on_port(world("igb"), "192.0.2.1:0", "192.0.2.2:319");
    let wanted = HardwareConfiguration {
        transmit: true,
        receive: ReceiveFilter::PtpV2,
    };
    station
        .world
        .configure(&interface(&station.world, "sim1"), wanted)
        .expect("granted");
    let mut station = station.timestamping(Source::Both);
    station.send(1, &[0x00, 0x02, 0, 44]).expect("sent");
    assert!(
        station
            .receive()
            .expect("received")
            .0
            .timestamps
            .hardware
            .is_some(),
        "Sync"
    );
    station.send(2, &[0x0b, 0x02, 0, 44]).expect("sent");
    let announce = station.receive().expect("received").0.timestamps;
    assert!(
        announce.hardware.is_none() && announce.software.is_some(),
        "Announce"
    );
}

#[test]
fn a_filter_of_some_timestamps_what_was_asked_for() {
    let world = custom("preset = 'e1000e-silent'\n[nic]\nhardware_silent = false");
    let wanted = HardwareConfiguration {
        transmit: false,
        receive: ReceiveFilter::PtpV2UdpSync,
    };
    let granted = world
        .configure(&interface(&world, "sim1"), wanted)
        .expect("granted");
    assert_eq!(granted.receive, ReceiveFilter::Some);
    let mut station =
        Station::on_port(world, "192.0.2.1:0", "192.0.2.2:319").timestamping(Source::Hardware);
    station.send(1, &[0x00, 0x02, 0, 44]).expect("sent");
    assert!(
        station
            .receive()
            .expect("received")
            .0
            .timestamps
            .hardware
            .is_some(),
        "Sync"
    );
    station.send(2, &[0x01, 0x02, 0, 44]).expect("sent");
    assert!(
        station.receive().expect("received").0.timestamps.is_none(),
        "Delay_Req"
    );
}

#[test]
fn a_nic_may_know_ptp_over_ipv4_only() {
    let sync = [0x00, 0x02, 0, 44];
    for (from, to, timestamped) in [
        ("192.0.2.1:0", "192.0.2.2:319", true),
        ("[2001:db8::1]:0", "[2001:db8::2]:319", false),
    ] {
        let world = custom("preset = 'igb'\n[nic]\nptp_over_ipv6 = false");
        let sim1 = interface(&world, "sim1");
        let wanted = HardwareConfiguration {
            transmit: true,
            receive: ReceiveFilter::PtpV2,
        };
        world.configure(&sim1, wanted).expect("granted");
        let active = world.active(&sim1).expect("works");
        assert_eq!(
            active.ptp_verdict(),
            PtpVerdict::Software,
            "the verdict asks for both families"
        );
        let mut station = Station::on_port(world, from, to).timestamping(Source::Hardware);
        station.send(1, &sync).expect("sent");
        assert_eq!(
            station
                .receive()
                .expect("received")
                .0
                .timestamps
                .hardware
                .is_some(),
            timestamped,
            "{to}"
        );
    }
}

#[test]
fn ids_are_carried_or_counted() {
    for (carried, asked, used) in [
        (true, Identification::Carried, Identification::Carried),
        (true, Identification::Counter, Identification::Counter),
        (false, Identification::Carried, Identification::Counter),
    ] {
        let mut station = Station::of(custom(&format!(
            "preset = 'i225'\n[host]\ncarried_ids = {carried}"
        )))
        .with_hardware();
        let wanted = Timestamping::OFF
            .transmit(64)
            .source(Source::Both)
            .identification(asked);
        assert_eq!(
            station
                .configure(wanted)
                .expect("on")
                .timestamping
                .identification,
            used
        );
        for id in [900, u32::MAX, 0, 17] {
            station.send(id, b"x").expect("sent");
        }
        let mut ids = station.collect_after(Span::from_milliseconds(1)).ids();
        ids.sort_unstable();
        assert_eq!(
            ids,
            [0, 0, 17, 17, 900, 900, u32::MAX, u32::MAX],
            "{used:?}, both timestamps each"
        );
    }
}

#[test]
fn the_queue_keeps_the_oldest_and_says_that_it_was_full() {
    let mut station = Station::new("buffer-full").timestamping(Source::Software);
    let granted = station
        .configure(Timestamping::OFF.transmit(100))
        .expect("on");
    assert_eq!(granted.system_queue, Some(2));
    station.send_many(10, Span::ZERO);
    let collected = station.collect();
    assert_eq!((collected.ids(), collected.overflows), (vec![0, 1], 1));
    station.send(10, b"x").expect("sent");
    assert_eq!(station.collect().ids(), [0, 1, 10]);
    assert_eq!(station.collected.overflows, 1, "said once");
}

#[test]
fn the_queue_grows_with_the_capacity_that_is_asked_for() {
    let mut station = Station::new("i225");
    let granted = station
        .configure(Timestamping::OFF.transmit(u16::MAX))
        .expect("on");
    assert_eq!(granted.system_queue, Some(65_535));
    let measured = station
        .configure(Timestamping::OFF.transmit(0))
        .expect("on");
    assert_eq!(measured.system_queue, Some(255), "as on Linux");
    station.send_many(300, Span::ZERO);
    assert_eq!(station.collect().ids(), (0..255).collect::<Vec<_>>());
    station.collected.timestamped.clear();
    station
        .configure(Timestamping::OFF.transmit(2_000))
        .expect("on");
    station.send_many(2_000, Span::ZERO);
    assert_eq!(station.collect().timestamped.len(), 2_000);
}

#[test]
fn unread_datagrams_keep_timestamps_out() {
    let mut station = Station::of(custom(
        "preset = 'ideal'\n[host]\nreceive_buffer = 8192\nreceive_buffer_limit = 8192",
    ));
    station
        .configure(Timestamping::OFF.transmit(8))
        .expect("on");
    station.to = station.sender.local_address().expect("bound");
    station.send_many(20, Span::from_microseconds(10));
    let kept = station.collect().timestamped.len();
    assert!(
        (3..7).contains(&kept),
        "datagrams and timestamps share the room: {kept}"
    );
}

#[test]
fn a_step_of_the_real_time_clock_between_timestamp_and_reading_is_noticed() {
    let mut station = Station::new("software-only").timestamping(Source::Software);
    station.send(1, b"x").expect("sent");
    station.world.step_real_time_clock(Span::from_seconds(-100));
    station.send(2, b"x").expect("sent");
    station.collect();
    let [(_, before), (_, after)] = station.collected.timestamped[..] else {
        panic!()
    };
    let (before, after) = (
        before.software.expect("timestamped"),
        after.software.expect("timestamped"),
    );
    assert!(before.clock_stepped && !after.clock_stepped);
    assert!(
        before.at.value < after.at.value,
        "the monotonic clock was not stepped"
    );
    let utc = after.utc.expect("known") - before.utc.expect("known");
    assert!(utc < Span::from_seconds(-99), "{utc}");
}

/// As on Linux: the error queue stays, and reports the timestamps that are requested when it is read.
#[test]
fn what_comes_of_an_older_configuration_keeps_its_id() {
    let mut station = Station::new("i225")
        .with_hardware()
        .timestamping(Source::Hardware);
    station.send(1, b"x").expect("sent");
    station
        .configure(Timestamping::OFF.transmit(8).source(Source::Software))
        .expect("while it was under way");
    station.send(2, b"x").expect("sent");
    station
        .configure(Timestamping::OFF.transmit(8).source(Source::Hardware))
        .expect("while it waited");
    station.send(3, b"x").expect("sent");
    let collected = station.collect_after(Span::from_milliseconds(1));
    assert_eq!(
        (collected.ids(), collected.lost[..].to_vec()),
        (
            vec![1, 3],
            vec![(TransmitId(2), MissingReason::NeverGenerated)]
        )
    );
}

#[test]
fn waiting_for_timestamps_ends_when_one_comes() {
    let mut station = Station::new("i225")
        .with_hardware()
        .timestamping(Source::Hardware);
    station.send(1, b"x").expect("sent");
    let sent = station.world.truth().now();
    let readiness = station
        .sender
        .wait(Interest::Timestamps, sent + Span::from_seconds(1))
        .expect("waits");
    assert!(readiness.timestamps && !readiness.receive);
    let took = station.world.truth().now() - sent;
    assert!((20_000..100_000).contains(&nanoseconds(took)), "{took}");
    assert_eq!(station.collect().ids(), [1]);
}

#[test]
fn the_cold_start_is_waited_out_unless_a_preset_shows_it() {
    let mut warm = Station::new("software-only").timestamping(Source::Software);
    warm.send(1, b"x").expect("sent");
    assert!(
        warm.receive()
            .expect("received")
            .0
            .timestamps
            .software
            .is_some()
    );
    let mut cold = Station::new("cold-start").timestamping(Source::Software);
    cold.send(1, b"x").expect("sent");
    assert!(cold.receive().expect("received").0.timestamps.is_none());
    cold.world.advance(Span::from_milliseconds(5));
    cold.send(2, b"x").expect("sent");
    assert!(
        cold.receive()
            .expect("received")
            .0
            .timestamps
            .software
            .is_some()
    );
    let another = cold.world.bind(address("192.0.2.1:0"), None).expect("bind");
    configure(&another, &Timestamping::OFF.receive()).expect("on");
    cold.send(3, b"x").expect("sent");
    assert!(
        cold.receive()
            .expect("received")
            .0
            .timestamps
            .software
            .is_some(),
        "no second cold start"
    );
}

#[test]
fn while_the_kernels_count_is_unknown_datagrams_go_without_timestamp_and_none_gets_anothers_timestamp()
 {
    let world = custom("preset = 'counter-ids'\n[nic.transmit]\nslots = 2000");
    let mut station = Station::of(world)
        .with_hardware()
        .timestamping(Source::Hardware);
    let mut failed = 0;
    for id in 0..2_000 {
        failed += u32::from(station.send(id, b"x").is_err());
        station
            .world
            .advance(Span::from_milliseconds(i64::from(id % 97 == 0) * 3_000));
    }
    station.collect_after(Span::from_seconds(3));
    let lost = station
        .collected
        .lost
        .iter()
        .filter(|(_, reason)| *reason == MissingReason::Reset)
        .count();
    assert!(failed > 10 && lost > 10, "{failed} failed, {lost} lost");
    let timestamped = &station.collected.timestamped;
    assert_eq!(
        timestamped.len() + lost + failed as usize,
        2_000,
        "every id once"
    );
    let (truth, near) = (
        station.world.truth(),
        interface(&station.world, "sim0").index,
    );
    for (id, timestamps) in timestamped {
        let left = truth
            .datagram_with_id(*id)
            .and_then(|sent| sent.transmit_hardware_at)
            .expect("it left");
        assert_eq!(
            timestamps.hardware.map(|timestamp| timestamp.ticks),
            truth.hardware_ticks_at(near, left),
            "{id}"
        );
    }
}
