//! Drift, steps, late packets, missing packets, and our own adjustments.

mod adversary;

use super::*;
use crate::commands::Commands;
use crate::feasible::Assumptions;
use proptest::prelude::*;

const SECOND: i64 = 1_000_000_000;
const SETTINGS: Settings = Settings {
    assumptions: Assumptions {
        drift: (-200e-6, 200e-6),
        wander: 30e-9,
        jump: 0.0,
    },
    least_delay: 0,
    resolution: 2,
};

/// A timeTransmitter at a distance of 5 µs; the local clock starts an hour off and drifts by 20
/// ppm.
fn run(estimator: &mut Estimator, from: i64, to: i64) -> Estimate {
    let truth = |at: i64| 3_600 * SECOND + at / 50_000;
    let mut last = None;
    for second in from..to {
        let at = second * SECOND;
        if let Told::Estimate(told) = estimator
            .from_reference(at, truth(at) + 5_000)
            .expect("possible")
        {
            last = Some(told);
        }
        let at = at + SECOND * 2 / 5;
        estimator
            .to_reference(at, truth(at) - 5_000)
            .expect("possible");
    }
    let last = last.expect("measured");
    assert!(
        (last.offset - truth(last.at)).abs() <= last.bound,
        "{last:?}"
    );
    last
}

#[test]
fn drift_between_the_two_messages_is_no_path_delay() {
    let mut estimator = Estimator::new(SETTINGS, SharedCommands::default());
    let last = run(&mut estimator, 0, 40);
    assert!((last.mean_path_delay - 5_000).abs() < 50, "{last:?}");
    assert!(
        (last.rate.expect("known") - 20e-6).abs() < 0.2e-6,
        "{last:?}"
    );
    assert!((5_000..9_000).contains(&last.bound), "{last:?}");
}

#[test]
fn a_sync_that_is_much_too_late_tells_nothing_and_spoils_nothing() {
    let mut estimator = Estimator::new(SETTINGS, SharedCommands::default());
    let last = run(&mut estimator, 0, 10);
    assert_eq!(
        estimator.from_reference(10 * SECOND, last.offset + SECOND),
        Ok(Told::Suspect)
    );
    run(&mut estimator, 11, 20);
}

#[test]
fn syncs_from_before_a_step_do_not_tilt_the_first_slope() {
    for before in 1..=3 {
        let mut estimator = Estimator::new(SETTINGS, SharedCommands::default());
        let truth = |at: i64| 3_600 * SECOND + at / 50_000;
        for at in (0..before).map(|second| second * SECOND) {
            estimator
                .from_reference(at, truth(at) + 2 * SECOND)
                .expect("possible");
        }
        estimator
            .from_reference(before * SECOND, truth(before * SECOND) + 5_000)
            .expect("possible");
        let asked_at = before * SECOND + SECOND * 2 / 5;
        estimator
            .to_reference(asked_at, truth(asked_at) - 5_000)
            .expect("possible");
        for at in (before + 1..before + 8).map(|second| second * SECOND) {
            let Ok(Told::Estimate(told)) = estimator.from_reference(at, truth(at) + 5_000) else {
                panic!("no estimate")
            };
            // before four Syncs the frequency is unknown, and no program follows the
            // timeTransmitter
            assert!(
                told.rate.is_none_or(|rate| (rate - 20e-6).abs() < 1e-6),
                "{before}: {told:?}"
            );
            assert!(
                told.rate.is_none() || (told.offset - truth(at)).abs() < 5_000,
                "{before}: {told:?}"
            );
        }
    }
}

/// The estimates after a timeTransmitter whose clock was followed for 40 s steps ahead by `step`, until one contradicts.
fn stepped(step: i64) -> Vec<Estimate> {
    let mut estimator = Estimator::new(SETTINGS, SharedCommands::default());
    let before = run(&mut estimator, 0, 40);
    assert!(before.rate_spread < 1e-9, "{before:?}");
    let truth = |at: i64| 3_600 * SECOND + at / 50_000 - step;
    let mut told = Vec::new();
    for second in 40..72 {
        let (at, asked_at) = (second * SECOND, second * SECOND + SECOND * 2 / 5);
        let Ok(Told::Estimate(estimate)) = estimator.from_reference(at, truth(at) + 5_000) else {
            break;
        };
        told.push(estimate);
        let request = estimator.to_reference(asked_at, truth(asked_at) - 5_000);
        if request.is_err() {
            break;
        }
    }
    told
}

#[test]
fn a_step_that_the_path_delay_explains_sets_the_guesses_of_the_rate_apart() {
    for step in (-14_000..=14_000).step_by(500) {
        let told = stepped(step);
        let whole = step.abs() <= 8_000; // a larger one causes a contradiction sooner or later
        assert!(!whole || told.len() == 32, "{step}: {}", told.len());
        for (second, told) in (40..).zip(told) {
            assert!(step != 0 || !told.is_rate_limited, "{second}: {told:?}");
            let wrong = told.rate.map_or(0.0, |rate| (rate - 20e-6).abs());
            assert!(
                wrong < 20e-9 || told.is_rate_limited || told.rate_spread > wrong / 2.0,
                "{step}, {second}: {told:?}"
            );
        }
    }
}

#[test]
fn without_messages_the_bound_grows_and_the_rate_goes_on() {
    let mut estimator = Estimator::new(SETTINGS, SharedCommands::default());
    let last = run(&mut estimator, 0, 40);
    let held = estimator.held_at(last.at + 100 * SECOND).expect("known");
    assert!(held.bound > last.bound + 10_000, "{held:?}");
    assert!(
        (held.offset - last.offset - 2_000_000).abs() < held.bound,
        "{held:?}"
    );
}

