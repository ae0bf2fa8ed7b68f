//! The model of the page: answers of the monitor and keys come in, a page comes out. It needs no clock and no terminal.

use super::sections::{self, Kind, Section, Subject};
use super::series::Series;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::sync::Arc;
use std::time::Duration;
use wirestamp_monitor::snapshot::Snapshot;

/// A filter is not longer.
const LONGEST_FILTER: usize = 60;

/// In what order the rows of a table stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    AsConfigured,
    ByName,
    Largest,
    MostLost,
    Oldest,
}

impl Sort {
    const ALL: [Self; 5] = [
        Self::AsConfigured,
        Self::ByName,
        Self::Largest,
        Self::MostLost,
        Self::Oldest,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::AsConfigured => "as configured",
            Self::ByName => "by name",
            Self::Largest => "largest offset or delay first",
            Self::MostLost => "most lost first",
            Self::Oldest => "oldest first",
        }
    }

    fn next(self) -> Self {
        let place = Self::ALL.iter().position(|one| *one == self).unwrap_or(0);
        Self::ALL[(place + 1) % Self::ALL.len()]
    }
}

/// The view on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Screen {
    Overview,
    /// All of one thing.
    Detail(Subject),
    Help,
}

/// A snapshot, and when it came: times are since the program's start.
#[derive(Debug, Clone)]
pub(super) struct Taken {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) at: Duration,
}

impl Taken {
    /// How old it is, in nanoseconds.
    pub(super) fn age(&self, now: Duration) -> i64 {
        i64::try_from(now.saturating_sub(self.at).as_nanos()).unwrap_or(i64::MAX)
    }
}

/// Why there is no newer snapshot, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Silence {
    pub(super) why: String,
    pub(super) since: Duration,
}

/// Everything that decides what is drawn.
#[derive(Debug)]
pub(super) struct Model {
    /// Who is asked.
    pub(super) source: String,
    latest: Option<Taken>,
    /// The one that is shown while it is paused.
    held: Option<Taken>,
    pub(super) silence: Option<Silence>,
    /// When the monitor was seen to have begun anew.
    pub(super) restarted: Option<Duration>,
    pub(super) series: Series,
    pub(super) sort: Sort,
    pub(super) filter: String,
    /// Whether keys go into the filter.
    pub(super) is_typing: bool,
    pub(super) screen: Screen,
    /// The selected row, and which one it was: it stays selected when the order changes.
    selected: Option<(Subject, usize)>,
    /// The first line of the body that is on the screen.
    pub(super) scroll: usize,
    /// Whether the reader had enough.
    pub(super) is_over: bool,
}

impl Model {
    pub(super) fn new(source: String) -> Self {
        Self {
            source,
            latest: None,
            held: None,
            silence: None,
            restarted: None,
            series: Series::default(),
            sort: Sort::AsConfigured,
            filter: String::new(),
            is_typing: false,
            screen: Screen::Overview,
            selected: None,
            scroll: 0,
            is_over: false,
        }
    }

    /// Takes a snapshot, or why there is none.
    pub(super) fn take(&mut self, answer: Result<Arc<Snapshot>, String>, now: Duration) {
        match answer {
            Ok(snapshot) => {
                let before = self.latest.as_ref().map(|taken| &taken.snapshot);
                if before.is_some_and(|before| snapshot.uptime_ns < before.uptime_ns) {
                    self.restarted = Some(now);
                    self.series.interrupt();
                }
                self.series.add(&sections::of(&snapshot, 0));
                self.silence = None;
                self.latest = Some(Taken { snapshot, at: now });
            }
            Err(why) => {
                self.series.interrupt();
                let since = self.silence.take().map_or(now, |silence| silence.since);
                self.silence = Some(Silence { why, since });
            }
        }
    }

    /// The snapshot that is shown.
    pub(super) fn shown(&self) -> Option<&Taken> {
        self.held.as_ref().or(self.latest.as_ref())
    }

    pub(super) fn is_paused(&self) -> bool {
        self.held.is_some()
    }

    /// The tables as they are shown: sorted and filtered.
    pub(super) fn sections(&self, now: Duration) -> Vec<Section> {
        let Some(taken) = self.shown() else {
            return Vec::new();
        };
        let mut sections = sections::of(&taken.snapshot, taken.age(now));
        let wanted = self.filter.to_lowercase();
        for section in &mut sections {
            self.order(section);
            section.rows.retain(|row| row.words.contains(&wanted));
        }
        if !wanted.is_empty() {
            sections.retain(|section| !section.rows.is_empty());
        }
        sections
    }

    /// Unknown values come last.
    fn order(&self, section: &mut Section) {
        let rows = &mut section.rows;
        if rows
            .first()
            .is_some_and(|row| row.subject.kind == Kind::Event)
        {
            return;
        }
        match self.sort {
            Sort::AsConfigured => {}
            Sort::ByName => rows.sort_by(|a, b| a.subject.name.cmp(&b.subject.name)),
            Sort::Largest => rows.sort_by_key(|row| std::cmp::Reverse(row.size)),
            Sort::MostLost => rows.sort_by_key(|row| std::cmp::Reverse(row.lost)),
            Sort::Oldest => rows.sort_by_key(|row| std::cmp::Reverse(row.age)),
        }
    }

