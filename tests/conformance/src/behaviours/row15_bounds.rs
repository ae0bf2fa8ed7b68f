//! The other half of row 15: how far a measured latency can be from the true one. What is
//! measured at all is in `row15_latency`.

use super::Behaviour;
use super::nic_clock::{enabled, enabled_at_far, ready, ready_on};
use super::row15_latency::last_datagrams;
use crate::Outcome;
use crate::rig::{Course, Family, Need, Rig};
use std::sync::Arc;
use std::time::Duration;
use wirestamp::latency::{Endpoint, Histogram, LatencyOptions, LatencyReport, LatencyRun};
use wirestamp::{Correlator, MonotonicTime, Span, TimestampSource, UdpSocket};

/// A preset in which the clock is read at once, so that a call begins when the reading before it says.
macro_rules! timed {
    ($preset:literal, $rest:literal) => {
        concat!("preset = \"", $preset, "\"\n[cost]\nnow = \"0ns\"\n", $rest)
    };
    ($preset:literal) => {
        timed!($preset, "")
    };
}

/// A timestamp is placed by readings whose UTC does not lie in their middle.
const CIVIL: &str = timed!(
    "software-only",
    r#"
[host]
utc_forward = { base = "90ns", jitter = "40ns", outliers = 0.05, outlier = "3us" }
utc_back = { base = "10ns", jitter = "40ns", outliers = 0.05, outlier = "3us" }
"#
);
/// A counter of 10 MHz, as Windows timestamps by.
const COUNTER: &str = timed!(
    "windows-modern",
    r#"
[nic]
hardware_transmit = "none"
receive_filters = ["none"]
transmit_at_start = false
receive_at_start = "none"
"#
);
/// The clocks of both ends are read as late, and as early, as their brackets allow; and one end knows
/// far less than the other.
const LOPSIDED: &str = timed!(
    "i225",
    r#"
[sim0.cross]
forward = { base = "1100ns", jitter = "20ns" }
back = { base = "50ns", jitter = "5ns" }
[sim1.cross]
forward = { base = "50ns", jitter = "5ns" }
back = { base = "3us", jitter = "20ns" }
"#
);
/// One reading in five is interrupted for milliseconds.
const INTERRUPTED: &str = timed!(
    "i225",
    r#"
[nic.cross]
forward = { base = "600ns", jitter = "20ns", outliers = 0.1, outlier = "4ms" }
back = { base = "600ns", jitter = "20ns", outliers = 0.1, outlier = "4ms" }
"#
);

pub(super) const ALL: &[Behaviour] = &[
    row(
        "each-latency-by-software-timestamps-is-within-its-bound",
        software,
    )
    .toml(CIVIL),
    row(
        "each-latency-is-within-its-bound-on-a-performance-counter",
        counter,
    )
    .toml(COUNTER),
    row(
        "each-latency-by-hardware-timestamps-is-within-its-bound",
        hardware,
    )
    .toml(timed!("i225")),
    row("each-latency-is-within-its-bound-over-a-slow-bus", hardware).toml(timed!("slow-cross")),
    row(
        "each-latency-is-within-its-bound-with-latched-readings",
        hardware,
    )
    .toml(timed!("igc")),
    row(
        "each-latency-is-within-its-bound-with-noisy-readings",
        hardware,
    )
    .toml(timed!("noisy-cross")),
    row(
        "each-latency-is-within-its-bound-with-lopsided-readings",
        hardware,
    )
    .toml(LOPSIDED),
    row(
        "each-latency-is-within-its-bound-with-a-poor-oscillator",
        hardware,
    )
    .toml(timed!("poor-oscillator")),
    row(
        "each-latency-is-within-its-bound-with-raw-ticks-of-another-frequency",
        counted_hardware,
    )
    .toml(timed!("windows-modern")),
    row(
        "each-send-path-is-within-its-bound-on-an-emulated-nic",
        send_path,
    )
    .toml(timed!("igb-vm")),
    row(
        "the-bounds-tell-something-where-readings-are-interrupted",
        for_seconds,
    )
    .toml(INTERRUPTED),
];

