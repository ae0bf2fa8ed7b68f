//! With the default settings, steering does not run away: the clock keeps the learnt frequency if
//! the timeTransmitter sends a false time, jumps or is lost, if the clock fails, and when the
//! program ends.

use crate::steered::{Scene, play};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use wirestamp::sim::NicName;
use wirestamp::{Error, ErrorKind, Span};
use wirestamp_ptp::{Configuration, Lost};

const MILLISECOND: i64 = 1_000_000;
/// The samples are compared with the truth a moment later, when the clock may have been moved.
const SLACK: i64 = 3_000;

fn defaults(_: &mut Configuration) {}

/// Eight messages per second, as in the audit.
fn quick(chosen: &mut Configuration) {
    (
        chosen.log_announce_interval,
        chosen.log_sync_interval,
        chosen.log_delay_interval,
    ) = (-3, -3, -3);
}

/// Only the learnt frequency is in force; the clock's own error is subtracted.
fn assert_at_base(scene: &Scene<'_>, drift_ppm: f64) {
    let ppm = scene.clock.borrow().ppm;
    assert!((ppm + drift_ppm).abs() < 0.5, "{ppm} ppm is in force");
}

#[test]
fn a_jump_of_a_millisecond_that_stays_is_followed() {
    play(5_000, defaults, |scene| {
        scene.pass(40, SLACK);
        assert!(scene.error().abs() < 1_000, "{}", scene.error());
        scene.jump(MILLISECOND);
        scene.pass(60, 2 * MILLISECOND);
        assert!(
            scene.error().abs() < 1_000,
            "{} ns after a minute",
            scene.error()
        );
        let contradictions = scene.receiver.counts().lost_for(Lost::Contradiction);
        assert!(contradictions <= 2, "{contradictions}");
        scene.pass(840, SLACK);
        assert!(
            scene.error().abs() < 1_000,
            "{} ns after 15 minutes",
            scene.error()
        );
        assert_eq!(scene.clock.borrow().steps.len(), 1, "only at the start");
    });
}

#[test]
fn a_second_of_wrong_time_is_forgotten() {
    for (jump, chosen) in [
        (1, defaults as fn(&mut Configuration)),
        (-1, defaults),
        (1, quick),
        (-1, quick),
    ] {
        let jump = jump * MILLISECOND;
        play(5_000, chosen, |scene| {
            scene.pass(40, SLACK);
            scene.jump(jump);
            scene.pass(1, 2 * MILLISECOND);
            scene.jump(-jump);
            scene.pass(60, 2 * MILLISECOND);
            assert!(
                scene.error().abs() < 1_000,
                "{} ns after a minute",
                scene.error()
            );
            scene.pass(240, SLACK);
            assert!(
                scene.error().abs() < 1_000,
                "{} ns after 5 minutes",
                scene.error()
            );
            assert_eq!(scene.receiver.steering_error(), None);
        });
    }
}

/// A timeTransmitter that is lost during a catch-up slew: the audit's case.
fn lost_while_catching_up(max_drift_ppm: u32) {
    play(
        5_000,
        |chosen| chosen.max_drift_ppm = max_drift_ppm,
        |scene| {
            scene.pass(40, SLACK);
            scene.jump(10 * MILLISECOND);
            scene.pass(10, 20 * MILLISECOND);
            assert!(
                scene.clock.borrow().ppm > 400.0,
                "it does catch up: {}",
                scene.clock.borrow().ppm
            );
            scene.transmitter = None;
            scene.pass(5, SLACK); // a correction lasts four seconds at most
            assert_at_base(scene, 5.0);
            let before = scene.error();
            scene.pass(660, SLACK);
            let moved = scene.error() - before;
            assert!(moved.abs() < 20_000, "{moved} ns in eleven minutes");
        },
    );
}

#[test]
fn a_timetransmitter_that_is_lost_leaves_the_base_frequency() {
    lost_while_catching_up(200);
    lost_while_catching_up(1_000);
}

/// During a catch-up slew.
fn slewing(scene: &mut Scene<'_>) {
    scene.pass(40, SLACK);
    scene.jump(100 * MILLISECOND);
    scene.pass(20, 200 * MILLISECOND);
    assert!(
        scene.clock.borrow().ppm > 400.0,
        "it does catch up: {}",
        scene.clock.borrow().ppm
    );
}

