//! What real NICs showed about their clocks and their switch: rows 4, 12 and 13 on
//! hardware, and on the simulated NICs that imitate it. Timestamps are in `nic_timestamps`.

use super::Behaviour;
use crate::Outcome;
use crate::rig::{Need, Rig};
use std::time::Duration;
use wirestamp::correlator::{ClockGeneration, GenerationCause};
use wirestamp::interface::{HardwareConfiguration, ReceiveFilter};
use wirestamp::time::Monotonic;
use wirestamp::{
    ConversionError, Correlator, CorrelatorOptions, CrossTimestamp, ErrorKind, Estimate,
    HardwareGuard, HardwareRequest, HardwareTimestamp, Interface, Span,
};

const CLOCK: &[Need] = &[Need::HardwareClock];
const GOOD_CLOCK: &[Need] = &[Need::HardwareClock, Need::MonotonicHardwareClock];

/// As Linux was before 6.12.
const CIVIL_READINGS: &str = "preset = \"igb\"\n[nic.cross]\nutc = true\n";

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(
        4,
        "rebound-to-its-driver-it-is-switched-off-again",
        off_after_rebinding,
    )
    .needs(&[Need::HardwareClock, Need::Changes])
    .preset("igb"),
    Behaviour::new(
        4,
        "switched-off-and-on-as-an-interface-it-keeps-its-switch",
        kept_across_down_and_up,
    )
    .needs(&[Need::HardwareClock, Need::OwnNetwork])
    .preset("igb"),
    Behaviour::new(
        12,
        "readings-follow-one-another-and-their-brackets-are-narrow",
        in_order,
    )
    .needs(CLOCK)
    .preset("igb"),
    Behaviour::new(12, "the-counter-grows-with-the-system-clock", grows)
        .needs(GOOD_CLOCK)
        .preset("igb"),
    Behaviour::new(
        13,
        "later-readings-agree-with-the-bound",
        later_readings_agree,
    )
    .needs(GOOD_CLOCK)
    .preset("igb"),
    Behaviour::new(
        13,
        "a-step-by-another-program-opens-a-generation",
        stepped_by_another,
    )
    .needs(GOOD_CLOCK)
    .preset("igb")
    .also(&[Need::Linux]),
    Behaviour::new(
        13,
        "a-new-rate-by-another-program-is-noticed",
        sped_up_by_another,
    )
    .needs(GOOD_CLOCK)
    .preset("igb")
    .also(&[Need::Linux]),
    Behaviour::new(
        13,
        "a-step-and-a-new-rate-at-once-by-another-program-keep-the-bound",
        stepped_and_sped_up,
    )
    .needs(GOOD_CLOCK)
    .preset("igb")
    .also(&[Need::Linux]),
    Behaviour::new(13, "a-step-of-the-utc-clock-does-not-disturb-it", utc_step)
        .needs(&[
            Need::HardwareClock,
            Need::MonotonicHardwareClock,
            Need::SteppableClock,
        ])
        .preset("igb")
        .also(&[Need::Linux]),
    Behaviour::new(
        13,
        "a-step-of-the-utc-clock-does-not-disturb-it-where-readings-are-in-utc-time",
        utc_readings,
    )
    .needs(&[Need::Simulation, Need::SteppableClock])
    .toml(CIVIL_READINGS),
    Behaviour::new(
        13,
        "virtual-clocks-beside-the-nics-change-nothing",
        virtual_clocks,
    )
    .needs(&[
        Need::HardwareClock,
        Need::MonotonicHardwareClock,
        Need::VirtualClocks,
    ])
    .preset("igb"),
    Behaviour::new(
        13,
        "a-switch-by-another-program-opens-a-generation",
        switched_by_another,
    )
    .needs(CLOCK)
    .preset("igb")
    .also(&[Need::Switch]),
    Behaviour::new(13, "rebound-to-its-driver-it-refuses-and-recovers", rebound)
        .needs(&[
            Need::HardwareClock,
            Need::MonotonicHardwareClock,
            Need::Changes,
        ])
        .preset("igb"),
];

const PTP: HardwareConfiguration = HardwareConfiguration {
    transmit: true,
    receive: ReceiveFilter::PtpV2,
};

