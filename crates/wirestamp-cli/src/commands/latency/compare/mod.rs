//! `latency compare`: whether two runs differ, quantile by quantile. Measures nothing.

mod histograms;
mod interval;
mod plot;
mod read;
mod sample;
mod text;

use crate::arguments;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, Target};
#[cfg(all(test, feature = "schema"))]
use crate::schema::Document;
use interval::Interval;
use read::{PATHS, Run};
use serde::Serialize;
use wirestamp::{Error, ErrorKind};

/// The quantiles of each path that are compared.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];
const METHOD: &str =
    "binomial intervals of the quantiles, combined by MOVER; verdict at the Bonferroni level";

/// The result of a comparison.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Comparison {
    /// The first run.
    a: Compared,
    /// The second run.
    b: Compared,
    /// How often an interval contains the true difference, from 0 to 1.
    confidence: f64,
    /// How the intervals are made.
    method: &'static str,
    /// Differences within this share of A's value do not count.
    tolerance_percent: f64,
    /// The verdict that is certain for all differences together; mixed: some quantiles are slower, others faster.
    verdict: Verdict,
    /// The verdict in a sentence.
    summary: String,
    /// B minus A, for each path that both runs have.
    differences: Vec<Difference>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Compared {
    /// Name of the file.
    file: String,
    /// Packets of the path that has most.
    packets: u64,
    /// Whether it is a histogram, which rounds each value by up to 1/128.
    rounded: bool,
}

/// B minus A.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Difference {
    /// Name of the path.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = read::PATHS.map(|(name, _)| name))))]
    path: &'static str,
    /// p50, p90, p99 or p99.9.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = QUANTILES.map(|(name, _)| name))))]
    quantile: &'static str,
    /// The quantile of A.
    a_ns: i64,
    /// The quantile of B.
    b_ns: i64,
    /// B minus A; positive: B is slower.
    difference_ns: i64,
    /// Lower end of the confidence interval; null: too few packets.
    low_ns: Option<i64>,
    /// Upper end of the confidence interval; null: too few packets.
    high_ns: Option<i64>,
    /// The verdict on B, certain for all differences together; null: too few packets.
    change: Option<Change>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
enum Change {
    Slower,
    Faster,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
enum Verdict {
    NoDifference,
    BSlower,
    BFaster,
    /// Some quantiles are slower, others faster.
    Mixed,
    /// Nothing could be decided.
    TooFewPackets,
}

#[cfg(all(test, feature = "schema"))]
pub(crate) fn schema() -> Document {
    Document::of::<Comparison>(
        "latency-compare",
        "Output of `wirestamp latency compare --json`",
    )
    .row::<Difference>()
}

pub(crate) fn run(arguments: &arguments::Compare, output: &mut Output) -> Result<Exit, Failure> {
    let target = arguments
        .plot
        .as_deref()
        .map(|path| Target::check(path, "write the plot"))
        .transpose()?;
    output.use_schema("latency-compare");
    let (a, b) = (Run::read(&arguments.a)?, Run::read(&arguments.b)?);
    let comparison = Comparison::of(&a, &b, arguments)?;
    output.report(&comparison)?;
    if let Some(target) = target {
        plot::draw(target, &comparison, &a, &b)?;
    }
    Ok(match comparison.verdict {
        Verdict::NoDifference => Exit::Success,
        Verdict::TooFewPackets => Exit::Failed,
        Verdict::BSlower | Verdict::BFaster | Verdict::Mixed => Exit::Different,
    })
}

impl Comparison {
    fn of(a: &Run, b: &Run, arguments: &arguments::Compare) -> Result<Self, Error> {
        let (confidence, tolerance) = (arguments.confidence / 100.0, arguments.tolerance / 100.0);
        let both: Vec<_> = (0..PATHS.len())
            .filter_map(|path| Some((PATHS[path].0, a.sample(path)?, b.sample(path)?)))
            .collect();
        if both.is_empty() {
            return Err(Error::new(
                ErrorKind::InvalidInput,
                "compare",
                format!("{} and {}", a.name, b.name),
                "the runs have no path in common",
            )
            .with_remedy("compare two runs of the same command with the same options, such as --peer or --echo"));
        }
        // so that two runs of the same kind differ anywhere in at most 5 of 100 cases
        let together = 1.0 - (1.0 - confidence) / (both.len() * QUANTILES.len()) as f64;
        let differences: Vec<_> = both
            .iter()
            .flat_map(|(path, a, b)| {
                QUANTILES.iter().filter_map(move |(name, fraction)| {
                    let of = |confidence| {
                        let (a, b) = (
                            interval::quantile(a, *fraction, confidence)?,
                            interval::quantile(b, *fraction, confidence)?,
                        );
                        Some((a.estimate, b.estimate, interval::difference(&a, &b)))
                    };
                    let (a_ns, b_ns, shown) = of(confidence)?;
                    let (_, _, certain) = of(together)?;
                    Some(Difference {
                        path,
                        quantile: name,
                        a_ns,
                        b_ns,
                        difference_ns: shown.estimate,
                        low_ns: shown.low.map(|low| low.floor() as i64),
                        high_ns: shown.high.map(|high| high.ceil() as i64),
                        change: change(&certain, a_ns.unsigned_abs() as f64 * tolerance),
                    })
                })
            })
            .collect();
        let verdict = verdict(&differences);
        let compared = |run: &Run| {
            let samples = || (0..PATHS.len()).filter_map(|path| run.sample(path));
            Compared {
                file: run.name.clone(),
                packets: samples().map(sample::Sample::count).max().unwrap_or(0),
                rounded: samples().any(sample::Sample::is_rounded),
            }
        };
        Ok(Self {
            a: compared(a),
            b: compared(b),
            confidence,
            method: METHOD,
            tolerance_percent: arguments.tolerance,
            verdict,
            summary: text::summary(verdict, &differences),
            differences,
        })
    }
}

/// Returns the change that is certain. An unknown end of the interval may lie anywhere.
fn change(interval: &Interval, ignored: f64) -> Option<Change> {
    match (interval.low, interval.high) {
        (Some(low), _) if low > ignored => Some(Change::Slower),
        (_, Some(high)) if high < -ignored => Some(Change::Faster),
        (Some(_), Some(_)) => Some(Change::None),
        _ => None,
    }
}

fn verdict(differences: &[Difference]) -> Verdict {
    let has = |change| {
        differences
            .iter()
            .any(|difference| difference.change == change)
    };
    match (has(Some(Change::Slower)), has(Some(Change::Faster))) {
        (true, true) => Verdict::Mixed,
        (true, false) => Verdict::BSlower,
        (false, true) => Verdict::BFaster,
        (false, false) if has(Some(Change::None)) => Verdict::NoDifference,
        (false, false) => Verdict::TooFewPackets,
    }
}
