//! Row 12: cross timestamps, by the best method, valid or not at all.

use super::Behaviour;
use crate::Outcome;
use crate::refusal::{refused, refused_with_remedy};
use crate::rig::{Need, Rig};
use std::time::Duration;
use wirestamp::clock::CrossMethod;
use wirestamp::{CrossTimestamp, ErrorKind, Interface, Span};

/// A third of all readings is invalid.
const INVALID: &str = r#"
preset = "i225"
[nic.cross]
zero = 0.2
backwards = 0.2
"#;
const ALL_INVALID: &str = r#"
preset = "i225"
[nic.cross]
zero = 1.0
"#;

const CLOCK: &[Need] = &[Need::HardwareClock, Need::Scenario];
const TRUTH: &[Need] = &[Need::HardwareClock, Need::Simulation];

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(12, "a-precise-reading-has-no-width", precise)
        .needs(CLOCK)
        .preset("igc")
        .also(&[Need::Linux]),
    Behaviour::new(12, "an-extended-reading-brackets-the-truth", |rig| {
        brackets(rig, CrossMethod::Extended)
    })
    .needs(CLOCK)
    .preset("i225")
    .also(&[Need::Linux]),
    Behaviour::new(12, "a-basic-reading-brackets-the-truth", |rig| {
        brackets(rig, CrossMethod::Basic)
    })
    .needs(CLOCK)
    .preset("slow-cross")
    .also(&[Need::Linux]),
    Behaviour::new(12, "a-drivers-own-reading-brackets-the-truth", |rig| {
        brackets(rig, CrossMethod::Driver)
    })
    .needs(TRUTH)
    .preset("windows-modern"),
    Behaviour::new(12, "of-a-batch-the-narrowest-counts", narrowest)
        .needs(TRUTH)
        .preset("noisy-cross"),
    Behaviour::new(12, "invalid-readings-are-left-out", invalid)
        .needs(TRUTH)
        .toml(INVALID),
    Behaviour::new(12, "where-all-are-invalid-there-is-none", all_invalid)
        .needs(CLOCK)
        .toml(ALL_INVALID),
    Behaviour::new(
        12,
        "equal-system-times-mean-an-unknown-width",
        equal_brackets,
    )
    .needs(CLOCK)
    .preset("equal-brackets"),
    Behaviour::new(12, "a-clock-that-may-be-read-seldom-says-busy", busy)
        .needs(CLOCK)
        .preset("ena"),
    Behaviour::new(12, "without-a-clock-it-is-not-supported", no_clock)
        .needs(&[Need::NoHardwareClock])
        .preset("software-only"),
    Behaviour::new(12, "without-cross-timestamps-it-is-not-supported", no_cross)
        .needs(CLOCK)
        .preset("hardware-no-cross"),
    Behaviour::new(
        12,
        "without-privilege-the-clock-is-not-opened",
        no_privilege,
    )
    .needs(CLOCK)
    .preset("unprivileged")
    .also(&[Need::Linux]),
];

/// Checks that the counter showed the reading within the bracket.
#[track_caller]
fn check_truth(rig: &Rig, near: &Interface, reading: &CrossTimestamp) {
    let truth = rig.host();
    // a clock that shows 100 ns steps shows what was up to 100 ns ago
    let tick = Span::from_nanoseconds(100);
    let first = truth
        .hardware_ticks_at(near.index(), reading.monotonic_before())
        .expect("in the past");
    let last = truth
        .hardware_ticks_at(near.index(), reading.monotonic_after() + tick)
        .expect("in the past");
    assert!(
        reading.hardware().since(first) >= 0,
        "{reading:?} shows the counter before the bracket"
    );
    assert!(
        last.since(reading.hardware()) >= 0,
        "{reading:?} shows the counter after the bracket"
    );
}

fn precise(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    for reading in near.hardware_clock()?.cross_timestamps(20)? {
        assert_eq!(
            (reading.method(), reading.bracket()),
            (CrossMethod::Precise, Some(Span::ZERO))
        );
        rig.pass(Duration::from_micros(1));
        check_truth(rig, &near, &reading);
    }
    Ok(())
}

