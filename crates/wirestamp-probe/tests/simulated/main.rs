//! Sessions between two simulated hosts: clocks that differ, drift and are stepped, asymmetric
//! paths, loss, reordering, duplicates, residence times, and missing timestamps. The error bound of
//! every delay must contain the truth.
//!
//! `WIRESTAMP_STAMP_PACKETS` sets the number of packets per run (20,000; `scripts/slow` uses a
//! million).

mod attack;
mod chance;
mod clock;
mod run;

use clock::BOUND;
use run::{Outcome, Plan, run};
use wirestamp_core::time::{Bounded, Span};
use wirestamp_probe::session::{Clocks, Rejected};
use wirestamp_probe::{Key, TimestampFormat};

fn packets() -> u32 {
    let asked = std::env::var("WIRESTAMP_STAMP_PACKETS").ok();
    asked.map_or(20_000, |count| count.parse().expect("a number of packets"))
}

fn key() -> Key {
    Key::from_octets(&[5; 32]).expect("a key")
}

fn plan(clocks: Clocks) -> Plan {
    Plan {
        packets: packets(),
        seed: 1,
        clocks,
        key: None,
        stateful: true,
        formats: (TimestampFormat::Ntp, TimestampFormat::Ptp),
        away: 0,
        attacked: false,
        least_delay: Span::ZERO,
        later: None,
    }
}

/// Counts the delays, and fails at the first one whose bound does not contain the truth.
fn holds(name: &str, measured: Option<Bounded<Span>>, truth: i64, sequence: u32) -> u64 {
    let Some(Bounded { value, bound }) = measured else {
        return 0;
    };
    let error = (value - Span::from_nanoseconds(truth.into())).abs();
    assert!(
        error <= bound,
        "{name} of packet {sequence}: {value} ±{bound}, truth {truth} ns"
    );
    1
}

/// Compares every sample with the truth; returns the numbers of delays: forward, backward, path
/// delay.
fn judge(outcome: &Outcome) -> [u64; 3] {
    let mut counts = [0; 3];
    for sample in outcome.samples.iter().filter(|sample| sample.is_answered) {
        let [t1, t2, t3, t4] = outcome.truth[&sample.sequence].times;
        let local = |from, to| {
            (outcome.local.monotonic(to) - outcome.local.monotonic(from)).saturating_nanoseconds()
        };
        let remote = |from, to| {
            (outcome.remote.monotonic(to) - outcome.remote.monotonic(from)).saturating_nanoseconds()
        };
        let number = sample.sequence;
        holds("round trip", sample.round_trip, local(t1, t4), number);
        holds("residence time", sample.residence, remote(t2, t3), number);
        // the clock's own seconds if there is one; 190 ppm of them are less than the error between
        // two clocks
        counts[0] += holds("forward delay", sample.forward, local(t1, t2), number);
        counts[1] += holds("backward delay", sample.backward, local(t3, t4), number);
        let utc = |from, to| outcome.remote.utc(to) - outcome.local.utc(from);
        let forth = utc(t1, t2).saturating_nanoseconds();
        let known = holds(
            "difference forward",
            sample.forward_difference,
            forth,
            number,
        );
        if let Some(back) = sample.backward_difference {
            let truth = outcome.local.utc(t4) - outcome.remote.utc(t3);
            assert!(
                truth <= back.value + back.bound,
                "{number}: {truth}, {back:?}"
            );
            assert!(
                known == 1 && (sample.residence.is_none() || back.value - back.bound <= truth),
                "{number}: {truth}, {back:?}"
            );
        }
        counts[2] += holds(
            "path delay",
            sample.path_delay,
            local(t1, t4) - local(t2, t3),
            number,
        );
    }
    counts
}

fn at_least(counts: &[u64], share: f64, outcome: &Outcome) {
    for count in counts {
        let least = outcome.report.losses.answered as f64 * share;
        assert!(
            *count as f64 >= least,
            "{counts:?} of {}",
            outcome.report.losses.answered
        );
    }
}

