//! The arguments of `top`.

use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct Top {
    /// The monitor to show: host, port (9862 if none is given) or http://HOST:PORT. Without it: the one on
    /// 127.0.0.1:9862, and if none answers there, what this program measures itself
    #[arg(value_name = "ADDRESS")]
    pub(crate) address: Option<String>,
    /// Measure in this program instead of asking a monitor
    #[arg(long = "self", conflicts_with = "address")]
    pub(crate) own: bool,
    /// What to measure (TOML, as for `wirestamp monitor`); nothing is served or kept on disk. Without it: the
    /// clocks of all NICs, and the send and receive path of the loopback interface
    #[arg(
        long,
        value_name = "FILE",
        requires = "own",
        conflicts_with = "address"
    )]
    pub(crate) config: Option<PathBuf>,
    /// A file with the bearer token that the monitor wants
    #[arg(long, value_name = "FILE", conflicts_with = "own")]
    pub(crate) token_file: Option<PathBuf>,
    /// How often to ask for new values
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = super::time::duration)]
    pub(crate) interval: Duration,
    /// Print everything once as text (or --json), and end
    #[arg(long)]
    pub(crate) once: bool,
    /// How long to run; until q or Ctrl-C if it is left out, or `ever`. With --once: how long to measure before, 3 s
    /// if it is left out
    #[arg(short = 'd', long = "for", value_name = "TIME", value_parser = super::time::length)]
    pub(crate) duration: Option<Duration>,
}

pub(super) const HELP: &str = "\
Keys: arrows or j and k select, Enter shows all of it, s sorts, / filters, p pauses, ? explains, q ends. Offsets are local minus \
reference (positive: the local clock is ahead); the truth lies within the error bound. What is not known is shown as \"-\", never as 0. \
If the monitor stops answering, the last values stay with their age until it answers again. Nothing is switched on and no clock \
is changed. Without a terminal: --once, or curl http://127.0.0.1:9862/api/snapshot.

Examples:
  wirestamp top
  wirestamp top 192.0.2.7 --token-file token
  wirestamp top --self
  wirestamp top --self --config monitor.toml
  wirestamp top --once
  wirestamp top --self --sim igc";
