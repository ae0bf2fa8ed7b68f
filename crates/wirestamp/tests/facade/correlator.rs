//! The correlator in virtual time, compared with the truth.

use crate::pair::{Pair, pass, simulation};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wirestamp::correlator::{Assumptions, GenerationCause};
use wirestamp::sim::NicName;
use wirestamp::{
    Correlator, CorrelatorOptions, ErrorKind, HardwareGuard, HardwareRequest, HardwareTimestamp,
    Interface, Simulation, Source, Span, Timestamping, TransmitId, TransmitOutcome,
};

/// A sender with hardware timestamps and the correlator of its NIC.
struct Setup {
    simulation: Simulation,
    nic: Interface,
    correlator: Correlator,
    pair: Pair,
    _hardware: HardwareGuard,
}

impl Setup {
    fn on(preset: &str) -> Self {
        Self::with(preset, CorrelatorOptions::default())
    }

    fn with(preset: &str, options: CorrelatorOptions) -> Self {
        let simulation = simulation(preset);
        let nic = simulation.interface("sim0").expect("a NIC");
        let hardware = nic
            .enable_hardware(HardwareRequest::AllPackets)
            .expect("granted");
        let correlator = nic.correlator(options).expect("it has a clock");
        let pair = Pair::over_the_cable(&simulation);
        pair.sender
            .configure(Timestamping::OFF.transmit(64).source(Source::Hardware))
            .expect("granted");
        Self {
            simulation,
            nic,
            correlator,
            pair,
            _hardware: hardware,
        }
    }

    fn timestamp(&self, id: u32) -> HardwareTimestamp {
        self.pair.send(id);
        match self.pair.wait_for(id) {
            TransmitOutcome::Timestamped(timestamps) => {
                timestamps.hardware.expect("a hardware timestamp")
            }
            TransmitOutcome::Missing(reason) => panic!("id {id}: {reason}"),
        }
    }

    fn pass(&self, time: Duration) {
        pass(self.simulation.world(), time);
    }

    /// Whether `timestamp`, of datagram `id`, converts to the true time within its error bound.
    fn converts_honestly(&self, timestamp: &HardwareTimestamp, id: u32) -> bool {
        let truth = self
            .simulation
            .world()
            .truth()
            .datagram_with_id(TransmitId(id))
            .expect("sent");
        let estimate = self.correlator.to_monotonic(timestamp).expect("converted");
        (estimate.at.value - truth.transmit_hardware_at.expect("it left")).abs()
            <= estimate.at.bound
    }
}

#[test]
fn any_number_of_threads_convert_while_readings_are_taken() {
    let setup = Setup::with(
        "i225",
        CorrelatorOptions {
            period: Duration::from_millis(20),
            ..SPARING
        },
    );
    setup.pass(Duration::from_secs(1));
    let timestamp = setup.timestamp(7);
    let truth = setup
        .simulation
        .world()
        .truth()
        .datagram_with_id(TransmitId(7))
        .expect("sent");
    let truth = truth.transmit_hardware_at.expect("it left");
    let (setup, done) = (&setup, &AtomicBool::new(false));
    std::thread::scope(|scope| {
        let readers = [(); 3].map(|()| {
            scope.spawn(move || {
                let mut answers = 0;
                while answers < 2 || !done.load(Ordering::Relaxed) {
                    let estimate = setup
                        .correlator
                        .to_monotonic(&timestamp)
                        .expect("it stays in the generation");
                    assert!(estimate.at.contains(truth), "{estimate:?}, not {truth:?}");
                    answers += 1;
                }
            })
        });
        for _ in 0..100 {
            setup.pass(Duration::from_millis(20));
        }
        done.store(true, Ordering::Relaxed);
        readers
            .into_iter()
            .for_each(|reader| reader.join().expect("honest"));
    });
}

/// Few cross timestamps, so that they can be counted.
const SPARING: CorrelatorOptions = CorrelatorOptions {
    period: Duration::from_secs(5),
    burst: 4,
    burst_gap: Duration::from_millis(10),
    readings_per_batch: 3,
    budget: None,
    assumptions: Assumptions::USUAL,
};

