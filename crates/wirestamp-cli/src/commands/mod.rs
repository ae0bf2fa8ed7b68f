//! The way from a command's name to its work. One file a command.

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
#[cfg(test)]
mod parity;
mod presets;
mod ptp;
mod record;
#[cfg(feature = "parquet")]
mod recordings;
mod reflect;
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
