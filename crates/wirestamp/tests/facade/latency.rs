//! Latency measurements: compared with the simulator's true times, with losses, and on loopback.

use crate::pair::{LONG, Pair, bound, ideal_but, lacking, simulation, timestamping_loopback};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use wirestamp::interface::HardwareConfiguration;
use wirestamp::latency::{
    Endpoint, Histogram, LatencyOptions, LatencyReport, LatencyRun, PacketLatency,
};
use wirestamp::socket::AddressFamily;
use wirestamp::{
    Bounded, ErrorKind, HardwareRequest, Interface, MissingReason, Result, Simulation, Span,
    TimestampSource,
};

fn measure(simulation: &Simulation, options: LatencyOptions) -> Result<LatencyReport> {
    LatencyRun::on(&simulation.interface("sim0")?, options)?.run(|_| {})
}

fn packets(count: u64) -> LatencyOptions {
    LatencyOptions {
        count,
        ..LatencyOptions::default()
    }
}

fn median(histogram: &Histogram) -> i128 {
    histogram
        .quantile(0.5)
        .expect("something was recorded")
        .nanoseconds()
}

fn is_about(value: i128, expected: i128, tolerance: i128) -> bool {
    (value - expected).abs() <= tolerance
}

#[test]
fn the_three_paths_are_those_of_the_simulated_truth() {
    // the ideal NIC: 700 ns to the software timestamp, 100 + 120 + 100 ns between the
    // software timestamps, 1 µs to the application; calls cost 20 to 170 ns
    for family in [AddressFamily::Ipv4, AddressFamily::Ipv6] {
        let report = measure(
            &simulation("ideal"),
            LatencyOptions {
                family,
                ..packets(500)
            },
        )
        .expect("measured");
        assert!(
            report.lost.is_none() && report.packets == 500,
            "{:?}",
            report.lost
        );
        assert_eq!(report.wire.count(), 500);
        assert!(
            is_about(median(&report.send_path), 720, 60),
            "{}",
            median(&report.send_path)
        );
        assert!(
            is_about(median(&report.wire), 320, 3),
            "{}",
            median(&report.wire)
        );
        assert!(
            is_about(median(&report.receive_path), 1_200, 200),
            "{}",
            median(&report.receive_path)
        );
    }
}

#[test]
fn hardware_timestamps_are_converted_and_the_nics_put_back() {
    let simulation = simulation("ideal");
    let options = LatencyOptions {
        source: TimestampSource::Hardware,
        ..packets(500)
    };
    let report = measure(&simulation, options).expect("measured");
    assert!(report.lost.is_none(), "{:?}", report.lost);
    assert_eq!(report.source, TimestampSource::Hardware);
    assert!(
        is_about(median(&report.send_path), 820, 60),
        "{}",
        median(&report.send_path)
    );
    assert!(
        is_about(median(&report.wire), 120, 3),
        "{}",
        median(&report.wire)
    );
    for name in ["sim0", "sim1"] {
        let nic = simulation.interface(name).expect("a NIC");
        assert_eq!(
            nic.configuration().expect("told"),
            HardwareConfiguration::OFF
        );
    }
}

#[test]
fn a_measurement_holds_what_another_holder_has_switched_on() {
    let simulation = simulation("ideal");
    let nic = simulation.interface("sim0").expect("a NIC");
    let guards: Vec<_> = ["sim0", "sim1"]
        .map(|name| simulation.interface(name).expect("a NIC"))
        .map(|nic| {
            nic.enable_hardware(HardwareRequest::AllPackets)
                .expect("granted")
        })
        .into();
    let options = LatencyOptions {
        source: TimestampSource::Hardware,
        ..packets(100)
    };
    let run = LatencyRun::on(&nic, options).expect("ready");
    drop(guards);
    let report = run.run(|_| {}).expect("measured");
    assert!(report.lost.is_none(), "{:?}", report.lost);
    assert_eq!(
        nic.configuration().expect("told"),
        HardwareConfiguration::OFF
    );
}

