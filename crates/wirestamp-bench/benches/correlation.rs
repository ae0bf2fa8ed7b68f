//! Our correlation and its peers' on worlds whose truth is known.
//!
//! Prints a table for each half of the scenarios, the prices, and the targets. Without the
//! `--bench` that `cargo bench` passes, as under `cargo test --all-targets`, it only shows on
//! one scenario that it works.

use clap::Parser;
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;
use std::error::Error;
use std::fs::{File, create_dir_all};
use std::io::{BufWriter, Write, stdout};
use std::path::{Path, PathBuf};
use wirestamp_bench::estimator::Method;
use wirestamp_bench::measure::{Cost, Extent, Trial, cost, measure, trials, write_events};
use wirestamp_bench::report::{Document, Row, cost_table, half_table, verdicts};
use wirestamp_bench::scenario::{self, Half, Scenario};

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Enough timestamps for a million conversions in every scenario with five seeds.
const TIMESTAMPS_PER_SECOND: f64 = 130.0;
/// Length of the run whose price is measured, s.
const PRICED: f64 = 200.0;

/// Our correlation beside its peers'
#[derive(Parser)]
#[command(name = "correlation")]
struct Options {
    /// Runs these seeds instead of 1 to 5; any number does
    #[arg(long, value_delimiter = ',', value_name = "SEED,...")]
    seeds: Vec<u64>,
    /// Runs these scenarios only
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    scenario: Vec<String>,
    /// One seed, shorter runs, fewer timestamps
    #[arg(long)]
    quick: bool,
    /// The development half only
    #[arg(long, conflicts_with = "held_out")]
    development: bool,
    /// The held-out half only
    #[arg(long)]
    held_out: bool,
    /// The second set of held-out shapes only; otherwise it is left out unless named
    #[arg(long, conflicts_with_all = ["development", "held_out"])]
    second: bool,
    /// Leaves the prices out
    #[arg(long)]
    no_cost: bool,
    /// Writes everything as JSON, too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Length of the runs instead, s
    #[arg(long, value_name = "SECONDS")]
    length: Option<f64>,
    /// Timestamps in a second instead
    #[arg(long, value_name = "NUMBER")]
    timestamps: Option<f64>,
    /// Writes the scenarios' first trials there, as events for `wirestamp convert` and with
    /// the truth beside, and measures nothing
    #[arg(long, value_name = "DIRECTORY")]
    events: Option<PathBuf>,
    /// Lists the scenarios
    #[arg(long)]
    list: bool,
    /// What cargo passes
    #[arg(long, hide = true)]
    bench: bool,
}

impl Options {
    fn extent(&self) -> Extent {
        let seeds = match (self.seeds.as_slice(), self.quick) {
            ([], true) => vec![1],
            ([], false) => (1..=5).collect(),
            (seeds, _) => seeds.to_vec(),
        };
        let (duration, share) = if self.quick {
            (600.0, 0.25)
        } else {
            (2_000.0, 1.0)
        };
        let per_seed = if self.quick {
            1.0
        } else {
            5.0 / seeds.len() as f64
        };
        let timestamps_per_second = self
            .timestamps
            .unwrap_or(TIMESTAMPS_PER_SECOND * share * per_seed);
        Extent {
            duration: self.length.unwrap_or(duration),
            seeds,
            timestamps_per_second,
        }
    }

    /// Only shows that it works.
    fn trial_run(self) -> Self {
        if self.bench || self.list {
            return self;
        }
        Self {
            quick: true,
            no_cost: true,
            scenario: vec!["S1".into()],
            ..self
        }
    }

