//! A receiver that steers its simulated NIC's clock. No clock of this machine is touched.

use crate::pair::{Cable, quick, run};
use crate::steered::SimulatedClock;
use wirestamp::{Error, ErrorKind, Result, Span};
use wirestamp_ptp::{Clock, Node, Role, SteeredClock};

/// A clock that no program may move.
#[derive(Debug)]
struct Immovable;

impl Immovable {
    fn refused<T>() -> Result<T> {
        Err(Error::new(
            ErrorKind::NotPermitted,
            "move the clock",
            "a clock",
            "it is not ours",
        ))
    }
}

impl SteeredClock for Immovable {
    fn now(&self) -> Result<i64> {
        Self::refused()
    }

    fn step(&mut self, _: Span) -> Result<()> {
        Self::refused()
    }

    fn set_rate(&mut self, _: f64) -> Result<()> {
        Self::refused()
    }

    fn rate(&self) -> Result<f64> {
        Ok(0.0)
    }

    fn rate_step(&self) -> f64 {
        0.0
    }
}

#[test]
fn a_clock_that_refuses_is_told_and_measured_all_the_same() {
    let cable =
        Cable::new("[sim1.clock]\nfrequency_error_ppb = 50_000\nstart = 1_600_000_000_000_000_000");
    let mut configuration = quick(Role::TimeReceiver);
    configuration.clock = Clock::Nic;
    let engines = [
        cable.engine(0, quick(Role::TimeTransmitter)),
        cable.engine(1, configuration),
    ];
    let (mut transmitter, mut receiver) = (cable.node(&engines[0], 0), cable.node(&engines[1], 1));
    receiver.steer_with(Box::new(Immovable)).expect("a rate");
    let mut samples = 0;
    run(
        &mut [&mut transmitter, &mut receiver],
        Span::from_seconds(10),
        |_, sample, now| {
            let error = sample.offset.value.saturating_nanoseconds() - cable.true_offset(now);
            assert!(
                error.abs() <= sample.offset.bound.saturating_nanoseconds() + 200,
                "{sample:?} is off by {error}"
            );
            samples += 1;
        },
    );
    assert!(samples > 50, "{samples}");
    assert_eq!(
        receiver.steering_error().map(Error::kind),
        Some(ErrorKind::NotPermitted)
    );
}

#[test]
fn of_two_nics_clocks_none_is_steered() {
    let cable = Cable::new("");
    let mut configuration = quick(Role::TimeReceiver);
    configuration.clock = Clock::Nic;
    let engine = cable.engine(0, configuration);
    let mut node = Node::start_seeded(&engine, &cable.ends, 1).expect("started");
    let error = node.steer().expect_err("two clocks");
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    assert!(error.to_string().contains("clocks of their own"), "{error}");
}

#[test]
fn the_clock_is_stepped_once_and_then_kept_within_a_microsecond() {
    let cable = Cable::new(
        "[sim0.clock]\nfrequency_error_ppb = 0\nwander_ppb = 0.0\n[sim1.clock]\nfrequency_error_ppb = 50_000\nstart = 1_600_000_000_000_000_000",
    );
    let mut configuration = quick(Role::TimeReceiver);
    configuration.clock = Clock::Nic;
    configuration.steering.max_first_step_ns = 0; // three years
    let engines = [
        cable.engine(0, quick(Role::TimeTransmitter)),
        cable.engine(1, configuration),
    ];
    let (mut transmitter, mut receiver) = (cable.node(&engines[0], 0), cable.node(&engines[1], 1));
    let clock = SimulatedClock::new(&cable, 50_000.0);
    receiver.steer_with(Box::new(clock)).expect("a rate");
    let begun = receiver.now();
    assert!(cable.true_offset(begun).abs() > 1_000_000_000_000);
    let (mut late, mut worst) = (0, 0);
    run(
        &mut [&mut transmitter, &mut receiver],
        Span::from_seconds(60),
        |_, sample, now| {
            let truth = cable.true_offset(now);
            let error = sample.offset.value.saturating_nanoseconds() - truth;
            // the clock may have been moved between the Sync and this check
            let moved = 2_000;
            assert!(
                error.abs() <= sample.offset.bound.saturating_nanoseconds() + moved
                    || now - begun < Span::from_seconds(5),
                "{sample:?} is off by {error}"
            );
            let error = cable.system_error(&sample, now);
            assert!(
                error <= moved,
                "{sample:?}: the system clock's offset is {error} ns beyond its bound"
            );
            if now - begun > Span::from_seconds(30) {
                late += 1;
                worst = worst.max(truth.abs());
            }
        },
    );
    assert!(late > 200, "{late} samples");
    assert!(worst < 1_000, "the steered clock was off by {worst} ns");
    assert_eq!(receiver.steering_error(), None);

    // holdover: without a transmitter it keeps its frequency, and the bound grows
    let held =
        |receiver: &wirestamp_ptp::Node<'_>| receiver.status().ports[0].estimate.expect("known");
    let bound = held(&receiver).offset.bound.saturating_nanoseconds();
    drop(transmitter);
    let before = cable.true_offset(receiver.now());
    run(&mut [&mut receiver], Span::from_seconds(10), |_, _, _| {});
    let after = cable.true_offset(receiver.now());
    assert!(
        (after - before).abs() < 2_000,
        "{before} became {after} in ten seconds"
    );
    let held = held(&receiver);
    assert!(
        held.holdover && held.offset.bound.saturating_nanoseconds() > bound + 1_000,
        "{held:?}"
    );
    assert!(
        (held.offset.value.saturating_nanoseconds() - after).abs()
            <= held.offset.bound.saturating_nanoseconds(),
        "{held:?}, and {after} is true"
    );
}