#[test]
fn lost_packets_are_counted_and_cost_no_timestamps() {
    let simulation = ideal_but("[link]\nlost = 0.1");
    let report = measure(&simulation, packets(1_000)).expect("measured");
    assert!(
        (50..200).contains(&report.lost.packets),
        "{:?}",
        report.lost
    );
    assert_eq!(
        report.lost.transmit_timestamps_in_all(),
        0,
        "they left all the same"
    );
    assert_eq!(report.send_path.count(), 1_000);
    assert_eq!(report.wire.count(), 1_000 - report.lost.packets);
}

#[test]
fn lost_timestamps_are_counted_by_reason_and_cost_no_packets() {
    let never = measure(&simulation("tx-never"), packets(2_000)).expect("measured");
    assert_eq!(
        never
            .lost
            .transmit_timestamps_for(MissingReason::NeverGenerated),
        2_000
    );
    assert_eq!((never.lost.packets, never.lost.receive_timestamps), (0, 0));
    assert_eq!(
        (never.send_path.count(), never.receive_path.count()),
        (0, 2_000)
    );

    let late = measure(&simulation("tx-late"), packets(2_000)).expect("measured");
    let lost = late.lost.transmit_timestamps_in_all();
    assert!(
        lost > 0 && late.send_path.count() == 2_000 - lost,
        "{:?}",
        late.lost
    );

    let without_timestamp =
        measure(&ideal_but("[nic.faults]\nreceive_zero = 1.0"), packets(100)).expect("measured");
    assert_eq!(
        (
            without_timestamp.lost.receive_timestamps,
            without_timestamp.lost.packets
        ),
        (100, 0)
    );
}

#[test]
fn the_cold_start_is_waited_out() {
    let report = measure(&simulation("cold-start"), packets(200)).expect("measured");
    assert!(report.lost.is_none(), "{:?}", report.lost);
}

#[test]
fn a_rate_sends_by_the_clock() {
    let simulation = simulation("i225");
    let interface = simulation.interface("sim0").expect("a NIC");
    let options = LatencyOptions {
        rate: Some(10_000),
        ..packets(1_000)
    };
    let run = LatencyRun::on(&interface, options).expect("ready");
    let before = simulation.world().truth().now();
    let mut last = 0;
    let report = run.run(|progress| last = progress.sent).expect("measured");
    let took = simulation.world().truth().now() - before;
    assert!(
        is_about(took.nanoseconds(), 100_000_000, 1_000_000),
        "{took}"
    );
    assert!(report.lost.is_none() && last == 1_000);
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let simulation = simulation("ideal");
    for options in [
        packets(0),
        LatencyOptions {
            size: 3,
            ..packets(1)
        },
        LatencyOptions {
            size: 70_000,
            ..packets(1)
        },
        LatencyOptions {
            rate: Some(0),
            ..packets(1)
        },
    ] {
        let error = measure(&simulation, options).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(!error.remedy().is_empty(), "{error}");
    }
    let error = measure(
        &self::simulation("unprivileged"),
        LatencyOptions {
            source: TimestampSource::Hardware,
            ..packets(1)
        },
    );
    assert_eq!(
        error.expect_err("no privilege").kind(),
        ErrorKind::NotPermitted
    );
}

#[test]
fn a_peer_that_does_not_answer_is_unreachable() {
    let simulation = simulation("ideal");
    let silent = bound(&simulation.interface("sim1").expect("a NIC"));
    let peer = Some(silent.local_address().expect("bound"));
    let error = measure(
        &simulation,
        LatencyOptions {
            peer,
            ..packets(10)
        },
    )
    .expect_err("silence");
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert!(error.remedy().contains("echo"), "{error}");
}

#[test]
fn a_nic_that_does_not_loop_back_needs_a_peer() {
    let real = |interface: &Interface| {
        !interface.description().loopback && !interface.description().simulated
    };
    let Some(interface) = Interface::list().expect("listed").into_iter().find(real) else {
        lacking("this system has no other interface");
        return;
    };
    let error = LatencyRun::on(&interface, packets(10)).expect_err("no peer");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.remedy().contains("peer"), "{error}");
}

