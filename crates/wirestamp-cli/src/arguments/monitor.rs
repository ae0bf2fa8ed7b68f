//! The arguments of `monitor`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct Monitor {
    /// What to measure and to serve (TOML): see the guide's page "monitor". Without it: the clocks of
    /// all NICs and the path of packets to this host itself, on http://127.0.0.1:9862
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Check the configuration and the certificates, keys and tokens that it names, say what it asks for, and end
    #[arg(long)]
    pub(crate) check: bool,
    /// Print the JSON Schema of the configuration, and end
    #[arg(long, conflicts_with_all = ["config", "check"])]
    pub(crate) schema: bool,
    /// How log lines look; they go to standard error
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = LogFormat::Auto)]
    pub(crate) log: LogFormat,
    /// How long to run; until Ctrl-C if it is left out, or `ever`
    #[arg(short = 'd', long = "for", value_name = "TIME", value_parser = super::time::length)]
    pub(crate) duration: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// To systemd's journal with fields, if standard error is connected to it, else text
    Auto,
    /// A line of text for each event
    Text,
    /// A line of JSON
    Json,
}

pub(super) const HELP: &str = "\
Measures until it is ended, and serves what it knows: metrics for Prometheus on /metrics, JSON on /api/snapshot, \
events as they come on /api/events. Loopback alone, unless the configuration says otherwise. SIGHUP reads the \
configuration again; what the old and the new one ask for runs on. Nothing is switched on and no clock is changed. \
To read one value: curl -s http://127.0.0.1:9862/api/snapshot | jq '.clocks[] | {name, utc_offset_ns, utc_bound_ns}'

Examples:
  wirestamp monitor
  wirestamp monitor --config /etc/wirestamp/monitor.toml --check
  wirestamp monitor --schema
  wirestamp monitor --config monitor.toml --log json";
