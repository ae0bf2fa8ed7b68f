//! What is particular to Windows: each kind of Windows, NIC and driver that is known
//! or reported, as one behaviour; rows 2 to 15. Shown on the model, which has a preset for each.
//!
//! A Windows without the interface, and one with the older one, are no NICs: those are
//! `tests/facade/unsupported.rs` of `wirestamp` and the tests of `wirestamp-sys`.

use super::Behaviour;
use crate::Outcome;
use crate::exchange::{PATIENCE, loss_of};
use crate::refusal::{refused, refused_with_remedy};
use crate::rig::{Family, Need, Pair, Rig};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use wirestamp::clock::CrossMethod;
use wirestamp::interface::{ChangeKind, Observed};
use wirestamp::latency::{LatencyOptions, LatencyRun};
use wirestamp::timestamp::LateTimestamp;
use wirestamp::{
    Correlator, CorrelatorOptions, ErrorKind, HardwareTimestamp, MissingReason, Outgoing, Source,
    Span, TimestampSource, Timestamping, Timestamps, TransmitId, TransmitRecord,
};

const OFF: &[Need] = &[Need::Windows];
const ON: &[Need] = &[Need::Windows, Need::HardwareClock];

/// Every timestamp comes two seconds after its datagram.
const LATE: &str = r#"
preset = "windows-modern"
[nic.transmit]
slots = 1024
collection = "2s"
"#;

/// Every timestamp comes five seconds after its datagram, all at about the same time.
const TOGETHER: &str = r#"
preset = "windows-modern"
[nic.transmit]
slots = 1024
collection = "5s"
"#;

/// A NIC is reset while it is in use.
const RESET: &str = r#"
preset = "windows-modern"
[[event]]
at = "1500ms"
action = "reset_hardware"
to = 1000
"#;

/// The cable is pulled, and later a NIC goes away.
const CHANGES: &str = r#"
preset = "windows-modern"
[[event]]
at = "1500ms"
action = "link_down"
[[event]]
at = "3s"
action = "remove"
nic = "sim1"
"#;

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(
        2,
        "off-in-the-driver-is-supported-inactive-and-never-observed",
        switched_off,
    )
    .needs(OFF)
    .preset("windows-api-off"),
    Behaviour::new(2, "a-bad-driver-answers-2001-and-packets-flow", bad_driver)
        .needs(OFF)
        .preset("windows-bad-driver"),
    Behaviour::new(
        2,
        "where-active-answers-2001-the-value-tells-the-clock",
        unknown_clock,
    )
    .needs(OFF)
    .preset("windows-by-value"),
    Behaviour::new(
        2,
        "a-rejected-question-answers-23-and-packets-flow",
        rejected,
    )
    .needs(OFF)
    .preset("windows-oid-rejected"),
    Behaviour::new(
        5,
        "cut-control-data-is-told-and-the-datagram-is-whole",
        cut_control,
    )
    .needs(ON)
    .preset("control-truncated"),
    Behaviour::new(6, "one-call-switches-both-directions-on", both_directions)
        .needs(ON)
        .preset("windows-modern"),
    Behaviour::new(
        8,
        "an-nic-that-timestamps-received-datagrams-alone",
        receive_only,
    )
    .needs(OFF)
    .preset("rx-only"),
    Behaviour::new(8, "an-nic-whose-transmit-timestamps-never-come", never)
        .needs(OFF)
        .preset("tx-never"),
    Behaviour::new(8, "an-nic-whose-transmit-timestamps-are-zero", zero)
        .needs(ON)
        .preset("tx-zero"),
    Behaviour::new(
        8,
        "late-timestamps-are-offered-as-late-and-clog-nothing",
        late,
    )
    .needs(ON)
    .toml(LATE),
    Behaviour::new(
        8,
        "timestamps-that-find-the-systems-buffer-full-end-as-lost",
        system_buffer_full,
    )
    .needs(ON)
    .toml(TOGETHER),
    Behaviour::new(
        11,
        "raw-counters-are-told-from-the-performance-counter",
        raw_counters,
    )
    .needs(ON)
    .preset("windows-modern"),
    Behaviour::new(12, "without-cross-timestamps-timestamps-come-raw", no_cross)
        .needs(ON)
        .preset("hardware-no-cross"),
    Behaviour::new(
        12,
        "equal-system-times-are-a-bracket-of-unknown-width",
        equal_brackets,
    )
    .needs(ON)
    .preset("equal-brackets"),
    Behaviour::new(13, "converted-timestamps-lie-between-the-calls", converted)
        .needs(ON)
        .preset("windows-modern"),
    Behaviour::new(13, "without-a-nominal-rate-they-do-as-well", converted)
        .needs(ON)
        .preset("windows-no-frequency"),
    Behaviour::new(14, "a-reset-is-reported-and-opens-a-generation", reset)
        .needs(ON)
        .toml(RESET),
    Behaviour::new(
        14,
        "a-lost-carrier-and-a-lost-nic-are-reported-by-number",
        changes,
    )
    .needs(OFF)
    .toml(CHANGES),
    Behaviour::new(
        15,
        "a-round-trip-to-a-peer-in-hardware-timestamps",
        round_trip,
    )
    .needs(ON)
    .preset("windows-modern"),
];

