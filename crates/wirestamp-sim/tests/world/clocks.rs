//! Cross timestamps and hardware clocks against the truth.

use crate::station::{cross, custom, interface, world};
use wirestamp_core::ErrorKind;
use wirestamp_core::backend::{Backend, HardwareClock};
use wirestamp_core::cross::{CrossMethod, CrossTimestamp};
use wirestamp_core::time::{HardwareTicks, MonotonicTime, Span};
use wirestamp_sim::{NicName, World};

/// Whether the hardware clock showed the reading's value between its system times, the
/// resolution of either clock allowed for.
fn holds(world: &World, reading: &CrossTimestamp, slack: i64) -> bool {
    let index = interface(world, "sim0").index;
    let slack = Span::from_nanoseconds(slack.into());
    let shown = world
        .truth()
        .monotonic_time_of(index, reading.hardware())
        .expect("was shown");
    reading.monotonic_before() - slack <= shown && shown <= reading.monotonic_after() + slack
}

#[test]
fn every_reading_brackets_the_truth() {
    for (preset, slack) in [
        ("i225", 1),
        ("igb", 8),
        ("windows-modern", 107),
        ("slow-cross", 1),
        ("noisy-cross", 1),
    ] {
        let world = world(preset);
        let mut clock = world.open_clock(&interface(&world, "sim0")).expect("there");
        let mut readings = Vec::new();
        for _ in 0..200 {
            let _busy_now_and_then = clock.cross_timestamps(5, &mut readings);
            world.advance(Span::from_milliseconds(100));
        }
        assert!(readings.len() > 800, "{preset}");
        assert!(
            readings.iter().all(|reading| holds(&world, reading, slack)),
            "{preset}"
        );
        assert!(
            readings
                .iter()
                .all(|reading| reading.bracket().is_some_and(|width| width > Span::ZERO)),
            "{preset}"
        );
    }
}

#[test]
fn a_latched_reading_has_no_width_and_is_exact() {
    let world = world("igc");
    for reading in cross(&world, "sim0", 5).expect("works") {
        assert_eq!(
            (reading.method(), reading.bracket()),
            (CrossMethod::Precise, Some(Span::ZERO))
        );
        assert!(holds(&world, &reading, 1));
    }
}

#[test]
fn noise_is_what_the_preset_says() {
    let world = world("noisy-cross");
    let mut clock = world.open_clock(&interface(&world, "sim0")).expect("there");
    let (mut readings, mut busy) = (Vec::new(), 0);
    for _ in 0..1_000 {
        if let Err(error) = clock.cross_timestamps(10, &mut readings) {
            assert_eq!((error.kind(), error.code()), (ErrorKind::Busy, Some(16)));
            busy += 1;
        }
    }
    assert!((30..70).contains(&busy), "5 %: {busy}");
    let invalid = world.truth().invalid_readings();
    assert!((300..480).contains(&invalid), "4 % of 9,500: {invalid}");
    let width = |reading: &CrossTimestamp| reading.bracket().expect("known").nanoseconds();
    let wide = readings
        .iter()
        .filter(|reading| width(reading) > 3_000)
        .count()
        * 100
        / readings.len();
    assert!((35..55).contains(&wide), "30 % outliers each way: {wide} %");
    let index = interface(&world, "sim0").index;
    let offset = |reading: &CrossTimestamp| {
        let shown = world
            .truth()
            .monotonic_time_of(index, reading.hardware())
            .expect("was shown");
        (shown - reading.middle()).nanoseconds()
    };
    let narrow: Vec<i128> = readings
        .iter()
        .filter(|reading| width(reading) < 1_300)
        .map(offset)
        .collect();
    let mean = narrow.iter().sum::<i128>() / narrow.len() as i128;
    assert!(
        (150..250).contains(&mean),
        "800 ns there and 400 ns back: {mean}"
    );
}

