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
    /// Measure to a STAMP reflector: a name or address (default port 862)
    ///
    /// `wirestamp reflect`, a router or another program.
    #[arg(long, value_name = "HOST")]
    pub(crate) peer: Option<String>,
    /// Relation of this host's clock to the reflector's
    #[arg(long, value_enum, value_name = "RELATION", requires = "peer", default_value_t = Relation::Auto)]
    pub(crate) clocks: Relation,
    /// Largest error of this host's clock against UTC, instead of the kernel's value
    #[arg(long, hide_short_help = true, value_name = "TIME", requires = "peer", value_parser = super::time::with_unit)]
    pub(crate) clock_bound: Option<Duration>,
    /// Authenticate with the key in this file: 32 to 2048 hexadecimal digits
    #[arg(long, value_name = "FILE", requires = "peer")]
    pub(crate) key_file: Option<PathBuf>,
    /// Format of the timestamps in the packets
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
    /// Smallest possible delay in each direction: narrows the offset's error bound
    #[arg(long, hide_short_help = true, value_name = "TIME", requires = "peer", default_value = "0s", value_parser = super::time::with_unit)]
    pub(crate) least_delay: Duration,
    /// Also write a JSON object for each packet, one per line
    #[arg(long, help_heading = super::latency::FILES, hide_short_help = true, value_name = "FILE", requires = "peer")]
    pub(crate) packets: Option<PathBuf>,
    /// Write the limits of the clocks' offset in each window as Parquet files below this folder, for `wirestamp-fleet clocks`
    #[arg(long, help_heading = super::latency::FILES, hide_short_help = true, value_name = "DIR", requires = "peer")]
    pub(crate) parquet: Option<PathBuf>,
    /// Name of this host in the Parquet files [default: the system's host name]
    #[arg(long, help_heading = super::latency::FILES, hide_short_help = true, value_name = "NAME", requires = "parquet")]
    pub(crate) host: Option<String>,
    /// Name of the reflector's host in the Parquet files [default: that of --peer]
    #[arg(long, help_heading = super::latency::FILES, hide_short_help = true, value_name = "NAME", requires = "parquet")]
    pub(crate) peer_name: Option<String>,
    /// Length of a window; windows begin at multiples of it since 1970, by this host's clock
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
    /// As `utc` if kernel and reflector state that they follow UTC, else as `unrelated`
    Auto,
    /// One clock: both ends are on this host
    Same,
    /// Both follow UTC
    Utc,
    /// Not known: no delay of a single direction
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
    /// Answer on all addresses of this interface [default: on all addresses of this host, also later ones]
    #[arg(value_name = "IFACE")]
    pub(crate) interface: Option<String>,
    /// Answer on this address instead (default port 862); can be repeated
    #[arg(long, help_heading = WHERE, value_name = "ADDRESS", value_parser = listen_address)]
    pub(crate) listen: Vec<SocketAddr>,
    /// Port of the addresses that have none
    #[arg(long, help_heading = WHERE, value_name = "PORT", default_value_t = PORT, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    /// Answer only packets that are signed with the key in this file: 32 to 2048 hexadecimal digits
    #[arg(long, help_heading = WHO, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// Use the request's sequence number in the reply: losses have no direction, and transmit timestamps are not reported
    ///
    /// With --key-file the reflector keeps sessions nevertheless, so that it does not answer a replayed packet again.
    #[arg(long, help_heading = SAYS)]
    pub(crate) stateless: bool,
    /// Format of the timestamps in the packets
    #[arg(id = "timestamp-format", long, help_heading = SAYS, hide_short_help = true, value_enum, value_name = "FORMAT", default_value_t = Format::Ntp)]
    pub(crate) format: Format,
    /// TAI - UTC in seconds, for timestamps in PTP format
    #[arg(long, help_heading = SAYS, hide_short_help = true, value_name = "SECONDS", default_value_t = 37)]
    pub(crate) tai_offset: i32,
    /// Largest error of this host's clock against UTC
    ///
    /// `kernel`: the kernel's value. `none`: replies state that the clock is not synchronised, with the error of the timestamps alone.
    #[arg(long, help_heading = SAYS, value_name = "TIME|kernel|none", default_value = "kernel", value_parser = clock_bound)]
    pub(crate) clock_bound: ClockBound,
    /// Send replies with the DSCP that the request asks for
    #[arg(long, help_heading = WHO)]
    pub(crate) grant_dscp: bool,
    /// Answer requests that are shorter than replies (TWAMP Light)
    ///
    /// Replies are then up to three times as long as requests.
    #[arg(long, help_heading = WHO)]
    pub(crate) answer_short: bool,
    /// Largest number of replies per second to one source: an IPv4 address or an IPv6 /64
    #[arg(long, help_heading = WHO, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rate: u32,
    /// Largest number of sessions at a time
    ///
    /// One source can have half of those that the others leave free. Further requests are answered as with --stateless.
    #[arg(long, help_heading = WHO, value_name = "N", default_value_t = 65_536, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) sessions: u32,
    /// Which timestamps to use
    #[arg(long, help_heading = SAYS, value_enum, value_name = "SOURCE", default_value_t = super::Source::Auto)]
    pub(crate) source: super::Source,
    /// How long to run [default: until Ctrl-C, as with `ever`]
    #[arg(short = 'd', long = "for", value_name = "TIME", value_parser = super::time::length)]
    pub(crate) duration: Option<Duration>,
    /// Do not drop capabilities and access to files and system calls (for debugging)
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
Answers packets of RFC 8762 and RFC 8972 on UDP port 862, with software or hardware timestamps of request and reply, until Ctrl-C. \
Port 862 needs root or CAP_NET_BIND_SERVICE; once started, the program drops all capabilities. Under systemd it uses the sockets that \
are passed (LISTEN_FDS) instead of --listen. A reply is never longer than its request (except with --answer-short), each source has a rate \
limit, and memory is bounded. Replies, broadcasts, multicasts and packets from ports below 1024 (except 862) are never answered. Anybody can \
forge the source of an unauthenticated packet: use --key-file on networks that you do not control. A captured signed packet that is \
replayed is answered once for each address and port that it comes from.

Examples:
  wirestamp reflect
  wirestamp reflect eth0 --key-file stamp.key
  wirestamp reflect --listen 192.0.2.1 --listen [2001:db8::1]:8620 --clock-bound 50us
  wirestamp reflect --listen 127.0.0.1:8620 --clock-bound none --for 60s --json
  wirestamp reflect --sim igc --for 10s";