fn pair(rig: &Rig) -> Outcome<Pair> {
    let transmit = Timestamping::OFF
        .transmit(64)
        .source(Source::HardwareElseSoftware);
    rig.pair(
        Family::V4,
        transmit,
        Timestamping::OFF
            .receive()
            .source(Source::HardwareElseSoftware),
    )
}

/// Sends one datagram under an id that is lost, and receives it.
fn lost(rig: &Rig, id: u32) -> Outcome<(MissingReason, Timestamps)> {
    let pair = pair(rig)?;
    pair.send(id)?;
    let received = pair.receive()?;
    assert_eq!(received.length, 1);
    Ok((loss_of(&pair.sender, id)?, received.timestamps))
}

fn switched_off(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    assert!(near.supported()?.hardware.any());
    assert!(!near.active()?.hardware.any() && !near.active()?.software.all_receive);
    assert_eq!(
        lost(rig, 1)?,
        (MissingReason::NeverGenerated, Timestamps::NONE)
    );
    assert_eq!(
        (near.observed(), rig.far()?.observed()),
        (Observed::default(), Observed::default())
    );
    Ok(())
}

fn bad_driver(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    assert!(near.supported()?.hardware.any());
    let error = refused_with_remedy(near.active(), ErrorKind::Io);
    assert_eq!(error.code(), Some(2_001), "{error}");
    assert_eq!(
        refused(near.hardware_clock(), ErrorKind::Io).code(),
        Some(2_001)
    );
    assert_eq!(
        lost(rig, 1)?,
        (MissingReason::NeverGenerated, Timestamps::NONE)
    );
    Ok(())
}

fn unknown_clock(rig: &Rig) -> Outcome {
    let (near, far) = (rig.near()?, rig.far()?);
    let error = refused_with_remedy(near.active(), ErrorKind::Io);
    assert_eq!(error.code(), Some(2_001), "{error}");
    let exchange = pair(rig)?.exchange(1)?;
    let sent = hardware(&exchange.sent, near.index());
    let received = hardware(&exchange.received.timestamps, far.index());
    let readings = near.hardware_clock()?.cross_timestamps(1)?;
    let after = readings
        .first()
        .ok_or_else(|| String::from("no cross timestamp"))?;
    assert!(after.hardware().since(sent.ticks) > 0, "{after:?} {sent:?}");
    assert_ne!(received.ticks.raw(), 0);
    Ok(())
}

