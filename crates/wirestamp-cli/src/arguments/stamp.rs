//! The command line of STAMP: `reflect`, and the peer of `latency`.

use clap::{Args, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The port of STAMP (RFC 8762, section 4.1).
pub(crate) const PORT: u16 = 862;

#[derive(Debug, Args)]
#[command(next_help_heading = super::latency::HOST)]
pub(crate) struct Stamp {
    /// A STAMP reflector by name or address (port 862 if none is given)
    ///
    /// That is `wirestamp reflect`, a router or another program.
    #[arg(long, value_name = "HOST")]
    pub(crate) peer: Option<String>,
    /// How this host's clock and the reflector's are related
    #[arg(long, value_enum, value_name = "RELATION", requires = "peer", default_value_t = Relation::Auto)]
    pub(crate) clocks: Relation,
    /// How far this host's clock is from UTC at most, instead of what the kernel says
    #[arg(long, hide_short_help = true, value_name = "TIME", requires = "peer", value_parser = super::time::with_unit)]
    pub(crate) clock_bound: Option<Duration>,
    /// Authenticate with the key in this file: 32 to 2048 hexadecimal digits
    #[arg(long, value_name = "FILE", requires = "peer")]
    pub(crate) key_file: Option<PathBuf>,
    /// The format of the timestamps that are sent
    #[arg(id = "timestamp-format", long, hide_short_help = true, value_enum, value_name = "FORMAT", requires = "peer", default_value_t = Format::Ntp)]
    pub(crate) format: Format,
    /// TAI - UTC in seconds, for timestamps in PTP format
    #[arg(
        long,
        hide_short_help = true,
        value_name = "SECONDS",
        requires = "peer",
        default_value_t = 37
    )]
    pub(crate) tai_offset: i32,
    /// DSCP of the packets, both ways if the reflector allows it
    #[arg(long, hide_short_help = true, value_name = "DSCP", requires = "peer", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..64))]
    pub(crate) dscp: u8,
    /// ECN field of the packets
    #[arg(long, hide_short_help = true, value_name = "ECN", requires = "peer", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..4))]
    pub(crate) ecn: u8,
    /// A delay that no packet can be faster than, in each direction: narrows the offset
    #[arg(long, hide_short_help = true, value_name = "TIME", requires = "peer", default_value = "0s", value_parser = super::time::with_unit)]
    pub(crate) least_delay: Duration,
    /// Write a JSON object for each packet, too, one a line
    #[arg(long, help_heading = super::latency::FILES, hide_short_help = true, value_name = "FILE", requires = "peer")]
    pub(crate) packets: Option<PathBuf>,
    /// Write what the packets of each window show of both clocks as Parquet files below this folder, for `wirestamp-fleet clocks`
    #[arg(long, help_heading = super::latency::FILES, hide_short_help = true, value_name = "DIR", requires = "peer")]
    pub(crate) parquet: Option<PathBuf>,
    /// The name that this host has in the Parquet files; the system's if it is left out
    #[arg(long, help_heading = super::latency::FILES, hide_short_help = true, value_name = "NAME", requires = "parquet")]
    pub(crate) host: Option<String>,
    /// The name that the reflector's host has in the Parquet files; the one of --peer if it is left out
    #[arg(long, help_heading = super::latency::FILES, hide_short_help = true, value_name = "NAME", requires = "parquet")]
    pub(crate) peer_name: Option<String>,
    /// Length of a window: each begins at a multiple of it since 1970, by this host's clock
    #[arg(long, help_heading = super::latency::FILES, hide_short_help = true, value_name = "TIME", requires = "parquet", default_value = "1s", value_parser = window)]
    pub(crate) window: Duration,
}

