//! By whom a report was made: host, system, date and command.

use std::env::{args_os, consts::OS};
use std::ffi::OsString;
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Debug, Default)]
pub(crate) struct Made {
    /// The host and its system.
    by: String,
    /// The command as a POSIX shell reads it.
    command: String,
}

impl Made {
    /// By this host, with this command.
    pub(crate) fn here() -> Self {
        let host = gethostname::gethostname();
        Self {
            by: format!("{}, {}", host.to_string_lossy(), system()),
            command: command(args_os().skip(1)),
        }
    }

    /// Host, system and the present date: `on host1, Linux 6.12.1, 2026-11-30T12:00:00Z`.
    pub(crate) fn by(&self) -> String {
        let now = SystemTime::now();
        match now >= UNIX_EPOCH {
            true => format!("on {}, {}", self.by, humantime::format_rfc3339_seconds(now)),
            false => format!("on {}", self.by),
        }
    }

    pub(crate) fn command(&self) -> &str {
        &self.command
    }
}

fn command(arguments: impl Iterator<Item = OsString>) -> String {
    let arguments = arguments.map(|word| quoted(&word.to_string_lossy()));
    let words = ["wirestamp".to_owned()].into_iter().chain(arguments);
    words.collect::<Vec<_>>().join(" ")
}

/// `Linux 6.12.1`. (Wine shows the files of the Linux below it, and is none.)
fn system() -> String {
    let release = match OS {
        "linux" => std::fs::read_to_string("/proc/sys/kernel/osrelease").ok(),
        _ => None,
    };
    match release {
        Some(release) => format!("Linux {}", release.trim()),
        None => OS.to_owned(),
    }
}

/// A word as a POSIX shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |one: char| one.is_alphanumeric() || "-_=+.,:/@%".contains(one);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_a_shell_reads_them() {
        for (word, expected) in [
            ("--plot=x.svg", "--plot=x.svg"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("$HOME", "'$HOME'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
        let words = ["ntp", "a b"].map(OsString::from);
        assert_eq!(command(words.into_iter()), "wirestamp ntp 'a b'");
    }

    /// A path may have any bytes.
    #[cfg(unix)]
    #[test]
    fn a_word_that_is_not_unicode_is_shown() {
        use std::os::unix::ffi::OsStringExt as _;
        let word = OsString::from_vec(b"caf\xe9".to_vec());
        assert_eq!(command([word].into_iter()), "wirestamp 'caf\u{fffd}'");
    }
}
