//! Row 15: where packets spend their time, signed and in nanoseconds.

use super::Behaviour;
use crate::Outcome;
use crate::refusal::refused_with_remedy;
use crate::rig::{Course, Family, Need, Rig};
use std::sync::Arc;
use std::time::Duration;
use wirestamp::latency::{Endpoint, LatencyOptions, LatencyReport, LatencyRun, Summary};
use wirestamp::socket::AddressFamily;
use wirestamp::{ErrorKind, MissingReason, Span, TimestampSource, TransmitId};

/// A tenth of everything is lost.
const LOSSY: &str = r#"
preset = "i225"
[link]
lost = 0.1
[nic.faults]
lost = 0.1
receive_zero = 0.1
"#;

/// Some timestamps come much later than the others, as from a queue that is held up.
const HELD_UP: &str = r#"
preset = "ideal"
[nic.faults]
late = 0.01
late_from = "20ms"
late_to = "100ms"
"#;

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(15, "the-paths-have-their-signs-and-add-up", signs),
    Behaviour::new(15, "the-paths-are-the-true-ones", true_paths)
        .needs(&[Need::Simulation])
        .preset("i225"),
    Behaviour::new(15, "a-measurement-loses-nothing-over-ipv4", |rig| {
        loses_nothing(rig, Family::V4)
    }),
    Behaviour::new(15, "a-measurement-loses-nothing-over-ipv6", |rig| {
        loses_nothing(rig, Family::V6)
    }),
    Behaviour::new(15, "a-measurement-at-a-rate-loses-nothing", at_a_rate),
    Behaviour::new(
        15,
        "a-timestamp-far-later-than-others-is-no-loss-of-a-measurement-at-a-rate",
        late_at_a_rate,
    )
    .needs(&[Need::Simulation])
    .toml(HELD_UP),
    Behaviour::new(15, "a-measurement-of-any-size-loses-nothing", any_size),
    Behaviour::new(15, "what-is-measured-is-the-truth", measured_truth)
        .needs(&[Need::Simulation])
        .preset("i225"),
    Behaviour::new(
        15,
        "hardware-timestamps-go-through-the-correlator",
        through_the_correlator,
    )
    .needs(&[Need::HardwareClock, Need::Scenario])
    .preset("i225")
    .also(&[Need::OwnPath]),
    Behaviour::new(15, "what-is-lost-is-told-by-reason", losses)
        .needs(&[Need::Simulation])
        .toml(LOSSY),
    Behaviour::new(
        15,
        "timestamps-that-never-come-are-a-report-and-not-an-error",
        never,
    )
    .needs(&[Need::Simulation])
    .preset("tx-never"),
    Behaviour::new(15, "options-that-make-no-sense-are-refused", nonsense),
];

fn signs(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    for id in 0..200 {
        let exchange = pair.exchange(id)?;
        exchange.check_software();
        let sent = exchange.sent.software.expect("a software timestamp");
        let received = exchange
            .received
            .timestamps
            .software
            .expect("a software timestamp");
        let send_path = sent.at.value - exchange.before_send;
        let wire = received.at.value - sent.at.value;
        let receive_path = exchange.after_receive - received.at.value;
        assert!(
            send_path >= -sent.at.bound
                && receive_path >= -received.at.bound
                && wire >= -(sent.at.bound + received.at.bound)
        );
        assert_eq!(
            send_path + wire + receive_path,
            exchange.after_receive - exchange.before_send
        );
    }
    Ok(())
}

fn true_paths(rig: &Rig) -> Outcome {
    let pair = rig.timestamping_pair()?;
    for id in 0..50 {
        let exchange = pair.exchange(id)?;
        let truth = rig
            .host()
            .datagram_with_id(TransmitId(id))
            .expect("it was sent");
        let sent = exchange
            .sent
            .software
            .expect("a software timestamp")
            .at
            .value;
        let received = exchange
            .received
            .timestamps
            .software
            .expect("a software timestamp")
            .at
            .value;
        assert!(
            rig.host().is_true(sent, Some(truth.transmit_software_at)),
            "{sent:?}: {truth:?}"
        );
        assert!(
            rig.host().is_true(received, truth.receive_software_at),
            "{received:?}: {truth:?}"
        );
        // reading the clock costs 20 ns in this scenario; a real call has no limit
        let called = truth.sent_at - exchange.before_send;
        assert!(called >= Span::ZERO, "{called}");
        assert!(
            !rig.is_simulated() || called < Span::from_nanoseconds(100),
            "{called}"
        );
        assert!(
            exchange.after_receive - truth.delivered_at.expect("it was delivered")
                > least_latency(rig)
        );
    }
    Ok(())
}