fn rejected(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    for error in [
        refused_with_remedy(near.supported(), ErrorKind::Io),
        refused_with_remedy(near.active(), ErrorKind::Io),
    ] {
        assert_eq!(error.code(), Some(23), "{error}");
    }
    assert_eq!(
        refused(near.hardware_clock(), ErrorKind::Io).code(),
        Some(23)
    );
    assert_eq!(
        lost(rig, 1)?,
        (MissingReason::NeverGenerated, Timestamps::NONE)
    );
    Ok(())
}

fn cut_control(rig: &Rig) -> Outcome {
    let pair = pair(rig)?;
    let mut cut = 0;
    for _ in 0..40 {
        pair.sender.send_to(b"whole", pair.to, None)?;
        let received = pair.receive()?;
        assert_eq!((received.length, received.truncated), (5, false));
        assert!(!received.control_truncated || received.timestamps.is_none());
        cut += u32::from(received.control_truncated);
    }
    assert!(cut > 5 && cut < 35, "{cut} of 40");
    assert_eq!(
        pair.receiver.receive_counters().control_truncated,
        u64::from(cut)
    );
    Ok(())
}

/// On one socket: what the call omitted would be off.
fn both_directions(rig: &Rig) -> Outcome {
    let both = Timestamping::OFF
        .receive()
        .transmit(8)
        .source(Source::HardwareElseSoftware);
    let Pair {
        sender,
        receiver,
        to,
    } = rig.pair(Family::V4, both, both)?;
    let back = Pair {
        to: sender.local_address()?,
        sender: receiver,
        receiver: sender,
    };
    for id in 0..3 {
        back.receiver.send_to(b"there", to, Some(TransmitId(id)))?;
        let there = back
            .sender
            .receive(&mut [0; 8], PATIENCE)?
            .expect("it arrives");
        let exchange = back.exchange(id)?;
        assert!(
            !there.timestamps.is_none()
                && !exchange.received.timestamps.is_none()
                && !exchange.sent.is_none()
        );
        assert!(!crate::exchange::timestamps_of(&back.receiver, id)?.is_none());
    }
    Ok(())
}

fn receive_only(rig: &Rig) -> Outcome {
    let (reason, received) = lost(rig, 1)?;
    assert_eq!(reason, MissingReason::NeverGenerated);
    assert!(received.software.is_some() && received.hardware.is_none());
    Ok(())
}

fn never(rig: &Rig) -> Outcome {
    let (reason, received) = lost(rig, 1)?;
    assert_eq!(reason, MissingReason::NeverGenerated);
    assert!(!received.is_none(), "the other direction works");
    Ok(())
}

/// A zero is the driver's word, and needs no deadline.
fn zero(rig: &Rig) -> Outcome {
    let sending = Timestamping::OFF
        .transmit(64)
        .source(Source::Hardware)
        .transmit_deadline(Span::from_seconds(3_600));
    let pair = rig.pair(Family::V4, sending, Timestamping::OFF)?;
    for id in 0..10 {
        pair.send(id)?;
        assert_eq!(loss_of(&pair.sender, id)?, MissingReason::NeverGenerated);
    }
    Ok(())
}

/// More than the system's buffer holds, none of them awaited when it comes.
fn late(rig: &Rig) -> Outcome {
    const COUNT: u32 = 300;
    let sending = Timestamping::OFF
        .transmit(4)
        .source(Source::Hardware)
        .transmit_deadline(Span::from_milliseconds(20));
    let pair = rig.pair(Family::V4, sending, Timestamping::OFF)?;
    let mut came = Vec::new();
    let take = |came: &mut Vec<u32>| -> Outcome {
        let empty = LateTimestamp::EMPTY;
        let mut room = [empty; 64];
        let count = pair.sender.late_timestamps(&mut room)?;
        came.extend(room[..count].iter().map(|late| late.id.0));
        Ok(())
    };
    for id in 0..COUNT {
        pair.send(id)?;
        assert!(matches!(
            loss_of(&pair.sender, id)?,
            MissingReason::NeverGenerated | MissingReason::Deadline
        ));
        take(&mut came)?;
        if id == 200 {
            assert!(!came.is_empty(), "the first was sent 4 s ago");
        }
    }
    assert!(
        rig.until(|| take(&mut came).is_ok() && came.len() == COUNT as usize),
        "{} of {COUNT}",
        came.len()
    );
    came.sort_unstable();
    assert_eq!(came, (0..COUNT).collect::<Vec<_>>());
    Ok(())
}

