//! Row 13: hardware timestamps in system time, with a bound that contains the truth, within
//! one run of the clock and never across two.

use super::Behaviour;
use crate::Outcome;
use crate::exchange::timestamps_of;
use crate::refusal::{refused, refused_with_remedy};
use crate::rig::{Family, Need, Pair, Rig};
use std::time::Duration;
use wirestamp::correlator::{ClockGeneration, GenerationCause};
use wirestamp::interface::{HardwareConfiguration, ReceiveFilter};
use wirestamp::sim::NicName;
use wirestamp::{
    ConversionError, Correlator, CorrelatorOptions, ErrorKind, HardwareGuard, HardwareRequest,
    HardwareTimestamp, MonotonicTime, Source, Span, Timestamping, TransmitId,
};

const TRUTH: &[Need] = &[Need::HardwareClock, Need::Simulation];

const NO_FREQUENCY: &str = "preset = \"i225\"\n[nic.clock]\nreport_frequency = false\n";

pub(super) const ALL: &[Behaviour] = &[
    Behaviour::new(13, "without-a-clock-there-is-none", no_clock)
        .needs(&[Need::NoHardwareClock])
        .preset("software-only"),
    Behaviour::new(13, "the-bound-contains-the-truth", contains_truth)
        .needs(TRUTH)
        .preset("i225"),
    Behaviour::new(13, "over-a-slow-bus-too", contains_truth)
        .needs(TRUTH)
        .preset("slow-cross"),
    Behaviour::new(13, "with-latched-readings-too", contains_truth)
        .needs(TRUTH)
        .preset("igc"),
    Behaviour::new(13, "with-noisy-readings-too", contains_truth)
        .needs(TRUTH)
        .preset("noisy-cross"),
    Behaviour::new(13, "with-a-poor-oscillator-too", contains_truth)
        .needs(TRUTH)
        .preset("poor-oscillator"),
    Behaviour::new(13, "across-the-counters-wrap-too", contains_truth)
        .needs(TRUTH)
        .preset("counter-wrap"),
    Behaviour::new(
        13,
        "with-raw-ticks-of-another-frequency-too",
        contains_truth,
    )
    .needs(TRUTH)
    .preset("windows-modern"),
    Behaviour::new(13, "without-a-nominal-frequency-too", contains_truth)
        .needs(TRUTH)
        .preset("windows-no-frequency"),
    Behaviour::new(13, "both-ways-agree", both_ways)
        .needs(TRUTH)
        .preset("i225"),
    Behaviour::new(13, "the-rate-is-found", rate)
        .needs(TRUTH)
        .preset("i225"),
    Behaviour::new(
        13,
        "a-burst-at-the-start-then-a-reading-every-period",
        burst_then_periodic,
    )
    .needs(TRUTH)
    .preset("i225"),
    Behaviour::new(13, "before-there-are-readings-it-refuses", not_ready)
        .needs(TRUTH)
        .preset("i225"),
    Behaviour::new(13, "another-nics-timestamp-is-refused", other_clock)
        .needs(&[Need::HardwareClock, Need::Scenario])
        .preset("i225"),
    Behaviour::new(
        13,
        "a-reset-opens-a-generation-and-nothing-is-converted-across",
        reset,
    )
    .needs(TRUTH)
    .preset("i225"),
    Behaviour::new(
        13,
        "a-reset-before-the-rate-was-known-refuses-for-a-while-and-no-more",
        early_reset,
    )
    .needs(&[Need::VirtualTime])
    .toml(NO_FREQUENCY),
    Behaviour::new(
        13,
        "a-change-of-the-configuration-restarts-it",
        reconfigured,
    )
    .needs(TRUTH)
    .preset("windows-modern"),
    Behaviour::new(
        13,
        "a-step-that-nobody-tells-is-noticed-at-the-next-reading",
        untold_step,
    )
    .needs(TRUTH)
    .preset("i225"),
    Behaviour::new(
        13,
        "if-the-clock-is-gone-it-refuses-and-recovers",
        gone_and_back,
    )
    .needs(TRUTH)
    .preset("i225"),
    Behaviour::new(13, "options-that-make-no-sense-are-refused", nonsense)
        .needs(&[Need::HardwareClock])
        .preset("i225"),
];