    fn scenarios(&self) -> Result<Vec<&'static Scenario>, String> {
        if let Some(unknown) = self
            .scenario
            .iter()
            .find(|name| scenario::all().all(|known| known.name != **name))
        {
            return Err(format!(
                "no scenario is called {unknown:?}; --list shows them"
            ));
        }
        let wanted = |scenario: &&Scenario| match self.scenario.as_slice() {
            [] => match scenario.half {
                Half::Development => !self.held_out && !self.second,
                Half::HeldOut => !self.development && !self.second,
                Half::SecondHeldOut => self.second,
            },
            names => names.iter().any(|name| name == scenario.name),
        };
        Ok(scenario::all().filter(wanted).collect())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse().trial_run();
    let mut out = stdout().lock();
    let scenarios = options.scenarios()?;
    if options.list {
        for scenario in scenarios {
            writeln!(
                out,
                "{:10} {:12} {}",
                scenario.name,
                scenario.half.name(),
                scenario.text
            )?;
        }
        return Ok(());
    }
    let extent = options.extent();
    if let Some(directory) = &options.events {
        return write_all(directory, &scenarios, &extent);
    }
    let rows: Vec<Row> = scenarios
        .par_iter()
        .map(|scenario| run(scenario, &extent))
        .collect();
    for half in [Half::Development, Half::HeldOut, Half::SecondHeldOut] {
        if rows.iter().any(|row| row.scenario.half == half) {
            writeln!(out, "{} shapes\n{}\n", half.name(), half_table(half, &rows))?;
        }
    }
    let costs = if options.no_cost {
        Vec::new()
    } else {
        price()?
    };
    if !costs.is_empty() {
        writeln!(out, "{}\n", cost_table(&costs))?;
    }
    let verdicts = verdicts(&rows, &costs);
    for verdict in &verdicts {
        writeln!(out, "{verdict}")?;
    }
    if let Some(path) = &options.json {
        let summaries = rows.iter().flat_map(|row| &row.summaries).collect();
        let (seeds, duration) = (extent.seeds.as_slice(), extent.duration);
        let document = Document {
            format: 1,
            seeds,
            duration,
            summaries,
            costs: &costs,
            verdicts: &verdicts,
        };
        serde_json::to_writer_pretty(File::create(path)?, &document)?;
    }
    Ok(())
}

fn run(scenario: &'static Scenario, extent: &Extent) -> Row {
    let trials = trials(scenario, extent);
    let summaries = Method::ALL
        .par_iter()
        .map(|method| measure(scenario, &trials, *method))
        .collect();
    Row {
        scenario,
        summaries,
    }
}

/// `S1-1.csv` and `S1-1.truth.csv` for seed 1: of each timestamp the system time in ns at which it
/// was really made.
fn write_all(
    directory: &Path,
    scenarios: &[&Scenario],
    extent: &Extent,
) -> Result<(), Box<dyn Error>> {
    create_dir_all(directory)?;
    for (scenario, seed) in scenarios
        .iter()
        .flat_map(|scenario| extent.seeds.iter().map(move |seed| (scenario, seed)))
    {
        let trial = Trial::new(
            scenario.shape(extent.duration, *seed, 0),
            extent.timestamps_per_second,
            *seed,
            0,
        );
        let path = |ending: &str| {
            directory.join(format!(
                "{}-{seed}.{ending}",
                scenario.name.replace('/', "-")
            ))
        };
        write_events(
            &trial,
            trial.shape.polling,
            BufWriter::new(File::create(path("csv"))?),
        )?;
        let mut truth = BufWriter::new(File::create(path("truth.csv"))?);
        writeln!(truth, "hardware,system_ns")?;
        for timestamp in &trial.timestamps {
            let (whole, picoseconds) = (
                timestamp.at.read(1).nanoseconds(),
                timestamp.at.picoseconds().rem_euclid(1_000),
            );
            writeln!(
                truth,
                "{},{whole}.{picoseconds:03}",
                timestamp.timestamp.ticks.raw()
            )?;
        }
        truth.flush()?;
    }
    Ok(())
}

/// One after the other, nothing beside.
fn price() -> Result<Vec<Cost>, &'static str> {
    let first = scenario::all().next().ok_or("no scenario")?;
    let trial = Trial::new(first.shape(PRICED, 1, 0), 50.0, 1, 0);
    let allocated = || {
        let stats = HEAP.stats();
        stats
            .bytes_allocated
            .saturating_sub(stats.bytes_deallocated)
    };
    Ok(Method::ALL
        .map(|method| cost(&trial, method, allocated))
        .to_vec())
}