/// A measurement from the near to the far end.
fn measure(rig: &Rig, options: LatencyOptions) -> Outcome<LatencyReport> {
    if !matches!(rig, Rig::Veth(_) | Rig::Cable(_) | Rig::Model(_)) {
        return Ok(LatencyRun::on(&rig.near()?, options)?.run(|_| {})?);
    }
    let family = if options.family == AddressFamily::Ipv4 {
        Family::V4
    } else {
        Family::V6
    };
    let sender = Endpoint {
        socket: Arc::new(rig.near_socket(family)?),
        correlator: None,
    };
    let receiver = Endpoint {
        socket: Arc::new(rig.far_socket(family)?),
        correlator: None,
    };
    let to = receiver.socket.local_address()?;
    Ok(LatencyRun::between(sender, receiver, to, options)?.run(|_| {})?)
}

/// No latency is negative, to the resolution of the clocks.
fn least_latency(rig: &Rig) -> Span {
    match rig {
        // its clock may run ahead of the program's: by 50 µs before anybody waits for the real one
        Rig::Model(_) => -Span::from_microseconds(60),
        _ => -Span::from_microseconds(1),
    }
}

#[track_caller]
fn check_complete(rig: &Rig, report: &LatencyReport, count: u64) {
    assert_eq!(report.packets, count);
    assert!(report.lost.is_none(), "{:?}", report.lost);
    for (path, histogram) in [
        ("send", &report.send_path),
        ("wire", &report.wire),
        ("receive", &report.receive_path),
    ] {
        let summary = Summary::of(histogram).expect("something was recorded");
        assert_eq!(summary.count, count, "{path}");
        let order = [
            summary.minimum,
            summary.p50,
            summary.p90,
            summary.p99,
            summary.p99_9,
            summary.maximum,
        ];
        assert!(order.is_sorted(), "{path}: {summary:?}");
        assert!(
            (summary.minimum..=summary.maximum).contains(&summary.mean),
            "{path}: {summary:?}"
        );
        assert!(summary.minimum > least_latency(rig), "{path}: {summary:?}");
    }
}

fn loses_nothing(rig: &Rig, family: Family) -> Outcome {
    const COUNT: u64 = 2_000;
    let family = if family == Family::V4 {
        AddressFamily::Ipv4
    } else {
        AddressFamily::Ipv6
    };
    let report = measure(
        rig,
        LatencyOptions {
            count: COUNT,
            family,
            ..Default::default()
        },
    )?;
    assert_eq!(report.source, TimestampSource::Software);
    check_complete(rig, &report, COUNT);
    Ok(())
}

fn at_a_rate(rig: &Rig) -> Outcome {
    let options = LatencyOptions {
        count: 500,
        rate: Some(5_000),
        ..Default::default()
    };
    check_complete(rig, &measure(rig, options)?, 500);
    Ok(())
}

fn late_at_a_rate(rig: &Rig) -> Outcome {
    // as long as that a machine that is held up is no matter
    let timeout = Duration::from_secs(2);
    let options = LatencyOptions {
        count: 1_000,
        rate: Some(1_000),
        timeout,
        ..Default::default()
    };
    check_complete(rig, &measure(rig, options)?, 1_000);
    Ok(())
}

fn any_size(rig: &Rig) -> Outcome {
    for size in [LatencyOptions::SMALLEST, 1_400, 9_000, 60_000] {
        let options = LatencyOptions {
            count: 20,
            size,
            ..Default::default()
        };
        check_complete(rig, &measure(rig, options)?, 20);
    }
    Ok(())
}

/// The last `count` datagrams that were sent.
pub(super) fn last_datagrams(rig: &Rig, count: u64) -> Vec<Course> {
    let truth = rig.host();
    let all = truth.datagrams();
    (all - count..all)
        .map(|sequence| truth.datagram(sequence).expect("it was sent"))
        .collect()
}