/// In real time, a reading is not waited for so long.
fn options(rig: &Rig) -> CorrelatorOptions {
    match rig {
        Rig::Simulator(_) => CorrelatorOptions::default(),
        _ => CorrelatorOptions {
            period: Duration::from_millis(200),
            ..CorrelatorOptions::FIXED
        },
    }
}

/// So much of virtual time, or a little that is enough for a few readings.
fn long(rig: &Rig, virtually: Duration) {
    rig.pass(if rig.is_simulated() {
        virtually
    } else {
        Duration::from_millis(700)
    });
}

/// A correlator of the near NIC with a pair that timestamps in hardware.
pub(super) struct Bench<'a> {
    rig: &'a Rig,
    pair: Pair,
    pub(super) correlator: Correlator,
    next_id: u32,
    _guards: [HardwareGuard; 2],
}

impl<'a> Bench<'a> {
    fn new(rig: &'a Rig) -> Outcome<Self> {
        let request = HardwareRequest::AllPackets;
        let guards = [
            rig.near()?.enable_hardware(request)?,
            rig.far()?.enable_hardware(request)?,
        ];
        let hardware = Timestamping::OFF.source(Source::Hardware);
        let pair = rig.pair(Family::V4, hardware.transmit(64), hardware.receive())?;
        let correlator = rig.near()?.correlator(options(rig))?;
        Ok(Self {
            rig,
            pair,
            correlator,
            next_id: 0,
            _guards: guards,
        })
    }

    /// The same after the burst.
    pub(super) fn ready(rig: &'a Rig) -> Outcome<Self> {
        let bench = Self::new(rig)?;
        bench.after_the_burst();
        Ok(bench)
    }

    /// Lets time pass until the first readings are there.
    fn after_the_burst(&self) {
        self.rig.pass(Duration::from_millis(500));
        let burst = options(self.rig).burst as usize;
        assert!(
            self.rig
                .until(|| self.correlator.status().readings >= burst),
            "{:?}",
            self.correlator
        );
    }

    /// A transmit timestamp, and when it was really made.
    pub(super) fn timestamp(&mut self) -> Outcome<(HardwareTimestamp, MonotonicTime)> {
        let id = self.next_id;
        self.next_id += 1;
        self.pair.send(id)?;
        self.pair.receive()?;
        let timestamp = timestamps_of(&self.pair.sender, id)?
            .hardware
            .expect("a hardware timestamp");
        let datagram = self
            .rig
            .host()
            .datagram_with_id(TransmitId(id))
            .expect("it was sent");
        Ok((timestamp, datagram.transmit_hardware_at.expect("it left")))
    }

    /// Checks one conversion against the truth.
    #[track_caller]
    pub(super) fn check(&self, timestamp: &HardwareTimestamp, truly: MonotonicTime) -> Span {
        let estimate = self
            .correlator
            .to_monotonic(timestamp)
            .unwrap_or_else(|refusal| panic!("{timestamp:?}: {refusal}"));
        let error = (estimate.at.value - truly).abs();
        assert!(
            error <= estimate.at.bound,
            "off by {error}, bound {}",
            estimate.at.bound
        );
        assert_eq!(Some(estimate.generation), self.correlator.generation());
        estimate.at.bound
    }
}

fn no_clock(rig: &Rig) -> Outcome {
    refused_with_remedy(
        rig.near()?.correlator(CorrelatorOptions::default()),
        ErrorKind::NotSupported,
    );
    Ok(())
}

fn contains_truth(rig: &Rig) -> Outcome {
    let mut bench = Bench::ready(rig)?;
    let rounds = if rig.is_simulated() { 120 } else { 20 };
    for round in 0..rounds {
        let (timestamp, truly) = bench.timestamp()?;
        let bound = bench.check(&timestamp, truly);
        // the rate of the first 150 ms of a slow bus is good to some hundred ppm
        let useful = if round < 60 {
            Span::from_milliseconds(5)
        } else {
            Span::from_microseconds(200)
        };
        assert!(
            bound < useful || !rig.is_simulated(),
            "a bound of {bound} in round {round}"
        );
        rig.pass(Duration::from_millis(100 + 7 * round));
    }
    assert_eq!(
        bench.correlator.generation(),
        Some(ClockGeneration(0)),
        "{:?}",
        bench.correlator
    );
    Ok(())
}

