//! `ptp --simulate`: runs scenarios of `wirestamp-ptp` and prints their results.

use super::plot;
use super::summary::counted;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::quantity::rounded_up;
use crate::output::{Output, plural};
use serde::Serialize;
use std::path::Path;
use wirestamp::Span;
use wirestamp_ptp::simulate::{Outcome, Scenario};

const ALL: &str = "all";

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Line<'a> {
    #[serde(flatten)]
    outcome: &'a Outcome,
    /// Limits of the scenario that were not kept, each in a sentence.
    violations: &'a [String],
}

pub(super) fn run(
    name: &str,
    plot: Option<&Path>,
    seed: u64,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let scenarios: Vec<&Scenario> = if name == ALL {
        Scenario::all().iter().collect()
    } else {
        vec![Scenario::find(name)?]
    };
    let mut exit = Exit::Success;
    for scenario in scenarios {
        let outcome = scenario.run(seed)?;
        let violations = outcome.violations(&scenario.limits());
        if !violations.is_empty() {
            exit = Exit::Failed;
        }
        output.line(&Line {
            outcome: &outcome,
            violations: &violations,
        })?;
        print(scenario, &outcome, &violations, output)?;
        if let Some(path) = plot {
            plot::draw(path, scenario, &outcome)?;
        }
    }
    Ok(exit)
}

fn print(
    scenario: &Scenario,
    outcome: &Outcome,
    violations: &[String],
    output: &mut Output,
) -> Result<(), Failure> {
    let shown = |nanoseconds: i64| Span::from_nanoseconds(nanoseconds.into()).to_string();
    output.now(|page| {
        page.heading(&format!("{}: {}", scenario.name, scenario.description));
        page.field(
            "error",
            &format!(
                "median {}, largest {}",
                shown(outcome.median_error_ns),
                shown(outcome.largest_error_ns)
            ),
        );
        let samples = plural(outcome.samples as u64, "sample");
        page.field(
            "bound",
            &format!(
                "median {}, contains the truth in {} of {samples}",
                rounded_up(outcome.median_error_bound_ns),
                outcome.covered
            ),
        );
        page.field("lost exchanges", &counted(&outcome.counts.lost));
        if !outcome.withdrawn.is_empty() {
            page.field("withdrawn", &counted(&outcome.withdrawn));
        }
        page.field(
            "limits",
            &if violations.is_empty() {
                "kept".to_owned()
            } else {
                violations.join("; ")
            },
        );
    })?;
    Ok(())
}
