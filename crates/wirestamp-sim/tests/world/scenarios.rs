//! Scenario files: their contents, and the errors for mistakes.

use crate::station::{Station, cross, custom, interface};
use wirestamp_core::ErrorKind;
use wirestamp_core::backend::Backend;
use wirestamp_core::interface::InterfaceState;
use wirestamp_core::time::Span;
use wirestamp_sim::Scenario;

fn refused(text: &str) -> String {
    let error = Scenario::from_toml(text).expect_err(text);
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    error.to_string()
}

#[test]
fn mistakes_are_told_with_their_line_and_what_is_allowed() {
    let mistakes = [
        ("[nic]\nmtu = 'x'", "line 2", "u32"),
        (
            "\n[nic.faults]\nlots = 0.5",
            "line 3",
            "unknown field `lots`, expected one of `lost`",
        ),
        (
            "[nic.faults]\nlost = 1.5",
            "line 2",
            "1.5 is no probability; allowed: 0.0 to 1.0",
        ),
        ("[nic.path]\nsend = '5'", "line 2", "ns, us"),
        ("[nic.path]\nsend = '-5ns'", "line 2", "not negative"),
        (
            "[nic.path]\nsend = { jitter = '5ns' }",
            "line 2",
            "missing field `base`",
        ),
        (
            "[host]\ntick = '-1ns'",
            "line 2",
            "negative; allowed: 0ns and more",
        ),
        (
            "[host]\n\ntick = '2s'",
            "line 3",
            "host.tick is 2000000000; allowed: 1 to 1000000000",
        ),
        (
            "preset = 'igb'\n[sim1.clock]\nhertz = 1",
            "line 3",
            "sim1.clock.hertz is 1; allowed: 1000 to 10000000000",
        ),
        (
            "[nic.clock]\nwander_ppb = nan",
            "line 2",
            "nic.clock.wander_ppb is NaN; allowed: 0 to 1000000",
        ),
        (
            "[nic]\nreceive_filters = ['everything']",
            "line 2",
            "one of none, all, some",
        ),
        (
            "[[event]]\nat = '3s'\naction = 'explode'",
            "line 3",
            "unknown variant `explode`",
        ),
        (
            "[[event]]\nat = '3s'\naction = 'step_utc'",
            "line 1",
            "missing field `by`",
        ),
        (
            "[[event]]\nat = '3s'\naction = 'link_up'\n[[event]]\nat = '3s'\naction = 'storm'\ncount = 0",
            "line 7",
            "event[1].count is 0; allowed: 1 to 1000000",
        ),
        (
            "[[event]]\nat = '3s'\naction = 'virtual_clocks'\ncount = 21",
            "line 4",
            "event[0].count is 21; allowed: 0 to 20",
        ),
        ("[nic", "line 1", ""),
        ("a = 1\na = 2", "line 2", "duplicate key"),
    ];
    for (text, line, words) in mistakes {
        let message = refused(text);
        assert!(
            message.contains(line) && message.contains(words),
            "{text:?}: {message}"
        );
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn unknown_presets_are_refused_with_the_known_ones() {
    let message = Scenario::preset("i226").expect_err("unknown").to_string();
    assert!(
        message.contains("i226") && message.contains("i225") && message.contains("windows-modern"),
        "{message}"
    );
    assert!(refused("preset = 'i226'").contains("no such preset"));
}

#[test]
fn every_preset_is_valid_and_described() {
    assert!(Scenario::presets().len() >= 26);
    for (name, description) in Scenario::presets() {
        let scenario = Scenario::preset(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(scenario.name(), *name);
        assert!(
            !description.is_empty() && !description.ends_with('.') && !description.contains('\n')
        );
    }
    assert_eq!(Scenario::default().name(), Scenario::DEFAULT);
    assert_eq!(
        Scenario::from_toml("").expect("all defaults").name(),
        "custom"
    );
}

#[test]
fn a_file_overrides_its_preset_and_a_nic_overrides_both() {
    let world = custom(
        "preset = 'igb'\n[nic]\nmtu = 9000\n[sim1]\nmtu = 1400\n[sim1.clock]\npresent = false",
    );
    let (sim0, sim1) = (interface(&world, "sim0"), interface(&world, "sim1"));
    assert_eq!((sim0.mtu, sim1.mtu), (9_000, 1_400));
    assert_eq!((sim0.hardware_clock, sim1.hardware_clock), (Some(0), None));
    let masks = |interface| {
        world
            .supported(interface)
            .expect("works")
            .kernel_masks
            .expect("Linux")
            .receive_filters
    };
    assert_eq!(
        (masks(&sim0), masks(&sim1)),
        (0x1031, 0x1031),
        "both still the preset's"
    );
}

#[test]
fn a_delay_is_replaced_as_a_whole() {
    let world = custom(
        "preset = 'i225'\n[nic.cross]\nforward = '5us'\nback = { base = '1us' }\nfirst = '0ns'",
    );
    for reading in cross(&world, "sim0", 25).expect("works") {
        assert_eq!(
            reading.bracket(),
            Some(Span::from_microseconds(6)),
            "no jitter, no outliers left"
        );
    }
}

#[test]
fn events_happen_in_the_order_of_their_times() {
    let world = custom(
        "preset = 'ideal'
        [[event]]
        at = '2s'
        action = 'link_up'
        [[event]]
        at = '1s'
        action = 'link_down'
        [[event]]
        at = '3s'
        action = 'step_utc'
        by = '-100s'
        [[event]]
        at = '4s'
        action = 'change_rate'
        nic = 'sim1'
        ppb = 1000000",
    );
    let state = || interface(&world, "sim0").state;
    world.advance(Span::from_milliseconds(1_500));
    assert_eq!(state(), InterfaceState::NoCarrier);
    world.advance(Span::from_seconds(1));
    assert_eq!(state(), InterfaceState::Up);
    let utc = || world.utc_cross_timestamp();
    let before = utc();
    world.advance(Span::from_seconds(1));
    let after = utc();
    let stepped = (after.utc - before.utc) - (after.before - before.before);
    assert_eq!(stepped.nanoseconds() / 1_000_000_000, -100);
    world.advance(Span::from_seconds(2));
    let ticks = |name: &str| cross(&world, name, 1).expect("works")[0].hardware().raw();
    let (steady, fast) = (ticks("sim0"), ticks("sim1"));
    assert!(
        fast - steady > 1_000_000,
        "a second and a half at a part in a thousand"
    );
}

#[test]
fn a_real_time_clock_is_read_between_two_readings_of_the_monotonic_one() {
    let station = Station::new("i225");
    let first = station.world.utc_cross_timestamp();
    station.world.advance(Span::from_seconds(1));
    let second = station.world.utc_cross_timestamp();
    assert!(first.before < first.after && second.before < second.after);
    let drift = (second.utc - first.utc) - (second.before - first.before);
    assert!(drift.abs() <= first.after - first.before, "{drift}");
}

#[test]
fn what_slews_move_the_monotonic_clock_by_can_be_read() {
    let station = Station::new("i225");
    let by = || station.world.adjusted().by;
    let first = by();
    station.world.advance(Span::from_seconds(1));
    assert_eq!(by(), first, "nobody adjusts it");
    for (ppb, microseconds) in [(400_000, 400), (-250_000, 150), (0, 150)] {
        station.world.slew_system_clock(ppb);
        station.world.advance(Span::from_seconds(1));
        let moved = by().value - first.value;
        let off = (moved - Span::from_microseconds(microseconds)).abs();
        assert!(off < Span::from_nanoseconds(500), "{ppb}: {moved}");
    }
}
