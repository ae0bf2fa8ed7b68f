//! Packets whose times never become final.

use super::*;
use crate::{CorrelatorOptions, Simulation};
use std::sync::Arc;
use std::time::Duration;
use wirestamp_core::timestamp::{HardwareTimestamp, TransmitId};
use wirestamp_sim::NicName;

/// At the end many packets wait. A clock that cannot be read is tried only once, because retries
/// for each packet would take minutes.
#[test]
fn a_clock_that_does_not_answer_is_asked_once_for_all_that_wait() {
    let simulation = Simulation::preset("i225", 1).expect("a preset");
    let clock = |name: &str| {
        let interface = simulation.interface(name).expect("a NIC");
        let correlator = interface.correlator(CorrelatorOptions::FIXED);
        HostClock::hardware(Arc::new(correlator.expect("it has a clock")))
    };
    let clocks = Clocks {
        sender: clock("sim0"),
        receiver: clock("sim1"),
        policy: TimestampPolicy::OnlyHardware,
    };
    let world = simulation.world();
    world.advance(Span::from_seconds(2));
    let ends = ["sim0", "sim1"].map(|name| simulation.interface(name).expect("a NIC").index());
    let timestamps = |end: usize| {
        let truth = world.truth();
        let ticks = truth.hardware_ticks_at(ends[end], truth.now());
        let hardware = HardwareTimestamp {
            ticks: ticks.expect("it has a clock"),
            interface: Some(ends[end]),
            read_at: truth.now(),
        };
        Timestamps::new(None, Some(hardware))
    };
    let timeout = Span::from(Duration::from_secs(1));
    let in_flight = InFlight::new(1_000, timeout);
    let mut tally = Tally::new(TimestampSource::Hardware, in_flight, timeout, 1_000);
    for sequence in 0..100 {
        let now = world.truth().now();
        tally.sending(sequence, now);
        let outcome = TransmitOutcome::Timestamped(timestamps(0));
        let record = TransmitRecord::new(TransmitId(sequence as u32), outcome);
        tally.transmitted(&record, &clocks);
        tally.received(sequence, timestamps(1), now, &clocks);
    }
    assert_eq!(tally.waiting.len(), 100);
    world.remove_nic(NicName::Sim0);
    world.remove_nic(NicName::Sim1);
    let failures = |clock: &HostClock| clock.correlator().expect("it has one").status().failures;
    let before = [&clocks.sender, &clocks.receiver].map(failures);
    let report = tally.report(0, &clocks);
    let after = [&clocks.sender, &clocks.receiver].map(failures);
    assert_eq!(report.lost.conversions, 200);
    for (before, after) in before.into_iter().zip(after) {
        assert!(after - before <= 1, "{before}, then {after}");
    }
}
