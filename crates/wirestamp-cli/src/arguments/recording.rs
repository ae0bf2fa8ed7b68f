//! What `record` and `convert` take.

use super::address::discard_address;
use super::time;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct Record {
    /// Interface
    #[arg(value_name = "IFACE")]
    pub(crate) interface: String,
    /// How long to record; `ever`: until Ctrl-C, with a line each second if the events go to a file
    #[arg(short = 'd', long = "for", value_name = "TIME", value_parser = time::length)]
    pub(crate) duration: Duration,
    /// Time from one batch of readings to the next
    ///
    /// Without it, batches are taken as the library's correlator takes them: a burst at the start, then as often as it narrows the error bound.
    #[arg(short, long, value_name = "TIME", value_parser = time::duration)]
    pub(crate) interval: Option<Duration>,
    /// Largest time per second for reading the clocks, if no interval is given
    #[arg(long, value_name = "TIME", default_value = "100us", conflicts_with = "interval", value_parser = time::duration)]
    pub(crate) budget: Duration,
    /// Readings per batch; without --interval, in the first batches
    #[arg(long, allow_negative_numbers = true, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) readings: u32,
    /// Also send small datagrams, about N per second, and record their hardware transmit timestamps.
    /// Simulated interfaces send to themselves, others need --to
    #[arg(long, allow_negative_numbers = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) timestamps: Option<u32>,
    /// Destination of the datagrams (default port 9, discard)
    #[arg(long, value_name = "ADDRESS", requires = "timestamps", value_parser = discard_address)]
    pub(crate) to: Option<SocketAddr>,
    /// Write the events to this file [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write cross timestamps, timestamps in UTC and the clock's state as Parquet files below this folder; events
    /// are then written only if --output is given
    #[arg(long, value_name = "DIR")]
    pub(crate) parquet: Option<PathBuf>,
    /// Name of this host in the Parquet files [default: the system's host name]
    #[arg(long, value_name = "NAME", requires = "parquet")]
    pub(crate) host: Option<String>,
}

impl Record {
    /// Whether Ctrl-C alone ends it.
    pub(crate) fn is_endless(&self) -> bool {
        self.duration == time::EVER
    }
}

#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// File with the events; - for standard input
    #[arg(value_name = "EVENTS")]
    pub(crate) events: PathBuf,
    /// Convert each timestamp with the readings after it too
    #[arg(long)]
    pub(crate) later: bool,
    /// Draw the readings' difference from the estimate, and the error bound, over time
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// Write a report for a browser: counts, clock generations and that plot, which can be zoomed. One file, which loads nothing
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}
