//! The configuration of the monitor, with defaults and limits.

mod check;
mod files;
mod history;
mod http;
mod otlp;
mod recording;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod tests;
mod times;

pub use history::History;
pub use http::{Http, Metrics};
pub use otlp::Otlp;
pub use recording::{Recording, Table};
pub use wirestamp_measure::{Clocks, Ntp, Path, Ptp, Reflector, Relation, Stamp};

use check::invalid;
use serde::{Deserialize, Serialize};
use wirestamp::Result;
use wirestamp_measure::Measurements;

/// What a monitor does. Every field may be left out of a TOML file; unknown ones are refused.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Configuration {
    /// Name of this host in metrics, snapshots and recordings. Default: the system's name.
    #[cfg_attr(feature = "schema", schemars(example = &"db7"))]
    pub host: Option<String>,
    /// The HTTP server.
    pub http: Http,
    /// Correlation of the NICs' clocks with the system clock.
    pub clocks: Clocks,
    /// Send and receive paths of this host.
    pub path: Vec<Path>,
    /// STAMP sessions.
    pub stamp: Vec<Stamp>,
    /// The STAMP reflector. Without this table there is none.
    pub reflector: Option<Reflector>,
    /// NTP servers.
    pub ntp: Vec<Ntp>,
    /// PTP clocks that measure.
    pub ptp: Vec<Ptp>,
    /// The history on disk. Without this table there is none.
    pub history: Option<History>,
    /// Parquet files of this host's measurements, for the analysis of a fleet. Without this table there are none. Needs
    /// a program with the features `monitor` and `parquet`.
    pub recording: Option<Recording>,
    /// Pushes of metrics by OTLP over HTTP (protobuf). Without this table there are none.
    pub otlp: Option<Otlp>,
    /// The metrics.
    pub metrics: Metrics,
    /// In a simulation: whether [peers](Measurements::peers) answer. Not in the file.
    #[serde(skip)]
    pub answered: bool,
}

impl Configuration {
    /// JSON Schema of the TOML file: every field with its type, default and limits.
    pub const SCHEMA: &str = include_str!("configuration/schema.json");

    /// Reads a TOML text, and checks it.
    ///
    /// # Errors
    /// `InvalidInput`, with line and field.
    pub fn from_toml(text: &str) -> Result<Self> {
        let read: Self = toml::from_str(text).map_err(|error| {
            let cause = error.to_string().trim_end().to_owned();
            invalid(
                "the file",
                cause,
                "see the guide's page \"monitor\" for the fields",
            )
        })?;
        read.check()?;
        Ok(read)
    }

    /// Returns what is to be measured.
    pub fn measurements(&self) -> Measurements {
        let mut asked = Measurements::default().clocks(self.clocks.clone());
        asked.path.clone_from(&self.path);
        asked.stamp.clone_from(&self.stamp);
        asked.reflector.clone_from(&self.reflector);
        asked.ntp.clone_from(&self.ntp);
        asked.ptp.clone_from(&self.ptp);
        asked.answered = self.answered;
        asked
    }
}
