//! What `latency` takes, of which `compare`, `limits` and `stamp` have parts.

use super::address::echo_address;
use super::{LatencyAction, Limits, Stamp, time};
use clap::{Args, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The groups of options in the help.
const PACKETS: &str = "Packets";
pub(super) const HOST: &str = "To another host";
pub(super) const FILES: &str = "Files to write";

/// How many datagrams are sent where nobody says how many or how long.
const COUNT: u64 = 20_000;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Latency {
    #[command(subcommand)]
    pub(crate) action: Option<LatencyAction>,
    /// Interface [default: the loopback interface]
    #[arg(value_name = "IFACE")]
    pub(crate) interface: Option<String>,
    /// Number of datagrams to send [default: 20000; with --for, as many as fit]
    #[arg(short, long, help_heading = PACKETS, allow_negative_numbers = true, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// How long to send; `ever`: until Ctrl-C, with a line each second
    #[arg(short = 'd', long = "for", help_heading = PACKETS, value_name = "TIME", value_parser = time::length)]
    pub(crate) duration: Option<Duration>,
    /// Payload of each datagram
    #[arg(
        long,
        help_heading = PACKETS,
        allow_negative_numbers = true,
        value_name = "BYTES",
        default_value_t = 64
    )]
    pub(crate) size: usize,
    /// Datagrams per second [default: one after another; with --peer 1000]
    #[arg(long, help_heading = PACKETS, allow_negative_numbers = true, value_name = "PPS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rate: Option<u32>,
    /// Time from one datagram to the next, instead of --rate
    #[arg(short, long, help_heading = PACKETS, value_name = "TIME", conflicts_with = "rate", value_parser = time::interval)]
    pub(crate) interval: Option<Duration>,
    /// A datagram that takes longer than this counts as lost
    ///
    /// It must be longer than any delay of the path.
    #[arg(long, help_heading = PACKETS, value_name = "TIME", default_value = "2s", value_parser = time::duration)]
    pub(crate) timeout: Duration,
    /// Largest number of datagrams in flight. A rate and a timeout that can need more are an error
    #[arg(long, help_heading = PACKETS, hide_short_help = true, allow_negative_numbers = true, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_in_flight: u32,
    /// Use IPv6 instead of IPv4
    #[arg(long, help_heading = PACKETS)]
    pub(crate) ipv6: bool,
    /// Send to a UDP echo service (default port 7), for NICs that do not loop back
    ///
    /// "Wire" is then the whole round trip outside this host.
    #[arg(long, help_heading = HOST, hide_short_help = true, value_name = "ADDRESS", conflicts_with = "Stamp", value_parser = echo_address)]
    pub(crate) echo: Option<SocketAddr>,
    /// Which timestamps to use
    #[arg(long, help_heading = PACKETS, value_enum, value_name = "SOURCE", default_value_t = Source::Auto)]
    pub(crate) source: Source,
    /// Split the send path at the queueing discipline (Linux): time in the stack, time in the queue
    ///
    /// "To queue" is the time from just before the send call to the entry into the queueing discipline (tc-netem, fq),
    /// "from queue" the time from there to the transmit timestamp. Costs one more software timestamp per datagram.
    #[arg(long, help_heading = PACKETS, hide_short_help = true, conflicts_with = "Stamp")]
    pub(crate) queue: bool,
    /// Write the histograms, for `latency compare` and HdrHistogram's tools
    ///
    /// The file is an interval log. If a path has negative values, the tag of each histogram states what was added to its
    /// values (wire+10000ns); values far below the others have a histogram of their own.
    #[arg(long, help_heading = FILES, value_name = "FILE")]
    pub(crate) histogram: Option<PathBuf>,
    /// Draw the distribution and the quantiles of each path into an SVG file
    #[arg(long, help_heading = FILES, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// Write a report for a browser, with plots that can be zoomed
    ///
    /// One file, which loads nothing, with plots, quantiles and the conditions of the measurement.
    #[arg(long, help_heading = FILES, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: Limits,
    #[command(flatten)]
    pub(crate) stamp: Stamp,
}

impl Latency {
    /// Whether Ctrl-C alone ends it.
    pub(crate) fn is_endless(&self) -> bool {
        self.count.is_none() && self.duration == Some(time::EVER)
    }

    /// From one datagram to the next: as --interval or --rate says.
    pub(crate) fn apart(&self) -> Option<Duration> {
        let at = |rate| Duration::from_secs(1) / rate;
        self.interval.or(self.rate.map(at))
    }

    /// How many datagrams are sent at most: what --count says, and as many as fit into the time of --for.
    pub(crate) fn count_at(&self, apart: Option<Duration>) -> u64 {
        let Some(all) = self.duration else {
            return self.count.unwrap_or(COUNT);
        };
        let fit = apart.map_or(u64::MAX, |apart| time::fitting(all, apart));
        self.count.map_or(fit, |count| count.min(fit))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Source {
    /// Hardware timestamps if the NIC timestamps every packet now, else software timestamps
    Auto,
    /// Software timestamps: the system clock, read by the kernel or the driver
    Software,
    /// Hardware timestamps, converted to system time; hardware timestamping is on while the command runs
    Hardware,
}
