//! What the files of `ntp` show.

use super::Measured;
use crate::arguments;
use crate::commands::offsets::{Clock, Course, Shown};
use crate::output::plural;
use std::collections::BTreeMap;
use std::time::{Instant, SystemTime};
use wirestamp::{Error, ErrorKind};
use wirestamp_measure::{Engine, Sample, Segment};

/// A server that is named twice has one name in the files.
pub(super) fn check(arguments: &arguments::Ntp) -> Result<(), Error> {
    let files = [&arguments.plot, &arguments.html, &arguments.histogram];
    let hosts: Vec<_> = arguments
        .hosts
        .iter()
        .map(arguments::NtpTarget::text)
        .collect();
    let is_again = |place: usize| hosts[..place].contains(&hosts[place]);
    match (0..hosts.len()).find(|place| is_again(*place)) {
        Some(place) if files.iter().any(|file| file.is_some()) => Err(Error::new(
            ErrorKind::InvalidInput,
            "draw",
            hosts[place].clone(),
            "it is named twice",
        )),
        _ => Ok(()),
    }
}

/// How the offset to each server went, by its task's name.
pub(super) struct Courses {
    /// When, if they are wanted.
    begun: Option<(SystemTime, Instant)>,
    courses: BTreeMap<String, Course>,
}

impl Courses {
    pub(super) fn begin(are_wanted: bool) -> Self {
        Self {
            begun: are_wanted.then(|| (SystemTime::now(), Instant::now())),
            courses: BTreeMap::new(),
        }
    }

    pub(super) fn add(&mut self, sample: &Sample<'_>) {
        let values = [Segment::Offset, Segment::Path].map(|segment| sample.value(segment));
        let (Some(_), [Some(offset), Some(path)]) = (self.begun, values) else {
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

    pub(super) fn shown(&self, engine: &Engine, measured: &Measured) -> Shown<'_> {
        let (begun, clock) = self
            .begun
            .unwrap_or_else(|| (SystemTime::now(), Instant::now()));
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
            begun,
            took: clock.elapsed(),
            tables: vec![measured.grid()],
            clocks,
        }
    }
}
