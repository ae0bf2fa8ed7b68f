//! The configuration of recordings for the analysis of a fleet.

use super::check::{at_least, at_most, invalid};
use super::times::{fortnight, one_second, ten_minutes, ten_seconds};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;
use wirestamp::Result;
use wirestamp_measure::times::{duration, some_duration};

/// The longest window and the longest time that rows wait: they are held in memory.
const LONGEST: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(3_600));

/// Parquet files of this host's measurements, for the analysis of a fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Recording {
    /// The folder of the tables; several hosts can share it.
    #[cfg_attr(feature = "schema", schemars(example = &"/var/lib/wirestamp-monitor/recordings"))]
    pub directory: PathBuf,
    /// The tables to write: `probes`, `estimates`, `cross`, and `timestamps`, which has a row for each STAMP packet.
    #[serde(default = "usual")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub tables: Vec<Table>,
    /// Of `probes`: the length of a window, 100 ms to 60 s, the same on all hosts.
    #[serde(default = "one_second", with = "duration")]
    #[cfg_attr(feature = "schema", schemars(with = "wirestamp_measure::times::Text"))]
    pub window: Duration,
    /// Of `estimates`: time between two rows of a clock, 1 s to 1 h.
    #[serde(default = "ten_seconds", with = "duration")]
    #[cfg_attr(feature = "schema", schemars(with = "wirestamp_measure::times::Text"))]
    pub interval: Duration,
    /// The longest time that rows wait before they become a file, 1 s to 1 h. A crash loses waiting rows; when it ends,
    /// the monitor writes them, and waits at most 5 s if the disk hangs.
    #[serde(default = "ten_minutes", with = "duration")]
    #[cfg_attr(feature = "schema", schemars(with = "wirestamp_measure::times::Text"))]
    pub file_interval: Duration,
    /// The age at which this host's files are removed; at least 1 h.
    #[serde(default = "fortnight", with = "duration")]
    #[cfg_attr(feature = "schema", schemars(with = "wirestamp_measure::times::Text"))]
    pub keep: Duration,
    /// The largest size of this host's files in bytes; beyond it the oldest are removed.
    #[serde(default = "gigabyte")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1048576)))]
    pub limit_bytes: u64,
    /// The largest error of this host's clock against UTC while the monitor runs. Default: as its NTP servers state it,
    /// else the kernel.
    #[serde(default, with = "some_duration")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<wirestamp_measure::times::Text>", example = &"1us"))]
    pub clock_bound: Option<Duration>,
}

/// A table of what is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
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