#[test]
fn loopback_loses_nothing() {
    let Some(loopback) = timestamping_loopback() else {
        return;
    };
    let report = LatencyRun::on(&loopback, packets(2_000))
        .expect("ready")
        .run(|_| {})
        .expect("measured");
    assert!(report.lost.is_none(), "{:?}", report.lost);
    let minimum = report.send_path.minimum().expect("recorded");
    assert!(
        !minimum.is_negative()
            && !report
                .receive_path
                .minimum()
                .expect("recorded")
                .is_negative()
    );
}

#[test]
fn a_peer_that_returns_datagrams_is_measured_as_a_round_trip() {
    let Some(loopback) = timestamping_loopback() else {
        return;
    };
    let echo = bound(&loopback);
    let peer = Some(echo.local_address().expect("bound"));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut buffer = [0; 2_048];
            while let Ok(Some(received)) = echo.receive(&mut buffer, LONG) {
                let back = received.source.expect("a sender");
                echo.send_to(&buffer[..received.length], back, None)
                    .expect("returned");
            }
        });
        let report = LatencyRun::on(
            &loopback,
            LatencyOptions {
                peer,
                ..packets(200)
            },
        )
        .and_then(|run| run.run(|_| {}));
        echo.close();
        let report = report.expect("measured");
        assert!(report.lost.is_none(), "{:?}", report.lost);
        assert!(median(&report.wire) > 0);
    });
}

