//! What the files of `ntp` show.

use super::Measured;
use crate::arguments;
use crate::commands::offsets::{Clock, Course, Shown};
use crate::output::plural;
use std::collections::BTreeMap;
use std::time::SystemTime;
use wirestamp::{Error, ErrorKind, MonotonicTime};
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
        )
        .with_remedy("name it once, or leave --plot, --html and --histogram out")),
        _ => Ok(()),
    }
}

/// How the offset to each server went, by its task's name.
pub(super) struct Courses {
    /// When, if they are wanted; the second one by the engine's clock.
    begun: Option<(SystemTime, MonotonicTime)>,
    courses: BTreeMap<String, Course>,
}

impl Courses {
    pub(super) fn begin(are_wanted: bool, engine: &Engine) -> Self {
        Self {
            begun: are_wanted.then(|| (SystemTime::now(), engine.now())),
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

    /// When the measurement is over at `end`; `None` if nothing is wanted, or no offset was measured.
    pub(super) fn shown(
        &self,
        engine: &Engine,
        measured: &Measured,
        end: MonotonicTime,
    ) -> Option<Shown<'_>> {
        let (began, start) = self.begun.filter(|_| !self.courses.is_empty())?;
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
        let asked = measured.servers.len();
        let servers = plural(asked as u64, "server");
        Some(Shown {
            command: "ntp",
            title: format!("NTP: offset of this clock from {servers}"),
            summary: "Offsets are this clock minus the server's: positive if this one is ahead. The truth lies within the band; how far the server is from UTC is in the table, as it claims.",
            begun: began,
            took: (end - start).to_duration(),
            tables: vec![measured.grid()],
            asked,
            clocks,
        })
    }
}
