//! What can be written on the command line: names, values, help. Does nothing with it:
//! what the arguments mean is decided where they are used.

mod capture;
mod compare;
mod limits;
#[cfg(feature = "monitor")]
mod monitor;
mod ntp;
mod ptp;
mod stamp;
mod time;

pub(crate) use capture::{
    Action as CaptureAction, Answers as CaptureAnswers, Capture, Compare as CaptureCompare,
};
pub(crate) use compare::{Action as LatencyAction, Compare};
pub(crate) use limits::{Limit, LimitedPath, Limits};
#[cfg(feature = "monitor")]
pub(crate) use monitor::{LogFormat, Monitor};
pub(crate) use ntp::{Ntp, Target as NtpTarget};
pub(crate) use ptp::{Action as PtpAction, Ptp};
pub(crate) use stamp::{ClockBound, Format, Reflect, Relation, Stamp};

use crate::exit;
use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// The port of the UDP echo service (RFC 862).
const ECHO_PORT: u16 = 7;
/// The port of the UDP discard service (RFC 863).
const DISCARD_PORT: u16 = 9;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Packet timestamps: when UDP datagrams really leave and arrive, by kernel or NIC.
#[derive(Debug, Parser)]
#[command(name = "wirestamp", bin_name = "wirestamp", version, styles = STYLES, max_term_width = 100)]
#[command(after_help = exit::HELP, after_long_help = exit::HELP)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// How to print: `table` for people, one `json` object, or rows: `ndjson` (an object a line) or `csv`
    /// [default: table]
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "FORMAT",
        hide_possible_values = true
    )]
    pub(crate) format: Option<Form>,
    /// Short for --format json
    #[arg(long, global = true, conflicts_with = "format")]
    pub(crate) json: bool,
    /// When to use colours; NO_COLOR is respected
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub(crate) color: Color,
    /// Draw with ASCII characters only
    #[arg(long, global = true)]
    pub(crate) ascii: bool,
    /// What sim0 and sim1 are: a preset (see `wirestamp presets`) or a TOML file. They then
    /// stand where a command takes the interfaces of this system by default. The environment
    /// variable WIRESTAMP_SIM chooses what they are without changing any default
    #[arg(long, global = true, value_name = "PRESET|FILE")]
    pub(crate) sim: Option<String>,
    /// The simulation's seed: the same seed gives the same output to the bit
    #[arg(long, global = true, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

/// The form of what is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    Table,
    Json,
    Ndjson,
    Csv,
}