#[test]
fn timestamps_convert_to_within_their_bound_of_the_truth() {
    let setup = Setup::on("i225");
    for id in 0..20 {
        setup.pass(Duration::from_millis(700));
        let timestamp = setup.timestamp(id);
        assert!(setup.converts_honestly(&timestamp, id), "id {id}");
        let system = setup
            .correlator
            .to_monotonic(&timestamp)
            .expect("converted");
        let back = setup
            .correlator
            .to_hardware(system.at.value)
            .expect("converted");
        assert!(back.ticks.since(timestamp.ticks).unsigned_abs() <= back.bound + 1);
    }
    let rate = setup.correlator.frequency().expect("known");
    let wrong_by = (rate.hertz / 1_000_012_345.0 - 1.0).abs() * 1e9;
    assert!(
        wrong_by <= rate.error_bound_parts_per_billion + 50.0,
        "{rate:?}"
    ); // it wanders
    assert_eq!(setup.correlator.status().failures, 0);
}

#[test]
fn the_burst_makes_conversions_possible_at_once_and_the_period_keeps_them_so() {
    let setup = Setup::with("i225", SPARING);
    setup.pass(Duration::from_millis(200));
    assert_eq!(setup.correlator.status().readings, 4 * 3);
    setup.pass(Duration::from_secs(20));
    assert_eq!(
        setup.correlator.status().readings,
        (4 + 4) * 3,
        "one batch every 5 s"
    );
}

#[test]
fn a_reset_of_the_nic_opens_a_generation_and_old_timestamps_are_not_misread() {
    let setup = Setup::with("i225", SPARING);
    setup.pass(Duration::from_secs(1));
    let old = setup.timestamp(1);
    let generation = setup.correlator.generation().expect("known");
    setup.pass(Duration::from_secs(1));
    setup.simulation.world().reset_nic(NicName::Sim0, 1);
    setup.pass(Duration::from_secs(1));
    let status = setup.correlator.status();
    assert!(status.generation.expect("known") > generation, "{status:?}");
    assert_eq!(status.cause, Some(GenerationCause::Notification));
    assert_eq!(status.readings, 4 * 3, "a burst of its own");
    let new = setup.timestamp(2);
    assert!(setup.converts_honestly(&new, 2));
    if setup.correlator.to_monotonic(&old).is_ok() {
        assert!(
            setup.converts_honestly(&old, 1),
            "with the old generation, or not at all"
        );
    }
}

#[test]
fn a_nic_that_vanishes_is_missed_and_found_again() {
    let mut setup = Setup::with("i225", SPARING);
    setup.pass(Duration::from_secs(1));
    let before = setup.correlator.generation().expect("it has readings");
    setup.simulation.world().remove_nic(NicName::Sim0);
    setup.pass(Duration::from_secs(28)); // not long before an attempt of its own
    let status = setup.correlator.status();
    assert!(status.failures > 0);
    assert_eq!(
        status.last_error.expect("it failed").kind(),
        ErrorKind::NoSuchDevice
    );

    setup.simulation.world().add_nic(NicName::Sim0);
    setup.pass(Duration::from_secs(1));
    let status = setup.correlator.status();
    assert_eq!((status.last_error, status.readings), (None, 4 * 3));
    assert!(
        status.generation > Some(before),
        "{:?}: no number stands for two generations",
        status.generation
    );
    assert_eq!(status.cause, Some(GenerationCause::ClockReplaced));
    setup.nic.refresh().expect("back");
    let guard = setup
        .nic
        .enable_hardware(HardwareRequest::AllPackets)
        .expect("granted");
    setup.pass(Duration::from_secs(1));
    setup.pair = Pair::over_the_cable(&setup.simulation);
    setup
        .pair
        .sender
        .configure(Timestamping::OFF.transmit(64).source(Source::Hardware))
        .expect("granted");
    let timestamp = setup.timestamp(8);
    assert!(
        setup.converts_honestly(&timestamp, 8),
        "under its new number"
    );
    drop(guard);
}

#[test]
fn a_storm_of_notifications_costs_one_burst() {
    let setup = Setup::with("i225", SPARING);
    setup.pass(Duration::from_secs(1));
    setup.simulation.world().storm(10_000);
    setup.pass(Duration::from_secs(1));
    let status = setup.correlator.status();
    assert_eq!((status.readings, status.failures), (4 * 3, 0));
}

#[test]
fn another_nics_changes_restart_nothing() {
    let setup = Setup::on("i225");
    setup.pass(Duration::from_secs(1));
    let generation = setup.correlator.generation();
    setup.simulation.world().reset_nic(NicName::Sim1, 1);
    setup.pass(Duration::from_secs(1));
    assert_eq!(setup.correlator.generation(), generation);
}

