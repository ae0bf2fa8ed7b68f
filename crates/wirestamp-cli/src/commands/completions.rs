//! `completions`: what a shell needs to complete the command line.

use crate::arguments::{self, Arguments};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use clap::CommandFactory as _;

pub(super) fn run(
    arguments: &arguments::Completions,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut Arguments::command(),
        "wirestamp",
        &mut text,
    );
    output.raw(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Success)
}