fn both_ways(rig: &Rig) -> Outcome {
    let bench = Bench::ready(rig)?;
    let near = rig.near()?.index();
    for _ in 0..if rig.is_simulated() { 50 } else { 10 } {
        rig.pass(Duration::from_millis(333));
        let now = rig.host().now();
        let estimate = bench.correlator.to_hardware(now).expect("it is ready");
        let truly = rig
            .host()
            .hardware_ticks_at(near, now)
            .expect("in the past");
        let error = estimate.ticks.since(truly).unsigned_abs();
        assert!(
            error <= estimate.bound,
            "off by {error} ticks, bound {}",
            estimate.bound
        );
    }
    Ok(())
}

fn rate(rig: &Rig) -> Outcome {
    let bench = Bench::ready(rig)?;
    let (known_for, seconds) = if rig.is_simulated() { (60, 30) } else { (5, 4) };
    rig.pass(Duration::from_secs(known_for));
    let rate = bench.correlator.frequency().expect("it is known by now");
    let truth = rig.host();
    let (now, near) = (truth.now(), rig.near()?.index());
    let before = truth
        .hardware_ticks_at(near, now - Span::from_seconds(seconds))
        .expect("in the past");
    let ticks = truth
        .hardware_ticks_at(near, now)
        .expect("in the past")
        .since(before);
    let truly = ticks as f64 / seconds as f64;
    let off = (rate.hertz / truly - 1.0).abs() * 1e9;
    // over 30 s, a tick at either end and the wander of 0.1 ppb weigh less than 1 ppb
    let resolution = 30.0 / seconds as f64;
    assert!(
        off <= rate.error_bound_parts_per_billion + resolution,
        "{off} ppb off: {rate:?}"
    );
    let useful = if rig.is_simulated() {
        1_000.0
    } else {
        20_000.0
    };
    assert!(
        rate.error_bound_parts_per_billion < useful,
        "{rate:?} says nothing"
    );
    Ok(())
}

fn burst_then_periodic(rig: &Rig) -> Outcome {
    let options = CorrelatorOptions {
        readings_per_batch: 1,
        ..CorrelatorOptions::FIXED
    };
    let correlator = rig.near()?.correlator(options)?;
    if !rig.is_simulated() {
        assert!(
            rig.until(|| correlator.status().readings >= options.burst as usize),
            "{correlator:?}"
        );
        let taken = correlator.status().readings;
        assert!(
            taken <= options.burst as usize + 1,
            "a period is longer than the burst: {correlator:?}"
        );
        assert_eq!(correlator.status().cause, Some(GenerationCause::Start));
        assert!(
            rig.until(|| correlator.status().readings > taken),
            "{correlator:?}"
        );
        return Ok(());
    }
    rig.pass(options.burst_gap * options.burst);
    let status = correlator.status();
    assert_eq!(
        (status.readings, status.failures),
        (options.burst as usize, 0),
        "{status:?}"
    );
    assert_eq!(status.cause, Some(GenerationCause::Start));
    drop(correlator);
    let slow = CorrelatorOptions {
        burst: 1,
        ..options
    };
    let correlator = rig.near()?.correlator(slow)?;
    rig.pass(Duration::from_millis(1));
    for taken in 1..6 {
        assert_eq!(correlator.status().readings, taken);
        rig.pass(slow.period);
    }
    Ok(())
}

fn not_ready(rig: &Rig) -> Outcome {
    let mut bench = Bench::new(rig)?;
    match bench.correlator.to_hardware(rig.host().now()) {
        Err(ConversionError::NotReady) => {}
        // in real time the first readings may be there, and be later than the instant
        Err(ConversionError::OutsideGenerations) | Ok(_) if !rig.is_simulated() => {}
        other => panic!("{other:?}"),
    }
    assert!(
        !rig.is_simulated()
            || (bench.correlator.frequency(), bench.correlator.generation()) == (None, None)
    );
    bench.after_the_burst();
    let (timestamp, truly) = bench.timestamp()?;
    bench.check(&timestamp, truly);
    Ok(())
}

