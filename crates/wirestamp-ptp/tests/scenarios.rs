//! Every simulated scenario keeps its limits, and its bound contains the truth in every sample.

use std::thread;
use wirestamp_ptp::simulate::Scenario;

#[test]
fn every_scenario_keeps_its_limits() {
    let broken: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> = Scenario::all()
            .iter()
            .map(|scenario| {
                scope.spawn(move || {
                    let outcome = scenario.run(1).expect("runs");
                    println!("{outcome:?}", outcome = wirestamp_ptp_short(&outcome));
                    outcome
                        .violations(&scenario.limits)
                        .into_iter()
                        .map(|text| format!("{}: {text}", scenario.name))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        running.into_iter().flat_map(|scenario| scenario.join().expect("no panic")).collect()
    });
    assert!(broken.is_empty(), "{broken:#?}");
}

fn wirestamp_ptp_short(outcome: &wirestamp_ptp::simulate::Outcome) -> String {
    format!(
        "{}: {} samples, median error {} ns, largest {} ns, median bound {} ns, {:?}",
        outcome.scenario,
        outcome.samples,
        outcome.median_error_ns,
        outcome.largest_error_ns,
        outcome.median_bound_ns,
        outcome.counts
    )
}