/// 1 ms to a day: what the clocks do within a window is part of every bound.
fn window(text: &str) -> Result<Duration, String> {
    let window = super::time::duration(text).map_err(|error| error.to_string())?;
    let limits = Duration::from_millis(1)..=Duration::from_secs(86_400);
    match limits.contains(&window) {
        true => Ok(window),
        false => Err("a window is 1 ms to 24 h long".to_owned()),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Relation {
    /// Both follow UTC, if kernel and reflector say so; else they are unrelated
    Auto,
    /// They are one clock: both ends are on this host
    Same,
    /// Both follow UTC
    Utc,
    /// Nobody knows
    Unrelated,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Seconds since 1900 and a fraction, UTC
    Ntp,
    /// Seconds and nanoseconds, TAI
    Ptp,
}

/// The groups of `reflect`'s options in the help.
const WHERE: &str = "Addresses";
const WHO: &str = "Which requests are answered";
const SAYS: &str = "What replies say";

#[derive(Debug, Args)]
pub(crate) struct Reflect {
    /// Name of the interface: all addresses that it has are answered on; those that this system has, now or later, if it is left out
    #[arg(value_name = "IFACE")]
    pub(crate) interface: Option<String>,
    /// Answer on this address instead (port 862 if none is given); can be repeated
    #[arg(long, help_heading = WHERE, value_name = "ADDRESS", value_parser = listen_address)]
    pub(crate) listen: Vec<SocketAddr>,
    /// Port of all addresses that do not name one
    #[arg(long, help_heading = WHERE, value_name = "PORT", default_value_t = PORT, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    /// Answer only packets that are signed with the key in this file: 32 to 2048 hexadecimal digits
    #[arg(long, help_heading = WHO, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// Give replies their requests' numbers: losses have no direction, and transmit timestamps are not reported
    ///
    /// With --key-file there are sessions all the same, so that a packet that somebody sends again is not answered again.
    #[arg(long, help_heading = SAYS)]
    pub(crate) stateless: bool,
    /// The format of the timestamps that are sent
    #[arg(id = "timestamp-format", long, help_heading = SAYS, hide_short_help = true, value_enum, value_name = "FORMAT", default_value_t = Format::Ntp)]
    pub(crate) format: Format,
    /// TAI - UTC in seconds, for timestamps in PTP format
    #[arg(long, help_heading = SAYS, hide_short_help = true, value_name = "SECONDS", default_value_t = 37)]
    pub(crate) tai_offset: i32,
    /// How far this host's clock is from UTC at most
    ///
    /// `kernel`: as the kernel says. `none`: replies say that it is not synchronised, and how exact timestamps alone are.
    #[arg(long, help_heading = SAYS, value_name = "TIME|kernel|none", default_value = "kernel", value_parser = clock_bound)]
    pub(crate) clock_bound: ClockBound,
    /// Give replies the DSCP that the request asks for
    #[arg(long, help_heading = WHO)]
    pub(crate) grant_dscp: bool,
    /// Answer requests that are shorter than replies (TWAMP Light)
    ///
    /// Up to three times as many octets leave as came.
    #[arg(long, help_heading = WHO)]
    pub(crate) answer_short: bool,
    /// Replies a second to one source: an IPv4 address or an IPv6 /64
    #[arg(long, help_heading = WHO, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rate: u32,
    /// How many sessions there may be at a time
    ///
    /// One source has as many as it leaves free, at most; beyond that replies are as with --stateless.
    #[arg(long, help_heading = WHO, value_name = "N", default_value_t = 65_536, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) sessions: u32,
    /// Whose clock timestamps
    #[arg(long, help_heading = SAYS, value_enum, value_name = "SOURCE", default_value_t = super::Source::Auto)]
    pub(crate) source: super::Source,
    /// How long to run; until Ctrl-C if it is left out, or `ever`
    #[arg(short = 'd', long = "for", value_name = "TIME", value_parser = super::time::length)]
    pub(crate) duration: Option<Duration>,
    /// Keep capabilities, files and system calls that a reflector does not need
    #[arg(long)]
    pub(crate) no_sandbox: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClockBound {
    Kernel,
    None,
    At(Duration),
}

fn clock_bound(text: &str) -> Result<ClockBound, String> {
    match text {
        "kernel" => Ok(ClockBound::Kernel),
        "none" => Ok(ClockBound::None),
        other => super::time::with_unit(other)
            .map(ClockBound::At)
            .map_err(|error| format!("{error}; or write kernel or none")),
    }
}

/// Port 0 stands for the one of `--port`.
fn listen_address(text: &str) -> Result<SocketAddr, String> {
    wirestamp_measure::goal::address(text, 0)
}

pub(super) const REFLECT: &str = "\
Answers packets of RFC 8762 and RFC 8972 on UDP port 862, with the kernel's or the NIC's timestamps of request and reply, until Ctrl-C. \
Port 862 needs root or CAP_NET_BIND_SERVICE; after the start the program gives up every capability. Under systemd, sockets that are passed \
(LISTEN_FDS) are used instead of --listen. A reply is never longer than its request (but for --answer-short), each source has a rate \
limit, and memory is bounded. Replies, their echoes, broadcasts, multicasts and ports below 1024 (but 862) are never answered. Anybody can forge the source \
of an unauthenticated packet, so use --key-file in the open. A signed packet that somebody captured is answered once for each address and port \
that it is sent from again.

Examples:
  wirestamp reflect
  wirestamp reflect eth0 --key-file stamp.key
  wirestamp reflect --listen 192.0.2.1 --listen [2001:db8::1]:8620 --clock-bound 50us
  wirestamp reflect --listen 127.0.0.1:8620 --clock-bound none --for 60s --json
  wirestamp reflect --sim igc --for 10s";
