//! What a check says: a status, why, and what would change it. Makes no check.

use crate::output::Page;
use crate::output::colour::{BAD, DOUBTFUL, GOOD, HEADING, QUIET, paint};
use serde::Serialize;
use std::env::consts::OS;

/// Where the explanation starts.
const INDENT: &str = "                         ";
const WIDTH: usize = 80;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
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
pub(super) struct Check {
    /// Stable.
    pub(super) name: &'static str,
    /// `None`: the system as a whole.
    pub(super) interface: Option<String>,
    pub(super) status: Status,
    pub(super) explanation: String,
    pub(super) commands: Commands,
}

/// What would change it; empty where nothing would or nothing need be.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Commands {
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

    /// `previous`: the commands above, which need not be said again. `both`: of both systems, not
    /// of this one alone.
    pub(super) fn print(&self, page: &mut Page, previous: &Commands, both: bool) {
        let (style, status) = match self.status {
            Status::Ok => (GOOD, "ok  "),
            Status::Warn => (DOUBTFUL, "warn"),
            Status::Fail => (BAD, "fail"),
            Status::Skip => (QUIET, "skip"),
        };
        let options = textwrap::Options::new(WIDTH)
            .initial_indent(INDENT)
            .subsequent_indent(INDENT)
            .break_words(false);
        let text = textwrap::fill(&self.explanation, options);
        page.line(&format!(
            "  {} {:<17} {}",
            paint(style, status),
            self.name,
            text.trim_start()
        ));
        if self.commands == *previous {
            return;
        }
        let systems = [
            ("linux", "Linux:", &self.commands.linux),
            ("windows", "Windows:", &self.commands.windows),
        ];
        for (_, system, commands) in systems.into_iter().filter(|(name, ..)| both || *name == OS) {
            for (place, command) in commands.iter().enumerate() {
                let system = if place == 0 { system } else { "" };
                // a command is not broken: it is there to be copied
                page.line(&format!(
                    "       {} {}",
                    paint(QUIET, &format!("{system:<8}")),
                    paint(HEADING, command)
                ));
            }
        }
    }
}