#[test]
fn given_sockets_are_measured_and_hardware_needs_their_clocks() {
    let endpoints = |simulation: &Simulation| {
        let Pair {
            sender,
            receiver,
            to,
        } = Pair::over_the_cable(simulation);
        let end = |socket| Endpoint {
            socket: Arc::new(socket),
            correlator: None,
        };
        (end(sender), end(receiver), to)
    };
    let simulation = simulation("ideal");
    let (sender, receiver, to) = endpoints(&simulation);
    let report = LatencyRun::between(sender, receiver, to, packets(50))
        .expect("ready")
        .run(|_| {})
        .expect("measured");
    assert!(report.lost.is_none() && is_about(median(&report.wire), 320, 3));

    let (sender, receiver, to) = endpoints(&simulation);
    let hardware = LatencyOptions {
        source: TimestampSource::Hardware,
        timeout: Duration::from_millis(1),
        ..packets(50)
    };
    let error = LatencyRun::between(sender, receiver, to, hardware).expect_err("no clocks");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

/// A cable between ideal NICs with this delay.
fn far_away(delay: &str) -> Simulation {
    ideal_but(&format!("[link.delay]\nbase = \"{delay}\""))
}

#[test]
fn a_far_path_at_any_rate_loses_nothing() {
    for (delay, rate, count) in [
        ("15ms", 100_000, 20_000),
        ("15ms", 1_000, 200),
        ("600ms", 100_000, 65_000),
        ("600ms", 10, 20),
        ("1s", 100_000, 110_000),
    ] {
        let options = LatencyOptions {
            rate: Some(rate),
            timeout: Duration::from_secs(2),
            ..packets(count)
        };
        let report = measure(&far_away(delay), options).expect("measured");
        assert!(
            report.lost.is_none(),
            "{delay} at {rate}: {:?}",
            report.lost
        );
        assert_eq!(
            (report.packets, report.wire.count()),
            (count, count),
            "{delay} at {rate}"
        );
    }
}

#[test]
fn the_defaults_suit_a_far_path() {
    for delay in ["100ms", "600ms", "1s"] {
        let report = measure(&far_away(delay), packets(200)).expect("measured");
        assert!(report.lost.is_none(), "{delay}: {:?}", report.lost);
        assert_eq!(report.wire.count(), 200, "{delay}");
    }
}

#[test]
fn what_exceeds_the_timeout_is_lost_and_nothing_else() {
    for rate in [None, Some(10_000)] {
        let options = LatencyOptions {
            rate,
            timeout: Duration::from_millis(10),
            ..packets(200)
        };
        let report = measure(&far_away("15ms"), options).expect("measured");
        assert_eq!(
            (report.lost.packets, report.wire.count()),
            (200, 0),
            "{rate:?}: {:?}",
            report.lost
        );
        assert_eq!(
            (report.lost.late, report.lost.never_arrived()),
            (200, 0),
            "{rate:?}"
        );
        assert_eq!(report.send_path.count(), 200, "they left all the same");
        let enough = LatencyOptions {
            timeout: Duration::from_millis(16),
            ..options
        };
        let report = measure(&far_away("15ms"), enough).expect("measured");
        assert!(report.lost.is_none(), "{rate:?}: {:?}", report.lost);
    }
}

#[test]
fn late_arrivals_are_told_from_those_that_never_come() {
    // a tenth is lost, and a tenth takes 30 ms longer; no packet overtakes another, so later ones
    // are delayed too
    let link =
        "[link]\nlost = 0.1\n[link.delay]\nbase = \"5ms\"\noutliers = 0.1\noutlier = \"30ms\"";
    for rate in [None, Some(10), Some(10_000)] {
        let simulation = ideal_but(link);
        let before = simulation.world().truth().datagrams();
        let options = LatencyOptions {
            rate,
            timeout: Duration::from_millis(20),
            ..packets(1_000)
        };
        let report = measure(&simulation, options).expect("measured");
        let truth = simulation.world().truth();
        let ours: Vec<_> = (before..truth.datagrams())
            .filter_map(|sequence| truth.datagram(sequence))
            .collect();
        let ours = &ours[ours.len() - 1_000..];
        let took =
            |it: &&wirestamp::sim::Datagram| it.receive_software_at.map(|at| at - it.sent_at);
        let limit = wirestamp::Span::from_milliseconds(20);
        let never = ours.iter().filter(|it| took(it).is_none()).count() as u64;
        let late = ours
            .iter()
            .filter(|it| took(it).is_some_and(|took| took > limit))
            .count() as u64;
        assert!(
            never > 50 && late > 50,
            "{rate:?}: {never} never, {late} late"
        );
        let lost = report.lost;
        assert_eq!(
            (lost.never_arrived(), lost.late, lost.packets),
            (never, late, never + late),
            "{rate:?}"
        );
        assert_eq!((lost.receive_buffer_full, report.unresolved), (0, 0));
        assert_eq!(report.wire.count(), 1_000 - never - late);
        assert!(report.wire.maximum().expect("some") <= limit);
    }
}

#[test]
fn a_stopped_measurement_loses_nothing() {
    let simulation = far_away("1s");
    let options = LatencyOptions {
        rate: Some(1_000),
        ..packets(10_000)
    };
    let mut run =
        LatencyRun::on(&simulation.interface("sim0").expect("a NIC"), options).expect("ready");
    for _ in 0..3_000 {
        assert!(run.step().expect("sent"));
    }
    let report = run.stop().expect("reported");
    assert!(report.lost.is_none(), "{:?}", report.lost);
    assert_eq!(
        (report.packets, report.unresolved + report.wire.count()),
        (3_000, 3_000)
    );
    assert!(
        (990..1_010).contains(&report.unresolved),
        "{}",
        report.unresolved
    );
}

#[test]
fn the_limit_of_packets_in_flight_delays_and_never_loses() {
    // one packet in a hundred is lost, and occupies its slot until its timeout
    let simulation = ideal_but("[link]\nlost = 0.01\n[link.delay]\nbase = \"5ms\"");
    let interface = simulation.interface("sim0").expect("a NIC");
    let timeout = Duration::from_millis(30);
    let options = LatencyOptions {
        rate: Some(10_000),
        timeout,
        max_in_flight: 501,
        ..packets(5_000)
    };
    let report = LatencyRun::on(&interface, options)
        .expect("ready")
        .run(|_| {})
        .expect("measured");
    assert!(
        (20..100).contains(&report.lost.packets),
        "{:?}",
        report.lost
    );
    assert_eq!(report.wire.count(), 5_000 - report.lost.packets);
    let error = LatencyRun::on(
        &interface,
        LatencyOptions {
            max_in_flight: 500,
            ..options
        },
    )
    .expect_err("too few");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.cause().contains("limit is 500"), "{error}");
}

#[test]
fn timestamps_that_never_come_cost_no_packets_at_any_rate() {
    let simulation = simulation("tx-never");
    let options = LatencyOptions {
        rate: Some(100_000),
        timeout: Duration::from_secs(1),
        ..packets(80_000)
    };
    let report = measure(&simulation, options).expect("measured");
    assert_eq!(
        report
            .lost
            .transmit_timestamps_for(MissingReason::NeverGenerated),
        80_000,
        "{:?}",
        report.lost
    );
    assert_eq!(
        (report.lost.packets, report.receive_path.count()),
        (0, 80_000)
    );
}

