//! The exit codes: one table for the program, its help and its documentation.

use std::process::ExitCode;
use wirestamp::ErrorKind;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Success = 0,
    Failed = 1,
    InvalidInput = 2,
    NoSuchDevice = 3,
    NotPermitted = 4,
    NotSupported = 5,
    Lossy = 6,
    OffLimit = 7,
    OverLimit = 8,
    Different = 9,
}

pub(crate) const HELP: &str = "\
Exit codes:
  0  done
  1  failed: the operation, or a check of the doctor
  2  invalid input: command line, value, simulation file
  3  no such interface, clock or address
  4  not permitted: needs privilege
  5  not supported by this system, driver or NIC
  6  measured, but packets or timestamps were lost
  7  the clock to be steered is off by more than may be followed
  8  measured, and a limit is exceeded (latency --max-p99, ntp --max-offset and the like)
  9  the two runs that were compared differ

SIGINT (Ctrl-C), SIGTERM and SIGHUP end a run early, with its summary; a second one ends the program
with exit code 128 plus the signal's number, once clocks and NICs are restored; a third one at once.

Errors name the target, the operation, the system's answer and the remedy; with --json they are an
object {\"error\": {…}} on standard output.";

/// Where the table of the codes is in [`HELP`].
const TABLE: &str = "Exit codes:\n";

/// Each code and what it means.
pub(crate) fn codes() -> impl Iterator<Item = (&'static str, &'static str)> {
    let table = HELP.strip_prefix(TABLE).unwrap_or(HELP);
    let rows = table.lines().take_while(|line| !line.is_empty());
    rows.filter_map(|row| row.trim_start().split_once("  "))
}

/// What the help says besides the codes.
pub(crate) fn after_codes() -> &'static str {
    HELP.split_once("\n\n").map_or("", |(_, text)| text)
}

impl From<ErrorKind> for Exit {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::InvalidInput => Self::InvalidInput,
            ErrorKind::NoSuchDevice => Self::NoSuchDevice,
            ErrorKind::NotPermitted => Self::NotPermitted,
            ErrorKind::NotSupported => Self::NotSupported,
            _ => Self::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_lists_every_code() {
        let all = [
            Exit::Success,
            Exit::Failed,
            Exit::InvalidInput,
            Exit::NoSuchDevice,
            Exit::NotPermitted,
            Exit::NotSupported,
            Exit::Lossy,
            Exit::OffLimit,
            Exit::OverLimit,
            Exit::Different,
        ];
        for exit in all {
            assert!(HELP.contains(&format!("\n  {}  ", exit as u8)), "{exit:?}");
        }
        assert_eq!(codes().count(), all.len());
        assert_eq!(codes().next(), Some(("0", "done")));
        assert!(after_codes().starts_with("SIGINT"));
    }

    #[test]
    fn what_the_caller_does_next_decides_the_code() {
        assert_eq!(Exit::from(ErrorKind::NotPermitted), Exit::NotPermitted);
        assert_eq!(Exit::from(ErrorKind::Unreachable), Exit::Failed);
        assert_eq!(Exit::from(ErrorKind::Busy), Exit::Failed);
    }
}
