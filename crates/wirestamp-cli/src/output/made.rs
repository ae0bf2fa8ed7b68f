//! By whom a report was made: host, system, date and command.

use std::env::{args_os, consts::OS, var_os};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};
use wirestamp::ENVIRONMENT as SIMULATION;

#[derive(Debug, Default)]
pub(crate) struct Made {
    /// The host and its system.
    by: String,
    /// The command as a POSIX shell reads it; bytes that are no Unicode are replaced.
    command: String,
}

impl Made {
    /// By this host, with this command.
    pub(crate) fn here() -> Self {
        let host = gethostname::gethostname();
        Self {
            by: format!("{}, {}", host.to_string_lossy(), system()),
            command: command(args_os().skip(1), var_os(SIMULATION)),
        }
    }

    /// Host, system and the present date: `on host1, Linux 6.12.1, 2026-11-30T12:00:00Z`.
    pub(crate) fn by(&self) -> String {
        self.by_at(SystemTime::now())
    }

    /// Without the date, if RFC 3339 has none for this time: before 1970 and after 9999.
    fn by_at(&self, now: SystemTime) -> String {
        let (by, mut date) = (&self.by, String::new());
        let is_dated =
            now >= UNIX_EPOCH && write!(date, "{}", humantime::format_rfc3339_seconds(now)).is_ok();
        match is_dated {
            true => format!("on {by}, {date}"),
            false => format!("on {by}"),
        }
    }

    pub(crate) fn command(&self) -> &str {
        &self.command
    }
}

/// With the simulation that the environment chooses, unless `--sim` does.
fn command(arguments: impl Iterator<Item = OsString>, simulation: Option<OsString>) -> String {
    let arguments: Vec<_> = arguments
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let is_chosen = arguments
        .iter()
        .any(|word| word == "--sim" || word.starts_with("--sim="));
    let simulation = simulation.filter(|chosen| !chosen.is_empty() && !is_chosen);
    let simulation =
        simulation.map(|chosen| format!("{SIMULATION}={}", quoted(&chosen.to_string_lossy())));
    let words = simulation.into_iter().chain(["wirestamp".to_owned()]);
    let words = words.chain(arguments.iter().map(|word| quoted(word)));
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
    use std::time::Duration;

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
        assert_eq!(command(words.into_iter(), None), "wirestamp ntp 'a b'");
    }

    #[test]
    fn the_simulation_is_part_of_the_command() {
        let shown = |words: &[&str], chosen: &str| {
            command(words.iter().map(OsString::from), Some(chosen.into()))
        };
        assert_eq!(
            shown(&["ntp", "sim1"], "my nic.toml"),
            "WIRESTAMP_SIM='my nic.toml' wirestamp ntp sim1"
        );
        assert_eq!(shown(&["ntp"], ""), "wirestamp ntp", "it chooses nothing");
        for words in [&["--sim", "i225"][..], &["--sim=i225"]] {
            let expected = format!("wirestamp {}", words.join(" "));
            assert_eq!(shown(words, "igc"), expected, "--sim comes first");
        }
    }

    #[test]
    fn a_time_beyond_rfc_3339_has_no_date() {
        let made = Made {
            by: "host1, Linux".to_owned(),
            command: String::new(),
        };
        let last = UNIX_EPOCH + Duration::from_secs(253_402_300_799);
        let second = Duration::from_secs(1);
        assert_eq!(made.by_at(last), "on host1, Linux, 9999-12-31T23:59:59Z");
        for time in [last + second, UNIX_EPOCH - second] {
            assert_eq!(made.by_at(time), "on host1, Linux", "{time:?}");
        }
    }

    /// A path may have any bytes.
    #[cfg(unix)]
    #[test]
    fn a_word_that_is_not_unicode_is_shown() {
        use std::os::unix::ffi::OsStringExt as _;
        let word = OsString::from_vec(b"caf\xe9".to_vec());
        let shown = command([word].into_iter(), None);
        assert_eq!(shown, "wirestamp 'caf\u{fffd}'");
    }
}