/// Hardware timestamping of the near NIC, as wide as its driver takes it.
pub(super) fn enabled(rig: &Rig) -> Outcome<HardwareGuard> {
    switched_on(&rig.near()?)
}

/// And of the far one.
pub(super) fn enabled_at_far(rig: &Rig) -> Outcome<HardwareGuard> {
    rig.at_far(|| switched_on(&rig.far()?))
}

fn switched_on(nic: &Interface) -> Outcome<HardwareGuard> {
    let all = nic.supported()?.hardware.all_receive;
    Ok(nic.enable_hardware(if all {
        HardwareRequest::AllPackets
    } else {
        HardwareRequest::Ptp
    })?)
}

/// A correlator of the near NIC that knows the rate.
pub(super) fn ready(rig: &Rig) -> Outcome<Correlator> {
    ready_on(rig, &rig.near()?)
}

pub(super) fn ready_on(rig: &Rig, nic: &Interface) -> Outcome<Correlator> {
    let options = CorrelatorOptions {
        period: Duration::from_millis(200),
        ..CorrelatorOptions::FIXED
    };
    let correlator = nic.correlator(options)?;
    assert!(
        rig.until(|| correlator.status().readings >= 16 * 5),
        "{correlator:?}"
    );
    Ok(correlator)
}

fn off_after_rebinding(rig: &Rig) -> Outcome {
    let mut near = rig.near()?;
    let number = near.index();
    enabled(rig)?.keep();
    assert_ne!(near.configuration()?, HardwareConfiguration::OFF);
    rig.remove_near()?;
    rig.add_near()?;
    near.refresh()?;
    assert_ne!(near.index(), number);
    assert_eq!(near.configuration()?, HardwareConfiguration::OFF);
    assert!(!near.active()?.hardware.any());
    Ok(())
}

fn kept_across_down_and_up(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let guard = enabled(rig)?;
    for step in ["link set % down", "link set % up"] {
        rig.network().near(step)?;
        assert_eq!(near.configuration()?, guard.granted(), "after {step}");
    }
    guard.restore()?;
    Ok(())
}

fn readings(near: &Interface, count: usize) -> Outcome<Vec<CrossTimestamp>> {
    let readings = near.hardware_clock()?.cross_timestamps(count)?;
    assert_eq!(readings.len(), count);
    Ok(readings)
}

fn in_order(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    assert!(near.supported()?.cross_timestamp);
    let readings = readings(&near, 40)?;
    for pair in readings.windows(2) {
        assert!(
            pair[0].monotonic_after() <= pair[1].monotonic_before(),
            "one after another: {pair:?}"
        );
        assert!(
            pair[1].hardware().since(pair[0].hardware()) > 0,
            "the counter stands still: {pair:?}"
        );
        assert_eq!(pair[0].method(), pair[1].method());
    }
    let mut widths: Vec<_> = readings
        .iter()
        .filter_map(CrossTimestamp::bracket)
        .collect();
    widths.sort_unstable();
    assert!(widths.len() == 40 && widths[0] > Span::ZERO, "{widths:?}");
    assert!(widths[20] < Span::from_microseconds(100), "{widths:?}");
    Ok(())
}

/// Between two readings the counter runs as long as the system clock, to a thousandth.
fn grows(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let first = readings(&near, 5)?[4];
    rig.pass(Duration::from_secs(1));
    let second = readings(&near, 5)?[4];
    let ran = second.hardware().since(first.hardware());
    let ran = i128::from(ran);
    let least = (second.monotonic_before() - first.monotonic_after()).nanoseconds() * 999 / 1_000;
    let most = (second.monotonic_after() - first.monotonic_before()).nanoseconds() * 1_001 / 1_000;
    assert!(
        (least..=most).contains(&ran),
        "{ran} ticks between {least} and {most} ns"
    );
    Ok(())
}

/// What a reading showed, as if a packet had been timestamped then.
fn as_timestamp(near: &Interface, reading: &CrossTimestamp) -> HardwareTimestamp {
    HardwareTimestamp {
        ticks: reading.hardware(),
        interface: Some(near.index()),
        read_at: reading.monotonic_after(),
    }
}

/// Whether a conversion is possible at all after what was read.
fn agrees(estimate: &Estimate<Monotonic>, reading: &CrossTimestamp) -> bool {
    estimate.at.value + estimate.at.bound >= reading.monotonic_before()
        && estimate.at.value - estimate.at.bound <= reading.monotonic_after()
}

