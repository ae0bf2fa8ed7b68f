//! Every simulated scenario stays within its limits, the error bound of every sample contains the
//! truth, and the same seed gives the same outcome.

use std::thread;
use wirestamp_ptp::simulate::{Outcome, Scenario};

fn all_of(seed: u64) -> Vec<Outcome> {
    thread::scope(|scope| {
        let running: Vec<_> = Scenario::all()
            .iter()
            .map(|one| scope.spawn(move || one.run(seed).expect("runs")))
            .collect();
        running
            .into_iter()
            .map(|scenario| scenario.join().expect("no panic"))
            .collect()
    })
}

#[test]
fn every_scenario_keeps_its_limits() {
    let outcomes = all_of(1);
    let broken: Vec<_> = Scenario::all()
        .iter()
        .zip(&outcomes)
        .flat_map(|(scenario, outcome)| {
            outcome
                .violations(&scenario.limits())
                .into_iter()
                .map(|text| format!("{}: {text}", scenario.name))
        })
        .collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn the_same_seed_gives_the_same_outcome_and_another_one_another() {
    let scenario = Scenario::find("loss").expect("known");
    let [first, again, other] = [1, 1, 2].map(|seed| scenario.run(seed).expect("runs"));
    assert_eq!(first, again);
    assert_ne!(first.points, other.points);
}

#[test]
fn a_broken_limit_is_told() {
    let scenario = Scenario::find("loss").expect("known");
    let mut limits = scenario.limits();
    (limits.median_error_ns, limits.samples) = (0, 1_000_000);
    let told = scenario.run(1).expect("runs").violations(&limits);
    assert_eq!(told.len(), 2, "{told:?}");
    let unknown = Scenario::find("los").expect_err("unknown");
    assert!(
        unknown.remedy().contains("loss, timestamp-loss"),
        "{unknown}"
    );
}
