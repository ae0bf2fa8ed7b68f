//! Simulations in which clocks are stepped, slewed or replaced at any time, with every sample of
//! `ptp --simulate` compared with the truth.
//!
//! `WORLDS` sets the number of simulations (a few by default), `WORLDS_FROM` the number of the
//! first.

use super::{Point, Scenario};
use crate::configuration::Source;
use wirestamp_test_worlds::{Chance, Change, Changed, Clocks, FEW, Found, worlds};

const MS: i64 = 1_000_000;
/// A Sync that waits longer than a whole exchange can hide a change of the timeTransmitter's clock.
/// Until the next request is answered, the error bound can then be too small by up to that wait
/// (docs/error-bound.md, Theorem 11).
const HIDDEN: i64 = 300 * MS;
const WAITED: i64 = 5 * MS;
/// The network with queues.
const WITH_QUEUES: &str = "jitter";
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
        toml, failovers, ..
    } = clocks.scenario(chance);
    let (_, events) = toml.split_once('\n').expect("behind the preset");
    let cables: &'static str = format!("{}\n{events}", usual.cables).leak();
    let source = if chance.below(4) == 0 {
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
    (scenario, told, failovers)
}

/// Returns the allowed error in addition to the stated bound.
fn hidden(scenario: &Scenario, failovers: &[i64], point: &Point) -> i64 {
    let after = |at: &i64| (-MS..HIDDEN).contains(&(point.at_ns - at));
    let is_hidden = scenario.name == WITH_QUEUES && failovers.iter().any(after);
    if is_hidden { WAITED } else { 0 }
}

fn held(changes: &[Change], what: &str) {
    let mut found = Found::default();
    // a network takes as long as many measurements
    let all = worlds();
    let is_slice = all.end - all.start == FEW;
    let some = all.clone().filter(|world| !is_slice || world % 4 == 3);
    for world in some {
        let (scenario, told, failovers) = changed(&mut Chance::of(world), changes);
        let outcome = scenario.run(world).expect("its clocks start");
        found.lost += outcome.counts.lost_in_all();
        for point in &outcome.points {
            let bound = point.error_bound_ns + hidden(&scenario, &failovers, point);
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