#[test]
fn silence_is_reported_with_what_was_tried() {
    let simulation = simulation("ideal");
    let silent = bound(&simulation.interface("sim1").expect("a NIC"));
    let to = silent.local_address().expect("bound");
    let timeout = Duration::from_millis(1_500);
    let options = LatencyOptions {
        peer: Some(to),
        timeout,
        ..packets(10)
    };
    let error = measure(&simulation, options).expect_err("silence");
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    for part in ["datagrams within 2.5", &to.to_string(), "sent from"] {
        assert!(error.cause().contains(part), "{part}: {error}");
    }
    assert!(error.remedy().contains("timeout"), "{error}");
}

/// Returns every datagram to its sender after `delay`, until the socket is closed.
fn return_later(relay: &wirestamp::UdpSocket, delay: Duration) {
    let mut held = VecDeque::new();
    let mut buffer = [0; 2_048];
    loop {
        let wait = held
            .front()
            .map_or(LONG, |(due, _, _): &(Instant, SocketAddr, Vec<u8>)| {
                due.saturating_duration_since(Instant::now())
            });
        match relay.receive(&mut buffer, wait) {
            Ok(Some(received)) => {
                let back = received.source.expect("a sender");
                held.push_back((
                    Instant::now() + delay,
                    back,
                    buffer[..received.length].to_vec(),
                ));
            }
            Ok(None) => {}
            Err(_) => return, // closed
        }
        while held
            .front()
            .is_some_and(|(due, _, _)| *due <= Instant::now())
        {
            let (_, to, payload) = held.pop_front().expect("it is there");
            if relay.send_to(&payload, to, None).is_err() {
                return;
            }
        }
    }
}

#[test]
fn real_datagrams_over_a_far_path_are_measured() {
    let Some(loopback) = timestamping_loopback() else {
        return;
    };
    let cases = [
        // the behaviour of the defaults
        (
            100,
            LatencyOptions {
                count: 20,
                ..LatencyOptions::default()
            },
        ),
        (
            1_200,
            LatencyOptions {
                count: 2,
                ..LatencyOptions::default()
            },
        ),
        // over 1,024 in flight; a busy machine under a sanitizer returns the last of them late
        (
            600,
            LatencyOptions {
                rate: Some(4_000),
                timeout: Duration::from_secs(20),
                ..packets(6_000)
            },
        ),
    ];
    for (delay, options) in cases {
        let relay = bound(&loopback);
        // room for packets that come while this thread is delayed
        relay
            .configure(wirestamp::Timestamping::OFF.transmit(8_192))
            .expect("granted");
        let peer = Some(relay.local_address().expect("bound"));
        let delay = Duration::from_millis(delay);
        let measured = thread::scope(|scope| {
            scope.spawn(|| return_later(&relay, delay));
            let measured = LatencyRun::on(&loopback, LatencyOptions { peer, ..options })
                .and_then(|run| run.run(|_| {}));
            relay.close();
            measured
        });
        let report = measured.expect("measured");
        assert!(report.lost.is_none(), "{delay:?}: {:?}", report.lost);
        assert_eq!(
            (report.packets, report.wire.count()),
            (options.count, options.count)
        );
        let least = report.wire.minimum().expect("recorded").to_duration();
        assert!(
            least >= delay && least < delay + Duration::from_millis(500),
            "{least:?} over {delay:?}"
        );
    }
}

#[test]
fn real_datagrams_that_exceed_the_timeout_are_late_and_not_missing() {
    let Some(loopback) = timestamping_loopback() else {
        return;
    };
    let relay = bound(&loopback);
    let peer = Some(relay.local_address().expect("bound"));
    let options = LatencyOptions {
        peer,
        timeout: Duration::from_millis(100),
        ..packets(10)
    };
    let measured = thread::scope(|scope| {
        scope.spawn(|| return_later(&relay, Duration::from_millis(150)));
        let measured = LatencyRun::on(&loopback, options).and_then(|run| run.run(|_| {}));
        relay.close();
        measured
    });
    let lost = measured.expect("measured").lost;
    assert_eq!(
        (lost.packets, lost.late, lost.never_arrived()),
        (10, 10, 0),
        "{lost:?}"
    );
}

