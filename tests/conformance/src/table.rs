//! The table of rows and rigs: what passed, failed, and was skipped, and why. Runs nothing.

use crate::rig::RigKind;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What the rows are about, from 1; the last one is bad input.
pub const ROWS: [&str; 17] = [
    "interfaces",
    "capabilities",
    "PTPv2 verdict and matrix",
    "system-level configuration",
    "receive timestamps",
    "transmit timestamps",
    "waiting",
    "every id ends once",
    "ids carried and counted",
    "what else is in the queue",
    "which clock timestamped",
    "cross timestamps",
    "correlator",
    "change notification",
    "latency",
    "batches",
    "bad input and faults",
];

/// How a behaviour ended on a rig.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// As it should.
    Passed,
    /// Not as it should.
    Failed,
    /// It can't be shown there, for this reason.
    Skipped(String),
}

#[derive(Debug, Default)]
struct Cell {
    passed: usize,
    failed: usize,
    skipped: usize,
}

/// What became of all behaviours that ran.
#[derive(Debug, Default)]
pub struct Table {
    cells: BTreeMap<(u8, RigKind), Cell>,
    /// Reason → rig → behaviours.
    reasons: BTreeMap<(RigKind, String), Vec<String>>,
}

impl Table {
    /// Notes how a behaviour ended.
    pub fn note(&mut self, row: u8, rig: RigKind, behaviour: &str, verdict: Verdict) {
        let cell = self.cells.entry((row, rig)).or_default();
        match verdict {
            Verdict::Passed => cell.passed += 1,
            Verdict::Failed => cell.failed += 1,
            Verdict::Skipped(reason) => {
                cell.skipped += 1;
                self.reasons
                    .entry((rig, reason))
                    .or_default()
                    .push(behaviour.to_owned());
            }
        }
    }

    /// For people at a terminal.
    pub fn plain(&self) -> String {
        let mut text = format!("\n{:<32}", "row");
        for rig in self.rigs() {
            let _ = write!(text, "{:<32}", rig.name());
        }
        for (title, row) in ROWS.iter().zip(1u8..) {
            let number = if usize::from(row) == ROWS.len() {
                String::from(" !")
            } else {
                format!("{row:>2}")
            };
            let _ = write!(text, "\n{:<32}", format!("{number} {title}"));
            for rig in self.rigs() {
                let _ = write!(text, "{:<32}", self.cell(row, rig));
            }
        }
        text.push('\n');
        for ((rig, reason), behaviours) in &self.reasons {
            let _ = write!(text, "\nskipped on {}: {reason}", rig.name());
            for behaviour in behaviours {
                let _ = write!(text, "\n    {behaviour}");
            }
        }
        text.push('\n');
        text
    }

    /// For docs/evidence.md.
    pub fn markdown(&self) -> String {
        let mut text = String::from("| # | behaviour |");
        for rig in self.rigs() {
            let _ = write!(text, " {} |", rig.name());
        }
        text.push_str("\n|---|---|");
        text.push_str(&"---|".repeat(self.rigs().count()));
        for (title, row) in ROWS.iter().zip(1u8..) {
            let number = if usize::from(row) == ROWS.len() {
                String::from("–")
            } else {
                row.to_string()
            };
            let _ = write!(text, "\n| {number} | {title} |");
            for rig in self.rigs() {
                let _ = write!(text, " {} |", self.cell(row, rig));
            }
        }
        text.push_str("\n\nWhat was skipped, and why:\n");
        for ((rig, reason), behaviours) in &self.reasons {
            let _ = write!(
                text,
                "\n* **{}**: {reason}: {}",
                rig.name(),
                behaviours.join(", ")
            );
        }
        text.push('\n');
        text
    }

    /// Those that any behaviour was tried on.
    fn rigs(&self) -> impl Iterator<Item = RigKind> {
        RigKind::ALL
            .into_iter()
            .filter(|rig| self.cells.keys().any(|(_, tried)| tried == rig))
    }

    fn cell(&self, row: u8, rig: RigKind) -> String {
        let Some(Cell {
            passed,
            failed,
            skipped,
        }) = self.cells.get(&(row, rig))
        else {
            return String::from("not run");
        };
        let mut parts = Vec::new();
        for (count, what) in [(passed, "passed"), (failed, "FAILED"), (skipped, "skipped")] {
            if *count > 0 {
                parts.push(format!("{count} {what}"));
            }
        }
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_skipped_is_told_with_its_reason() {
        let mut table = Table::default();
        table.note(
            1,
            RigKind::LinuxVeth,
            "01-a",
            Verdict::Skipped(String::from("no root")),
        );
        table.note(1, RigKind::LinuxVeth, "01-b", Verdict::Passed);
        table.note(2, RigKind::Simulator, "02-c", Verdict::Failed);
        let markdown = table.markdown();
        assert!(
            markdown.contains("| 1 | interfaces | not run | 1 passed, 1 skipped |"),
            "{markdown}"
        );
        assert!(markdown.contains("| 1 FAILED |"), "{markdown}");
        assert!(
            markdown.contains("* **linux-veth**: no root: 01-a"),
            "{markdown}"
        );
        assert!(
            table
                .plain()
                .contains("skipped on linux-veth: no root\n    01-a"),
            "{}",
            table.plain()
        );
    }
}