fn other_clock(rig: &Rig) -> Outcome {
    let bench = Bench::ready(rig)?;
    bench.pair.send(0)?;
    let timestamp = bench
        .pair
        .receive()?
        .timestamps
        .hardware
        .expect("a hardware timestamp");
    assert_eq!(
        bench.correlator.to_monotonic(&timestamp),
        Err(ConversionError::OtherClock),
        "it is the far NIC's"
    );
    let nobodys = HardwareTimestamp {
        interface: None,
        ..timestamp
    };
    assert_eq!(
        bench.correlator.to_monotonic(&nobodys),
        Err(ConversionError::UnknownDevice)
    );
    Ok(())
}

/// Of the first run nothing is known, and nothing will be.
fn early_reset(rig: &Rig) -> Outcome {
    let mut bench = Bench::new(rig)?;
    let one_by_one = CorrelatorOptions {
        burst: 1,
        readings_per_batch: 1,
        ..CorrelatorOptions::FIXED
    };
    bench.correlator = rig.near()?.correlator(one_by_one)?;
    rig.pass(Duration::from_millis(1));
    assert_eq!(
        (
            bench.correlator.status().readings,
            bench.correlator.frequency()
        ),
        (1, None),
        "{:?}",
        bench.correlator
    );
    rig.host().reset_nic(NicName::Sim0, 1_000);
    assert!(
        rig.until(|| bench.correlator.frequency().is_some()),
        "{:?}",
        bench.correlator
    );
    assert!(
        bench.correlator.generation() > Some(ClockGeneration(0)),
        "{:?}",
        bench.correlator
    );
    let (young, _) = bench.timestamp()?;
    rig.pass(Duration::from_secs(20));
    assert_eq!(
        bench.correlator.to_monotonic(&young),
        Err(ConversionError::Ambiguous),
        "it can be of the first run"
    );
    let (timestamp, truly) = bench.timestamp()?;
    bench.check(&timestamp, truly);
    // and many readings from after it change nothing
    rig.pass(Duration::from_secs(200));
    bench.check(&timestamp, truly);
    Ok(())
}

fn reset(rig: &Rig) -> Outcome {
    let mut bench = Bench::ready(rig)?;
    rig.pass(Duration::from_secs(1));
    // in virtual time, no reading comes between the timestamp and the reset
    let (old, old_truly) = bench.timestamp()?;
    let before = bench.correlator.generation();
    rig.host().reset_nic(NicName::Sim0, 1_000);
    // in real time the report comes a moment later
    assert!(
        bench.correlator.to_monotonic(&old).is_err() || !rig.is_simulated(),
        "nothing is known of the new run yet"
    );
    rig.pass(Duration::from_millis(500));
    assert!(
        rig.until(|| bench.correlator.generation() > before),
        "{:?}",
        bench.correlator
    );
    let status = bench.correlator.status();
    assert_eq!(status.cause, Some(GenerationCause::Notification));
    assert!(
        !rig.is_simulated()
            || (before, status.generation) == (Some(ClockGeneration(0)), Some(ClockGeneration(1))),
        "{status:?}"
    );
    if let Ok(estimate) = bench.correlator.to_monotonic(&old) {
        assert!(
            !rig.is_simulated() && Some(estimate.generation) == before,
            "converted with the new run: {estimate:?}"
        );
        assert!(
            estimate.at.contains(old_truly),
            "{estimate:?}, truly {old_truly:?}"
        );
    }
    for _ in 0..10 {
        let (timestamp, truly) = bench.timestamp()?;
        bench.check(&timestamp, truly);
        rig.pass(Duration::from_millis(700));
    }
    Ok(())
}

