//! What is written for the analysis of a fleet.

use super::check::{at_least, at_most, invalid};
use super::times::{fortnight, one_second, ten_minutes, ten_seconds};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;
use wirestamp::Result;
use wirestamp_measure::times::{duration, some_duration};

/// The longest window and the longest time that rows wait: they are held in memory.
const LONGEST: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(3_600));

/// What is written for the analysis of a fleet: Parquet files of what this host measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Recording {
    /// The folder of the tables; several hosts can share it.
    pub directory: PathBuf,
    /// Which tables. Default: all but `timestamps`.
    #[serde(default = "usual")]
    pub tables: Vec<Table>,
    /// Of `probes`: the length of a window, 100 ms to 60 s, the same on all hosts. Default: 1 s.
    #[serde(default = "one_second", with = "duration")]
    pub window: Duration,
    /// Of `estimates`: from one row of a clock to the next, 1 s to 1 h. Default: 10 s.
    #[serde(default = "ten_seconds", with = "duration")]
    pub interval: Duration,
    /// Rows wait so long at most before they become a file, 1 s to 1 h: a crash loses those that wait. At its end the monitor writes them, and waits 5 s at most
    /// for a disk that hangs. Default: 10 min.
    #[serde(default = "ten_minutes", with = "duration")]
    pub file_interval: Duration,
    /// This host's older files are removed; at least 1 h. Default: 14 days.
    #[serde(default = "fortnight", with = "duration")]
    pub keep: Duration,
    /// Bytes of this host's files, at most; at least 1 MiB. Default: 1 GiB.
    #[serde(default = "gigabyte")]
    pub limit_bytes: u64,
    /// How far this host's clock may be from UTC, for as long as the monitor runs. Default: what its NTP servers or the kernel say.
    #[serde(default, with = "some_duration")]
    pub clock_bound: Option<Duration>,
}

/// A table of what is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Table {
    /// The least differences of each STAMP session and window.
    Probes,
    /// Clocks against UTC, and what this host claims of its own.
    Estimates,
    /// Cross timestamps of NICs' clocks.
    Cross,
    /// Each packet of STAMP sessions and of the reflector.
    Timestamps,
}

impl Table {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Probes, Self::Estimates, Self::Cross, Self::Timestamps];

    /// Returns its name: that of its folder.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Probes => "probes",
            Self::Estimates => "estimates",
            Self::Cross => "cross",
            Self::Timestamps => "timestamps",
        }
    }
}

impl Recording {
    /// Checks what types do not say.
    pub(super) fn check(&self) -> Result<()> {
        const NAME: &str = "[recording]";
        let (window, hour) = LONGEST;
        at_least(NAME, "window", self.window, Duration::from_millis(100))?;
        at_most(NAME, "window", self.window, window)?;
        for (field, value) in [
            ("interval", self.interval),
            ("file_interval", self.file_interval),
        ] {
            at_least(NAME, field, value, Duration::from_secs(1))?;
            at_most(NAME, field, value, hour)?;
        }
        at_least(NAME, "keep", self.keep, hour)?;
        if self.limit_bytes < 1 << 20 {
            let cause = format!("limit_bytes = {} is below 1 MiB", self.limit_bytes);
            return Err(invalid(NAME, cause, "allow at least 1048576"));
        }
        if self.tables.is_empty() {
            let remedy = "name probes, estimates, cross or timestamps, or leave tables out";
            return Err(invalid(NAME, "tables is empty".into(), remedy));
        }
        if cfg!(not(feature = "parquet")) {
            let cause = "this program is built without it".to_owned();
            let remedy = "build it with the features monitor and parquet, or remove the table";
            return Err(invalid(NAME, cause, remedy));
        }
        Ok(())
    }
}

fn usual() -> Vec<Table> {
    let tables = Table::ALL.into_iter();
    tables.filter(|table| *table != Table::Timestamps).collect()
}

fn gigabyte() -> u64 {
    1 << 30
}