/// The system keeps 256 beyond what the caller asked for, and discards the rest.
fn system_buffer_full(rig: &Rig) -> Outcome {
    const WANTED: u16 = 20;
    const COUNT: u32 = 400;
    let sending = Timestamping::OFF
        .transmit(WANTED)
        .source(Source::Hardware)
        .transmit_deadline(Span::from_seconds(8));
    let pair = rig.pair(Family::V4, sending, Timestamping::OFF)?;
    let one = |id| Outgoing::new(b"x").to(pair.to).id(TransmitId(id));
    let batch: Vec<_> = (0..COUNT).map(one).collect();
    assert_eq!(pair.sender.send_batch(&batch)?, COUNT as usize);
    assert_eq!(
        pair.sender.counters().pending,
        u64::from(COUNT),
        "none came yet"
    );
    rig.pass(Duration::from_millis(5_500));
    let mut records = vec![TransmitRecord::EMPTY; COUNT as usize];
    let mut told = 0;
    assert!(rig.until(|| {
        told += pair
            .sender
            .transmit_timestamps(&mut records[told..])
            .unwrap_or(0);
        told == COUNT as usize
    }));
    let ended: BTreeSet<_> = records.iter().map(|record| record.id.0).collect();
    assert_eq!(ended.len(), COUNT as usize, "each once");
    let counters = pair.sender.counters();
    let lost = [MissingReason::BufferFull, MissingReason::Deadline]
        .map(|reason| counters.missing_for(reason));
    assert_eq!(
        (counters.timestamped, lost),
        (20, [256, 124]),
        "{counters:?}"
    );
    Ok(())
}

/// The hardware timestamp, of this interface's clock and no other.
fn hardware(timestamps: &Timestamps, index: wirestamp::InterfaceIndex) -> HardwareTimestamp {
    let timestamp = timestamps.hardware.expect("a hardware timestamp");
    assert_eq!(
        (timestamps.software, timestamp.interface),
        (None, Some(index))
    );
    timestamp
}

fn raw_counters(rig: &Rig) -> Outcome {
    let pair = pair(rig)?;
    let (near, far) = (rig.near()?.index(), rig.far()?.index());
    let first = pair.exchange(1)?;
    rig.pass(Duration::from_millis(500));
    let second = pair.exchange(2)?;
    let apart = (second.before_send - first.before_send).nanoseconds() as f64 * 0.156_25;
    let ends = [
        (first.sent, second.sent, near),
        (first.received.timestamps, second.received.timestamps, far),
    ];
    for (one, other, index) in ends {
        let ticks = hardware(&other, index)
            .ticks
            .since(hardware(&one, index).ticks) as f64;
        // the performance counter would be 15 times slower; a busy machine may add to either call
        assert!(
            ticks > apart / 2.0 && ticks < apart * 2.0,
            "{ticks} ticks in {apart}"
        );
    }
    Ok(())
}

fn no_cross(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    refused_with_remedy(near.hardware_clock(), ErrorKind::NotSupported);
    refused_with_remedy(
        near.correlator(CorrelatorOptions::default()),
        ErrorKind::NotSupported,
    );
    let exchange = pair(rig)?.exchange(1)?;
    hardware(&exchange.sent, near.index());
    Ok(())
}

fn equal_brackets(rig: &Rig) -> Outcome {
    for reading in rig.near()?.hardware_clock()?.cross_timestamps(20)? {
        assert_eq!(
            (reading.bracket(), reading.method()),
            (None, CrossMethod::Driver)
        );
        assert_eq!(reading.monotonic_before(), reading.monotonic_after());
    }
    Ok(())
}