#[test]
fn the_end_of_steering_leaves_the_base_frequency() {
    play(5_000, defaults, |scene| {
        slewing(scene);
        scene.receiver.end_steering().expect("told");
        assert_at_base(scene, 5.0);
        scene.pass(20, SLACK);
        assert_at_base(scene, 5.0);
    });
}

/// After a failover of a bond, samples do not measure the steered clock.
#[test]
fn another_clock_behind_the_interface_leaves_the_base_frequency() {
    play(5_000, defaults, |scene| {
        slewing(scene);
        let replace = |scene: &mut Scene<'_>, clock| {
            let world = scene.cable.world();
            world.change_clock(NicName::Sim1, clock, Span::ZERO);
            scene.pass(5, i64::MAX); // a correction lasts four seconds at most
            scene.receiver.steering_error().map(Error::kind)
        };
        assert_eq!(replace(scene, 9), Some(ErrorKind::NoSuchDevice));
        assert_at_base(scene, 5.0);
        scene.pass(60, i64::MAX);
        assert_at_base(scene, 5.0);
        assert_eq!(replace(scene, 1), None, "it is back");
        let before = scene.error().abs();
        scene.pass(60, i64::MAX);
        let after = scene.error().abs();
        assert!(after + 10 * MILLISECOND < before, "{before}, then {after}");
    });
}

#[test]
fn dropped_amid_a_slew_the_base_frequency_remains() {
    let mut clock = None;
    play(5_000, defaults, |scene| {
        slewing(scene);
        clock = Some(Rc::clone(&scene.clock));
    });
    let ppm = clock.expect("played").borrow().ppm;
    assert!((ppm + 5.0).abs() < 0.5, "{ppm} ppm remain");
}

#[test]
fn a_panic_and_an_early_return_leave_the_base_frequency() {
    let mut clock = None;
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        play(5_000, defaults, |scene| {
            slewing(scene);
            clock = Some(Rc::clone(&scene.clock));
            panic!("a defect somewhere else");
        });
    }));
    assert!(panicked.is_err());
    let ppm = clock.take().expect("played").borrow().ppm;
    assert!((ppm + 5.0).abs() < 0.5, "{ppm} ppm remain after a panic");

    let early = |scene: &mut Scene<'_>| -> Result<(), String> {
        slewing(scene);
        let moved = scene.transmitter.take();
        Err(format!("an early return: {}", moved.is_some()))
    };
    play(5_000, defaults, |scene| {
        clock = Some(Rc::clone(&scene.clock));
        assert!(early(scene).is_err());
    });
    let ppm = clock.expect("played").borrow().ppm;
    assert!(
        (ppm + 5.0).abs() < 0.5,
        "{ppm} ppm remain after an early return"
    );
}

#[test]
fn a_frequency_that_could_not_be_set_is_set_a_second_later() {
    play(5_000, defaults, |scene| {
        scene.pass(40, SLACK);
        scene.clock.borrow_mut().failures = 3;
        scene.jump(MILLISECOND);
        scene.pass(15, 2 * MILLISECOND);
        assert_eq!(scene.clock.borrow().failures, 0);
        scene.pass(30, SLACK);
        assert!(scene.error().abs() < 1_000, "{}", scene.error());
        assert_eq!(scene.receiver.steering_error(), None);
    });
}

#[test]
fn a_clock_that_clamps_is_steered_as_far_as_it_goes() {
    for lies in [None, Some(0.0)] {
        play(5_000, defaults, |scene| {
            (
                scene.clock.borrow_mut().clamps_at,
                scene.clock.borrow_mut().lies,
            ) = (Some(50.0), lies);
            scene.pass(40, if lies.is_some() { MILLISECOND } else { SLACK });
            scene.jump(MILLISECOND);
            scene.pass(240, 2 * MILLISECOND);
            assert!(
                scene.error().abs() < 2_000,
                "{} ns, it says so: {}",
                scene.error(),
                lies.is_none()
            );
            assert!(scene.clock.borrow().ppm.abs() <= 50.0);
        });
    }
}

#[test]
fn a_program_that_died_amid_a_slew_is_survived_by_the_next() {
    play(5_000, defaults, |scene| {
        scene.pass(40, SLACK);
        // left by another program, or by one of ours that was killed: 500 ppm
        scene
            .cable
            .world()
            .change_hardware_rate(wirestamp::sim::NicName::Sim1, 505_000);
        scene.clock.borrow_mut().ppm = 500.0;
        scene.pass(60, MILLISECOND);
        assert!(scene.error().abs() < 1_000, "{}", scene.error());
    });
}

