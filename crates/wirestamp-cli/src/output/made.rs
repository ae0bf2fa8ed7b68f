//! By whom a report was made: host, system, date and command.

use std::env::{args, consts::OS};
use std::sync::OnceLock;
use std::time::SystemTime;

static MADE: OnceLock<Made> = OnceLock::new();

/// As it is when first asked for. Whoever enters a sandbox asks before: a sandbox may deny these questions.
pub(crate) fn made() -> &'static Made {
    MADE.get_or_init(Made::now)
}

#[derive(Debug)]
pub(crate) struct Made {
    /// The host, its system and the date.
    pub(crate) by: String,
    /// The command as a shell reads it.
    pub(crate) command: String,
}

impl Made {
    fn now() -> Self {
        let host = gethostname::gethostname();
        let date = humantime::format_rfc3339_seconds(SystemTime::now());
        Self {
            by: format!("on {}, {}, {date}", host.to_string_lossy(), system()),
            command: command(args().skip(1)),
        }
    }
}

fn command(arguments: impl Iterator<Item = String>) -> String {
    let arguments = arguments.map(|word| quoted(&word));
    let words: Vec<_> = ["wirestamp".to_owned()]
        .into_iter()
        .chain(arguments)
        .collect();
    words.join(" ")
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
    }

    #[test]
    fn a_report_names_host_system_date_and_command() {
        let made = Made::now();
        let host = gethostname::gethostname().to_string_lossy().into_owned();
        assert!(
            made.by.contains(&host) && made.by.contains("20"),
            "{made:?}"
        );
        assert!(made.command.starts_with("wirestamp"), "{made:?}");
    }
}