fn brackets(rig: &Rig, method: CrossMethod) -> Outcome {
    let near = rig.near()?;
    assert!(near.supported()?.cross_timestamp);
    let readings = near.hardware_clock()?.cross_timestamps(40)?;
    assert_eq!(readings.len(), 40);
    rig.pass(Duration::from_micros(1));
    for reading in &readings {
        assert_eq!(reading.method(), method);
        assert!(
            reading.bracket().is_some_and(|width| width > Span::ZERO),
            "{reading:?}"
        );
        check_truth(rig, &near, reading);
    }
    let in_order = readings
        .windows(2)
        .all(|pair| pair[0].monotonic_after() <= pair[1].monotonic_before());
    assert!(in_order, "one after another: {readings:?}");
    Ok(())
}

fn narrowest(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let clock = near.hardware_clock()?;
    let (mut best, mut worst) = (Vec::new(), Vec::new());
    for _ in 0..50 {
        // one call in twenty is refused as busy
        if let Ok(reading) = clock.cross_timestamp() {
            rig.pass(Duration::from_micros(1));
            check_truth(rig, &near, &reading);
            best.push(reading.bracket().expect("known").nanoseconds());
        }
        if let Ok(readings) = clock.cross_timestamps(1) {
            worst.push(readings[0].bracket().expect("known").nanoseconds());
        }
    }
    let mean = |widths: &[i128]| widths.iter().sum::<i128>() / widths.len() as i128;
    // the model's driver takes several readings itself for each that it gives
    let factor = if let Rig::Model(_) = rig { 1 } else { 2 };
    assert!(
        factor * mean(&best) < mean(&worst),
        "{} ns against {} ns",
        mean(&best),
        mean(&worst)
    );
    Ok(())
}

fn invalid(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let clock = near.hardware_clock()?;
    for _ in 0..20 {
        let readings = clock.cross_timestamps(10)?;
        assert!(!readings.is_empty() && readings.len() <= 10);
        rig.pass(Duration::from_micros(1));
        readings
            .iter()
            .for_each(|reading| check_truth(rig, &near, reading));
    }
    assert!(
        rig.host().invalid_readings() > 20,
        "there were invalid ones"
    );
    Ok(())
}

fn all_invalid(rig: &Rig) -> Outcome {
    let clock = rig.near()?.hardware_clock()?;
    refused(clock.cross_timestamps(5), ErrorKind::Io);
    refused(clock.cross_timestamp(), ErrorKind::Io);
    Ok(())
}

fn equal_brackets(rig: &Rig) -> Outcome {
    for reading in rig.near()?.hardware_clock()?.cross_timestamps(10)? {
        assert_eq!(reading.monotonic_before(), reading.monotonic_after());
        assert_eq!(reading.bracket(), None, "not zero: unknown");
    }
    Ok(())
}

fn busy(rig: &Rig) -> Outcome {
    let clock = rig.near()?.hardware_clock()?;
    clock.cross_timestamp()?;
    refused(clock.cross_timestamp(), ErrorKind::Busy);
    rig.pass(Duration::from_millis(11));
    clock.cross_timestamp()?;
    Ok(())
}

fn no_clock(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    assert!(!near.supported()?.cross_timestamp);
    let error = refused_with_remedy(near.hardware_clock(), ErrorKind::NotSupported);
    assert!(error.target().contains(near.name()), "{error}");
    Ok(())
}

fn no_cross(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    assert!(!near.supported()?.cross_timestamp && near.supported()?.hardware.any());
    refused(
        near.hardware_clock()
            .and_then(|clock| clock.cross_timestamp()),
        ErrorKind::NotSupported,
    );
    Ok(())
}

fn no_privilege(rig: &Rig) -> Outcome {
    let error = refused_with_remedy(rig.near()?.hardware_clock(), ErrorKind::NotPermitted);
    assert!(error.code().is_some(), "{error:?}");
    Ok(())
}
