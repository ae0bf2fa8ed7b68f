//! Every scenario through the file of recorded events: as text, read back, converted as
//! `wirestamp convert` does it, online and one batch later.

#![expect(clippy::print_stdout, reason = "shown by `--nocapture`")]

use rayon::prelude::{IntoParallelIterator, ParallelIterator};
use wirestamp_bench::measure::{Summary, Tally, Trial, convert_events, write_events};
use wirestamp_bench::scenario::{self, Half, Scenario};

const SEED: u64 = 11;
/// Short runs: s, of which the measures skip a part.
const DURATION: f64 = 400.0;
const TIMESTAMPS_PER_SECOND: f64 = 8.0;

fn through_the_file(scenario: &Scenario) -> Summary {
    let mut tally = Tally::default();
    for number in 0..scenario.trials.min(10) {
        let mut shape = scenario.shape(DURATION, SEED, number);
        shape.warm_up = shape.warm_up.min(shape.duration / 4.0);
        let trial = Trial::new(shape, TIMESTAMPS_PER_SECOND, SEED, number);
        let mut text = Vec::new();
        let batches = write_events(&trial, trial.shape.polling, &mut text).expect("written");
        tally.add(
            &trial,
            &convert_events(&trial, batches, &text).expect("read"),
        );
    }
    tally.summary(scenario.name, "file")
}

#[test]
fn no_bound_is_wrong_and_all_are_given_again_one_batch_after_a_break() {
    let all: Vec<&Scenario> = scenario::all()
        .filter(|scenario| scenario.half != Half::SecondHeldOut)
        .collect();
    let mut summaries: Vec<Summary> = all.into_par_iter().map(through_the_file).collect();
    summaries.sort_by_key(|summary| summary.scenario);
    for s in summaries {
        let name = s.scenario;
        println!(
            "{name}: rms {:.2}, later {:.2}, bound {:?}, refused {}",
            s.rms, s.later_rms, s.bound, s.refused
        );
        assert_eq!(
            [s.wrong, s.warm_up_wrong, s.later_wrong, s.tick_not_held],
            [0; 4],
            "{name}"
        );
        assert_eq!(s.recovery.wrong, 0, "{name}");
        assert!(
            s.conversions > 100 && s.refused * 100 <= s.conversions,
            "{name}: {} of {} refused",
            s.refused,
            s.conversions
        );
        if s.recovery.breaks > 0 {
            assert!(
                s.recovery.valid_batches.is_some_and(|batches| batches <= 1),
                "{name}: {:?}",
                s.recovery
            );
        }
    }
}