fn reconfigured(rig: &Rig) -> Outcome {
    let mut bench = Bench::ready(rig)?;
    let (timestamp, truly) = bench.timestamp()?;
    bench.check(&timestamp, truly);
    let near = rig.near()?;
    if let Rig::Model(_) = rig {
        rig.reconfigure_by_another(HardwareConfiguration::OFF)?;
        rig.reconfigure_by_another(HardwareConfiguration {
            transmit: true,
            receive: ReceiveFilter::All,
        })?;
    } else {
        near.disable_hardware()?;
        near.enable_hardware(HardwareRequest::AllPackets)?.keep();
    }
    // until the counter shows what it never showed before the restart
    rig.pass(Duration::from_secs(2));
    assert!(
        rig.until(|| bench.correlator.generation() > Some(ClockGeneration(0))),
        "{:?}",
        bench.correlator
    );
    assert!(
        bench.correlator.generation() > Some(ClockGeneration(0)),
        "{:?}",
        bench.correlator.status()
    );
    assert_eq!(
        bench.correlator.status().cause,
        Some(GenerationCause::Notification)
    );
    let (timestamp, truly) = bench.timestamp()?;
    bench.check(&timestamp, truly);
    Ok(())
}

fn untold_step(rig: &Rig) -> Outcome {
    // in real time readings are late by milliseconds, and which clock was stepped shows by their pace
    let steps = if rig.is_simulated() {
        [-1_000_000, 5_000_000]
    } else {
        [-3_600_000_000_000, 5_000_000_000]
    };
    for ticks in steps {
        let mut bench = Bench::ready(rig)?;
        long(rig, Duration::from_secs(11));
        let (old, truly) = bench.timestamp()?;
        bench.check(&old, truly);
        rig.host().step_hardware_clock(NicName::Sim0, ticks);
        long(rig, Duration::from_secs(11));
        assert!(
            rig.until(|| bench.correlator.generation() > Some(ClockGeneration(0))),
            "{:?}",
            bench.correlator
        );
        let status = bench.correlator.status();
        assert_eq!(status.generation, Some(ClockGeneration(1)), "{status:?}");
        let causes = [
            GenerationCause::HardwareStep,
            GenerationCause::CounterBackwards,
            GenerationCause::Contradiction,
            GenerationCause::FrequencyChange,
        ];
        assert!(
            status.cause.is_some_and(|cause| causes.contains(&cause)),
            "{status:?}"
        );
        let (timestamp, truly) = bench.timestamp()?;
        bench.check(&timestamp, truly);
        if let Ok(estimate) = bench.correlator.to_monotonic(&old) {
            assert!(
                estimate.at.contains(truly) || estimate.generation == ClockGeneration(0),
                "{estimate:?}"
            );
        }
    }
    Ok(())
}

fn gone_and_back(rig: &Rig) -> Outcome {
    let bench = Bench::ready(rig)?;
    let world = rig.host();
    world.remove_nic(NicName::Sim0);
    long(rig, Duration::from_secs(3_600));
    assert!(rig.until(|| bench.correlator.status().last_error.is_some()));
    let status = bench.correlator.status();
    assert!(
        status.failures > 0 && status.last_error.is_some(),
        "{status:?}"
    );
    assert!(
        bench.correlator.to_hardware(world.now()).is_err(),
        "nobody knows what it shows"
    );
    world.add_nic(NicName::Sim0);
    long(rig, Duration::from_secs(20));
    assert!(rig.until(|| bench.correlator.status().last_error.is_none()));
    assert!(
        rig.until(|| bench.correlator.to_hardware(world.now()).is_ok()),
        "it is back"
    );
    let now = world.now();
    let estimate = bench.correlator.to_hardware(now).expect("it is back");
    let truly = world
        .hardware_ticks_at(rig.near()?.index(), now)
        .expect("in the past");
    assert!(estimate.ticks.since(truly).unsigned_abs() <= estimate.bound);
    Ok(())
}

fn nonsense(rig: &Rig) -> Outcome {
    let near = rig.near()?;
    let good = CorrelatorOptions::default();
    for options in [
        CorrelatorOptions {
            period: Duration::ZERO,
            ..good
        },
        CorrelatorOptions {
            burst_gap: Duration::ZERO,
            ..good
        },
        CorrelatorOptions {
            readings_per_batch: 0,
            ..good
        },
    ] {
        refused(near.correlator(options), ErrorKind::InvalidInput);
    }
    Ok(())
}
