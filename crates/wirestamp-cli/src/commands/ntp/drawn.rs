//! What the files of `ntp` show.

use super::Measured;
use crate::commands::offsets::{Clock, Course, Shown};
use crate::output::plural;
use std::collections::BTreeMap;
use std::time::Duration;
use wirestamp::Span;
use wirestamp_measure::{Engine, Sample, Segment};

/// How the offset to each server went, by its task's name.
pub(super) struct Courses {
    is_wanted: bool,
    courses: BTreeMap<String, Course>,
}

impl Courses {
    pub(super) const fn of(is_wanted: bool) -> Self {
        Self {
            is_wanted,
            courses: BTreeMap::new(),
        }
    }

    pub(super) fn add(&mut self, sample: &Sample<'_>) {
        let values = [Segment::Offset, Segment::Path].map(|segment| sample.value(segment));
        let (true, [Some(offset), Some(path)]) = (self.is_wanted, values) else {
            return;
        };
        let name = sample.subject.name;
        if !self.courses.contains_key(name) {
            self.courses.insert(name.to_owned(), Course::of(false));
        }
        if let Some(course) = self.courses.get_mut(name) {
            course.add(sample.at, offset, path.value.saturating_nanoseconds());
        }
    }

    /// Whether no offset was measured.
    pub(super) fn is_empty(&self) -> bool {
        self.courses.is_empty()
    }

    pub(super) fn shown(&self, engine: &Engine, measured: &Measured, took: Span) -> Shown<'_> {
        let outcomes = engine.outcomes();
        let servers = measured.servers.iter().zip(&outcomes);
        let clocks: Vec<_> = servers
            .filter_map(|(server, outcome)| {
                Some(Clock {
                    name: server.host.clone(),
                    delay: "path delay",
                    delay_is: "both directions together",
                    course: self.courses.get(&outcome.task.name)?,
                })
            })
            .collect();
        let servers = plural(measured.servers.len() as u64, "server");
        Shown {
            command: "ntp",
            title: format!("NTP: offset of this clock from {servers}"),
            summary: "Offsets are this clock minus the server's: positive if this one is ahead. The truth lies within the band; how far the server is from UTC is in the table, as it claims.",
            took: Duration::from_nanos(took.saturating_nanoseconds().unsigned_abs()),
            tables: vec![measured.grid()],
            clocks,
        }
    }
}