#[test]
fn dropping_the_correlator_stops_its_readings() {
    let setup = Setup::on("noisy-cross");
    setup.pass(Duration::from_secs(10));
    let world = setup.simulation.world().clone();
    let before = world.truth().invalid_readings();
    pass(&world, Duration::from_secs(500));
    let while_running = world.truth().invalid_readings();
    assert!(
        while_running > before,
        "some readings are invalid in this preset"
    );
    drop(setup);
    pass(&world, Duration::from_secs(500));
    assert_eq!(world.truth().invalid_readings(), while_running);
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let simulation = simulation("i225");
    let nic = simulation.interface("sim0").expect("a NIC");
    let sensible = CorrelatorOptions::default();
    let assuming = |change: fn(&mut Assumptions)| {
        let mut options = sensible;
        change(&mut options.assumptions);
        options
    };
    for options in [
        CorrelatorOptions {
            period: Duration::ZERO,
            ..sensible
        },
        CorrelatorOptions {
            burst_gap: Duration::ZERO,
            ..sensible
        },
        CorrelatorOptions {
            readings_per_batch: 0,
            ..sensible
        },
        CorrelatorOptions {
            budget: Some(Duration::ZERO),
            ..sensible
        },
        assuming(|assumptions| assumptions.wander_per_second = f64::NAN),
        assuming(|assumptions| assumptions.wander_per_second = -1e-9),
        assuming(|assumptions| assumptions.largest_tick = Span::ZERO),
        assuming(|assumptions| assumptions.unseen_change = f64::INFINITY),
        assuming(|assumptions| assumptions.unseen_within = Span::ZERO),
        // 500 ppm at any time of three days: 16 s
        assuming(|assumptions| {
            assumptions.unseen_change = 5e-4;
            assumptions.unseen_within = Span::from_seconds(3 * 86_400);
        }),
    ] {
        assert_eq!(
            nic.correlator(options).expect_err("refused").kind(),
            ErrorKind::InvalidInput
        );
    }
}

/// A steadier oscillator has narrower bounds; both are right.
#[test]
fn assumptions_are_options() {
    let bound = |wander_per_second| {
        let mut options = CorrelatorOptions::FIXED;
        options.assumptions.wander_per_second = wander_per_second;
        let setup = Setup::with("i225", options);
        setup.pass(Duration::from_millis(124_900));
        let timestamp = setup.timestamp(1);
        assert!(setup.converts_honestly(&timestamp, 1));
        let estimate = setup.correlator.to_monotonic(&timestamp);
        estimate.expect("converted").at.bound
    };
    let (usual, steady) = (bound(3e-8), bound(1e-9));
    let (usual, steady) = (usual.nanoseconds(), steady.nanoseconds());
    assert!(5 * steady < 4 * usual, "{steady} {usual}");
}

/// Cross timestamps take time on the bus: no more than the budget, on a fast and a slow NIC, and
/// with better error bounds than the fixed period.
#[test]
fn an_adaptive_correlator_keeps_within_its_budget() {
    let (seconds, budget) = (120, Duration::from_micros(100));
    let bound = |preset: &str, options: CorrelatorOptions| {
        let setup = Setup::with(preset, options);
        setup.pass(Duration::from_secs(seconds));
        let status = setup.correlator.status();
        let timestamp = setup.timestamp(1);
        assert!(setup.converts_honestly(&timestamp, 1), "{preset}");
        let estimate = setup
            .correlator
            .to_monotonic(&timestamp)
            .expect("converted");
        (status.taken, status.reading_time, estimate.at.bound)
    };
    for preset in ["i225", "slow-cross", "noisy-cross"] {
        let (taken, reading_time, adaptive) = bound(preset, CorrelatorOptions::default());
        let allowed = wirestamp::Span::from(budget * (u32::try_from(seconds).expect("few") + 10));
        let longest_batch = wirestamp::Span::from_milliseconds(1);
        assert!(
            reading_time <= allowed + longest_batch,
            "{preset}: {reading_time} of {allowed}"
        );
        assert!(
            reading_time.nanoseconds() > 500 * i128::from(taken),
            "{preset}: {reading_time} for {taken} readings"
        );
        let (few, _, fixed) = bound(preset, CorrelatorOptions::FIXED);
        // 16 batches at the start and one every 5 s, with 5 cross timestamps each; some fail
        assert!((100..=5 * (16 + 24)).contains(&few), "{preset}: {few}");
        if preset != "slow-cross" {
            assert!(
                taken > 2 * few && adaptive < fixed,
                "{preset}: {taken} against {few}, {adaptive} {fixed}"
            );
        }
    }
}