#[test]
fn every_slew_limit_gets_there() {
    for (limit, jump, seconds) in [(1, 20_000, 60), (10, 200_000, 60), (499, MILLISECOND, 40)] {
        play(
            -90_000,
            |chosen| chosen.steering.slew_limit_ppm = Some(limit),
            |scene| {
                scene.pass(40, SLACK);
                scene.jump(jump);
                scene.pass(seconds, 2 * MILLISECOND);
                assert!(
                    scene.error().abs() < 1_500,
                    "{limit} ppm: {} ns",
                    scene.error()
                );
                assert_at_base(scene, -90.0);
            },
        );
    }
}

/// Like Linux's system clock: a program that is killed during a slew leaves only a small error,
/// because the kernel ends the slew.
#[test]
fn a_clock_that_slews_by_itself_catches_up_without_a_frequency_that_stays() {
    play(5_000, defaults, |scene| {
        scene.clock.borrow_mut().slews = true;
        scene.pass(40, SLACK);
        assert!(scene.error().abs() < 1_000, "{}", scene.error());
        scene.jump(5 * MILLISECOND);
        let mut largest = 0.0_f64;
        for _ in 0..60 {
            scene.pass(1, 10 * MILLISECOND);
            largest = largest.max((scene.clock.borrow().ppm + 5.0).abs());
        }
        let most = scene.clock.borrow().largest_slew;
        assert!(
            largest < 10.5 && (400..=500).contains(&most),
            "{largest} ppm and {most} µs would remain"
        );
        assert!(
            scene.error().abs() < 1_000,
            "{} ns after a minute",
            scene.error()
        );
        scene.pass(60, SLACK);
        assert!(scene.error().abs() < 1_000, "{}", scene.error());
        assert_eq!(scene.receiver.steering_error(), None);
        // the end cancels the rest of the slew
        scene.jump(100 * MILLISECOND);
        scene.pass(15, 200 * MILLISECOND);
        scene.receiver.end_steering().expect("told");
        assert_eq!(scene.clock.borrow().slew, None);
        assert_at_base(scene, 5.0);
    });
}

#[test]
fn an_offset_beyond_the_limit_is_not_followed_and_ends_steering_if_it_stays() {
    play(5_000, defaults, |scene| {
        scene.pass(40, SLACK);
        scene.jump(40 * 365 * 86_400 * 1_000 * MILLISECOND); // forty years
        scene.pass(30, i64::MAX);
        let refused = scene.receiver.refused_offset().expect("told");
        assert!(
            !refused.is_final && !refused.is_first && refused.limit_ns == 1_000_000_000,
            "{refused:?}"
        );
        assert_at_base(scene, 5.0);
        scene.jump(-40 * 365 * 86_400 * 1_000 * MILLISECOND);
        scene.pass(30, i64::MAX);
        assert_eq!(
            scene.receiver.refused_offset(),
            None,
            "a lie of half a minute is over"
        );
        assert!(scene.error().abs() < 1_000, "{}", scene.error());
        scene.jump(2_000 * MILLISECOND);
        scene.pass(80, i64::MAX);
        assert!(
            scene
                .receiver
                .refused_offset()
                .is_some_and(|refused| refused.is_final)
        );
        scene.jump(-2_000 * MILLISECOND);
        scene.jump(MILLISECOND);
        scene.pass(60, i64::MAX);
        assert_at_base(scene, 5.0);
        assert!(scene.error() < -900_000, "it has ended: {}", scene.error());
        assert_eq!(scene.clock.borrow().steps.len(), 1);
    });
}

#[test]
fn the_first_step_has_a_limit_too() {
    let far = |scene: &mut Scene<'_>| {
        scene.jump(2_000_000 * MILLISECOND);
        scene.pass(40, i64::MAX);
    };
    play(5_000, defaults, |scene| {
        far(scene);
        let refused = scene.receiver.refused_offset().expect("told");
        assert!(
            refused.is_first && refused.is_final && refused.offset_ns < -1_900_000 * MILLISECOND,
            "{refused:?}"
        );
        assert!(scene.clock.borrow().steps.is_empty());
    });
    play(
        5_000,
        |chosen| chosen.steering.max_first_step_ns = 0,
        |scene| {
            far(scene);
            assert_eq!(
                (
                    scene.receiver.refused_offset(),
                    scene.clock.borrow().steps.len()
                ),
                (None, 1)
            );
            assert!(scene.error().abs() < 1_000, "{}", scene.error());
        },
    );
}