fn converted(rig: &Rig) -> Outcome {
    let (near, far) = (rig.near()?, rig.far()?);
    // a busy machine takes more than the first readings for it, and they are slow ones
    let options = CorrelatorOptions {
        period: Duration::from_millis(200),
        ..CorrelatorOptions::FIXED
    };
    let correlators = [near.correlator(options)?, far.correlator(options)?];
    let known = |one: &Correlator| {
        one.frequency()
            .is_some_and(|rate| rate.error_bound_parts_per_billion < 100_000.0)
    };
    assert!(
        rig.until(|| correlators.iter().all(known)),
        "{correlators:?}"
    );
    let pair = pair(rig)?;
    for id in 0..50 {
        let exchange = pair.exchange(id)?;
        let sent = hardware(&exchange.sent, near.index());
        let received = hardware(&exchange.received.timestamps, far.index());
        let sent = correlators[0]
            .to_monotonic(&sent)
            .map_err(|refusal| format!("sent: {refusal}"))?;
        let received = correlators[1]
            .to_monotonic(&received)
            .map_err(|refusal| format!("received: {refusal}"))?;
        assert!(
            sent.at.value + sent.at.bound >= exchange.before_send,
            "{sent:?} {exchange:?}"
        );
        assert!(
            received.at.value + received.at.bound >= sent.at.value - sent.at.bound,
            "{sent:?} {received:?}"
        );
        assert!(
            received.at.value - received.at.bound <= exchange.after_receive,
            "{received:?} {exchange:?}"
        );
        assert!(
            sent.at.bound < Span::from_milliseconds(1),
            "{sent:?} tells nothing"
        );
    }
    Ok(())
}

fn reset(rig: &Rig) -> Outcome {
    let reports = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&reports);
    let _watch = rig.watch(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    })?;
    let correlator = rig.near()?.correlator(CorrelatorOptions::default())?;
    assert!(rig.until(|| correlator.generation().is_some()));
    let first = correlator.generation();
    assert!(
        rig.until(|| correlator.generation() != first),
        "{:?}",
        correlator.status()
    );
    assert!(rig.until(|| reports.load(Ordering::Relaxed) > 0));
    Ok(())
}

fn changes(rig: &Rig) -> Outcome {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&seen);
    let watch = rig.watch(move |event| {
        told.lock()
            .expect("free")
            .push((event.interface, event.kind));
    })?;
    let (near, far) = (rig.near()?.index(), rig.far()?.index());
    for expected in [
        (near, ChangeKind::Link),
        (far, ChangeKind::Link),
        (far, ChangeKind::Removed),
    ] {
        let expected = (Some(expected.0), expected.1);
        assert!(
            rig.until(|| seen.lock().expect("free").contains(&expected)),
            "{expected:?}: {seen:?}"
        );
    }
    assert_eq!(watch.panics(), 0);
    Ok(())
}

fn round_trip(rig: &Rig) -> Outcome {
    let echo = rig.far_socket(Family::V4)?;
    let peer = Some(echo.local_address()?);
    let options = LatencyOptions {
        peer,
        count: 100,
        source: TimestampSource::Hardware,
        ..LatencyOptions::default()
    };
    let report = thread::scope(|scope| {
        scope.spawn(|| {
            let mut buffer = [0; 2_048];
            while let Ok(Some(received)) = echo.receive(&mut buffer, PATIENCE) {
                let back = received.source.expect("a sender");
                if echo
                    .send_to(&buffer[..received.length], back, None)
                    .is_err()
                {
                    return;
                }
            }
        });
        let report = LatencyRun::on(&rig.near()?, options).and_then(|run| run.run(|_| {}));
        echo.close();
        Ok::<_, crate::Stop>(report?)
    })?;
    assert!(report.lost.is_none(), "{:?}", report.lost);
    assert_eq!(report.wire.count(), 100);
    Ok(())
}
