//! The table of the hot paths: what each costs, and our ratio to each peer beside its goal.

use super::Path;
use super::chart::chart;
use super::obstacles::{anywhere, obstacle};
use super::reflecting::conclusion;
use super::timing::median;
use comfy_table::presets::{ASCII_MARKDOWN, UTF8_FULL_CONDENSED};
use comfy_table::{Cell, CellAlignment, TableStyle};
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::fs::read_to_string;
use std::io::{Write, stdout};
use std::path::Path as File;

/// What a reader should conclude. By hand: to be revised with the table that is committed.
const READING: &str = include_str!("reading.md");
/// How the obstacles were found.
const PROFILES: &str = include_str!("profiles.md");

/// Ours over a peer's, at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Goal {
    pub(crate) peer: &'static str,
    pub(crate) at_most: f64,
}

/// All that was measured.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
pub(crate) struct Table {
    machine: String,
    passes: usize,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) path: &'static str,
    pub(crate) case: &'static str,
    nanoseconds: f64,
    /// Ours over this one, formed within each pass: the median, the least, the most.
    pub(crate) ratio: Option<[f64; 3]>,
    pub(crate) goal: Option<f64>,
    /// Of an operation, outside of the kernel; only of ours.
    instructions: Option<f64>,
}

impl Row {
    fn has_missed(&self) -> bool {
        self.ratio
            .zip(self.goal)
            .is_some_and(|([middle, ..], goal)| middle > goal)
    }
}

impl Table {
    pub(crate) fn new(passes: usize) -> Self {
        Self {
            machine: machine(),
            passes,
            rows: Vec::new(),
        }
    }

    /// Reads a report from JSON. It lives as long as the program, as do the names of the measurements.
    pub(crate) fn read(file: &File) -> Result<Self, Box<dyn Error>> {
        let text: &'static str = read_to_string(file)?.leak();
        Ok(serde_json::from_str(text)?)
    }

    pub(crate) fn add(&mut self, path: &Path, measured: &[Vec<f64>], instructions: Option<f64>) {
        for (place, case) in path.cases.iter().enumerate() {
            let mut costs: Vec<f64> = measured.iter().map(|pass| pass[place]).collect();
            let mut ratios: Vec<f64> = measured.iter().map(|pass| pass[0] / pass[place]).collect();
            let middle = median(&mut ratios);
            let ratio = (place > 0).then(|| [middle, ratios[0], ratios[ratios.len() - 1]]);
            let goal = path
                .goals
                .iter()
                .find(|goal| goal.peer == case.name)
                .map(|goal| goal.at_most);
            self.rows.push(Row {
                path: path.name,
                case: case.name,
                nanoseconds: median(&mut costs),
                ratio,
                goal,
                instructions: instructions.filter(|_| place == 0),
            });
        }
    }

    pub(crate) fn passes(&self) -> usize {
        self.passes
    }

    /// Rows that were measured elsewhere.
    pub(crate) fn append(&mut self, other: Self) {
        self.rows.extend(other.rows);
    }

    pub(crate) fn print(&self) -> std::io::Result<()> {
        writeln!(
            stdout(),
            "{}; {} passes, ns an operation",
            self.machine,
            self.passes
        )?;
        writeln!(stdout(), "{}", self.table(UTF8_FULL_CONDENSED))
    }

    pub(crate) fn markdown(&self) -> String {
        let table = self.table(ASCII_MARKDOWN);
        let head = "Made by `scripts/compare-paths --commit`; picture: paths.svg. Instructions: outside of the kernel, by callgrind.";
        let missed = self.obstacles();
        format!(
            "{head}\n\n{READING}\n## The table\n\n{}; {} passes, ns an operation\n\n{table}\n\n{}## What stands in the way\n\n{missed}\n{PROFILES}",
            self.machine,
            self.passes,
            self.conclusions()
        )
    }

    /// A line for each path whose figures mean a rate.
    fn conclusions(&self) -> String {
        let ours = self.rows.iter().filter(|row| row.ratio.is_none());
        let lines: String = ours
            .filter_map(|row| {
                let words = conclusion(row.path, row.nanoseconds)?;
                Some(format!("- **{}**: {words}\n", row.path))
            })
            .collect();
        if lines.is_empty() {
            return lines;
        }
        format!("## Rates\n\n{lines}\n")
    }

    /// A line for each path that missed a goal.
    fn obstacles(&self) -> String {
        let mut missed: Vec<&'static str> = Vec::new();
        for path in self
            .rows
            .iter()
            .filter(|row| row.has_missed())
            .map(|row| anywhere(row.path))
        {
            if !missed.contains(&path) {
                missed.push(path);
            }
        }
        let line = |path: &'static str| {
            format!("- **{path}**: {}\n", obstacle(path).unwrap_or("not known."))
        };
        missed.into_iter().map(line).collect()
    }

    pub(crate) fn chart(&self) -> Result<String, Box<dyn Error>> {
        chart(&self.rows, &self.machine)
    }

    fn table(&self, style: TableStyle) -> comfy_table::Table {
        let mut table = comfy_table::Table::new();
        table.load_style(style);
        table.set_header([
            "path",
            "case",
            "ns",
            "ours / this (range)",
            "goal",
            "",
            "instructions",
        ]);
        let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
        for row in &self.rows {
            let ratio = row
                .ratio
                .map(|[middle, least, most]| format!("{middle:.2} ({least:.2}-{most:.2})"));
            let met = row
                .ratio
                .zip(row.goal)
                .map(|([middle, ..], goal)| if middle <= goal { "met" } else { "missed" });
            table.add_row([
                Cell::new(if row.ratio.is_none() { row.path } else { "" }),
                Cell::new(row.case),
                right(short(row.nanoseconds)),
                right(ratio.unwrap_or_default()),
                right(
                    row.goal
                        .map(|goal| format!("{goal:.2}"))
                        .unwrap_or_default(),
                ),
                Cell::new(met.unwrap_or_default()),
                right(
                    row.instructions
                        .map(|count| format!("{count:.1}"))
                        .unwrap_or_default(),
                ),
            ]);
        }
        table
    }
}

/// With about three digits.
fn short(nanoseconds: f64) -> String {
    match nanoseconds {
        0.0..10.0 => format!("{nanoseconds:.2}"),
        10.0..100.0 => format!("{nanoseconds:.1}"),
        _ => format!("{nanoseconds:.0}"),
    }
}

/// The processor, how many, and the kernel.
fn machine() -> String {
    let processors = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processors
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let kernel = read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let model = model.map_or("an unknown processor", |(_, model)| model);
    format!("{model}, {count} processors, Linux {}", kernel.trim())
}