#[test]
fn a_limit_that_the_clock_does_not_have_is_refused() {
    let cable = crate::pair::Cable::new("");
    let mut configuration = Configuration::default();
    configuration.steering.slew_limit_ppm = Some(501);
    let engine = cable.engine(1, configuration);
    let mut node = cable.node(&engine, 1);
    let clock = crate::steered::SimulatedClock::new(&cable, 0.0);
    let error = node
        .steer_with(Box::new(clock))
        .expect_err("beyond the clock's limit");
    assert!(
        error.to_string().contains("more than the 500 ppm"),
        "{error}"
    );
}

#[test]
fn the_system_is_told_how_good_the_clock_is() {
    play(5_000, defaults, |scene| {
        let bound = |scene: &Scene<'_>| {
            scene
                .clock
                .borrow()
                .status
                .and_then(|status| status.error_bound)
        };
        assert_eq!(scene.clock.borrow().status, None);
        scene.pass(40, SLACK);
        let known = bound(scene).expect("synchronised").saturating_nanoseconds();
        assert!(known < 10_000 && scene.error().abs() < known, "±{known} ns");
        scene.transmitter = None;
        scene.pass(20, SLACK);
        assert_eq!(
            (scene.clock.borrow().status.is_some(), bound(scene)),
            (true, None),
            "lost"
        );
    });
    play(5_000, defaults, |scene| {
        scene.pass(40, SLACK);
        scene.receiver.end_steering().expect("told");
        assert_eq!(scene.clock.borrow().status.expect("told").error_bound, None);
    });
}

/// The driver loses a frequency adjustment so large that all messages contradict each other until
/// it is commanded again; the clock reports it or not.
fn adjustment_lost(lies: bool) {
    play(
        46_000,
        |chosen| {
            chosen.max_drift_ppm = 71;
            quick(chosen);
        },
        |scene| {
            scene.pass(40, SLACK);
            assert_at_base(scene, 46.0);
            let asked = scene.clock.borrow().ppm;
            (scene.clock.borrow_mut().ppm, scene.clock.borrow_mut().lies) =
                (0.0, lies.then_some(asked));
            scene
                .cable
                .world()
                .change_hardware_rate(wirestamp::sim::NicName::Sim1, 46_000);
            scene.pass(10, MILLISECOND);
            assert_at_base(scene, 46.0);
            scene.pass(20, SLACK);
            assert!(scene.error().abs() < 1_000, "{}", scene.error());
            assert_eq!(scene.receiver.steering_error(), None);
        },
    );
}

#[test]
fn a_lost_frequency_adjustment_that_makes_all_messages_contradict_each_other_is_commanded_again() {
    adjustment_lost(false);
    adjustment_lost(true);
}

#[test]
fn a_frequency_adjustment_that_is_lost_without_a_timetransmitter_is_commanded_again() {
    play(5_000, defaults, |scene| {
        scene.pass(40, SLACK);
        scene.transmitter = None;
        scene.pass(40, SLACK);
        scene.clock.borrow_mut().ppm = 0.0;
        scene
            .cable
            .world()
            .change_hardware_rate(wirestamp::sim::NicName::Sim1, 5_000);
        scene.pass(5, SLACK);
        assert_at_base(scene, 5.0);
    });
}

#[test]
fn another_program_that_changes_the_frequency_is_told() {
    play(5_000, defaults, |scene| {
        scene.pass(40, SLACK);
        scene.clock.borrow_mut().ppm = 80.0;
        scene
            .cable
            .world()
            .change_hardware_rate(wirestamp::sim::NicName::Sim1, 85_000);
        scene.pass(2, MILLISECOND);
        let error = scene.receiver.steering_error().expect("told").to_string();
        assert!(
            error.contains("another program changed its frequency adjustment from -5.0"),
            "{error}"
        );
        scene.pass(30, MILLISECOND);
        assert!(scene.error().abs() < 1_000, "{}", scene.error());
        assert_eq!(scene.receiver.steering_error(), None);
    });
}
