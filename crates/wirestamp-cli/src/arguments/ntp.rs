//! The arguments of `ntp`.

use super::Source;
use super::time::{EVER, fitting};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// The port of NTP (RFC 5905 §7.2).
const NTP_PORT: u16 = 123;
/// How often a server is asked where nobody says how often or how long, and at most.
const COUNT: u32 = 4;
const MOST: u32 = 1_000_000;

/// The groups of options in the help.
const HOSTS: &str = "Servers";
const NTS: &str = "Authentication";

#[derive(Debug, Args)]
pub(crate) struct Ntp {
    /// Servers: names or addresses, each with :PORT if it differs from --port
    #[arg(value_name = "HOST", required = true, num_args = 1..=64, value_parser = target)]
    pub(crate) hosts: Vec<Target>,
    /// Number of requests to each server [default: 4; with --for, as many as fit]
    #[arg(short, long, allow_negative_numbers = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) count: Option<u32>,
    /// How long to measure; `ever`: until Ctrl-C, with a line each second
    #[arg(short = 'd', long = "for", value_name = "TIME", value_parser = super::time::length)]
    pub(crate) duration: Option<Duration>,
    /// Time from one request to the next. Public servers may not answer more often than every 2s
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = super::time::duration)]
    pub(crate) interval: Duration,
    /// A response that takes longer than this counts as lost
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = super::time::duration)]
    pub(crate) timeout: Duration,
    /// The servers' port
    #[arg(long, help_heading = HOSTS, allow_negative_numbers = true, value_name = "PORT", default_value_t = NTP_PORT, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    /// Use the names' IPv4 addresses only
    #[arg(long, help_heading = HOSTS, conflicts_with = "ipv6")]
    pub(crate) ipv4: bool,
    /// Use the names' IPv6 addresses only
    #[arg(long, help_heading = HOSTS)]
    pub(crate) ipv6: bool,
    /// Do not use interleaved mode, in which a server reports when its previous response really left
    #[arg(long)]
    pub(crate) basic: bool,
    /// Authenticate the servers with Network Time Security; HOST is then the key exchange server, :PORT its port (4460)
    #[arg(long, help_heading = NTS)]
    pub(crate) nts: bool,
    /// Certificate authorities to trust for --nts (PEM), instead of the system's
    #[arg(long, help_heading = NTS, requires = "nts", value_name = "FILE")]
    pub(crate) nts_ca: Option<PathBuf>,
    /// Which timestamps to use
    #[arg(long, value_enum, value_name = "SOURCE", default_value_t = Source::Auto)]
    pub(crate) source: Source,
    /// Largest offset from UTC, error bound included: exit code 8 if the clock may be off by more
    #[arg(long, value_name = "TIME", value_parser = super::time::with_unit)]
    pub(crate) max_offset: Option<Duration>,
    /// Draw offsets, their error bounds and path delays over time into an SVG file
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// Write a report for a browser, with plots that can be zoomed
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write the distributions of offsets and path delays for HdrHistogram's tools and, of one server, `latency compare`
    #[arg(long, value_name = "FILE")]
    pub(crate) histogram: Option<PathBuf>,
    /// Largest frequency offset between this clock and a server's, steering included
    #[arg(long, allow_negative_numbers = true, value_name = "PPM", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) max_drift: u32,
}

impl Ntp {
    /// Whether Ctrl-C alone ends it.
    pub(crate) fn is_endless(&self) -> bool {
        self.count.is_none() && self.duration == Some(EVER)
    }

    /// How often each server is asked, if that has an end.
    pub(crate) fn count(&self) -> u32 {
        let fit = self.duration.map(|all| fitting(all, self.interval));
        let fit = fit.map(|fit| fit.try_into().unwrap_or(MOST).min(MOST));
        match (self.count, fit) {
            (Some(count), Some(fit)) => count.min(fit),
            (Some(count), None) => count,
            (None, fit) => fit.unwrap_or(COUNT),
        }
    }
}

/// A server as it was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// A name or an address, without brackets.
    pub(crate) name: String,
    pub(crate) port: Option<u16>,
}

impl Target {
    /// Returns it as it was named.
    pub(crate) fn text(&self) -> String {
        match self.port {
            Some(port) if self.name.contains(':') => format!("[{}]:{port}", self.name),
            Some(port) => format!("{}:{port}", self.name),
            None => self.name.clone(),
        }
    }
}

fn target(text: &str) -> Result<Target, String> {
    let named = wirestamp_measure::goal::host_and_port(text);
    let (name, port) = named.ok_or_else(|| {
        format!("'{text}' is no host; write ntp.example.org, 192.0.2.1:123 or [2001:db8::1]:123")
    })?;
    Ok(Target { name, port })
}

pub(super) const HELP: &str = "\
Measures the offset of this host's clock and steers no clock. Offsets are this clock minus the server's (positive: this \
clock is ahead). Each has two error bounds. The first is relative to the server's clock: it follows from the timestamps \
alone, holds for any asymmetry of the path, and is about half of the round trip. The second, to UTC, adds the server's \
root delay / 2 and root dispersion, which no measurement over the network can check. With several servers, one that \
contradicts the majority is a falseticker; the last line states how many servers must be right for its bound to hold.

Uses hardware timestamps if the NIC timestamps every packet now, else software timestamps; --source hardware switches hardware \
timestamping on while the command runs. A run with hardware timestamps takes some seconds longer: it reads the NIC's clock until a \
step of that clock would show, and withdraws what such a step makes invalid (an interrupted run does not). Without --nts the servers \
are not authenticated: whoever sees the packets can forge answers.

Exit code 1: no server could be measured, or no majority of several servers agrees. 8: the clock may be off by more than \
--max-offset. 6: some servers did not answer or some packets were lost.

Examples:
  wirestamp ntp pool.ntp.org
  wirestamp ntp 192.0.2.1 192.0.2.2 192.0.2.3 --count 8 --interval 2s
  wirestamp ntp ntp.example.org --ipv6 --json
  wirestamp ntp ntp.example.org --max-offset 10ms
  wirestamp ntp [2001:db8::1]:1123 --basic
  wirestamp ntp 192.0.2.1 --source hardware
  wirestamp ntp ntp.example.org --nts
  wirestamp ntp 192.0.2.1 192.0.2.2 --for 10m --html offsets.html
  wirestamp ntp sim1 --sim igc";
