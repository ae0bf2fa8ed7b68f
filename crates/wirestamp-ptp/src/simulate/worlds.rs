//! Simulations in which clocks are stepped, slewed or replaced at any time, with every sample of
//! `ptp --simulate` compared with the truth.
//!
//! `WORLDS` sets the number of simulations (a few by default), `WORLDS_FROM` the number of the
//! first.

use super::{Point, Scenario};
use crate::configuration::Source;
use wirestamp_test_worlds::{Chance, Change, Changed, Clocks, FEW, Found, worlds};

const MS: i64 = 1_000_000;
/// A Sync that waits longer than a whole exchange can hide a change of the timeTransmitter's clock. For so long, until the
/// next request is answered, the error bound can then be too small by up to that wait (docs/error-bound.md, Theorem 11).
const HIDDEN: i64 = 300 * MS;
/// `max_drift_ppm` of the networks, in parts per billion.
const MOST_DRIFT: i64 = 200_000;
/// The clocks start so long after the network at most, whose time the changes have.
const STARTED: i64 = 10 * MS;
/// The network with queues.
const WITH_QUEUES: &str = "jitter";
/// An exchange there takes no less.
const EXCHANGE: i64 = 100_000;
/// Networks with one cable, so that a change comes once.
const NETWORKS: [&str; 5] = ["quiet", "peer-delay", WITH_QUEUES, "loss", "timestamp-loss"];

/// Returns a network of the list with other events, for 6 s.
fn changed(chance: &mut Chance, changes: &[Change]) -> (Scenario, String, Vec<i64>) {
    let usual = Scenario::find(chance.one_of(&NETWORKS)).expect("one of the list");
    let clocks = Clocks {
        presets: &["i225"],
        when: (2_000 * MS, 2_500 * MS),
        changes,
        steps_utc: true,
    };
    let Changed {
        toml,
        failovers: mut steps,
        stepped,
        slewed,
        ..
    } = clocks.scenario(chance);
    steps.extend(stepped.map(|(at, _)| at));
    let (_, events) = toml.split_once('\n').expect("behind the preset");
    let cables: &'static str = format!("{}\n{events}", usual.cables).leak();
    // by software timestamps both read one clock, and the timeTransmitter's may not drift by more
    let is_within = slewed.is_none_or(|(_, ppb)| ppb.abs() <= MOST_DRIFT);
    let source = if chance.below(4) == 0 && is_within {
        Source::Software
    } else {
        Source::Hardware
    };
    let scenario = Scenario {
        cables,
        source,
        seconds: 6,
        ..*usual
    };
    let told = format!("{}, {source:?}:\n{cables}", usual.name);
    (scenario, told, steps)
}

/// Returns the allowed error in addition to the stated bound: what Syncs since a change have waited longer than an exchange
/// takes.
fn hidden(scenario: &Scenario, steps: &[i64], points: &[Point], point: &Point) -> i64 {
    if scenario.name != WITH_QUEUES {
        return 0;
    }
    let is_near = |at: &&i64| (-STARTED..HIDDEN).contains(&(point.at_ns - **at));
    let Some(since) = steps.iter().filter(is_near).min() else {
        return 0;
    };
    let later = |other: &&Point| (since - STARTED..=point.at_ns).contains(&other.at_ns);
    let waits = points.iter().filter(later).map(|other| other.flight_ns);
    let longest = waits.max().unwrap_or(0);
    (longest - EXCHANGE).max(0)
}

fn held(changes: &[Change], what: &str) {
    let mut found = Found::default();
    // a network takes as long as many measurements
    let all = worlds();
    let is_slice = all.end - all.start == FEW;
    let some = all.clone().filter(|world| !is_slice || world % 4 == 3);
    for world in some {
        let (scenario, told, steps) = changed(&mut Chance::of(world), changes);
        let outcome = scenario.run(world).expect("its clocks start");
        found.lost += outcome.counts.lost_in_all();
        for point in &outcome.points {
            let bound = point.error_bound_ns + hidden(&scenario, &steps, &outcome.points, point);
            found.check(point.error_ns.saturating_abs() <= bound, || {
                format!("world {world}, {told}\n{point:?}")
            });
        }
    }
    found.report(what);
}

#[test]
fn ptp_simulate_prints_no_bound_that_a_sample_breaks() {
    held(
        &[Change::Step, Change::Step, Change::Slew],
        "ptp --simulate",
    );
}

#[test]
fn ptp_simulate_prints_no_bound_that_a_sample_breaks_across_failovers() {
    held(&[Change::Failover], "ptp --simulate, failovers");
}