fn measured_truth(rig: &Rig) -> Outcome {
    const COUNT: u64 = 500;
    let report = measure(
        rig,
        LatencyOptions {
            count: COUNT,
            ..Default::default()
        },
    )?;
    check_complete(rig, &report, COUNT);
    let datagrams = last_datagrams(rig, COUNT);
    let wires = datagrams
        .iter()
        .map(|it| it.receive_software_at.expect("it arrived") - it.transmit_software_at);
    let near = |measured: Option<Span>, truly: Option<Span>| {
        measured
            .zip(truly)
            .is_some_and(|(measured, truly)| (measured - truly).abs() <= rig.host().tick())
    };
    assert!(
        near(report.wire.minimum(), wires.clone().min())
            && near(report.wire.maximum(), wires.clone().max())
    );
    let mean = Span::from_nanoseconds(wires.sum::<Span>().nanoseconds() / i128::from(COUNT));
    let measured = report.wire.mean().expect("something was recorded");
    assert!(
        (measured - mean).abs() <= rig.host().tick() + Span::from_nanoseconds(1),
        "{measured}, truly {mean}"
    );
    let sends = datagrams
        .iter()
        .map(|it| it.transmit_software_at - it.sent_at);
    let (least, measured) = (
        sends.min().expect("some"),
        report.send_path.minimum().expect("some"),
    );
    assert!(measured >= least, "{measured}, truly {least}");
    // called for real, a send begins some time after the clock was read
    assert!(
        !rig.is_simulated() || measured - least < Span::from_microseconds(1),
        "{measured}, truly {least}"
    );
    Ok(())
}

fn through_the_correlator(rig: &Rig) -> Outcome {
    const COUNT: u64 = 500;
    let options = LatencyOptions {
        count: COUNT,
        source: TimestampSource::Hardware,
        ..Default::default()
    };
    let report = measure(rig, options)?;
    assert_eq!(
        (report.source, report.packets),
        (TimestampSource::Hardware, COUNT)
    );
    assert!(report.lost.is_none(), "{:?}", report.lost);
    let sends = last_datagrams(rig, COUNT)
        .into_iter()
        .map(|datagram| datagram.transmit_hardware_at.expect("it left") - datagram.sent_at);
    let (count, sum) = (i128::from(COUNT), sends.sum::<Span>());
    let truly = Span::from_nanoseconds(sum.nanoseconds() / count);
    let measured = report.send_path.mean().expect("something was recorded");
    // half a bracket of 1.2 us; an offset taken once, at 12 ppm, is 60 us off after five seconds
    assert!(
        (measured - truly).abs() < Span::from_microseconds(1),
        "{measured}, truly {truly}"
    );
    Ok(())
}

fn losses(rig: &Rig) -> Outcome {
    let count = if rig.is_simulated() { 600 } else { 200 }; // what is lost is waited for
    let options = LatencyOptions {
        count,
        timeout: Duration::from_millis(20),
        ..Default::default()
    };
    let report = measure(rig, options)?;
    let lost = report.lost;
    assert_eq!(report.packets, count);
    for (what, missing) in [
        ("packets", lost.packets),
        ("transmit", lost.transmit_timestamps_in_all()),
        ("receive", lost.receive_timestamps),
    ] {
        let expected = count / 30..count / 4;
        assert!(
            expected.contains(&missing),
            "{missing} {what} of {count}, a tenth expected: {lost:?}"
        );
    }
    assert_eq!(
        report.send_path.count(),
        count - lost.transmit_timestamps_in_all()
    );
    assert_eq!(
        report.receive_path.count(),
        count - lost.packets - lost.receive_timestamps
    );
    assert!(report.wire.count() < report.send_path.count());
    Ok(())
}

fn never(rig: &Rig) -> Outcome {
    let report = measure(
        rig,
        LatencyOptions {
            count: 50,
            ..Default::default()
        },
    )?;
    assert_eq!(
        report
            .lost
            .transmit_timestamps_for(MissingReason::NeverGenerated),
        50,
        "{:?}",
        report.lost
    );
    assert_eq!(
        (
            report.send_path.count(),
            report.wire.count(),
            report.receive_path.count()
        ),
        (0, 0, 50)
    );
    Ok(())
}

fn nonsense(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let good = LatencyOptions::default();
    for options in [
        LatencyOptions { count: 0, ..good },
        LatencyOptions { size: 0, ..good },
        LatencyOptions {
            size: 65_508,
            ..good
        },
        LatencyOptions {
            rate: Some(0),
            ..good
        },
    ] {
        refused_with_remedy(LatencyRun::on(&near, options), ErrorKind::InvalidInput);
    }
    Ok(())
}
