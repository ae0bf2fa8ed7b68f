//! What `record` and `convert` take.

use super::address::discard_address;
use super::time;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct Record {
    /// Name of the interface
    #[arg(value_name = "IFACE")]
    pub(crate) interface: String,
    /// How long to record; `ever`: until Ctrl-C, with a line each second if the events go to a file
    #[arg(short = 'd', long = "for", value_name = "TIME", value_parser = time::length)]
    pub(crate) duration: Duration,
    /// From one batch of readings to the next, always
    ///
    /// Without it, batches come as the library's own correlator takes them: a burst at the start, then as often as helps.
    #[arg(short, long, value_name = "TIME", value_parser = time::duration)]
    pub(crate) interval: Option<Duration>,
    /// How much of each second may go into reading the clocks, if no interval is given
    #[arg(long, value_name = "TIME", default_value = "100us", conflicts_with = "interval", value_parser = time::duration)]
    pub(crate) budget: Duration,
    /// Readings in a batch; without an interval, at the start
    #[arg(long, allow_negative_numbers = true, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) readings: u32,
    /// Hardware transmit timestamps of small datagrams of its own, about so many a second.
    /// Simulated interfaces send to themselves, others need --to
    #[arg(long, allow_negative_numbers = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) timestamps: Option<u32>,
    /// Where the datagrams go (port 9, discard, if none is given)
    #[arg(long, value_name = "ADDRESS", requires = "timestamps", value_parser = discard_address)]
    pub(crate) to: Option<SocketAddr>,
    /// Where the events go; to standard output if it is left out
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write cross timestamps, timestamps in UTC and the clock's state as Parquet files below this folder; events
    /// are then written only if --output is given
    #[arg(long, value_name = "DIR")]
    pub(crate) parquet: Option<PathBuf>,
    /// The name that this host has in the Parquet files; the system's if it is left out
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
    /// The events, or - for standard input
    #[arg(value_name = "EVENTS")]
    pub(crate) events: PathBuf,
    /// Convert each timestamp when the next batch of readings is complete, not at once
    #[arg(long)]
    pub(crate) later: bool,
    /// Draw how far the readings lay from the estimate, and its bound, over time
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// Write a report that a browser shows: counts, clock generations, and that picture, to be zoomed. One file, which loads nothing
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}
