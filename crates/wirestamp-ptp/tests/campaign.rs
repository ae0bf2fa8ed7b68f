//! A small part of the campaign against the steering of a clock; `scripts/campaign` runs more.

use wirestamp_ptp::simulate::campaign::{Campaign, Run};

const SLICE: Campaign = Campaign { runs: 12, seed: 1 };

#[test]
fn what_was_stated_beforehand_holds_in_every_run() {
    let mut failed = Vec::new();
    let mut numbers = Vec::new();
    let totals = SLICE
        .run(|run| {
            numbers.push(run.plan.run);
            if !run.failures.is_empty() {
                failed.push((run.plan.run, run.failures.clone()));
            }
        })
        .expect("runs");
    assert!(
        failed.is_empty(),
        "{} of {}: {failed:#?}",
        failed.len(),
        totals.runs
    );
    assert_eq!(numbers, (0..SLICE.runs).collect::<Vec<_>>(), "in order");
    assert_eq!((totals.runs, totals.groups["start"].phases), (12, 12));
    assert!(totals.groups.len() > 3, "{:?}", totals.groups.keys());
    assert!(
        totals
            .groups
            .values()
            .all(|group| group.worst_of_bound <= 1.0 && group.worst_of_stated <= 1.0)
    );
}

#[test]
fn a_run_is_the_same_again_and_another_seed_gives_another_one() {
    let run = |seed: u64| -> Run { Campaign { runs: 1, seed }.plan(3).run(false).expect("runs") };
    let (first, again) = (run(1), run(1));
    assert_eq!(first, again);
    assert_ne!(first.plan, run(2).plan);
}

/// A route change makes the round trip 32 times as long, and five minutes later the frequency is
/// limited less tightly than before. The base frequency follows the oscillator nevertheless.
#[test]
fn a_path_that_becomes_longer_does_not_keep_the_base_frequency() {
    let campaign = Campaign {
        runs: 1,
        seed: 424_242,
    };
    let run = campaign.plan(3_943).run(false).expect("runs");
    assert_eq!(run.failures, Vec::<String>::new());
}

/// Steps of 3.8 and 7.0 µs with round trips of 2.9 and 7.7 µs; seconds later the timeTransmitter is
/// lost for more than an hour and a half. The base frequency must not be the one that would explain
/// the step.
#[test]
fn a_step_before_an_outage_does_not_become_the_base_frequency() {
    for (seed, number) in [(1, 3_390), (77_101, 3_775)] {
        let run = Campaign { runs: 1, seed }
            .plan(number)
            .run(false)
            .expect("runs");
        assert_eq!(run.failures, Vec::<String>::new());
        let outage = run.phases.last().expect("phases");
        assert_eq!(outage.name, "outage while slewing");
        // the step, and the error of the frequency learnt before it
        assert!(outage.furthest_ns < 100_000, "{outage:?}");
    }
}