#[test]
fn each_packet_is_reported_once_and_as_the_sums_have_it() {
    for preset in ["ideal", "lossy-link", "igb"] {
        let simulation = simulation(preset);
        let nic = simulation.interface("sim0").expect("found");
        let options = LatencyOptions {
            rate: Some(10_000),
            timeout: Duration::from_millis(50),
            queueing: preset != "lossy-link",
            ..packets(300)
        };
        let mut run = LatencyRun::on(&nic, options).expect("ready");
        let (sender, packets) = std::sync::mpsc::channel();
        run.send_packets_to(sender);
        let report = run.run(|_| {}).expect("measured");
        let packets: Vec<_> = packets.iter().collect();
        let mut numbers: Vec<_> = packets.iter().map(|packet| packet.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=300).collect::<Vec<_>>(), "{preset}");
        let times = |path: fn(&PacketLatency) -> Option<Bounded<Span>>| -> Vec<_> {
            packets.iter().filter_map(path).collect()
        };
        let paths = [
            (times(|packet| packet.send_path), &report.send_path),
            (times(|packet| packet.to_queue), &report.to_queue),
            (times(|packet| packet.from_queue), &report.from_queue),
            (times(|packet| packet.wire), &report.wire),
            (times(|packet| packet.receive_path), &report.receive_path),
        ];
        for (times, histogram) in paths {
            assert_eq!(times.len() as u64, histogram.count(), "{preset}");
            let largest = times.iter().map(|path| path.value).max();
            assert_eq!(largest, histogram.maximum(), "{preset}");
        }
        let bounds = times(|packet| packet.receive_path);
        let largest = bounds.iter().map(|path| path.bound).max();
        assert!(largest <= report.max_bound, "{preset}");
        let missing = |name: &str| {
            let named =
                |packet: &&PacketLatency| packet.missing.is_some_and(|is| is.name() == name);
            packets.iter().filter(named).count() as u64
        };
        let lost = missing("not_arrived") + missing("late");
        assert_eq!(lost, report.lost.packets, "{preset}");
        let complete = packets.iter().filter(|packet| packet.missing.is_none());
        assert!(
            complete.clone().all(|packet| packet.wire.is_some()),
            "{preset}"
        );
        assert_eq!(complete.count() as u64, report.wire.count(), "{preset}");
    }
}

#[test]
fn the_send_path_is_split_at_the_queueing_discipline_where_that_is_asked_for() {
    for source in [TimestampSource::Software, TimestampSource::Hardware] {
        let options = LatencyOptions {
            source,
            queueing: true,
            ..packets(500)
        };
        let mut run = LatencyRun::on(
            &simulation("i225").interface("sim0").expect("found"),
            options,
        )
        .expect("ready");
        let (sender, packets) = std::sync::mpsc::channel();
        run.send_packets_to(sender);
        let report = run.run(|_| {}).expect("measured");
        assert!(report.lost.is_none(), "{:?}", report.lost);
        let counts = (report.to_queue.count(), report.from_queue.count());
        assert_eq!(counts, (500, 500));
        for packet in packets {
            let time = |path: Option<Bounded<Span>>| path.expect("measured").value;
            let parts = time(packet.to_queue) + time(packet.from_queue);
            assert_eq!(parts, time(packet.send_path));
            assert!(time(packet.to_queue) > Span::ZERO);
        }
        if source == TimestampSource::Software {
            // datagrams spend 100 ns in the simulator's queue
            assert_eq!(
                report.from_queue.maximum(),
                Some(Span::from_nanoseconds(100))
            );
        }
    }
    let report = measure(&simulation("i225"), packets(100)).expect("measured");
    assert_eq!((report.to_queue.count(), report.from_queue.count()), (0, 0));
}

#[test]
fn a_system_without_queue_timestamps_refuses_to_split_the_send_path() {
    let options = LatencyOptions {
        queueing: true,
        ..packets(10)
    };
    let error = measure(&simulation("windows-modern"), options).expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::NotSupported);
}