/// Every bound has to hold against readings that the correlator has not seen.
fn later_readings_agree(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let correlator = ready(rig)?;
    for round in 0..30 {
        for reading in readings(&near, 3)? {
            let estimate = correlator.to_monotonic(&as_timestamp(&near, &reading));
            let estimate = estimate
                .unwrap_or_else(|refusal| panic!("round {round}: {refusal}: {correlator:?}"));
            assert!(
                agrees(&estimate, &reading),
                "round {round}: {estimate:?} against {reading:?}: {correlator:?}"
            );
        }
        rig.pass(Duration::from_millis(70));
    }
    Ok(())
}

/// Waits for readings that convert in a later generation than `before`, and checks them.
fn recovers(rig: &Rig, correlator: &Correlator, before: ClockGeneration) -> Outcome {
    let near = rig.near()?;
    let newest = || readings(&near, 1).map(|readings| readings[0]);
    let in_new_generation = |reading: &CrossTimestamp| {
        correlator
            .to_monotonic(&as_timestamp(&near, reading))
            .is_ok_and(|estimate| estimate.generation > before)
    };
    assert!(
        rig.until(|| newest().is_ok_and(|reading| in_new_generation(&reading))),
        "{correlator:?}"
    );
    for _ in 0..10 {
        // while the new rate is not known, a reading may be refused
        newest_agrees(rig, &near, correlator);
        rig.pass(Duration::from_millis(50));
    }
    Ok(())
}

/// Waits for a reading that converts, and checks it. After a generation that ended before its rate
/// was known, ten seconds are refused.
#[track_caller]
fn newest_agrees(rig: &Rig, near: &Interface, correlator: &Correlator) {
    let mut found = None;
    let mut converts = || {
        let newest = readings(near, 1).ok().map(|readings| readings[0]);
        found = newest.and_then(|reading| {
            Some((
                correlator
                    .to_monotonic(&as_timestamp(near, &reading))
                    .ok()?,
                reading,
            ))
        });
        found.is_some()
    };
    assert!(
        rig.until(&mut converts) || rig.until(converts),
        "{correlator:?}"
    );
    let (estimate, reading) = found.expect("it converts");
    assert!(
        agrees(&estimate, &reading),
        "{estimate:?} against {reading:?}: {correlator:?}"
    );
}

fn stepped_by_another(rig: &Rig) -> Outcome {
    let correlator = ready(rig)?;
    // far beyond what holds up two readings: which clock was stepped must be plain
    for ticks in [5_000_000_000, -3_000_000_000] {
        let before = correlator.generation().expect("it has readings");
        rig.step_near_clock(ticks)?;
        recovers(rig, &correlator, before)?;
        let causes = [
            GenerationCause::HardwareStep,
            GenerationCause::CounterBackwards,
            GenerationCause::Contradiction,
            GenerationCause::FrequencyChange,
        ];
        let status = correlator.status();
        assert!(
            status.cause.is_some_and(|cause| causes.contains(&cause)),
            "{status:?}"
        );
    }
    Ok(())
}

/// Far more than an oscillator can: whatever lies between two readings shows it.
fn sped_up_by_another(rig: &Rig) -> Outcome {
    let correlator = ready(rig)?;
    for parts_per_billion in [400_000, 0] {
        let before = correlator.generation().expect("it has readings");
        rig.set_near_clock_rate(parts_per_billion)?;
        reads(rig, &correlator);
        recovers(rig, &correlator, before)?;
    }
    Ok(())
}

/// Waits for a reading that was begun after this, beside the one that may be under way: before it,
/// nobody knows of the new rate.
fn reads(rig: &Rig, correlator: &Correlator) {
    let enough = correlator.status().taken + CorrelatorOptions::FIXED.readings_per_batch as u64;
    assert!(
        rig.until(|| correlator.status().taken > enough),
        "{correlator:?}"
    );
}

/// As ptp4l does in the end of its start.
fn stepped_and_sped_up(rig: &Rig) -> Outcome {
    let correlator = ready(rig)?;
    for (step, parts_per_billion) in [(7_000_000, 400_000), (-9_000_000, 0)] {
        let before = correlator.generation().expect("it has readings");
        rig.step_near_clock(step)?;
        rig.set_near_clock_rate(parts_per_billion)?;
        reads(rig, &correlator);
        recovers(rig, &correlator, before)?;
    }
    Ok(())
}