fn losses_are_told(outcome: &Outcome) {
    let (losses, fates) = (&outcome.report.losses, &outcome.fates);
    let told = losses.by_direction.expect("a stateful reflector");
    // a duplicate whose reply is lost hides one loss
    let hidden = fates.duplicated_forward - losses.duplicated_forward;
    assert_eq!(told.forward + hidden, fates.lost_forward);
    assert!(hidden <= fates.duplicated_forward / 20 + 5);
    assert_eq!(told.backward, fates.lost_backward);
    assert_eq!(told.undecided, 0);
    assert_eq!(losses.duplicated_backward, fates.duplicated_backward);
    assert_eq!(told.forward + told.backward, losses.lost());
    assert!(losses.reordered_forward > 0 && losses.reordered_backward > 0);
}

#[test]
fn on_one_clock_every_delay_lies_within_its_bound() {
    let outcome = run(&plan(Clocks::Same));
    let counts = judge(&outcome);
    at_least(&counts, 0.8, &outcome);
    losses_are_told(&outcome);
    let report = &outcome.report;
    assert_eq!(report.contradictions, 0);
    let bound = report.forward.largest_bound().expect("forward delays");
    assert!(bound < Span::from_microseconds(7), "{bound}");
    let least = |delays: &wirestamp_probe::session::Delays| {
        delays
            .histogram()
            .and_then(wirestamp_core::latency::Histogram::minimum)
            .expect("delays")
    };
    let (forward, backward) = (least(&report.forward), least(&report.backward));
    assert!(
        (forward - Span::from_milliseconds(3)).abs() < Span::from_microseconds(50),
        "{forward}"
    );
    assert!(
        (backward - Span::from_milliseconds(7)).abs() < Span::from_microseconds(50),
        "{backward}"
    );
}

#[test]
fn on_synchronised_clocks_the_bound_contains_what_they_are_off() {
    for seed in 1..4 {
        let outcome = run(&Plan {
            seed,
            ..plan(Clocks::Synchronized(BOUND))
        });
        let counts = judge(&outcome);
        at_least(&counts, 0.8, &outcome);
        losses_are_told(&outcome);
        assert_eq!(outcome.report.contradictions, 0);
        assert_eq!(outcome.report.synchronized, outcome.report.losses.answered);
    }
}

/// The minimum delay of a packet, in seconds of a clock that runs slow by up to 190 ppm.
const LEAST_DELAY: Span = Span::from_nanoseconds(2_999_400);

#[test]
fn causality_narrows_the_delays_of_one_direction_and_leaves_the_truth() {
    for clocks in [Clocks::Same, Clocks::Synchronized(BOUND)] {
        for least_delay in [Span::ZERO, LEAST_DELAY] {
            let outcome = run(&Plan {
                least_delay,
                ..plan(clocks)
            });
            at_least(&judge(&outcome), 0.8, &outcome);
            assert_eq!(outcome.report.contradictions, 0);
            // a clock's error, 1,200 ppm of drift, and rounding
            let more = Span::from_microseconds(20) - least_delay;
            for sample in &outcome.samples {
                let most = sample.round_trip.map(|round_trip| round_trip.most() + more);
                for delay in [sample.forward, sample.backward].into_iter().flatten() {
                    assert!(delay.least() >= least_delay, "{delay}");
                    assert!(Some(delay.most()) <= most, "{delay} of {most:?}");
                }
            }
        }
    }
}

#[test]
fn on_unrelated_clocks_there_is_an_offset_and_no_delay_of_one_direction() {
    let outcome = run(&Plan {
        away: 3_600_000_000_000,
        ..plan(Clocks::Unrelated)
    });
    let [forward, backward, path] = judge(&outcome);
    assert_eq!((forward, backward), (0, 0));
    at_least(&[path], 0.8, &outcome);
    let differences = outcome
        .samples
        .iter()
        .filter(|sample| sample.backward_difference.is_some());
    at_least(&[differences.count() as u64], 0.8, &outcome);
    losses_are_told(&outcome);
    let offset = outcome.report.offset.expect("an offset");
    let newest = outcome
        .samples
        .iter()
        .rev()
        .find(|sample| sample.round_trip.is_some());
    let then = outcome.truth[&newest.expect("a sample").sequence].times[1];
    let truth = outcome.remote.utc(then) - outcome.local.utc(then);
    assert!(
        offset.low <= truth && truth <= offset.high,
        "{offset:?} {truth}"
    );
    assert!(offset.high - offset.low < Span::from_milliseconds(20));
}

