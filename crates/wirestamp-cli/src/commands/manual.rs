//! `manual`: the manual pages, one for the program and one for each of its commands, for packages.

use crate::arguments::{self, Arguments};
use crate::exit::Exit;
use crate::failure::Failure;
use clap::CommandFactory as _;
use wirestamp::{Error, ErrorKind};

pub(super) fn run(arguments: &arguments::Manual) -> Result<Exit, Failure> {
    // What a line of `--help` wraps to is no matter of a page.
    let command = Arguments::command().disable_help_subcommand(true);
    clap_mangen::generate_to(command, &arguments.folder).map_err(|error| {
        let folder = arguments.folder.display();
        Error::new(
            ErrorKind::Io,
            "write the manual pages",
            folder,
            error.to_string(),
        )
        .with_code(error.raw_os_error().unwrap_or(0))
    })?;
    Ok(Exit::Success)
}
