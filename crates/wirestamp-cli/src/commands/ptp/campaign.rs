//! `ptp --simulate campaign`: runs the campaign of `wirestamp-ptp` against the steering of a clock and prints its result.

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Column, Output, Page, Table, grouped};
use serde::Serialize;
use std::io;
use wirestamp::Span;
use wirestamp_ptp::simulate::campaign::{Campaign, Run, Totals};

/// What `--simulate` calls it.
pub(super) const NAME: &str = "campaign";

/// The last line of `--json`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Summary<'a> {
    /// Seed of all random numbers.
    seed: u64,
    #[serde(flatten)]
    totals: &'a Totals,
}

pub(super) fn run(
    runs: u32,
    only: Option<u32>,
    seed: u64,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let campaign = Campaign { runs, seed };
    if let Some(only) = only {
        return replay(&campaign, only, output);
    }
    let progress = output.progress(u64::from(runs), "runs");
    let mut written = Ok(());
    let totals = campaign.run(|run| {
        progress.inc(1);
        if written.is_ok() {
            written = progress.suspend(|| write(&campaign, run, output));
        }
    })?;
    progress.finish_and_clear();
    written?;
    output.line(&Summary {
        seed,
        totals: &totals,
    })?;
    output.now(|page| print(page, &totals, seed))?;
    Ok(if totals.failed == 0 {
        Exit::Success
    } else {
        Exit::Failed
    })
}

/// Every run for programs; for people those that failed.
fn write(campaign: &Campaign, run: &Run, output: &mut Output) -> io::Result<()> {
    output.line(run)?;
    if run.failures.is_empty() {
        return Ok(());
    }
    output.now(|page| {
        page.heading(&format!("run {} failed", run.plan.run));
        page.field("replay", &command(campaign, run.plan.run));
        print_run(page, run);
    })
}

fn command(campaign: &Campaign, run: u32) -> String {
    format!(
        "wirestamp ptp --simulate {NAME} --seed {} --only {run}",
        campaign.seed
    )
}

fn replay(campaign: &Campaign, only: u32, output: &mut Output) -> Result<Exit, Failure> {
    let run = campaign.plan(only).run(true)?;
    output.line(&run)?;
    output.now(|page| {
        page.heading(&format!("run {only} of seed {}", campaign.seed));
        page.line("   after/s    offset/ns adjust./ppm  estimate/ns  bound/ns");
        for seen in &run.trace {
            let (offset, bound) = seen
                .estimate
                .map_or_else(Default::default, |(offset, bound)| {
                    (offset.to_string(), bound.to_string())
                });
            page.line(&format!(
                "{:>10.3} {:>12} {:>11.3} {offset:>12} {bound:>9}",
                seen.at, seen.offset_ns, seen.adjustment_ppm
            ));
            if !seen.note.is_empty() {
                page.line(&format!("           {}", seen.note));
            }
        }
        print_run(page, &run);
    })?;
    Ok(if run.failures.is_empty() {
        Exit::Success
    } else {
        Exit::Failed
    })
}

fn print_run(page: &mut Page, run: &Run) {
    if let Ok(text) = serde_json::to_string(&run.plan) {
        page.field("parameters", &text);
    }
    let mut table = Table::new(&[
        Column::Left("phase"),
        Column::Right("recovery"),
        Column::Right("stated"),
        Column::Right("offset"),
        Column::Right("stated"),
    ]);
    for phase in &run.phases {
        table.row([
            phase.name.to_owned(),
            format!("{:.1} s", phase.recovered.max(0.0)),
            format!("{:.1} s", phase.stated),
            shown(phase.worst_ns),
            shown(phase.steady_ns),
        ]);
    }
    page.table(table);
    for failure in &run.failures {
        page.field("failed", failure);
    }
}

fn shown(nanoseconds: i64) -> String {
    Span::from_nanoseconds(nanoseconds.into()).to_string()
}

fn print(page: &mut Page, totals: &Totals, seed: u64) {
    page.heading(&format!("{} runs, seed {seed}", grouped(totals.runs)));
    let mut table = Table::new(&[
        Column::Left("disturbance"),
        Column::Right("times"),
        Column::Right("error"),
        Column::Right("recovery"),
        Column::Right("slowest"),
        Column::Right("offset"),
    ]);
    for (name, group) in &totals.groups {
        table.row([
            (*name).to_owned(),
            grouped(group.phases),
            format!("{:.3}", group.worst_of_bound),
            format!("{:.3}", group.worst_of_stated),
            format!("{:.0} s", group.slowest),
            format!("{:.3}", group.worst_of_steady),
        ]);
    }
    page.table(table);
    page.quiet("error: the largest of an estimate, over its error bound");
    page.quiet("recovery: the longest over the stated one; slowest: in all");
    page.quiet("offset: the largest afterwards, over the stated one");
    page.gap();
    page.field(
        "default settings",
        &format!("{} runs", grouped(totals.defaults)),
    );
    page.field("virtual time", &format!("{:.0} h", totals.hours));
    page.field("failed", &format!("{} runs", grouped(totals.failed)));
}