#[test]
fn when_every_reading_is_invalid_that_is_an_error() {
    for fault in ["zero", "backwards"] {
        let world = custom(&format!("preset = 'i225'\n[nic.cross]\n{fault} = 1.0"));
        let error = cross(&world, "sim0", 5).expect_err("nothing valid");
        assert_eq!(
            (error.kind(), world.truth().invalid_readings()),
            (ErrorKind::Io, 5)
        );
    }
}

#[test]
fn a_clock_that_may_be_read_seldom_is_busy_in_between() {
    let world = world("ena");
    let mut clock = world.open_clock(&interface(&world, "sim0")).expect("there");
    let mut readings = Vec::new();
    clock.cross_timestamps(1, &mut readings).expect("the first");
    assert_eq!(
        clock
            .cross_timestamps(1, &mut readings)
            .expect_err("too soon")
            .kind(),
        ErrorKind::Busy
    );
    world.advance(Span::from_milliseconds(10));
    clock.cross_timestamps(1, &mut readings).expect("again");
    assert_eq!(readings[0].method(), CrossMethod::Basic);
}

#[test]
fn clocks_are_refused_where_there_is_none_or_no_privilege() {
    let opened = |preset: &str| {
        let world = world(preset);
        world.open_clock(&interface(&world, "sim0")).map(drop)
    };
    assert_eq!(
        opened("software-only").expect_err("none").kind(),
        ErrorKind::NotSupported
    );
    assert_eq!(
        opened("unprivileged").expect_err("may not").kind(),
        ErrorKind::NotPermitted
    );
    assert!(opened("hardware-no-cross").is_ok());
}

#[test]
fn a_nic_that_went_away_has_no_clock() {
    let world = world("i225");
    let mut clock = world.open_clock(&interface(&world, "sim0")).expect("there");
    world.remove_nic(NicName::Sim0);
    let error = clock
        .cross_timestamps(1, &mut Vec::new())
        .expect_err("gone");
    assert_eq!(error.kind(), ErrorKind::NoSuchDevice);
    world.add_nic(NicName::Sim0);
    assert!(
        clock.cross_timestamps(1, &mut Vec::new()).is_err(),
        "another clock"
    );
    assert!(cross(&world, "sim0", 1).is_ok());
}

#[test]
fn steps_resets_and_rates_show_in_the_readings() {
    let world = world("ideal");
    let read = || cross(&world, "sim0", 1).expect("works")[0];
    let ahead = |reading: CrossTimestamp| {
        reading.hardware().raw() as i64 - reading.monotonic_before().nanoseconds()
    };
    let before = read();
    world.step_hardware_clock(NicName::Sim0, -1_000_000);
    assert_eq!(ahead(read()) - ahead(before), -1_000_000);
    world.reset_nic(NicName::Sim0, 500);
    assert!(read().hardware().raw() < 10_000);
    world.change_hardware_rate(NicName::Sim0, 500_000);
    let first = read();
    world.advance(Span::from_seconds(1));
    let second = read();
    let gained = ahead(second) - ahead(first);
    assert!((499_990..500_020).contains(&gained), "{gained}");
    let other = cross(&world, "sim1", 1).expect("works")[0];
    assert!(
        other.hardware().raw() > 1_000_000_000_000,
        "the other NIC is left alone"
    );
}

#[test]
fn the_truth_converts_both_ways_and_refuses_the_future() {
    let world = world("poor-oscillator");
    let (truth, index) = (world.truth(), interface(&world, "sim0").index);
    world.advance(Span::from_seconds(400));
    for back in 1..400 {
        let at = truth.now() - Span::from_seconds(back);
        let ticks = truth.hardware_ticks_at(index, at).expect("remembered");
        let again = truth.monotonic_time_of(index, ticks).expect("shown");
        assert!((at - again).abs() <= Span::from_nanoseconds(1));
    }
    assert_eq!(
        truth.hardware_ticks_at(index, truth.now() + Span::from_nanoseconds(1)),
        None
    );
    assert_eq!(
        truth.hardware_ticks_at(index, MonotonicTime::from_nanoseconds(1)),
        None
    );
    assert_eq!(truth.monotonic_time_of(index, HardwareTicks::new(1)), None);
}

