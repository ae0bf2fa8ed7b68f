//! The arguments of `monitor`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct Monitor {
    /// Configuration (TOML): see the guide's page "monitor". Without it: the clocks of all NICs and the
    /// path of packets to this host itself, on http://127.0.0.1:9862
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Check the configuration and the certificates, keys and tokens that it names, print a summary, then exit
    #[arg(long)]
    pub(crate) check: bool,
    /// Print the JSON Schema of the configuration, then exit
    #[arg(long, conflicts_with_all = ["config", "check"])]
    pub(crate) schema: bool,
    /// Format of log lines, which go to standard error
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = LogFormat::Auto)]
    pub(crate) log: LogFormat,
    /// How long to run [default: until Ctrl-C, as with `ever`]
    #[arg(short = 'd', long = "for", value_name = "TIME", value_parser = super::time::length)]
    pub(crate) duration: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// systemd's journal, with fields, if standard error is connected to it; else text
    Auto,
    /// A line of text for each event
    Text,
    /// A line of JSON
    Json,
}

pub(super) const HELP: &str = "\
Measures until it is stopped, and serves the results: metrics for Prometheus on /metrics, JSON on /api/snapshot, \
events as they happen on /api/events; on the loopback address only, unless the configuration names others. SIGHUP reads the \
configuration again; measurements that have not changed continue. No clock is steered, and no NIC is \
configured unless the configuration asks for it (source = \"hardware\", enable_hardware). \
To read one value: curl -s http://127.0.0.1:9862/api/snapshot | jq '.clocks[] | {name, utc_offset_ns, utc_bound_ns}'

Examples:
  wirestamp monitor
  wirestamp monitor --config /etc/wirestamp/monitor.toml --check
  wirestamp monitor --schema
  wirestamp monitor --config monitor.toml --log json";