/// A clock with a frequency offset of 20 ppm that executes its commands to within its resolution.
struct Steered {
    commands: SharedCommands,
    /// The frequency adjustment relative to the free-running clock.
    really: f64,
    /// Local time of the last change, and the offset then.
    since: (i64, f64),
}

impl Steered {
    const DRIFT: f64 = 20e-6;

    fn offset(&self, at: i64) -> i64 {
        let rate = 1.0 - 1.0 / ((1.0 + Self::DRIFT) * (1.0 + self.really));
        (self.since.1 + rate * (at - self.since.0) as f64).round() as i64
    }

    fn command(&mut self, at: i64, asked: f64, step: f64) {
        self.since = (at, self.offset(at) as f64);
        self.really = if step > 0.0 {
            (asked / step).round() * step
        } else {
            asked
        };
        self.commands.borrow_mut().command(at, at, 0.0, asked);
    }
}

/// The widest bound after 20 s of a clock whose frequency is commanded anew each second.
fn in_steps(step: f64, allowed: f64) -> Result<i64, Contradiction> {
    let commands = SharedCommands::default();
    *commands.borrow_mut() = Commands::new(0.0, allowed, 0.0);
    let mut clock = Steered {
        commands: SharedCommands::clone(&commands),
        really: 0.0,
        since: (0, 0.0),
    };
    let settings = Settings {
        assumptions: Assumptions {
            wander: 0.0,
            ..SETTINGS.assumptions
        },
        ..SETTINGS
    };
    let (mut estimator, mut widest) = (Estimator::new(settings, commands), 0);
    for second in 0..200i64 {
        let at = second * SECOND;
        estimator.to_reference(at, clock.offset(at) - 20)?;
        if let Told::Estimate(told) = estimator.from_reference(at, clock.offset(at) + 20)? {
            if (told.offset - clock.offset(at)).abs() > told.bound + 2 {
                return Err(Contradiction);
            }
            widest = if second > 20 {
                widest.max(told.bound)
            } else {
                0
            };
        }
        clock.command(at, 40e-9 * f64::from((second % 7) as i32 - 3), step);
    }
    Ok(widest)
}

#[test]
fn a_clock_that_follows_in_steps_is_allowed_to() {
    assert_eq!(in_steps(95e-9, 0.0), Err(Contradiction));
    let widest = in_steps(95e-9, 50e-9).expect("possible");
    assert!(widest < 300, "{widest}");
}

proptest! {
    /// Answers are late, after our own adjustments that are newer than their timestamps: every
    /// bound holds.
    #[test]
    fn late_answers_over_our_own_adjustments_stay_within_the_bound(
        exchanges in proptest::collection::vec((-400e-6..400e-6f64, 0.0..0.9f64, 0.0..1.0f64, 0i64..200_000, 0i64..200_000), 5..60),
    ) {
        let commands = SharedCommands::default();
        *commands.borrow_mut() = Commands::new(0.0, 0.0, 200e-6);
        let mut clock = Steered { commands: SharedCommands::clone(&commands), really: 0.0, since: (0, 0.0) };
        let mut estimator = Estimator::new(SETTINGS, commands);
        for (interval, (asked, late, change, forth, back)) in (1i64..).zip(exchanges) {
            let at = interval * SECOND;
            // Sync and request are timestamped; the frequency changes; Follow_Up and Delay_Resp
            // arrive
            let request_at = at + SECOND / 50;
            let (sync, request) = (clock.offset(at) + forth, clock.offset(request_at) - back);
            let answered_at = request_at + (late * SECOND as f64) as i64;
            let changed_at = request_at + (change * SECOND as f64 * 0.95) as i64;
            if changed_at < answered_at {
                clock.command(changed_at, asked, 0.0);
            }
            estimator.to_reference(request_at, request).expect("possible");
            estimator.from_reference(at, sync).expect("possible");
            if let Some(held) = estimator.held_at(answered_at) {
                let error = held.offset - clock.offset(answered_at);
                prop_assert!(error.abs() <= held.bound + 2, "off by {error}: {held:?}");
            }
            if changed_at >= answered_at {
                clock.command(changed_at, asked, 0.0);
            }
        }
    }
}

#[test]
fn an_hours_jump_is_a_contradiction_and_then_forgotten() {
    let mut estimator = Estimator::new(SETTINGS, SharedCommands::default());
    run(&mut estimator, 0, 10);
    assert_eq!(estimator.from_reference(10 * SECOND, 0), Err(Contradiction));
    estimator.reset();
    assert_eq!(estimator.latest(), None);
    run(&mut estimator, 20, 30);
}

/// A clock whose frequency was 20 ppm for 40 s and may jump by half a ppm: it may move that far,
/// regardless of the age of the learnt frequency, and hardly farther.
#[test]
fn a_jump_of_the_frequency_counts_once() {
    let settings = Settings {
        assumptions: Assumptions {
            wander: 0.0,
            jump: 500e-9,
            ..SETTINGS.assumptions
        },
        ..SETTINGS
    };
    let mut estimator = Estimator::new(settings, SharedCommands::default());
    let truth = |at: i64| at / 50_000;
    for at in (0..40).map(|second| second * SECOND) {
        estimator
            .to_reference(at, truth(at) - 20)
            .expect("possible");
        estimator
            .from_reference(at + 1_000, truth(at) + 20)
            .expect("possible");
    }
    let from = estimator.newest();
    let (down, up) = estimator.movement(from, from + 16 * SECOND).expect("known");
    // 320 µs, and 8 µs to either side
    assert!((310_000..=312_000).contains(&down), "{down} to {up}");
    assert!((328_000..=330_000).contains(&up), "{down} to {up}");
}