/// Hardware timestamps are final after up to 600 ms, and 64 packets may be in flight.
#[test]
fn times_that_become_final_later_than_packets_arrive_are_not_lost() {
    let options = LatencyOptions {
        rate: Some(2_000),
        timeout: Duration::from_millis(10),
        max_in_flight: 64,
        source: TimestampSource::Hardware,
        ..packets(4_000)
    };
    let report = measure(&simulation("i225"), options).expect("measured");
    assert!(report.lost.is_none(), "{:?}", report.lost);
    assert_eq!(report.wire.count(), 4_000);
}

/// The NIC's clock is set back by 10 ms in the middle: packets since the last cross timestamp
/// before that are lost, with the reason, and no time is wrong.
#[test]
fn a_step_of_the_nics_clock_costs_packets_and_no_wrong_times() {
    let toml = "preset = \"i225\"\n[[event]]\nat = \"1500ms\"\naction = \"step_hardware\"\nticks = -10_000_000\n";
    let simulation = Simulation::from_toml(toml, 1).expect("a scenario");
    let options = LatencyOptions {
        rate: Some(1_000),
        source: TimestampSource::Hardware,
        ..packets(2_000)
    };
    let report = measure(&simulation, options).expect("measured");
    let longest = report.wire.quantile(1.0).expect("recorded");
    assert!(longest < Span::from_microseconds(10), "{longest}");
    let lost = report.lost.conversions;
    assert!((20..500).contains(&lost), "{lost}");
    assert!(report.lost.last_refusal.is_some());
    assert_eq!(report.packets, 2_000);
}

#[test]
fn nothing_is_sent_once_the_time_is_over() {
    for (rate, least, most) in [(Some(1_000), 99, 101), (None, 100, 100_000)] {
        let simulation = Simulation::preset("igc", 1).expect("a preset");
        let interface = simulation.interface("sim0").expect("a NIC");
        let options = LatencyOptions {
            rate,
            duration: Some(Duration::from_millis(100)),
            ..packets(u64::MAX)
        };
        let run = LatencyRun::on(&interface, options).expect("ready");
        let begun = interface.utc_cross_timestamp().before;
        let report = run.run(|_| {}).expect("measured");
        let took = interface.utc_cross_timestamp().before - begun;
        let count = report.packets;
        assert!((least..=most).contains(&count), "{count} at {rate:?}");
        // the times of the last packets are awaited
        assert!(took >= Span::from_milliseconds(100), "{took}");
        assert_eq!(report.wire.count(), count, "{rate:?}");
    }
    // it ends if the count is reached before
    let simulation = Simulation::preset("igc", 1).expect("a preset");
    let interface = simulation.interface("sim0").expect("a NIC");
    let options = LatencyOptions {
        duration: Some(Duration::from_secs(100)),
        ..packets(7)
    };
    let run = LatencyRun::on(&interface, options).expect("ready");
    assert_eq!(run.run(|_| {}).expect("measured").packets, 7);
}

#[test]
fn an_interval_is_waited_for_before_a_packet_and_not_after_the_last_nor_past_the_end() {
    const MINUTE: Duration = Duration::from_secs(60);
    for (count, duration, sent, most) in [
        (1, None, 1, Span::from_seconds(5)),
        (3, None, 3, Span::from_seconds(2 * 60 + 5)),
        (9, Some(Duration::from_secs(2)), 1, Span::from_seconds(7)),
    ] {
        let simulation = simulation("ideal");
        let options = LatencyOptions {
            interval: Some(MINUTE),
            duration,
            ..packets(count)
        };
        let nic = simulation.interface("sim0").expect("a NIC");
        let mut run = LatencyRun::on(&nic, options).expect("ready");
        let begun = run.sockets()[0].now();
        let mut turns = 0;
        while run.step_for(Duration::from_millis(20)).expect("stepped") {
            turns += 1;
        }
        let took = run.sockets()[0].now() - begun;
        assert!(took < most, "{count}: {took}");
        // the caller gets its turn in between
        assert!(
            turns >= took.nanoseconds() / 40_000_000,
            "{count}: {turns} in {took}"
        );
        assert_eq!(run.finish().expect("reported").packets, sent);
    }
}
