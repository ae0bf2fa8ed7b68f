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
    /// Servers: names or addresses, each with :PORT if it has one of its own
    #[arg(value_name = "HOST", required = true, num_args = 1..=64, value_parser = target)]
    pub(crate) hosts: Vec<Target>,
    /// How often to ask each server: 4 times, or with --for as often as fits
    #[arg(short, long, allow_negative_numbers = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) count: Option<u32>,
    /// How long to ask; `ever`: until Ctrl-C, with a line each second
    #[arg(short = 'd', long = "for", value_name = "TIME", value_parser = super::time::length)]
    pub(crate) duration: Option<Duration>,
    /// From one request to the next. Public servers may refuse to answer more often than every 2s
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = super::time::duration)]
    pub(crate) interval: Duration,
    /// A response that takes longer than this counts as lost
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = super::time::duration)]
    pub(crate) timeout: Duration,
    /// The servers' port
    #[arg(long, help_heading = HOSTS, allow_negative_numbers = true, value_name = "PORT", default_value_t = NTP_PORT, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    /// Names as IPv4 addresses only
    #[arg(long, help_heading = HOSTS, conflicts_with = "ipv6")]
    pub(crate) ipv4: bool,
    /// Names as IPv6 addresses only
    #[arg(long, help_heading = HOSTS)]
    pub(crate) ipv6: bool,
    /// Don't ask for interleaved mode, in which servers report when a response really left
    #[arg(long)]
    pub(crate) basic: bool,
    /// Authenticate the servers by Network Time Security: HOST is the server of the key exchange, :PORT its port (4460)
    #[arg(long, help_heading = NTS)]
    pub(crate) nts: bool,
    /// Authorities whose certificates count for --nts (PEM), instead of the system's
    #[arg(long, help_heading = NTS, requires = "nts", value_name = "FILE")]
    pub(crate) nts_ca: Option<PathBuf>,
    /// Whose clock timestamps
    #[arg(long, value_enum, value_name = "SOURCE", default_value_t = Source::Auto)]
    pub(crate) source: Source,
    /// This clock may be off UTC by this at most, with its error bound: exit code 8 if it may be off by more
    #[arg(long, value_name = "TIME", value_parser = super::time::with_unit)]
    pub(crate) max_offset: Option<Duration>,
    /// How fast this clock and a server's may drift apart, steering included: widens the error bounds with time
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
Says how wrong this machine's clock is, and moves no clock. Offsets are this clock minus the server's (positive: this \
clock is ahead). Each has two error bounds. The first is relative to the server's clock; it follows from the timestamps \
alone, whatever the path's asymmetry: half of the round trip, mostly. The second, to UTC, adds what the server says \
of its own clock, which no measurement over the network can check. With several servers, those that cannot be right \
if as many others are right as agree are named falsetickers; the last line says how many must be right for its bound to hold.

Timestamps are the NIC's if it timestamps every packet now, else the kernel's; --source hardware switches the NIC's on \
for the time being. Somebody may step the NIC's clock: such a run reads it until that would show, some seconds longer, \
and withdraws what was measured with a clock that was changed (an interrupted run does not). Without --nts nothing authenticates the servers: who sees the packets can forge answers.

Ends with code 1 if no server could be measured, or none of several offsets is that of more than half of them; with 8 \
if the clock may be off by more than --max-offset; with 6 if some servers or packets were lost.

Examples:
  wirestamp ntp pool.ntp.org
  wirestamp ntp 192.0.2.1 192.0.2.2 192.0.2.3 --count 8 --interval 2s
  wirestamp ntp ntp.example.org --ipv6 --json
  wirestamp ntp ntp.example.org --max-offset 10ms
  wirestamp ntp [2001:db8::1]:1123 --basic
  wirestamp ntp 192.0.2.1 --source hardware
  wirestamp ntp ntp.example.org --nts
  wirestamp ntp sim1 --sim igc";
