//! Worlds in which somebody steps, slews or exchanges the clocks at any time: every sample of `ptp --simulate` against the truth.
//!
//! `WORLDS` sets how many worlds are tried (by default a few), `WORLDS_FROM` the number of the first.

use super::{Point, Scenario};
use crate::configuration::Source;
use wirestamp_test_worlds::{Chance, Change, Changed, Clocks, FEW, Found, worlds};

const MS: i64 = 1_000_000;
/// The truth about a Sync is asked for when its sample is there. If another clock came until then, it is the other clock's.
const UNDER_WAY: i64 = 100 * MS;
/// Of one cable: a change comes once.
const NETWORKS: [&str; 5] = ["quiet", "peer-delay", "jitter", "loss", "timestamp-loss"];

/// A network of the list with other events, for 6 s.
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

fn held(changes: &[Change], what: &str) {
    let mut found = Found::default();
    // a network costs as much as many measurements
    let all = worlds();
    let is_slice = all.end - all.start == FEW;
    let some = all.clone().filter(|world| !is_slice || world % 4 == 3);
    for world in some {
        let (scenario, told, failovers) = changed(&mut Chance::of(world), changes);
        let outcome = scenario.run(world).expect("its clocks start");
        found.lost += outcome.counts.lost_in_all();
        let is_known = |point: &&Point| {
            let mut failovers = failovers.iter();
            !failovers.any(|at| (-UNDER_WAY..UNDER_WAY).contains(&(at - point.at_ns)))
        };
        for point in outcome.points.iter().filter(is_known) {
            found.check(
                point.error_ns.saturating_abs() <= point.error_bound_ns,
                || format!("world {world}, {told}\n{point:?}"),
            );
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
