//! The peers do in S1 about what the study measured of them.

use wirestamp_bench::estimator::Method;
use wirestamp_bench::measure::{Extent, Summary, measure, trials};
use wirestamp_bench::scenario;

/// rms in ns, the estimate compared with the start of the tick as in the study.
const STUDY: [(Method, f64); 7] = [
    (Method::Plain, 780.0),
    (Method::Shortest, 11.8),
    (Method::Linreg, 4.7),
    (Method::Chrony, 6.3),
    (Method::Fbclock, 8.0),
    (Method::ClockBound, 10.6),
    (Method::Kalman, 9.6),
];

fn run(name: &str, methods: &[Method]) -> Vec<Summary> {
    let extent = Extent {
        duration: 500.0,
        seeds: vec![1],
        timestamps_per_second: 20.0,
    };
    let scenario = scenario::all()
        .find(|scenario| scenario.name == name)
        .expect("a scenario");
    let trials = trials(scenario, &extent);
    methods
        .iter()
        .map(|method| measure(scenario, &trials, *method))
        .collect()
}

#[test]
fn errors_in_s1_are_the_studys_within_a_factor_of_two() {
    let methods = STUDY.map(|(method, _)| method);
    for (summary, (_, study)) in run("S1", &methods).iter().zip(STUDY) {
        let ratio = summary.edge_rms / study;
        assert!(
            (0.5..2.0).contains(&ratio),
            "{}: {:.2} ns, in the study {study}",
            summary.method,
            summary.edge_rms
        );
        assert!(summary.conversions > 7_000, "{summary:?}");
    }
}

#[test]
fn bounds_fail_where_the_study_saw_them_fail() {
    let [shortest, chrony, clock_bound] = run(
        "S7-8s",
        &[Method::Shortest, Method::Chrony, Method::ClockBound],
    )
    .try_into()
    .expect("three");
    assert!(shortest.wrong > 0 && chrony.wrong > 0 && clock_bound.wrong > 0);
    let [kalman, chrony] = run("S9", &[Method::Kalman, Method::Chrony])
        .try_into()
        .expect("two");
    assert!(
        kalman.coverage.expect("bounds") < 0.01,
        "half of the asymmetry is beyond a quarter of the delay"
    );
    assert_eq!(chrony.wrong, 0);
}