const fn row(name: &'static str, run: fn(&Rig) -> Outcome) -> Behaviour {
    Behaviour::new(15, name, run).needs(&[Need::VirtualTime])
}

/// Of the simulated performance counter.
const TICK: Span = Span::from_nanoseconds(100);
/// In one measurement of many datagrams, and in so many of one each.
const MANY: u64 = 300;
const ROUNDS: u64 = 80;

fn software(rig: &Rig) -> Outcome {
    check_software(rig, Span::ZERO)
}

fn counter(rig: &Rig) -> Outcome {
    check_software(rig, TICK)
}

fn hardware(rig: &Rig) -> Outcome {
    check_hardware(rig, Span::ZERO)
}

fn counted_hardware(rig: &Rig) -> Outcome {
    check_hardware(rig, TICK)
}

/// Its filter takes PTP messages alone.
fn send_path(rig: &Rig) -> Outcome {
    many(rig, hardware_options(None), Span::ZERO, 0).map(drop)
}

/// The clock has to be read again meanwhile, whatever one reading took.
fn for_seconds(rig: &Rig) -> Outcome {
    let bound = many(rig, hardware_options(Some(100)), Span::ZERO, MANY)?;
    assert!(bound < Span::from_microseconds(10), "{bound}");
    Ok(())
}

fn hardware_options(rate: Option<u32>) -> LatencyOptions {
    LatencyOptions {
        count: MANY,
        rate,
        source: TimestampSource::Hardware,
        ..Default::default()
    }
}

/// `tick`: of the system clock, which the calls at both ends are timed by.
fn check_software(rig: &Rig, tick: Span) -> Outcome {
    let source = TimestampSource::Software;
    many(
        rig,
        LatencyOptions {
            count: MANY,
            ..Default::default()
        },
        tick,
        MANY,
    )?;
    let (near, far) = (
        Arc::new(rig.near_socket(Family::V4)?),
        Arc::new(rig.far_socket(Family::V4)?),
    );
    one_by_one(rig, source, tick, &[(near, None), (far, None)])
}

fn check_hardware(rig: &Rig, tick: Span) -> Outcome {
    let source = TimestampSource::Hardware;
    many(rig, hardware_options(None), tick, MANY)?;
    let _guards = [enabled(rig)?, enabled_at_far(rig)?];
    let clocks = [ready(rig)?, ready_on(rig, &rig.far()?)?].map(|clock| Some(Arc::new(clock)));
    let [near_clock, far_clock] = clocks;
    let (near, far) = (
        Arc::new(rig.near_socket(Family::V4)?),
        Arc::new(rig.far_socket(Family::V4)?),
    );
    one_by_one(rig, source, tick, &[(near, near_clock), (far, far_clock)])
}

/// The measurement as `wirestamp latency` makes it, from its first packet on, with clocks of its
/// own. Then no figure of all is off by more than the largest bound. `received`: with timestamps.
fn many(rig: &Rig, options: LatencyOptions, tick: Span, received: u64) -> Outcome<Span> {
    let source = options.source;
    let report = LatencyRun::on(&rig.near()?, options)?.run(|_| {})?;
    let bound = useful_bound(&report);
    let ways = last_datagrams(rig, MANY);
    assert_eq!(
        (
            report.packets,
            report.lost.transmit_timestamps_in_all(),
            report.lost.conversions
        ),
        (MANY, 0, 0)
    );
    assert_eq!(
        (report.wire.count(), report.receive_path.count()),
        (received, received),
        "{:?}",
        report.lost
    );
    let sends: Vec<_> = ways
        .iter()
        .map(|way| transmitted(way, source) - way.sent_at)
        .collect();
    check_all("send path", &report.send_path, &sends, bound + tick);
    if received > 0 {
        let wires: Vec<_> = ways
            .iter()
            .map(|way| arrived(way, source) - transmitted(way, source))
            .collect();
        check_all("wire", &report.wire, &wires, bound + bound);
    }
    Ok(bound)
}