impl Global {
    pub(crate) fn form(&self) -> Form {
        match self.format {
            Some(form) => form,
            None if self.json => Form::Json,
            None => Form::Table,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the interfaces of this system and the simulated ones
    #[command(after_help = INTERFACES)]
    Interfaces(Interfaces),
    /// What an interface could timestamp, what it timestamps now, and what was really seen
    #[command(after_help = CAPABILITIES)]
    Capabilities(Capabilities),
    /// Switch a NIC's hardware timestamping on or off, for all programs
    #[command(after_help = ENABLE)]
    Enable(Enable),
    /// Read a NIC's clock against the system clock
    #[command(after_help = CROSS)]
    Cross(Cross),
    /// Write down what the system sees of a NIC's clock, as events to convert
    #[command(after_help = RECORD)]
    Record(Record),
    /// Convert the hardware timestamps among recorded events to system time, each with an error bound
    #[command(after_help = CONVERT)]
    Convert(Convert),
    /// Report changes of interfaces, clocks and timestamping configurations as they come
    #[command(after_help = WATCH)]
    Watch(Watch),
    /// Measure where packets spend their time: send path, wire, receive path
    #[command(after_help = LATENCY)]
    Latency(Box<Latency>),
    /// Answer STAMP packets (RFC 8762), so that others can measure delays to this host
    #[command(after_help = stamp::REFLECT)]
    Reflect(Box<Reflect>),
    /// Capture packets that pass an interface, with timestamps in UTC, and compare captures
    #[command(after_help = capture::HELP)]
    Capture(Box<Capture>),
    /// Say what works, what does not, why, and the exact command that would change it
    #[command(after_help = DOCTOR)]
    Doctor(Doctor),
    /// How wrong is this machine's clock? Its offset to NTP servers, with error bounds
    #[command(after_help = ntp::HELP)]
    Ntp(Ntp),
    /// Be a PTPv2 clock: measure your clock's offset to a timeTransmitter, with an error bound
    #[command(after_help = PTP)]
    Ptp(Box<Ptp>),
    /// Measure all the time, and show it to Prometheus, browsers and programs
    #[cfg(feature = "monitor")]
    #[command(after_help = monitor::HELP)]
    Monitor(Monitor),
    /// List what a simulated NIC can be
    #[command(after_help = PRESETS)]
    Presets(Presets),
    /// Print what a shell needs to complete wirestamp's command line
    #[command(after_help = COMPLETIONS)]
    Completions(Completions),
    /// Write the manual pages, for packages
    #[command(hide = true, after_help = MANUAL)]
    Manual(Manual),
}

impl Command {
    /// The name of the schema of what it prints.
    pub(crate) fn schema(&self) -> &'static str {
        match self {
            Self::Interfaces(_) => "interfaces",
            Self::Capabilities(_) => "capabilities",
            Self::Enable(_) => "enable",
            Self::Cross(_) => "cross",
            Self::Record(_) => "record",
            Self::Convert(_) => "convert",
            Self::Watch(_) => "watch",
            Self::Latency(latency) if latency.stamp.peer.is_some() => "latency-peer",
            Self::Latency(_) => "latency",
            Self::Reflect(_) => "reflect",
            #[cfg(feature = "monitor")]
            Self::Monitor(_) => "monitor",
            Self::Capture(capture) => match capture.action {
                Some(CaptureAction::Compare(_)) => "capture-compare",
                Some(CaptureAction::Answers(_)) => "capture-answers",
                None => "capture",
            },
            Self::Doctor(_) => "doctor",
            Self::Ntp(_) => "ntp",
            Self::Ptp(ptp) if ptp.action.is_some() => "ptp-status",
            Self::Ptp(_) => "ptp",
            Self::Presets(_) => "presets",
            Self::Completions(_) => "completions",
            Self::Manual(_) => "manual",
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Interfaces {
    /// Only the simulated ones
    #[arg(long)]
    pub(crate) simulated: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Capabilities {
    /// Name of the interface; all of them if it is left out
    #[arg(value_name = "IFACE")]
    pub(crate) interface: Option<String>,
    /// Send a few small datagrams there to see whether timestamps really come (port 9, discard,
    /// if none is given). The loopback and simulated interfaces are probed without it
    #[arg(long, value_name = "ADDRESS", requires = "interface", value_parser = discard_address)]
    pub(crate) probe: Option<SocketAddr>,
    /// Show every flag and the kernel's masks
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Enable {
    /// Name of the interface
    #[arg(value_name = "IFACE")]
    pub(crate) interface: String,
    /// Switch it off instead
    #[arg(long, conflicts_with = "all_packets")]
    pub(crate) off: bool,
    /// Timestamp every received packet, not PTPv2 event messages alone
    #[arg(long)]
    pub(crate) all_packets: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Cross {
    /// Name of the interface
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
    /// How many readings to take
    #[arg(long, allow_negative_numbers = true, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) count: u32,
    /// From one reading to the next
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = time::duration)]
    pub(crate) interval: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct Record {
    /// Name of the interface
    #[arg(value_name = "IFACE")]
    pub(crate) interface: String,
    /// How long to record
    #[arg(long = "for", value_name = "TIME", value_parser = time::duration)]
    pub(crate) duration: Duration,
    /// From one batch of readings to the next, always; without it, batches come as the library's
    /// own correlator takes them: a burst at the start, then as often as helps
    #[arg(long, value_name = "TIME", value_parser = time::duration)]
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

#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// Name of the interface; all of them if it is left out
    #[arg(value_name = "IFACE")]
    pub(crate) interface: Option<String>,
    /// How long to watch; until Ctrl-C if it is left out
    #[arg(long = "for", value_name = "TIME", value_parser = time::duration)]
    pub(crate) duration: Option<Duration>,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Latency {
    #[command(subcommand)]
    pub(crate) action: Option<LatencyAction>,
    /// Name of the interface; the loopback interface if it is left out
    #[arg(value_name = "IFACE")]
    pub(crate) interface: Option<String>,
    /// How many datagrams to send
    #[arg(long, allow_negative_numbers = true, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: u64,
    /// Payload of each datagram
    #[arg(
        long,
        allow_negative_numbers = true,
        value_name = "BYTES",
        default_value_t = 64
    )]
    pub(crate) size: usize,
    /// Datagrams per second; without it, the next is sent when the last has arrived
    #[arg(long, allow_negative_numbers = true, value_name = "PPS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rate: Option<u32>,
    /// A datagram that takes longer than this counts as lost: must exceed what the path takes
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = time::duration)]
    pub(crate) timeout: Duration,
    /// How many datagrams may be sent while the oldest is in flight. A rate and a timeout that can
    /// need more are an error
    #[arg(long, allow_negative_numbers = true, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_in_flight: u32,
    /// Over IPv6 instead of IPv4
    #[arg(long)]
    pub(crate) ipv6: bool,
    /// A UDP echo service (port 7 if none is given), on NICs that don't loop back. "Wire" is then the whole round trip outside
    /// this host
    #[arg(long, value_name = "ADDRESS", conflicts_with = "peer", value_parser = echo_address)]
    pub(crate) echo: Option<SocketAddr>,
    /// Whose clock timestamps
    #[arg(long, value_enum, value_name = "SOURCE", default_value_t = Source::Auto)]
    pub(crate) source: Source,
    /// Writes the three histograms, too: as an interval log, which HdrHistogram's tools read. If a path
    /// has negative values, the tag of its histogram says what was added to all of them: wire+10000ns
    #[arg(long, value_name = "FILE", conflicts_with = "peer")]
    pub(crate) histogram: Option<PathBuf>,
    /// Draw the distribution and the quantiles of each path into an SVG file
    #[arg(long, value_name = "FILE", conflicts_with = "peer")]
    pub(crate) plot: Option<PathBuf>,
    /// Write a report that a browser shows: quantiles, conditions, and plots that can be zoomed. One file, which loads nothing
    #[arg(long, value_name = "FILE", conflicts_with = "peer")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: Limits,
    #[command(flatten)]
    pub(crate) stamp: Stamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Source {
    /// The NIC's if it timestamps every packet now, else the system's
    Auto,
    /// The system clock, read by kernel or driver
    Software,
    /// The NIC's clock, converted; hardware timestamping is switched on for the time being
    Hardware,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Name of the interface; all those of this system if it is left out
    #[arg(value_name = "IFACE")]
    pub(crate) interface: Option<String>,
    /// Send a few small datagrams there to see whether hardware timestamps really come (port 9,
    /// discard, if none is given). Simulated interfaces are probed without it
    #[arg(long, value_name = "ADDRESS", requires = "interface", value_parser = discard_address)]
    pub(crate) probe: Option<SocketAddr>,
}

#[derive(Debug, Args)]
pub(crate) struct Presets {}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// Which shell's language
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Manual {
    /// An existing folder
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}

fn echo_address(text: &str) -> Result<SocketAddr, String> {
    address(text, ECHO_PORT)
}

fn discard_address(text: &str) -> Result<SocketAddr, String> {
    address(text, DISCARD_PORT)
}

/// An address with or without a port.
fn address(text: &str, port: u16) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(address);
    }
    let bare = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(text);
    let wrong = |_| {
        format!(
            "'{text}' is no IP address; write 192.0.2.1, 192.0.2.1:7, 2001:db8::1 or [2001:db8::1]:7"
        )
    };
    bare.parse::<IpAddr>()
        .map(|ip| SocketAddr::new(ip, port))
        .map_err(wrong)
}

const COMPLETIONS: &str = "\
Bash reads it by `source <(wirestamp completions bash)`; zsh from ~/.zfunc/_wirestamp, fish from \
~/.config/fish/completions/wirestamp.fish; PowerShell by `| Out-String | Invoke-Expression`. The \
Debian package brings the first three.

Examples:
  wirestamp completions bash
  wirestamp completions zsh";

const MANUAL: &str = "\
Examples:
  wirestamp manual .
  wirestamp manual /usr/local/share/man/man1";

const INTERFACES: &str = "\
Examples:
  wirestamp interfaces
  wirestamp interfaces --json
  wirestamp interfaces --simulated --sim igb";

const CAPABILITIES: &str = "\
\"Observed\" is what really came: a short probe sends itself datagrams over the loopback and the \
simulated interfaces. Elsewhere it says \"not probed\" unless --probe names somebody to send to.

Examples:
  wirestamp capabilities
  wirestamp capabilities lo
  wirestamp capabilities lo --all
  wirestamp capabilities eth0 --probe 192.0.2.1
  wirestamp capabilities sim0 --sim igb";

const ENABLE: &str = "\
One setting per NIC, shared by all programs; it is kept after this command ends. Needs root or \
CAP_NET_ADMIN on Linux. On Windows it is a driver property: see `wirestamp doctor IFACE`. \
The driver may grant more than was asked for; what it really granted is printed.

Examples:
  wirestamp enable eth0
  wirestamp enable eth0 --all-packets
  wirestamp enable eth0 --off";

const CROSS: &str = "\
Each reading is the narrowest of a quick batch: the monotonic clock before, the NIC's clock (PHC), the \
monotonic clock after. PHC - UTC is the PHC minus this host's real-time clock (positive: the PHC is ahead), PHC - TAI the same \
minus TAI - UTC: a PHC on PTP's timescale shows TAI. The truth lies within the error bound. Ctrl-C ends it early and reports \
what was read.

Examples:
  wirestamp cross eth0 --count 50
  wirestamp cross sim0 --sim noisy-cross --count 100 --interval 10ms --json";

const RECORD: &str = "\
The events are text, a line each: readings of both clocks, timestamps, notifications. A batch that fails \
is left out and counted. Ctrl-C ends it early; what was recorded is complete. A file given with --output \
is replaced when the recording ends, not before. With --json the summary goes to standard output, and the \
events need --output.

Parquet files are below DIR/TABLE/day=…/hour=…, each complete once it has its name, for `wirestamp-fleet` and every other program \
that reads Parquet. A timestamp that could not be converted is in them without a time and with the reason. This needs a \
program built with --features parquet.

Examples:
  wirestamp record eth0 --for 60s
  wirestamp record eth0 --for 10m --interval 5s --output events.csv
  wirestamp record eth0 --for 60s --timestamps 10 --to 192.0.2.1
  wirestamp record eth0 --for 1h --timestamps 10 --to 192.0.2.1 --parquet recordings
  wirestamp record sim0 --sim igb --for 60s --timestamps 10";

const CONVERT: &str = "\
Prints a row for each timestamp: hardware,monotonic_ns,error_bound_ns,generation,error. monotonic_ns is the middle of \
the timestamp's tick on the monotonic clock, and the truth lies within ±error_bound_ns of it. Both are empty where the \
timestamp cannot be converted; the last column says why. --json prints a summary instead of the rows.

Each timestamp is converted with the readings before it only. With --later, it is converted with the next batch of \
readings too (readings less than 1 ms apart are one batch), or with all there are if none follows.

Events are converted as they are read, in bounded memory. At a line that is invalid or longer than 65,536 bytes it stops \
with exit code 2; the rows before it are printed. Limits of the summary: above 65,536 timestamps the median is within \
1 % (minimum, mean and maximum are exact); above 10,000 generations the first 9,999 and the newest are listed; above \
3,000 readings the picture shows the widest of each few. With --later, above 131,072 timestamps that wait for one batch \
the oldest is converted without it.

Examples:
  wirestamp convert events.csv
  wirestamp convert events.csv --later --plot events.svg
  wirestamp convert events.csv --html events.html
  wirestamp convert - --json";

const WATCH: &str = "\
With --json, one object with all changes is printed at the end. Ctrl-C ends it early. Simulated \
interfaces are watched in virtual time, which needs --for.

Examples:
  wirestamp watch --for 10s
  wirestamp watch eth0
  wirestamp watch sim0 --sim vanishing --for 10s --json";

const LATENCY: &str = "\
Without --peer, datagrams go from this host to itself: the loopback and simulated interfaces do that. With --peer, \
STAMP packets go to another host, which runs `wirestamp reflect` or another reflector of RFC 8762; the result has round trip, \
losses by direction, and the delay of each direction if the clocks are related (--clocks). The other options for a peer are listed \
under \"To another host\". The kernel's cold start is waited out and not counted. \
Without --rate, the next datagram is also sent when the last takes four times longer than any \
before (and at least 20 ms); that one is lost only after --timeout. Late arrivals are reported apart \
from packets that never arrive. Ctrl-C ends it early and reports what was measured.

Examples:
  wirestamp latency
  wirestamp latency --count 100000 --size 1400 --json
  wirestamp latency --rate 5000 --ipv6
  wirestamp latency sim0 --source hardware --sim igc
  wirestamp latency --peer 192.0.2.1
  wirestamp latency eth0 --peer 192.0.2.1 --rate 100 --count 1000 --clocks utc --clock-bound 50us
  wirestamp latency --peer 127.0.0.1 --clocks same --key-file stamp.key --json
  wirestamp latency eth0 --echo 192.0.2.1:7 --rate 1000 --timeout 10s
  wirestamp latency --histogram latency.hlog
  wirestamp latency --max-p99 50us --max-p99 send_path=20us --max-loss 0.1%
  wirestamp latency --count 1000 --format csv
  wirestamp latency --html latency.html --plot latency.svg
  wirestamp latency compare before.hlog after.hlog";

const DOCTOR: &str = "\
Ends with code 0 if no check failed, else with 1.

Examples:
  wirestamp doctor
  wirestamp doctor eth0
  wirestamp doctor sim0 --sim unprivileged --json";

const PTP: &str = "\
Measures, and changes nothing unless --steer says so. Needs the UDP ports 319 and 320: root or \
CAP_NET_BIND_SERVICE. With --json, one object a line: every Sync that told something, every change \
of state, and at the end a summary.

Examples:
  wirestamp ptp eth0 --for 60s
  wirestamp ptp eth0 --p2p --ipv6 --domain 24 --json
  wirestamp ptp eth0 --transmit --profile w32time --sync 125ms
  wirestamp ptp eth0 eth1 --transmit --config ptp.toml
  wirestamp ptp --simulate jitter --plot jitter.svg
  wirestamp ptp status";

const PRESETS: &str = "\
Examples:
  wirestamp presets
  wirestamp --sim igb capabilities sim0";

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn addresses_are_read_with_and_without_a_port() {
        let read = |text| address(text, 7).map(|address| address.to_string());
        assert_eq!(read("192.0.2.1").as_deref(), Ok("192.0.2.1:7"));
        assert_eq!(read("192.0.2.1:9000").as_deref(), Ok("192.0.2.1:9000"));
        assert_eq!(read("2001:db8::1").as_deref(), Ok("[2001:db8::1]:7"));
        assert_eq!(read("[2001:db8::1]").as_deref(), Ok("[2001:db8::1]:7"));
        assert_eq!(read("[2001:db8::1]:9").as_deref(), Ok("[2001:db8::1]:9"));
        assert!(read("eth0").is_err_and(|message| message.contains("'eth0' is no IP address")));
    }

    #[test]
    fn every_command_has_examples() {
        for command in Arguments::command().get_subcommands() {
            let help = command
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            let (_, examples) = help.split_once("Examples:\n").unwrap_or_default();
            assert!(
                examples.lines().count() > 1,
                "{} has none",
                command.get_name()
            );
            for line in examples.lines() {
                let words = line.split_whitespace();
                Arguments::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
            }
        }
    }

    #[test]
    fn global_options_stand_before_or_after_the_command() {
        for line in [
            ["wirestamp", "--json", "presets"],
            ["wirestamp", "presets", "--json"],
        ] {
            assert!(Arguments::try_parse_from(line).expect("valid").global.json);
        }
    }

    #[test]
    fn counts_and_rates_of_zero_are_refused() {
        for line in [
            ["wirestamp", "latency", "--count=0"],
            ["wirestamp", "latency", "--rate=0"],
        ] {
            assert!(Arguments::try_parse_from(line).is_err(), "{line:?}");
        }
        assert!(Arguments::try_parse_from(["wirestamp", "cross", "lo", "--count=0"]).is_err());
    }
}
