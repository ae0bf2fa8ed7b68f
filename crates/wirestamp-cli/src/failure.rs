//! How a command can fail and how the program says so. Names no cause of its own except
//! a command line that can't be read.

use crate::arguments::{Color, Form, Global};
use crate::exit::Exit;
use crate::output::Output;
use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use wirestamp::{Error, ErrorKind};

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The library says so.
    Library(Error),
    /// The clock to be steered is off by more than may be followed.
    OffLimit(Error),
    /// Nothing more can be written: the disk is full.
    Output(io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl Failure {
    /// Reports it to the reader, and returns the exit code.
    pub(crate) fn tell(self, output: &mut Output) -> Exit {
        let mut exit = None;
        let error = match self {
            Self::Library(error) => error,
            Self::OffLimit(error) => {
                exit = Some(Exit::OffLimit);
                error
            }
            Self::Output(error) => told(ErrorKind::Io, "write", "standard output", &error),
        };
        // nobody is left to be told if that fails too
        let _ = output.failure(&error);
        exit.unwrap_or_else(|| error.kind().into())
    }
}

/// The system's answer to a call of the standard library's, in the library's form.
pub(crate) fn told(
    kind: ErrorKind,
    operation: &'static str,
    target: &str,
    error: &io::Error,
) -> Error {
    let text = error.to_string();
    let Some(code) = error.raw_os_error() else {
        return Error::new(kind, operation, target, text);
    };
    // the number has its own place in the message
    let text = text
        .replace(&format!(" (os error {code})"), "")
        .to_lowercase();
    Error::new(kind, operation, target, text).with_code(code)
}

/// Adds a remedy to an error that has none: what failed knows its own better.
pub(crate) fn remedied(error: Error, remedy: impl Into<Cow<'static, str>>) -> Error {
    match error.remedy().is_empty() {
        true => error.with_remedy(remedy),
        false => error,
    }
}

/// Adds what this command can do to an error's own remedy.
pub(crate) fn and_also(error: Error, more: &str) -> Error {
    let remedy = match error.remedy() {
        "" => more.to_owned(),
        own => format!("{own}; {more}"),
    };
    error.with_remedy(remedy)
}

/// Answers a command line that is no command: help, version, or what is wrong with it.
pub(crate) fn refused(refused: &clap::Error) -> Exit {
    if !refused.use_stderr() {
        let _ = refused.print();
        return Exit::Success;
    }
    // the rest of the line could not be read, so it is looked at as it is
    let Some(form) = form_of(std::env::args_os()) else {
        let _ = refused.print();
        return Exit::InvalidInput;
    };
    let text = refused.render().to_string();
    let cause = text
        .lines()
        .take_while(|line| !line.starts_with("Usage:"))
        .map(str::trim);
    let cause: Vec<_> = cause.filter(|line| !line.is_empty()).collect();
    let cause = cause.join("; ").trim_start_matches("error: ").to_owned();
    let error = Error::new(
        ErrorKind::InvalidInput,
        "read the arguments",
        "the command line",
        cause,
    )
    .with_remedy("see wirestamp --help");
    let global = Global {
        format: Some(form),
        json: false,
        color: Color::Never,
        ascii: true,
        sim: None,
        seed: 1,
    };
    Failure::Library(error).tell(&mut Output::new(&global))
}

/// The form of JSON that a command line asks for; `None`: text or CSV.
fn form_of(arguments: impl Iterator<Item = OsString>) -> Option<Form> {
    let mut previous = OsString::new();
    let mut form = None;
    for argument in arguments {
        let value = match argument.to_str() {
            Some("--json") => Some("json"),
            Some(text) if previous == "--format" => Some(text),
            Some(text) => text.strip_prefix("--format="),
            None => None,
        };
        form = match value {
            Some("json") => Some(Form::Json),
            Some("ndjson") => Some(Form::Ndjson),
            _ => form,
        };
        previous = argument;
    }
    form
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_that_cannot_be_read_still_says_which_form() {
        let form = |line: &str| form_of(line.split(' ').map(OsString::from));
        assert_eq!(form("latency --json --wrong"), Some(Form::Json));
        assert_eq!(form("latency --format ndjson --wrong"), Some(Form::Ndjson));
        assert_eq!(form("latency --format=json --wrong"), Some(Form::Json));
        assert_eq!(form("latency --format csv --wrong"), None);
        assert_eq!(form("latency json --wrong"), None);
    }

    #[test]
    fn the_systems_number_is_said_once() {
        let error = told(
            ErrorKind::InvalidInput,
            "read the simulation",
            "a.toml",
            &io::Error::from_raw_os_error(2),
        );
        assert_eq!(error.code(), Some(2));
        assert_eq!(error.to_string().matches('2').count(), 1, "{error}");
    }
}
