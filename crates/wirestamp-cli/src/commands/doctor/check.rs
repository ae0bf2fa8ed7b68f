//! What a check says: a status, why, and what would change it. Makes no check.

use crate::output::Page;
use crate::output::colour::{BAD, DOUBTFUL, GOOD, HEADING, QUIET, paint};
use crate::output::width::{self, COMFORTABLE};
use serde::Serialize;

/// Where the explanation starts.
const INDENT: usize = 25;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) enum Status {
    /// It works.
    Ok,
    /// It works less well than it could.
    Warn,
    /// It should work and does not.
    Fail,
    /// It can't be, or was not, checked.
    Skip,
}

/// One check.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Check {
    /// Name of the check: a stable word.
    pub(super) name: &'static str,
    /// Name of the interface; `None`: the check is of the whole system.
    pub(super) interface: Option<String>,
    /// How the check ended.
    pub(super) status: Status,
    /// The finding.
    pub(super) explanation: String,
    /// Commands that would change it, by system.
    pub(super) commands: Commands,
}

/// What would change it; empty where nothing would or nothing need be.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Commands {
    /// In a shell.
    pub(super) linux: Vec<String>,
    /// In an elevated PowerShell.
    pub(super) windows: Vec<String>,
}

impl Commands {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Check {
    pub(super) fn new(name: &'static str, status: Status, explanation: impl Into<String>) -> Self {
        Self {
            name,
            interface: None,
            status,
            explanation: explanation.into(),
            commands: Commands::default(),
        }
    }

    pub(super) fn on(mut self, interface: &str) -> Self {
        self.interface = Some(interface.to_owned());
        self
    }

    pub(super) fn changed_by(mut self, commands: Commands) -> Self {
        self.commands = commands;
        self
    }

    /// `previous`: the commands above, which need not be said again. `system`: whose commands help.
    pub(super) fn print(&self, page: &mut Page, previous: &Commands, system: &str) {
        let (style, status) = match self.status {
            Status::Ok => (GOOD, "ok  "),
            Status::Warn => (DOUBTFUL, "warn"),
            Status::Fail => (BAD, "fail"),
            Status::Skip => (QUIET, "skip"),
        };
        let columns = width::of_prose();
        let indent = if columns < COMFORTABLE { 7 } else { INDENT };
        let line = format!(
            "  {} {:<17} {}",
            paint(style, status),
            self.name,
            self.explanation
        );
        page.verbatim(&width::broken(&line, columns, indent));
        if self.commands == *previous {
            return;
        }
        let commands = match system {
            "windows" => &self.commands.windows,
            _ => &self.commands.linux,
        };
        for (place, command) in commands.iter().enumerate() {
            let label = if place == 0 { "run" } else { "" };
            // a command is not broken: it is there to be copied
            page.verbatim(&format!(
                "       {} {}",
                paint(QUIET, &format!("{label:<3}")),
                paint(HEADING, command)
            ));
        }
    }
}
