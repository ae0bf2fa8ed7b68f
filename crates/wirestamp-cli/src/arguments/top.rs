//! The arguments of `top`.

use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct Top {
    /// The monitor to show: HOST, HOST:PORT (default 9862) or http://HOST:PORT. Without it: the monitor on
    /// 127.0.0.1:9862 or, if none answers there, measurements of this program itself
    #[arg(value_name = "ADDRESS")]
    pub(crate) address: Option<String>,
    /// Measure in this program instead of asking a monitor
    #[arg(long = "self", conflicts_with = "address")]
    pub(crate) own: bool,
    /// Configuration of the measurements (TOML, as for `wirestamp monitor`); nothing is served or kept on disk.
    /// Without it: the clocks of all NICs, and the send and receive path of the loopback interface
    #[arg(
        long,
        value_name = "FILE",
        requires = "own",
        conflicts_with = "address"
    )]
    pub(crate) config: Option<PathBuf>,
    /// File with the monitor's bearer token
    #[arg(long, value_name = "FILE", conflicts_with = "own")]
    pub(crate) token_file: Option<PathBuf>,
    /// Time from one update to the next
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = super::time::duration)]
    pub(crate) interval: Duration,
    /// Print everything once as text (or JSON with --json), then exit
    #[arg(long)]
    pub(crate) once: bool,
    /// How long to run [default: until q or Ctrl-C, as with `ever`]. With --once: how long to measure first
    /// [default: 3s]
    #[arg(short = 'd', long = "for", value_name = "TIME", value_parser = super::time::length)]
    pub(crate) duration: Option<Duration>,
}

pub(super) const HELP: &str = "\
Keys: arrows or j and k select, Enter shows all of it, s sorts, / filters, p pauses, ? explains, q quits. Offsets are local minus \
reference (positive: the local clock is ahead); the true offset is within the error bound. An unknown value is shown as \"-\", never as 0. \
If the monitor stops answering, its last values stay, with their age, until it answers again. No clock is steered, and no NIC \
is configured unless the configuration asks for it (source = \"hardware\", enable_hardware). Without a terminal: --once, or curl http://127.0.0.1:9862/api/snapshot.

Examples:
  wirestamp top
  wirestamp top 192.0.2.7 --token-file token
  wirestamp top --self
  wirestamp top --self --config monitor.toml
  wirestamp top --once
  wirestamp top --self --sim igc";
