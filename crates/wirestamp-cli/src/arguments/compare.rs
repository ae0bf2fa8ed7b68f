//! What `latency compare` takes on the command line.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Say whether two runs differ: quantile by quantile, with confidence intervals
    #[command(after_help = HELP)]
    Compare(Compare),
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The run to compare with: what `latency --histogram` wrote, or a row for each packet (NDJSON, CSV)
    #[arg(value_name = "A")]
    pub(crate) a: PathBuf,
    /// The run that may differ from it
    #[arg(value_name = "B")]
    pub(crate) b: PathBuf,
    /// How certain the intervals and the verdict are, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 95.0, value_parser = confidence)]
    pub(crate) confidence: f64,
    /// Differences within this share of A do not count, in percent
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
allows for the number of comparisons (Bonferroni), so two runs of the same kind are said to differ in 5 of 100 cases at \
most. From rows, packets that resemble their neighbours count for less; a histogram does not show which do.

Ends with code 0 if there is no difference, 9 if there is one, 1 if there are too few packets to say.

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
