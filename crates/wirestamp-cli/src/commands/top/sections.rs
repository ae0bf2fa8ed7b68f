//! The tables of the overview, from a snapshot.

mod clocks;
mod others;
mod peers;

use super::columns::{Cell, Column};
use super::style::Tone;
use super::text;
use wirestamp_monitor::snapshot::{Event, Reasons, Snapshot};

/// What a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Task,
    Clock,
    Ntp,
    Ptp,
    Peer,
    Path,
    Reflector,
    Missing,
    Interface,
    Event,
    Monitor,
}

/// Which one of its kind. `name` is as the monitor wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Subject {
    pub(super) kind: Kind,
    pub(super) name: String,
}

impl Subject {
    fn new(kind: Kind, name: &str) -> Self {
        let name = name.to_owned();
        Self { kind, name }
    }
}

/// A table of the overview.
#[derive(Debug, Clone)]
pub(super) struct Section {
    pub(super) title: &'static str,
    /// What holds for all of them.
    pub(super) note: Option<(String, Tone)>,
    pub(super) columns: &'static [Column],
    pub(super) rows: Vec<Row>,
}

/// A row, and by what it is sorted and found.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) subject: Subject,
    pub(super) cells: Vec<Cell>,
    /// Whether it has a picture of `trend` over time.
    pub(super) has_trend: bool,
    pub(super) trend: Option<i64>,
    /// How far off, or how long.
    pub(super) size: Option<u64>,
    /// The number of missing timestamps or packets.
    pub(super) lost: Option<u64>,
    pub(super) age: Option<i64>,
    /// What the filter looks at, in small letters.
    pub(super) words: String,
}

impl Row {
    fn new<const N: usize>(kind: Kind, name: &str, cells: [Cell; N]) -> Self {
        let mut words = String::new();
        for cell in &cells {
            words.push_str(&cell.text);
            words.push(' ');
        }
        Self {
            subject: Subject::new(kind, name),
            cells: cells.into(),
            has_trend: false,
            trend: None,
            size: None,
            lost: None,
            age: None,
            words: words.to_lowercase(),
        }
    }

    fn with_trend(mut self, value: Option<i64>) -> Self {
        self.has_trend = true;
        self.trend = value;
        self.size = value.map(i64::unsigned_abs);
        self
    }

    fn with_size(mut self, size: Option<i64>) -> Self {
        self.size = size.map(i64::unsigned_abs);
        self
    }

    fn with_lost(mut self, lost: u64) -> Self {
        self.lost = Some(lost);
        self
    }

    fn with_age(mut self, age: Option<i64>) -> Self {
        self.age = age;
        self
    }
}

/// The name of what is shown, a doubtful thing in its tone.
fn name(text: &str) -> Cell {
    text::word(Some(text)).into()
}

fn quiet(text: impl Into<String>) -> Cell {
    (text.into(), Tone::Quiet).into()
}

/// A cell whose picture is drawn once its width is known.
fn picture() -> Cell {
    (String::new(), Tone::Quiet).into()
}

/// A count that is bad unless it is 0.
fn fault(text: String, count: u64) -> Cell {
    let tone = if count > 0 { Tone::Bad } else { Tone::Plain };
    (text, tone).into()
}

fn sum(reasons: &Reasons) -> u64 {
    reasons
        .values()
        .fold(0, |sum, one| sum.saturating_add(*one))
}

/// The reasons that there are, as `reset 2, step 1`; none is `none`.
fn listed(reasons: &Reasons, none: &str) -> String {
    let parts: Vec<_> = reasons
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(reason, count)| format!("{} {count}", text::clean(reason)))
        .collect();
    match parts.is_empty() {
        true => none.to_owned(),
        false => parts.join(", "),
    }
}

/// All tables, in the order of the page. `later`: so much time has passed since the snapshot, in nanoseconds.
pub(super) fn of(snapshot: &Snapshot, later: i64) -> Vec<Section> {
    let mut sections = vec![
        others::not_running(snapshot),
        clocks::clocks(snapshot, later),
        clocks::ntp(snapshot, later),
        clocks::ptp(snapshot, later),
        peers::peers(snapshot, later),
        peers::paths(snapshot),
        peers::reflector(snapshot),
        peers::missing(snapshot),
        others::interfaces(snapshot),
        others::events(&snapshot.events),
        others::monitor(snapshot),
    ];
    sections.retain(|section| !section.rows.is_empty() || section.note.is_some());
    sections
}

pub(super) use peers::{delays, missing};

/// Only the events of this name, as a table.
pub(super) fn events_of(events: &[Event], name: &str) -> Section {
    let of_it: Vec<_> = events
        .iter()
        .filter(|event| event.subject == name)
        .cloned()
        .collect();
    others::events(&of_it)
}
