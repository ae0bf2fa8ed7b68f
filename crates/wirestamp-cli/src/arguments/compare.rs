//! What `latency compare` takes on the command line.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Compare two runs by quantiles, with confidence intervals
    #[command(after_help = HELP)]
    Compare(Compare),
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The run to compare with: a file of `--histogram` (latency, ptp, cross, or ntp with one server), or one row per packet (NDJSON, CSV)
    #[arg(value_name = "A")]
    pub(crate) a: PathBuf,
    /// The other run
    #[arg(value_name = "B")]
    pub(crate) b: PathBuf,
    /// Confidence level of the intervals and the verdict, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 95.0, value_parser = confidence)]
    pub(crate) confidence: f64,
    /// Ignore differences within this share of A, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = tolerance)]
    pub(crate) tolerance: f64,
    /// Draw the quantiles of both runs and their differences into an SVG file
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
}

fn confidence(text: &str) -> Result<f64, String> {
    let percent: f64 = text.parse().map_err(|_| format!("'{text}' is no number"))?;
    if (50.0..=99.99).contains(&percent) {
        Ok(percent)
    } else {
        Err("50 to 99.99 percent are possible".to_owned())
    }
}

fn tolerance(text: &str) -> Result<f64, String> {
    let percent: f64 = text.parse().map_err(|_| format!("'{text}' is no number"))?;
    if (0.0..=1_000.0).contains(&percent) {
        Ok(percent)
    } else {
        Err("0 to 1000 percent are possible".to_owned())
    }
}

const HELP: &str = "\
Compares p50, p90, p99 and p99.9 of each path that both runs have. Each interval contains the true difference in 95 of \
100 cases (--confidence), whatever the distribution: binomial intervals of the quantiles, combined by MOVER. The verdict \
allows for the number of comparisons (Bonferroni), so two runs of the same kind are reported as different in at most 5 of 100 \
cases. Rows also show how much consecutive packets depend on each other, which widens the intervals; a histogram does not.

Exit code 0: no difference. 9: the runs differ. 1: too few packets to decide.

Examples:
  wirestamp latency compare before.hlog after.hlog
  wirestamp latency compare before.hlog after.hlog --tolerance 5 --plot difference.svg
  wirestamp latency compare before.csv after.csv --confidence 99 --json";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_that_mean_nothing_are_refused() {
        for text in ["", "x", "nan", "100", "49", "inf"] {
            assert!(confidence(text).is_err(), "{text}");
        }
        for text in ["-1", "nan", "inf", "5%"] {
            assert!(tolerance(text).is_err(), "{text}");
        }
        assert_eq!((confidence("99.9"), tolerance("5")), (Ok(99.9), Ok(5.0)));
    }
}
