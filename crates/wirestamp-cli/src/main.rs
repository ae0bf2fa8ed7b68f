//! The program `wirestamp`: reads the command line, runs one command, ends with a code.
//!
//! It uses only the public API of the libraries. `arguments` declares the command line, `commands/` has a file for each
//! command, `output/` prints tables, JSON, pictures (`graph`: SVG) and reports (`html`), `sandbox/` gives up privileges on
//! Linux, `signals` ends a run with its summary.

#![forbid(unsafe_code)]

mod arguments;
mod commands;
mod distribution;
mod exit;
mod failure;
mod output;
mod probe;
mod sandbox;
#[cfg(feature = "schema")]
mod schema;
mod session;
mod signals;

use arguments::Arguments;
use clap::FromArgMatches as _;
use failure::Failure;
use output::Output;
use session::Session;
use std::process::ExitCode;

fn main() -> ExitCode {
    let read = arguments::command()
        .try_get_matches()
        .and_then(|found| Arguments::from_arg_matches(&found));
    let arguments = match read {
        Ok(arguments) => arguments,
        Err(refused) => return failure::refused(&refused).into(),
    };
    let mut output = Output::new(&arguments.global);
    let run = Session::start(&arguments.global)
        .and_then(|session| commands::run(&arguments, &session, &mut output));
    // everything is restored now, so that waiting for the reader does no harm
    let settled = output.settle().map_err(Failure::from);
    let run = run.and_then(|exit| settled.map(|()| exit));
    run.unwrap_or_else(|failure| failure.tell(&mut output))
        .into()
}