/// Readings are on the monotonic clock, or are placed on it.
fn utc_step(rig: &Rig) -> Outcome {
    utc_steps(rig, Duration::ZERO, [-3_600, 3_600])
}

/// The clock has been read for longer than the step is large: it shows the same times again.
fn utc_readings(rig: &Rig) -> Outcome {
    utc_steps(rig, Duration::from_secs(60), [-20, 20])
}

fn utc_steps(rig: &Rig, known_for: Duration, steps: [i64; 2]) -> Outcome {
    let near = rig.near()?;
    let correlator = ready(rig)?;
    rig.pass(known_for);
    let before = correlator.generation();
    for seconds in steps {
        rig.step_real_time_clock(Span::from_seconds(seconds))?;
        let taken = correlator.status().readings;
        assert!(
            rig.until(|| correlator.status().readings >= taken + 2 * 5),
            "{correlator:?}"
        );
        for reading in readings(&near, 3)? {
            let estimate = correlator.to_monotonic(&as_timestamp(&near, &reading));
            let estimate = estimate.unwrap_or_else(|refusal| panic!("{refusal}: {correlator:?}"));
            assert!(
                agrees(&estimate, &reading),
                "{estimate:?} against {reading:?}: {correlator:?}"
            );
        }
    }
    assert_eq!(correlator.generation(), before, "{correlator:?}");
    Ok(())
}

/// With virtual clocks beside it the NIC's own runs free: the kernel refuses to adjust it.
/// Interfaces, readings and timestamps stay those of the NIC's own clock.
fn virtual_clocks(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let number = rig.near_clock()?;
    let correlator = ready(rig)?;
    let generation = correlator.generation();
    let _virtual = rig.virtual_clocks(2)?;
    assert_eq!(
        rig.near_clock()?,
        number,
        "the interface names its own clock"
    );
    rig.step_near_clock(1_000_000)?; // `phc_ctl` prints the refusal and ends well
    let taken = correlator.status().readings;
    assert!(
        rig.until(|| correlator.status().readings >= taken + 2 * 5),
        "{correlator:?}"
    );
    for reading in readings(&near, 5)? {
        let estimate = correlator.to_monotonic(&as_timestamp(&near, &reading));
        let estimate = estimate.unwrap_or_else(|refusal| panic!("{refusal}: {correlator:?}"));
        assert!(
            agrees(&estimate, &reading),
            "{estimate:?} against {reading:?}: {correlator:?}"
        );
    }
    assert_eq!(correlator.generation(), generation, "{correlator:?}");
    Ok(())
}

fn switched_by_another(rig: &Rig) -> Outcome {
    let correlator = ready(rig)?;
    let before = correlator.generation().expect("it has readings");
    rig.reconfigure_by_another(PTP)?;
    assert!(
        rig.until(|| correlator.generation() > Some(before)),
        "{correlator:?}"
    );
    assert_eq!(
        correlator.status().cause,
        Some(GenerationCause::Notification)
    );
    rig.near()?.disable_hardware()?;
    Ok(())
}

fn rebound(rig: &Rig) -> Outcome {
    let correlator = ready(rig)?;
    let near = rig.near()?;
    let last = readings(&near, 1)?[0];
    rig.remove_near()?;
    let failed = || correlator.status().last_error.is_some();
    assert!(
        rig.until(failed),
        "a clock that is gone can't be read: {correlator:?}"
    );
    let kind = correlator.status().last_error.map(|error| error.kind());
    assert!(
        matches!(kind, Some(ErrorKind::NoSuchDevice)),
        "{:?}",
        correlator.status()
    );
    rig.add_near()?;
    // its number is another, and so is its clock's
    newest_agrees(rig, &rig.near()?, &correlator);
    // its link comes up a moment later, and with it another generation
    let old = as_timestamp(&near, &last);
    let is_told = || match correlator.to_monotonic(&old) {
        Ok(estimate) => panic!("{estimate:?} of a clock that is gone: {correlator:?}"),
        Err(refusal) => refusal != ConversionError::NotReady,
    };
    assert!(
        rig.until(is_told),
        "that it was made before is not told: {correlator:?}"
    );
    Ok(())
}