#[test]
fn steps_of_a_clock_are_noticed_and_do_not_spoil_the_variation() {
    let outcome = run(&Plan {
        packets: packets().max(100_000),
        ..plan(Clocks::Unrelated)
    });
    judge(&outcome);
    let report = &outcome.report;
    assert!(
        report.clock_steps >= 1 && report.clock_steps < 30,
        "{}",
        report.clock_steps
    );
    let forward = report.forward_variation.expect("a variation");
    // 300 µs, up to 4 ms if a packet is overtaken, and the drift between the clocks in a generation
    assert!(forward.median < Span::from_milliseconds(20), "{forward:?}");
    assert!(forward.jitter < Span::from_milliseconds(2), "{forward:?}");
}

#[test]
fn a_wrong_word_about_the_clocks_is_found_out() {
    let outcome = run(&Plan {
        away: 40_000_000_000,
        ..plan(Clocks::Synchronized(Span::from_microseconds(10)))
    });
    assert_eq!(judge(&outcome)[0], 0);
    assert!(outcome.report.contradictions > 0);
    assert!(outcome.report.forward.histogram().is_none());
}

#[test]
fn what_is_said_of_the_clocks_later_holds_for_what_is_judged_then() {
    let forward = |later| -> Vec<Bounded<Span>> {
        let outcome = run(&Plan {
            packets: 2_000,
            later: Some((1_999, later)),
            ..plan(Clocks::Synchronized(BOUND))
        });
        judge(&outcome);
        let samples = outcome.samples.iter();
        samples.filter_map(|sample| sample.forward).collect()
    };
    let most = Span::from_seconds(1);
    let wider = forward(Some(most));
    assert!(wider.len() > 1_000 && wider.iter().all(|delay| delay.bound < most));
    assert!(forward(None).is_empty());
}

#[test]
fn a_stateless_reflector_leaves_the_direction_of_losses_open() {
    let outcome = run(&Plan {
        stateful: false,
        ..plan(Clocks::Same)
    });
    let [forward, backward, path] = judge(&outcome);
    at_least(&[forward], 0.8, &outcome);
    assert_eq!(
        (backward, path),
        (0, 0),
        "it can't tell when its replies left"
    );
    assert_eq!(outcome.report.losses.by_direction, None);
    assert!(outcome.report.residence_as_written.histogram().is_some());
}

#[test]
fn forged_replayed_reflected_and_truncated_packets_change_no_result() {
    for (key, formats) in [
        (None, (TimestampFormat::Ntp, TimestampFormat::Ntp)),
        (Some(key()), (TimestampFormat::Ptp, TimestampFormat::Ptp)),
    ] {
        let quiet = Plan {
            packets: 20_000,
            key,
            formats,
            ..plan(Clocks::Same)
        };
        let attacked = run(&Plan {
            attacked: true,
            ..quiet.clone()
        });
        let quiet = run(&quiet);
        judge(&attacked);
        assert!(attacked.injected > 5_000, "{}", attacked.injected);
        assert_eq!(attacked.samples, quiet.samples);
        assert_eq!(
            attacked.report.losses.by_direction,
            quiet.report.losses.by_direction
        );
        assert_eq!(attacked.report.offset, quiet.report.offset);
        let rejected = |outcome: &Outcome| {
            Rejected::ALL
                .iter()
                .map(|reason| outcome.report.rejected_for(*reason))
                .sum::<u64>()
        };
        assert_eq!(rejected(&attacked), rejected(&quiet) + attacked.injected);
    }
}

#[test]
fn the_same_seed_gives_the_same_samples() {
    let plan = Plan {
        packets: 5_000,
        ..plan(Clocks::Same)
    };
    assert_eq!(run(&plan).samples, run(&plan).samples);
}
