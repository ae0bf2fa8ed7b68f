//! `monitor --check`: what a configuration asks for, once its files were read.

use crate::output::{Page, Report, Rows};
#[cfg(all(test, feature = "schema"))]
use crate::schema::Document;
use serde::Serialize;
use std::path::PathBuf;
use wirestamp::{Error, ErrorKind};
use wirestamp_monitor::Configuration;

/// The warning for an exposed file of keys or tokens.
pub(super) const EXPOSED: &str =
    "others than its owner and group may read it, or others than its owner write it";

/// The warning for a server without names.
pub(super) const UNNAMED: &str = "plaintext beyond loopback is answered by addresses, this host's name and names without \
    a dot only: add others, such as those of Prometheus' targets, to [http] names";

/// What a configuration asks for.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Checked {
    /// Address and port where it is served; null: nowhere.
    http: Option<String>,
    /// STAMP sessions.
    stamp: usize,
    /// Whether there is a STAMP reflector.
    reflector: bool,
    /// NTP servers.
    ntp: usize,
    /// PTP clocks.
    ptp: usize,
    /// Send and receive paths of this host.
    path: usize,
    /// The folder of the history; null: there is none.
    history: Option<String>,
    /// The folder of the recordings; null: there are none.
    recording: Option<String>,
    /// Certificates, keys and tokens that were read.
    files: Vec<String>,
    /// Settings that work, but perhaps not as they are meant, in words.
    warnings: Vec<String>,
}

#[cfg(all(test, feature = "schema"))]
pub(super) fn schema() -> Document {
    Document::of::<Checked>(
        "monitor-check",
        "Output of `wirestamp monitor --check --json`",
    )
    .row::<Checked>()
}

impl Checked {
    /// Reads the files that the configuration names.
    pub(super) fn new(configuration: &Configuration) -> Result<Self, Error> {
        let files = configuration.read_files()?;
        let files = files.iter().map(|path| path.display().to_string());
        if let Some(path) = configuration.exposed_files().first() {
            let target = path.display().to_string();
            let operation = "check the monitor's configuration";
            return Err(
                Error::new(ErrorKind::InvalidInput, operation, target, EXPOSED).with_remedy(
                    "chmod 640 it, and give it to a group of which the monitor alone is a member",
                ),
            );
        }
        let shown = |folder: &PathBuf| folder.display().to_string();
        Ok(Self {
            http: configuration
                .http
                .enabled
                .then(|| configuration.http.listen.to_string()),
            stamp: configuration.stamp.len(),
            reflector: configuration.reflector.is_some(),
            ntp: configuration.ntp.len(),
            ptp: configuration.ptp.len(),
            path: configuration.path.len(),
            history: configuration
                .history
                .as_ref()
                .map(|history| shown(&history.directory)),
            recording: configuration
                .recording
                .as_ref()
                .map(|recording| shown(&recording.directory)),
            files: files.collect(),
            warnings: Vec::from_iter(configuration.http.lacks_names().then(|| UNNAMED.to_owned())),
        })
    }
}

impl Report for Checked {
    fn print(&self, page: &mut Page) {
        page.line("the configuration is right");
        page.field("HTTP", self.http.as_deref().unwrap_or("nothing is served"));
        page.field("STAMP sessions", &self.stamp.to_string());
        page.field("STAMP reflector", if self.reflector { "yes" } else { "no" });
        page.field("NTP servers", &self.ntp.to_string());
        page.field("PTP clocks", &self.ptp.to_string());
        page.field("paths of this host", &self.path.to_string());
        page.field("history", self.history.as_deref().unwrap_or("none"));
        page.field("recordings", self.recording.as_deref().unwrap_or("none"));
        for file in &self.files {
            page.field("read", file);
        }
        for warning in &self.warnings {
            page.field("warning", warning);
        }
    }

    fn rows(&self, rows: &mut Rows) {
        rows.row(self);
    }
}
