//! What can be written on the command line: names, values, help. Does nothing with it:
//! what the arguments mean is decided where they are used.

mod address;
mod capture;
mod compare;
mod help;
mod interface;
mod latency;
mod layout;
mod limits;
#[cfg(feature = "monitor")]
mod monitor;
mod ntp;
mod ptp;
mod recording;
mod stamp;
mod time;
#[cfg(feature = "monitor")]
mod top;

pub(crate) use capture::{
    Action as CaptureAction, Answers as CaptureAnswers, Capture, Compare as CaptureCompare,
};
pub(crate) use compare::{Action as LatencyAction, Compare};
pub(crate) use interface::{Capabilities, Cross, Doctor, Enable, Interfaces, Watch};
pub(crate) use latency::{Latency, Source};
pub(crate) use layout::{command, parts as help_parts};
pub(crate) use limits::{Limit, LimitedPath, Limits};
#[cfg(feature = "monitor")]
pub(crate) use monitor::{LogFormat, Monitor};
pub(crate) use ntp::{Ntp, Target as NtpTarget};
pub(crate) use ptp::{Action as PtpAction, Ptp};
pub(crate) use recording::{Convert, Record};
pub(crate) use stamp::{ClockBound, Format, PORT as STAMP_PORT, Reflect, Relation, Stamp};
#[cfg(feature = "monitor")]
pub(crate) use time::EVER;
pub(crate) use time::{fitting, limited};
#[cfg(feature = "monitor")]
pub(crate) use top::Top;

use crate::exit;
use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Packet timestamps: when UDP datagrams really leave and arrive, by kernel or NIC.
#[derive(Debug, Parser)]
#[command(name = "wirestamp", bin_name = "wirestamp", version, styles = STYLES, max_term_width = 100)]
#[command(after_help = format!("{}\n\n{}", exit::HELP, help::PROGRAM))]
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
    /// Output format: table, json, ndjson or csv [default: table]
    ///
    /// `table` is for people; `json` is one object; `ndjson` (one object per line) and `csv` have a row for each result.
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "FORMAT",
        hide_possible_values = true
    )]
    pub(crate) format: Option<Form>,
    /// Same as --format json
    #[arg(long, global = true, conflicts_with = "format")]
    pub(crate) json: bool,
    /// When to use colours; NO_COLOR is respected
    #[arg(long, global = true, hide_short_help = true, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub(crate) color: Color,
    /// Draw with ASCII characters only
    #[arg(long, global = true, hide_short_help = true)]
    pub(crate) ascii: bool,
    /// Simulate the NICs sim0 and sim1: a preset or a TOML file
    ///
    /// `wirestamp presets` lists the presets. A command without an interface then uses the simulated NICs. The environment variable
    /// WIRESTAMP_SIM chooses the preset or file too, but changes no default.
    #[arg(long, global = true, value_name = "PRESET|FILE")]
    pub(crate) sim: Option<String>,
    /// Seed of the simulation: the same seed gives exactly the same output
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_name = "N",
        default_value_t = 1
    )]
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
    /// List the interfaces of this system, and simulated ones if --sim asks for them
    #[command(after_help = help::INTERFACES)]
    Interfaces(Interfaces),
    /// Show what an interface can timestamp, what it timestamps now, and which timestamps really came
    #[command(after_help = help::CAPABILITIES)]
    Capabilities(Capabilities),
    /// Switch a NIC's hardware timestamping on or off, for all programs
    #[command(after_help = help::ENABLE)]
    Enable(Enable),
    /// Compare a NIC's clock with the system clock
    #[command(after_help = help::CROSS)]
    Cross(Cross),
    /// Record readings of a NIC's clock, and timestamps if asked for, as events for `convert`
    #[command(after_help = help::RECORD)]
    Record(Record),
    /// Convert recorded hardware timestamps to system time, each with an error bound
    #[command(after_help = help::CONVERT)]
    Convert(Convert),
    /// Report changes of interfaces, clocks and timestamping configurations as they happen
    #[command(after_help = help::WATCH)]
    Watch(Watch),
    /// Measure where packets spend their time: send path, wire, receive path
    #[command(after_help = help::LATENCY)]
    Latency(Box<Latency>),
    /// Answer STAMP packets (RFC 8762), so that other hosts can measure delays to this one
    #[command(after_help = stamp::REFLECT)]
    Reflect(Box<Reflect>),
    /// Capture an interface's packets with timestamps in UTC, and compare captures
    #[command(after_help = capture::HELP)]
    Capture(Box<Capture>),
    /// Check what works and what does not, why, and which command changes it
    #[command(after_help = help::DOCTOR)]
    Doctor(Doctor),
    /// Measure the offset of this host's clock to NTP servers, with error bounds
    #[command(after_help = ntp::HELP)]
    Ntp(Ntp),
    /// Run a PTPv2 clock: measure the offset to a timeTransmitter, with an error bound
    #[command(after_help = help::PTP)]
    Ptp(Box<Ptp>),
    /// Measure continuously, and serve the results to Prometheus, browsers and programs
    #[cfg(feature = "monitor")]
    #[command(after_help = monitor::HELP)]
    Monitor(Monitor),
    /// Show a monitor live in the terminal: clocks, delays, losses, events
    #[cfg(feature = "monitor")]
    #[command(after_help = top::HELP)]
    Top(Top),
    /// Not in this build: measure continuously, and serve the results to Prometheus, browsers and programs
    #[cfg(not(feature = "monitor"))]
    #[command(after_help = NOT_BUILT)]
    Monitor(NotBuilt),
    /// Not in this build: show a monitor live in the terminal
    #[cfg(not(feature = "monitor"))]
    #[command(after_help = NOT_BUILT)]
    Top(NotBuilt),
    /// List the presets of simulated NICs
    #[command(after_help = help::PRESETS)]
    Presets(Presets),
    /// Print the completion script for a shell
    #[command(after_help = help::COMPLETIONS)]
    Completions(Completions),
    /// Print the values that a completion script asks for
    #[command(hide = true, after_help = help::COMPLETE)]
    Complete(Complete),
    /// Write the manual pages, for packages
    #[command(hide = true, after_help = help::MANUAL)]
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
            Self::Monitor(monitor) if monitor.check => "monitor-check",
            #[cfg(feature = "monitor")]
            Self::Monitor(_) => "monitor-ready",
            #[cfg(feature = "monitor")]
            Self::Top(_) => "monitor",
            #[cfg(not(feature = "monitor"))]
            Self::Monitor(_) | Self::Top(_) => "monitor",
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
            Self::Completions(_) | Self::Complete(_) => "completions",
            Self::Manual(_) => "manual",
        }
    }
}

