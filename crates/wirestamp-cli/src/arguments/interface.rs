//! What the commands about interfaces take.

use super::address::discard_address;
use super::time;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct Interfaces {
    /// List simulated interfaces only: sim0 and sim1, as --sim or WIRESTAMP_SIM describes them
    #[arg(long)]
    pub(crate) simulated: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Capabilities {
    /// Interface [default: all]
    #[arg(value_name = "IFACE")]
    pub(crate) interface: Option<String>,
    /// Send a few small datagrams to this address to see whether timestamps really come (default port 9,
    /// discard). The loopback and simulated interfaces are probed without it
    #[arg(long, value_name = "ADDRESS", requires = "interface", value_parser = discard_address)]
    pub(crate) probe: Option<SocketAddr>,
    /// Show every flag, and the kernel's masks
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Enable {
    /// Interface
    #[arg(value_name = "IFACE")]
    pub(crate) interface: String,
    /// Switch it off instead
    #[arg(long, conflicts_with = "all_packets")]
    pub(crate) off: bool,
    /// Timestamp every received packet, not only PTPv2 event messages
    #[arg(long)]
    pub(crate) all_packets: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Cross {
    /// Interface
    #[arg(value_name = "IFACE")]
    pub(crate) interface: String,
    /// TAI - UTC in seconds, for the offset to TAI
    #[arg(
        long,
        allow_negative_numbers = true,
        value_name = "SECONDS",
        default_value_t = 37
    )]
    pub(crate) tai_offset: i32,
    /// Number of readings [default: 20; with --for, as many as fit]
    #[arg(short, long, allow_negative_numbers = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) count: Option<u32>,
    /// How long to measure; `ever`: until Ctrl-C, with a line each second
    #[arg(short = 'd', long = "for", value_name = "TIME", value_parser = time::length)]
    pub(crate) duration: Option<Duration>,
    /// Time from one reading to the next
    #[arg(short, long, value_name = "TIME", default_value = "100ms", value_parser = time::duration)]
    pub(crate) interval: Duration,
    /// Draw how far each reading lies from what the earlier ones let expect, with that estimate's error bound, into an SVG file
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// Write a report for a browser, with a plot that can be zoomed
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write the distribution of the brackets for HdrHistogram's tools and `latency compare`
    #[arg(long, value_name = "FILE")]
    pub(crate) histogram: Option<PathBuf>,
}

impl Cross {
    /// Whether Ctrl-C alone ends it.
    pub(crate) fn is_endless(&self) -> bool {
        self.count.is_none() && self.duration == Some(time::EVER)
    }
}

#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// Interface [default: all]
    #[arg(value_name = "IFACE")]
    pub(crate) interface: Option<String>,
    /// How long to watch [default: until Ctrl-C, as with `ever`]
    #[arg(short = 'd', long = "for", value_name = "TIME", value_parser = time::length)]
    pub(crate) duration: Option<Duration>,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Interface [default: all of this host]
    #[arg(value_name = "IFACE")]
    pub(crate) interface: Option<String>,
    /// Send a few small datagrams to this address to see whether hardware timestamps really come (default
    /// port 9, discard). Simulated interfaces are probed without it
    #[arg(long, value_name = "ADDRESS", requires = "interface", value_parser = discard_address)]
    pub(crate) probe: Option<SocketAddr>,
}
