//! The way from a command's name to its work. One file a command.
//!
//! # Where to change what
//!
//! A value, option or diagnosis of a measurement, in command and monitor: the map in `wirestamp-measure`, `lib.rs`; `parity.rs` fails
//! for those that a command lacks.
//!
//! | task | files |
//! |---|---|
//! | a command | a file here, `run` and `schemas` below; `arguments.rs` (`Command`, `schema`), `arguments/`; `scripts/guide/schemas.py`; `guide/json.md` |
//! | an option of a command alone | its file in `arguments/`, its module here; golden help (`TRYCMD=overwrite`) |
//! | a field of a command's JSON | the serialised type in its module here (`row.rs`, `measurement.rs`, `line.rs`, `summary.rs`), `scripts/schemas --write`; its text in the same module or `text.rs` (`parity.rs` fails) |
//! | a limit (`--max-…`) | `limits.rs`, and its command |
//! | a column of `top` | `top/sections/clocks.rs` (clocks, NTP, PTP), `peers.rs` (sessions, paths, reflector) or `others.rs`: an entry of the list of columns and, at the same place, of the row's cells (`top/tests/frames.rs` fails); golden frames in `top/tests/golden/` (`TRYCMD=overwrite`) |
//! | a table of `top` | a function in `top/sections/`, listed in `top/sections.rs` (`of`, `Kind`), `top/detail.rs`; an example in `top/tests/sample.rs` |

mod capabilities;
mod capture;
mod completions;
mod convert;
mod cross;
mod doctor;
mod each_second;
mod enable;
mod interfaces;
mod latency;
mod limits;
mod manual;
mod masks;
#[cfg(feature = "monitor")]
mod monitor;
mod ntp;
mod offsets;
#[cfg(test)]
mod parity;
mod presets;
mod ptp;
mod record;
#[cfg(feature = "parquet")]
mod recordings;
mod reflect;
mod residuals;
#[cfg(feature = "monitor")]
mod top;
mod watch;

use crate::arguments::{Arguments, Command};
use crate::exit::Exit;
use crate::failure::{Failure, remedied};
use crate::output::Output;
use crate::session::Session;
use wirestamp::{Error, Interface};

/// The schemas of everything that the commands print.
#[cfg(all(test, feature = "schema"))]
pub(crate) fn schemas() -> Vec<crate::schema::Document> {
    let mut all = vec![
        capabilities::schema(),
        convert::schema(),
        cross::schema(),
        doctor::schema(),
        enable::schema(),
        crate::output::json::schema(),
        interfaces::schema(),
        latency::schema(),
        latency::compare::schema(),
        ntp::schema(),
        presets::schema(),
        record::schema(),
        reflect::schema(),
        latency::peer::schema(),
        watch::schema(),
    ];
    all.extend(capture::schemas());
    all.extend(ptp::schemas());
    #[cfg(feature = "monitor")]
    all.extend(monitor::schemas());
    all
}

/// Runs the command that was asked for.
pub(crate) fn run(
    arguments: &Arguments,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    output.use_schema(arguments.command.schema());
    match &arguments.command {
        Command::Interfaces(arguments) => interfaces::run(arguments, session, output),
        Command::Capabilities(arguments) => capabilities::run(arguments, session, output),
        Command::Enable(arguments) => enable::run(arguments, output),
        Command::Cross(arguments) => cross::run(arguments, session, output),
        Command::Record(arguments) => record::run(arguments, session, output),
        Command::Convert(arguments) => convert::run(arguments, output),
        Command::Watch(arguments) => watch::run(arguments, session, output),
        Command::Latency(arguments) => latency::run(arguments, session, output),
        Command::Reflect(arguments) => reflect::run(arguments, session, output),
        Command::Capture(arguments) => capture::run(arguments, session, output),
        Command::Doctor(arguments) => doctor::run(arguments, session, output),
        Command::Ntp(arguments) => ntp::run(arguments, session, output),
        Command::Ptp(arguments) => ptp::run(arguments, session, output),
        #[cfg(feature = "monitor")]
        Command::Monitor(arguments) => monitor::run(arguments, session, output),
        #[cfg(feature = "monitor")]
        Command::Top(top) => top::run(top, &arguments.global, session, output),
        #[cfg(not(feature = "monitor"))]
        Command::Monitor(_) => Err(not_built("run", "wirestamp monitor").into()),
        #[cfg(not(feature = "monitor"))]
        Command::Top(_) => Err(not_built("run", "wirestamp top").into()),
        Command::Presets(_) => presets::run(output),
        Command::Completions(arguments) => completions::run(arguments, output),
        Command::Complete(arguments) => completions::values(arguments, session, output),
        Command::Manual(arguments) => manual::run(arguments),
    }
}

#[cfg(not(feature = "monitor"))]
fn not_built(operation: &'static str, command: &'static str) -> Error {
    let kind = wirestamp::ErrorKind::NotSupported;
    let cause = "this program was built without the monitor";
    Error::new(kind, operation, command, cause)
        .with_remedy("build it with --features monitor, or install the package wirestamp-monitor")
}

/// Says where to look on, where the library knows no remedy.
fn advised(error: Error, interface: &Interface) -> Error {
    remedied(error, format!("see wirestamp doctor {}", interface.name()))
}
