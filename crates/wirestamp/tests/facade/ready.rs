//! Waiting until a correlator can convert, and the errors if it cannot.

use crate::pair::{pass, simulation};
use std::time::Duration;
use wirestamp::correlator::GenerationCause;
use wirestamp::sim::NicName;
use wirestamp::{Correlator, CorrelatorOptions, ErrorKind, Simulation};

fn started(preset: &str, options: CorrelatorOptions) -> (Simulation, Correlator) {
    let simulation = simulation(preset);
    let nic = simulation.interface("sim0").expect("a NIC");
    let correlator = nic.correlator(options).expect("it has a clock");
    (simulation, correlator)
}

#[test]
fn a_wait_lasts_until_conversions_are_possible() {
    // two cross timestamps are needed if the driver does not report the frequency
    let (simulation, correlator) = started("windows-no-frequency", CorrelatorOptions::default());
    let now = || simulation.world().truth().now();
    let begun = now();
    assert!(correlator.to_hardware(begun).is_err());
    let generation = correlator
        .wait_until_ready(Duration::from_secs(5))
        .expect("ready");
    assert_eq!(correlator.generation(), Some(generation));
    assert!(correlator.to_hardware(now()).is_ok());
    let waited = now() - begun;
    assert!(waited < Duration::from_millis(200).into(), "{waited}");
    let again = now();
    assert_eq!(correlator.wait_until_ready(Duration::ZERO), Ok(generation));
    assert!(now() - again < Duration::from_micros(10).into(), "at once");
}

#[test]
fn after_a_restart_of_the_clock_the_wait_is_for_the_next_generation() {
    let (simulation, correlator) = started("i225", CorrelatorOptions::default());
    let first = correlator
        .wait_until_ready(Duration::from_secs(5))
        .expect("ready");
    pass(simulation.world(), Duration::from_secs(1));
    simulation.world().reset_nic(NicName::Sim0, 1);
    let second = correlator
        .wait_until_ready(Duration::from_secs(5))
        .expect("ready");
    assert!(second > first, "{second:?}");
    assert_eq!(
        correlator.status().cause,
        Some(GenerationCause::Notification)
    );
}

#[test]
fn what_keeps_it_from_being_ready_is_said_at_the_deadline() {
    let (simulation, correlator) = started("i225", CorrelatorOptions::default());
    correlator
        .wait_until_ready(Duration::from_secs(5))
        .expect("ready");
    simulation.world().remove_nic(NicName::Sim0);
    let now = || simulation.world().truth().now();
    let until = now() + Duration::from_secs(8).into();
    let error = correlator.wait_until_ready(until).expect_err("gone");
    assert_eq!(error.kind(), ErrorKind::NoSuchDevice, "{error}");
    assert!((now() - until).abs() < Duration::from_millis(50).into());

    let sparse = CorrelatorOptions {
        burst: 1,
        ..CorrelatorOptions::FIXED
    };
    let (_simulation, correlator) = started("windows-no-frequency", sparse);
    let error = correlator
        .wait_until_ready(Duration::from_millis(100))
        .expect_err("one batch only");
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    assert!(error.cause().contains("too few"), "{error}");
}

#[cfg(feature = "tokio")]
#[test]
fn tasks_wait_as_threads_do() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let (simulation, correlator) =
            started("windows-no-frequency", CorrelatorOptions::default());
        let generation = correlator
            .until_ready(Duration::from_secs(5))
            .await
            .expect("ready");
        assert_eq!(correlator.generation(), Some(generation));
        simulation.world().remove_nic(NicName::Sim0);
        let error = correlator
            .until_ready(Duration::from_secs(1))
            .await
            .expect_err("gone");
        assert_eq!(error.kind(), ErrorKind::NoSuchDevice);
    });
}