/// What the help of a command says that is not in this build.
#[cfg(not(feature = "monitor"))]
const NOT_BUILT: &str = "\
To have it, build wirestamp with --features monitor, or install the package wirestamp-monitor.";

/// What a command takes that is not in this build: anything, and it says so.
#[cfg(not(feature = "monitor"))]
#[derive(Debug, Args)]
pub(crate) struct NotBuilt {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _rest: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Presets {}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Complete {
    /// Which values
    #[arg(value_enum, value_name = "VALUES")]
    pub(crate) values: Values,
    /// The command line so far: simulated interfaces count if it asks for a simulation
    #[arg(last = true, value_name = "WORDS")]
    pub(crate) words: Vec<OsString>,
}

/// What only the program and this host know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Values {
    Interfaces,
    Presets,
}

#[derive(Debug, Args)]
pub(crate) struct Manual {
    /// An existing folder
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_command_has_examples() {
        let built = cfg!(feature = "monitor");
        for command in Arguments::command().get_subcommands() {
            if !built && ["monitor", "top"].contains(&command.get_name()) {
                continue;
            }
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
    #[cfg(not(feature = "monitor"))]
    fn what_is_not_built_is_known_whatever_follows() {
        for line in [
            "wirestamp monitor",
            "wirestamp monitor --config monitor.toml --check",
            "wirestamp top --self",
            "wirestamp top 127.0.0.1 --help",
        ] {
            let command = Arguments::try_parse_from(line.split(' '))
                .expect(line)
                .command;
            assert!(
                matches!(command, Command::Monitor(_) | Command::Top(_)),
                "{line}"
            );
        }
    }

    /// An option that another needs is an error where that one is ruled out: it would have no effect.
    #[test]
    fn no_option_is_without_effect() {
        for line in [
            "latency --echo 127.0.0.1 --dscp 46",
            "latency --plot x.svg --clocks utc",
            "latency --html x.html --key-file key",
            "latency --histogram x --least-delay 1us",
            "latency --max-p999 1ms --ecn 1",
            "ptp --simulate quiet --html x.html",
            "ptp eth0 --runs 5",
            "ptp eth0 --only 5",
            #[cfg(feature = "monitor")]
            "top 192.0.2.7 --config monitor.toml",
            "capture lo -w x.pcapng --queues 2 --host name",
            "latency --rate 10 --interval 10ms",
            "latency --peer 192.0.2.1 --rate 10 -i 0.1",
        ] {
            let words = line.split(' ');
            assert!(
                Arguments::try_parse_from(std::iter::once("wirestamp").chain(words)).is_err(),
                "{line}"
            );
        }
    }

    fn command(line: &str) -> Command {
        let words = std::iter::once("wirestamp").chain(line.split_whitespace());
        Arguments::try_parse_from(words).expect(line).command
    }

    #[test]
    fn the_end_is_the_count_or_the_time_whichever_comes_first() {
        // without a rate nobody knows how many datagrams fit: the time ends it
        for (options, expected) in [
            ("", 20_000),
            ("--rate 10", 20_000),
            ("-c 7 --rate 10", 7),
            ("-d 2s --rate 10", 20),
            ("-d 2s -c 7 --rate 10", 7),
            ("-d 2s -c 70 --rate 10", 20),
            ("-d 2s", u64::MAX),
            ("-d 2s -c 70", 70),
            ("-d 2s -i 100ms", 20),
            ("-d 20s -i 3", 7),
            ("-d 2s -c 70 -i 0.1", 20),
        ] {
            let Command::Latency(latency) = command(&format!("latency {options}")) else {
                panic!("latency");
            };
            assert_eq!(latency.count_at(latency.apart()), expected, "{options}");
        }
        for (options, expected) in [
            ("", 4),
            ("-c 7", 7),
            ("-d 10s", 10),
            ("-d 10s -i 2s", 5),
            ("-d 10s -c 7", 7),
            ("-d 10s -i 2s -c 7", 5),
        ] {
            let Command::Ntp(ntp) = command(&format!("ntp host {options}")) else {
                panic!("ntp");
            };
            assert_eq!(ntp.count(), expected, "{options}");
        }
    }

    #[test]
    fn counts_and_rates_of_zero_are_refused() {
        for line in [
            ["wirestamp", "latency", "--count=0"],
            ["wirestamp", "latency", "--rate=0"],
            ["wirestamp", "latency", "--interval=0"],
        ] {
            assert!(Arguments::try_parse_from(line).is_err(), "{line:?}");
        }
        assert!(Arguments::try_parse_from(["wirestamp", "cross", "lo", "--count=0"]).is_err());
    }
}