#[track_caller]
fn check_all(path: &str, measured: &Histogram, truly: &[Span], bound: Span) {
    assert_eq!(measured.count(), truly.len() as u64, "{path}");
    let mean = truly.iter().copied().sum::<Span>().nanoseconds() / truly.len() as i128;
    let truly = [
        truly.iter().copied().min(),
        truly.iter().copied().max(),
        Some(Span::from_nanoseconds(mean)),
    ];
    let measured = [measured.minimum(), measured.maximum(), measured.mean()];
    for (measured, truly) in measured.into_iter().zip(truly) {
        let off = measured
            .zip(truly)
            .map(|(measured, truly)| (measured - truly).abs());
        assert!(
            off.is_some_and(|off| off <= bound),
            "{path}: {measured:?}, truly {truly:?}, bound {bound}"
        );
    }
}

type Socket = Arc<UdpSocket>;
type Clock = Option<Arc<Correlator>>;

/// One datagram a measurement: so each states the bound of its own timestamps. The clocks run on
/// meanwhile, as their oscillators do.
fn one_by_one(
    rig: &Rig,
    source: TimestampSource,
    tick: Span,
    ends: &[(Socket, Clock); 2],
) -> Outcome {
    let options = LatencyOptions {
        count: 1,
        source,
        ..Default::default()
    };
    let to = ends[1].0.local_address()?;
    for round in 0..ROUNDS {
        let [sender, receiver] = ends
            .clone()
            .map(|(socket, correlator)| Endpoint { socket, correlator });
        let report = LatencyRun::between(sender, receiver, to, options)?.run(|_| {})?;
        assert!(report.lost.is_none(), "round {round}: {:?}", report.lost);
        let way = last_datagrams(rig, 1)[0];
        check_one(&report, &way, source, tick, rig.host().now());
        rig.pass(Duration::from_millis(7 + 31 * (round % 23)));
    }
    Ok(())
}

/// What ends with a call is held against when that returned: the three paths tell it, whatever the
/// timestamps between them say.
#[track_caller]
fn check_one(
    report: &LatencyReport,
    way: &Course,
    source: TimestampSource,
    tick: Span,
    now: MonotonicTime,
) {
    let bound = useful_bound(report);
    let only = |path: &Histogram| {
        path.minimum()
            .filter(|_| path.count() == 1)
            .expect("one was measured")
    };
    let (send, wire, receive) = (
        only(&report.send_path),
        only(&report.wire),
        only(&report.receive_path),
    );
    let returned = way.sent_at + send + wire + receive;
    assert!(
        way.delivered_at.is_some_and(|at| returned >= at - tick) && returned <= now,
        "{returned:?}: {way:?}"
    );
    let (left, came) = (transmitted(way, source), arrived(way, source));
    for (path, measured, truly, bound) in [
        ("send path", send, left - way.sent_at, bound + tick),
        ("wire", wire, came - left, bound + bound),
        ("receive path", receive, returned - came, bound + tick),
    ] {
        assert!(
            (measured - truly).abs() <= bound,
            "{path}: {measured}, truly {truly}, bound {bound}"
        );
    }
}

/// What the report says of its timestamps' places: so little that it tells something.
#[track_caller]
fn useful_bound(report: &LatencyReport) -> Span {
    let bound = report.max_bound.expect("timestamps were placed");
    assert!(
        bound > Span::ZERO && bound < Span::from_microseconds(60),
        "{bound} tells nothing"
    );
    bound
}

fn transmitted(way: &Course, source: TimestampSource) -> MonotonicTime {
    match source {
        TimestampSource::Software => way.transmit_software_at,
        TimestampSource::Hardware => way.transmit_hardware_at.expect("it left"),
    }
}

fn arrived(way: &Course, source: TimestampSource) -> MonotonicTime {
    match source {
        TimestampSource::Software => way.receive_software_at.expect("it arrived"),
        TimestampSource::Hardware => way.receive_hardware_at.expect("it arrived"),
    }
}
