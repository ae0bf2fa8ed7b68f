//! Row 13 where the clock behind an interface becomes another one, as at a failover of a bond: converted with the new
//! clock within a period, not at all in between, and never with the wrong one. Not seen on a real NIC, but in a guest
//! with two emulated ones (`scripts/vm-test`).

use super::Behaviour;
use super::row13_correlator::Bench;
use super::row14_changes::Told;
use crate::Outcome;
use crate::rig::{Need, Rig};
use std::time::Duration;
use wirestamp::correlator::GenerationCause;
use wirestamp::interface::ChangeKind;
use wirestamp::sim::NicName;
use wirestamp::{ConversionError, ErrorKind, HardwareTimestamp, MonotonicTime, Span};

const SIMULATED: &[Need] = &[Need::HardwareClock, Need::Scenario, Need::VirtualTime];
const DECADES: Span = Span::from_seconds(40 * 365 * 86_400);
/// The longest time between two readings of the correlator that is tested.
const PERIOD: Duration = Duration::from_secs(5);

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(
        13,
        "another-clock-behind-the-interface-is-converted-with-within-a-period",
        announced,
    )
    .needs(SIMULATED)
    .preset("i225"),
    Behaviour::new(
        13,
        "another-clock-that-nobody-announces-is-noticed-with-the-next-reading",
        unannounced,
    )
    .needs(SIMULATED)
    .preset("i225"),
    Behaviour::new(
        13,
        "an-open-clock-that-is-no-longer-behind-its-interface-is-not-read",
        open_clock,
    )
    .needs(SIMULATED)
    .preset("i225"),
    Behaviour::new(
        13,
        "another-clock-behind-the-interface-is-a-change-that-is-reported",
        reported,
    )
    .needs(SIMULATED)
    .preset("i225"),
];

/// How far the other clock is ahead: 30 ms, one hour and decades, both signs.
pub(super) fn distances() -> impl Iterator<Item = Span> {
    let sizes = [
        Span::from_milliseconds(30),
        Span::from_seconds(3_600),
        DECADES,
    ];
    sizes.into_iter().flat_map(|size| [size, -size])
}

/// Whatever it is converted to contains the truth.
#[track_caller]
fn is_not_wrong(
    bench: &Bench<'_>,
    (timestamp, truly): &(HardwareTimestamp, MonotonicTime),
) -> bool {
    let converted = bench.correlator.to_monotonic(timestamp);
    if let Ok(estimate) = converted {
        assert!(
            estimate.at.contains(*truly),
            "{estimate:?}, truly {truly:?}"
        );
    }
    converted.is_ok()
}

fn announced(rig: &Rig) -> Outcome {
    let mut bench = Bench::ready(rig)?;
    for (number, ahead) in (10..).zip(distances()) {
        for clock in [number, 0, number] {
            let before = (bench.timestamp()?, bench.correlator.generation());
            rig.host().change_clock(NicName::Sim0, clock, ahead);
            let between = bench.timestamp()?;
            let refused = bench.correlator.to_monotonic(&between.0);
            assert!(
                matches!(
                    refused,
                    Err(ConversionError::OutsideGenerations | ConversionError::NotReady)
                ),
                "{refused:?} between two clocks"
            );
            rig.pass(Duration::from_millis(500));
            let status = bench.correlator.status();
            assert!(status.generation > before.1, "{status:?}");
            assert_eq!(status.cause, Some(GenerationCause::ClockReplaced));
            let after = bench.timestamp()?;
            bench.check(&after.0, after.1);
            let _ = (
                is_not_wrong(&bench, &before.0),
                is_not_wrong(&bench, &between),
            );
            rig.pass(PERIOD);
        }
    }
    Ok(())
}

fn unannounced(rig: &Rig) -> Outcome {
    let mut bench = Bench::ready(rig)?;
    for (number, ahead) in (10..).zip(distances()) {
        rig.pass(Duration::from_secs(60)); // the plan reads seldom now
        let before = bench.timestamp()?;
        let generation = bench.correlator.generation();
        let told = Told::default();
        let watch = rig.near()?.watch(told.callback())?;
        rig.host()
            .change_clock_silently(NicName::Sim0, number, ahead);
        let between = bench.timestamp()?;
        assert!(told.is_empty(), "nobody has noticed yet");
        rig.pass(PERIOD);
        assert!(
            bench.correlator.generation() > generation,
            "{:?}",
            bench.correlator
        );
        assert!(
            told.take()
                .iter()
                .any(|event| event.kind == ChangeKind::HardwareClock),
            "who polls has seen it"
        );
        let after = bench.timestamp()?;
        bench.check(&after.0, after.1);
        let _ = (
            is_not_wrong(&bench, &before),
            is_not_wrong(&bench, &between),
        );
        drop(watch);
    }
    Ok(())
}

fn open_clock(rig: &Rig) -> Outcome {
    let mut near = rig.near()?;
    let clock = near.hardware_clock()?;
    let first = clock.cross_timestamp()?;
    rig.host().change_clock_silently(NicName::Sim0, 10, DECADES);
    let refused = clock.cross_timestamp().expect_err("of another clock");
    assert_eq!(refused.kind(), ErrorKind::NoSuchDevice, "{refused}");
    assert!(!refused.remedy().is_empty(), "{refused}");
    near.refresh()?;
    assert_eq!(near.description().hardware_clock, Some(10));
    let second = near.hardware_clock()?.cross_timestamp()?;
    let apart = Span::from_nanoseconds(second.hardware().since(first.hardware()).into());
    assert!((apart - DECADES).abs() < Span::from_seconds(1), "{apart}");
    rig.host()
        .change_clock_silently(NicName::Sim0, 0, Span::ZERO);
    let again = clock.cross_timestamp()?;
    assert!(
        again.hardware().since(first.hardware()) < 1_000_000_000,
        "it ran on"
    );
    Ok(())
}

fn reported(rig: &Rig) -> Outcome {
    let (near, told) = (rig.near()?, Told::default());
    let _watch = near.watch(told.callback())?;
    rig.host().change_clock(NicName::Sim0, 10, DECADES);
    let changes = told.take();
    assert!(
        matches!(changes[..], [change] if change.kind == ChangeKind::HardwareClock
            && change.interface == Some(near.index())),
        "{changes:?}"
    );
    rig.host().change_clock(NicName::Sim0, 10, DECADES);
    assert!(told.is_empty(), "it is that one already");
    Ok(())
}