    /// The place of the selected row among all rows of the page.
    pub(super) fn selected_place(&self, sections: &[Section]) -> Option<usize> {
        let (subject, place) = self.selected.as_ref()?;
        let mut rows = sections.iter().flat_map(|section| &section.rows);
        let count = rows.clone().count();
        if rows
            .clone()
            .nth(*place)
            .is_some_and(|row| row.subject == *subject)
        {
            return Some(*place);
        }
        let found = rows.position(|row| row.subject == *subject);
        found.or_else(|| count.checked_sub(1).map(|last| last.min(*place)))
    }

    fn select(&mut self, sections: &[Section], place: usize) {
        let mut rows = sections.iter().flat_map(|section| &section.rows);
        let last = rows.clone().count().saturating_sub(1);
        let place = place.min(last);
        self.selected = rows.nth(place).map(|row| (row.subject.clone(), place));
    }

    /// Answers a key. `page`: so many rows are a screen.
    pub(super) fn press(&mut self, key: KeyEvent, page: usize, now: Duration) {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control && key.code == KeyCode::Char('c') {
            self.is_over = true;
        } else if self.is_typing {
            self.type_in(key.code);
        } else if !is_control && !key.modifiers.contains(KeyModifiers::ALT) {
            self.command(key.code, page, now);
        }
    }

    fn type_in(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.filter.clear();
            }
            KeyCode::Backspace => {
                self.filter.pop();
            }
            KeyCode::Char(c) if !c.is_control() && self.filter.chars().count() < LONGEST_FILTER => {
                self.filter.push(c);
            }
            _ => {}
        }
    }

    fn command(&mut self, code: KeyCode, page: usize, now: Duration) {
        match code {
            KeyCode::Char('q') => self.is_over = true,
            KeyCode::Char('?' | 'h') => self.open(match self.screen {
                Screen::Help => Screen::Overview,
                _ => Screen::Help,
            }),
            KeyCode::Char('p' | ' ') => {
                self.held = match self.held {
                    Some(_) => None,
                    None => self.latest.clone(),
                }
            }
            KeyCode::Esc | KeyCode::Backspace if self.screen != Screen::Overview => {
                self.open(Screen::Overview);
            }
            KeyCode::Esc => self.filter.clear(),
            _ if self.screen == Screen::Overview => self.overview(code, page, now),
            KeyCode::Enter => self.open(Screen::Overview),
            code => {
                let place = moved(code, self.scroll, page);
                self.scroll = place.unwrap_or(self.scroll);
            }
        }
    }

    fn overview(&mut self, code: KeyCode, page: usize, now: Duration) {
        let sections = self.sections(now);
        let at = self.selected_place(&sections);
        match code {
            KeyCode::Char('s') => self.sort = self.sort.next(),
            KeyCode::Char('/') => self.is_typing = true,
            KeyCode::Enter => {
                let place = at.unwrap_or(0);
                self.select(&sections, place);
                if let Some((subject, _)) = self.selected.clone() {
                    self.open(Screen::Detail(subject));
                }
            }
            KeyCode::Tab => self.select(&sections, next_table(&sections, at)),
            KeyCode::BackTab => self.select(&sections, table_before(&sections, at)),
            KeyCode::Home | KeyCode::Char('g') => {
                // nothing selected is the top of the page, with its titles
                self.selected = None;
                self.scroll = 0;
            }
            code => match (moved(code, at.unwrap_or(0), page), at) {
                // the first step selects the first row
                (Some(_), None) if matches!(code, KeyCode::Down | KeyCode::Char('j')) => {
                    self.select(&sections, 0);
                }
                (Some(place), _) => self.select(&sections, place),
                (None, _) => {}
            },
        }
    }

    fn open(&mut self, screen: Screen) {
        self.screen = screen;
        self.scroll = 0;
    }
}

/// Where a key leads from here.
fn moved(code: KeyCode, from: usize, page: usize) -> Option<usize> {
    Some(match code {
        KeyCode::Down | KeyCode::Char('j') => from.saturating_add(1),
        KeyCode::Up | KeyCode::Char('k') => from.saturating_sub(1),
        KeyCode::PageDown => from.saturating_add(page.max(1)),
        KeyCode::PageUp => from.saturating_sub(page.max(1)),
        KeyCode::Home | KeyCode::Char('g') => 0,
        KeyCode::End | KeyCode::Char('G') => usize::MAX,
        _ => return None,
    })
}

/// The first row of each table.
fn beginnings(sections: &[Section]) -> Vec<usize> {
    let mut next = 0;
    let mut found = Vec::new();
    for section in sections.iter().filter(|section| !section.rows.is_empty()) {
        found.push(next);
        next += section.rows.len();
    }
    found
}

fn next_table(sections: &[Section], at: Option<usize>) -> usize {
    let beginnings = beginnings(sections);
    let after = beginnings
        .iter()
        .find(|place| at.is_none_or(|at| **place > at));
    after.or(beginnings.first()).copied().unwrap_or(0)
}

fn table_before(sections: &[Section], at: Option<usize>) -> usize {
    let beginnings = beginnings(sections);
    let before = beginnings
        .iter()
        .rev()
        .find(|place| at.is_some_and(|at| **place < at));
    before.or(beginnings.last()).copied().unwrap_or(0)
}
