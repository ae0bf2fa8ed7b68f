//! The comparison of the hot paths: which path, which peer, which goal. How cases are timed
//! is the `timing` module's business, what they do the other modules'.

mod chart;
mod computing;
mod counting;
mod live;
mod obstacles;
mod rate;
mod ready;
mod receiving;
mod reflecting;
mod report;
mod scale;
mod sending;
mod sockets;
mod threads;
mod timing;
mod zero_copy;

use counting::{counted, instructions};
use report::{Goal, Table};
use sockets::with_tun;
use std::error::Error;
use std::fs::write;
use std::io::{Write as _, stdout};
use std::path::PathBuf;
use std::time::Duration;
use timing::{Case, measure};

/// What to measure, and where it is written.
#[derive(Debug, clap::Parser)]
#[command(
    name = "paths",
    about = "The hot paths beside the peers', interleaved in one run"
)]
pub struct Options {
    /// How often every case takes its turn; the median and the range over them are printed
    #[arg(long, default_value_t = 5)]
    passes: usize,
    /// How long every case is measured in a pass
    #[arg(long, default_value_t = 300, value_name = "MILLISECONDS")]
    milliseconds: u64,
    /// Only the paths whose name contains this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Writes everything as JSON, too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes the table as Markdown, too
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Draws the ratios as an SVG picture, too
    #[arg(long, value_name = "FILE")]
    chart: Option<PathBuf>,
    /// Measures nothing, and shows what --json wrote before
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    from: Option<PathBuf>,
    /// Counts the instructions of our cases, too: by callgrind, a few seconds each
    #[arg(long)]
    instructions: bool,
    /// Only runs one case of the path named by --only, so many chunks of it: for profilers
    #[arg(long, requires = "only")]
    chunks: Option<u64>,
    /// With --chunks: which case, instead of ours
    #[arg(long, requires = "chunks", value_name = "NAME")]
    case: Option<String>,
    /// stamp-suite, optimised and with its feature hwtstamp, for the STAMP reflectors: scripts/toolchain/stamp-suite --optimised
    #[arg(long, value_name = "FILE")]
    stamp_suite: Option<PathBuf>,
    /// Instead of measuring, sends at full rate for so long, and checks that every id is timestamped
    #[arg(long, value_name = "SECONDS")]
    rate: Option<u64>,
    /// Really measures: `cargo bench` passes it
    #[arg(long)]
    bench: bool,
    /// Nothing: `cargo test` passes names of tests
    #[arg(hide = true)]
    _filter: Vec<String>,
}

/// Makes the paths of one kind.
type Maker = fn(&sockets::Runtime) -> Result<Vec<Path>, Box<dyn Error>>;

/// A path: our case first, then the peers', and what we want to be beside each.
pub(crate) struct Path {
    pub(crate) name: &'static str,
    pub(crate) cases: Vec<Case>,
    pub(crate) goals: Vec<Goal>,
}

const MAKERS: [Maker; 5] = [
    receiving::paths,
    live::paths,
    scale::paths,
    sending::paths,
    computing::paths,
];

/// Those whose instructions repeat exactly.
const COUNTED: [&str; 8] = [
    "receive, queue waiting",
    "receive, one packet at a time",
    "send + timestamp, one at a time",
    "send + timestamp, bursts of 64, caller's ids",
    "conversion, one, with its bound, shared between threads",
    "conversion, a slice in the cache",
    "id match: insert + take",
    "histogram record",
];

/// Runs the bench and prints its table.
///
/// # Errors
/// A socket that can't be made, a case that lost timestamps, a file that can't be written.
pub fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let (passes, length) = match options.bench {
        true => (
            options.passes.max(1),
            Duration::from_millis(options.milliseconds),
        ),
        false => (1, Duration::from_millis(1)),
    };
    if let Some(seconds) = options.rate {
        return rate::run(Duration::from_secs(seconds));
    }
    if let Some(file) = &options.from {
        return tell(&Table::read(file)?, options);
    }
    let mut table = Table::new(passes);
    let runtime = sockets::runtime()?;
    if let Some(chunks) = options.chunks {
        return count(options, &runtime, chunks);
    }
    for make in MAKERS {
        add(&mut table, make(&runtime)?, options, length)?;
    }
    add(&mut table, threads::paths()?, options, length)?;
    add(
        &mut table,
        reflecting::paths(options.stamp_suite.as_deref())?,
        options,
        length,
    )?;
    // a thread of its own has a network namespace of its own
    let on_tun: [(Maker, Option<&str>); 3] = [
        (sending::paths_on_tun, None),
        (|_| zero_copy::paths(), None),
        (|_| ready::paths(), Some(ready::SHAPE)),
    ];
    for (make, shape) in on_tun {
        let measured = with_tun(shape, || {
            let there = || -> Result<Table, Box<dyn Error>> {
                let mut table = Table::new(passes);
                add(&mut table, make(&sockets::runtime()?)?, options, length)?;
                Ok(table)
            };
            there().map_err(|error| error.to_string())
        })?;
        match measured {
            Some(rows) => table.append(rows),
            None => writeln!(stdout(), "without a TUN device: it takes CAP_NET_ADMIN")?,
        }
    }
    if options.stamp_suite.is_none() {
        writeln!(stdout(), "without stamp-suite: name it with --stamp-suite")?;
    }
    if let Some(file) = &options.json {
        write(file, serde_json::to_string_pretty(&table)?)?;
    }
    tell(&table, options)
}

fn tell(table: &Table, options: &Options) -> Result<(), Box<dyn Error>> {
    table.print()?;
    if let Some(file) = &options.markdown {
        write(file, table.markdown())?;
    }
    if let Some(file) = &options.chart {
        write(file, table.chart()?)?;
    }
    Ok(())
}

/// What callgrind runs.
fn count(options: &Options, runtime: &sockets::Runtime, chunks: u64) -> Result<(), Box<dyn Error>> {
    // those of many sockets take longest to make
    let makers: [Maker; 4] = [
        receiving::paths,
        sending::paths,
        computing::paths,
        scale::paths,
    ];
    for make in makers {
        let paths = make(runtime)?.into_iter();
        let mut named = paths.filter(|path| options.only.as_deref() == Some(path.name));
        if let Some(mut path) = named.next() {
            let operations = counted(&mut path, options.case.as_deref(), chunks)?;
            writeln!(stdout(), "operations {operations}")?;
            break;
        }
    }
    Ok(())
}

/// Measures those that were asked for.
fn add(
    table: &mut Table,
    paths: Vec<Path>,
    options: &Options,
    length: Duration,
) -> Result<(), Box<dyn Error>> {
    for mut path in paths {
        if options
            .only
            .as_ref()
            .is_some_and(|only| !path.name.contains(only.as_str()))
        {
            continue;
        }
        let measured = measure(&mut path.cases, table.passes(), length);
        let measured = measured.map_err(|error| format!("{}: {error}", path.name))?;
        let counted = options.instructions && COUNTED.contains(&path.name);
        table.add(
            &path,
            &measured,
            counted.then(|| instructions(&path)).transpose()?,
        );
    }
    Ok(())
}