#[test]
fn the_truth_is_that_of_the_clock_that_was_behind_the_nic() {
    let world = world("i225");
    let (truth, index) = (world.truth(), interface(&world, "sim0").index);
    let ms = Span::from_milliseconds;
    let shown = |at| {
        truth
            .hardware_ticks_at(index, at)
            .expect("remembered")
            .raw()
    };
    world.advance(ms(1_000));
    let before = (truth.now() - ms(1), shown(truth.now() - ms(1)));
    world.change_clock(NicName::Sim0, 20, ms(5_000));
    world.advance(ms(2));
    let between = (truth.now() - ms(1), shown(truth.now() - ms(1)));
    assert!(
        (5_001_900_000..5_002_100_000).contains(&(between.1 - before.1)),
        "{before:?} {between:?}"
    );
    world.change_clock_silently(NicName::Sim0, 0, Span::ZERO);
    world.advance(ms(2));
    for (at, ticks) in [before, between] {
        assert_eq!(shown(at), ticks, "at {at:?}");
        let again = truth.monotonic_time_of(index, HardwareTicks::new(ticks));
        let again = again.expect("shown");
        assert!(
            (at - again).abs() <= Span::from_nanoseconds(8),
            "{at:?} {again:?}"
        );
    }
    // the clock that is back showed that while the other one was behind the NIC
    let unseen = before.1 + 2_000_000;
    assert_eq!(
        truth.monotonic_time_of(index, HardwareTicks::new(unseen)),
        None
    );
}

#[test]
fn a_clock_device_has_a_limit_a_resolution_and_can_be_taken() {
    const SECOND: i64 = 1_000_000_000;
    let toml = |beyond: &str| {
        let device = format!(
            "[sim1.clock.adjustment]\nlimit_ppb = 600_000\nbeyond = \"{beyond}\"\nstep_ppb = 95.0"
        );
        custom(&format!("preset = \"ideal\"\n{device}"))
    };
    let world = toml("refuse");
    let (device, index) = (
        world.clock_device(NicName::Sim1),
        interface(&world, "sim1").index,
    );
    assert_eq!(
        (device.largest_adjustment_ppb(), device.resolution_ppb()),
        (Some(600_000), 95.0)
    );
    device
        .adjust_frequency(100_000.0)
        .expect("within the limit");
    assert_eq!(device.frequency(), Ok(1_053.0 * 95.0));
    let shown = device.now().expect("there").raw();
    world.advance(Span::from_seconds(1));
    let counted = device.now().expect("there").raw() - shown;
    assert!(
        counted.abs_diff((SECOND + 1_053 * 95) as u64) <= 1,
        "{counted}"
    );
    let error = device.adjust_frequency(600_001.0).expect_err("beyond");
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::InvalidInput, Some(34))
    );
    device.step(Span::from_nanoseconds(-77)).expect("stepped");
    assert_eq!(world.truth().clock_moved_by(index), Some(1_053 * 95 - 77));

    world.set_virtual_clocks(NicName::Sim1, 1);
    let refused = [
        device.step(Span::from_nanoseconds(1)),
        device.adjust_frequency(0.0),
    ];
    assert!(refused.iter().all(|answer| {
        answer
            .as_ref()
            .is_err_and(|error| error.kind() == ErrorKind::Busy)
    }));
    assert_eq!(
        device.frequency(),
        Ok(1_053.0 * 95.0),
        "what was in force still is"
    );
    world.drop_frequency_adjustment(NicName::Sim1);
    assert_eq!(device.frequency(), Ok(0.0));

    let clamping = toml("clamp").clock_device(NicName::Sim1);
    clamping.adjust_frequency(1e9).expect("clamped");
    let kept = clamping.frequency().expect("there");
    assert!((599_900.0..=600_000.0).contains(&kept), "{kept}");
}
