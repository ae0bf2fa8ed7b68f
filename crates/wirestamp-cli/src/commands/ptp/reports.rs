//! What a PTP clock says while it runs: samples, changes of state, warnings, a line a second.

use super::course::Course;
use super::line::Line;
use super::live::Live;
use super::off_limit::off_limit;
use super::summary::Tally;
use crate::output::Output;
use crate::output::quantity::bounded;
use serde::Serialize;
use std::io;
use wirestamp::{Error, Span};
use wirestamp_measure::{Sample, Sink, Subject};
use wirestamp_ptp::{
    Agreement, Node, PortIdentity, PortState, RefusedOffset, SourceStatus, Status, Warning,
};

/// A line that says why the clock could not be moved.
#[derive(Serialize)]
struct NotMoved {
    steering_error: String,
}

/// A line for each change of what the configured sources are to each other.
#[derive(Serialize)]
struct Compared<'a> {
    agreement: &'static str,
    sources: &'a [SourceStatus],
}

/// A line that says what its user may not want.
#[derive(Serialize)]
struct Warned<'a> {
    warning: &'static str,
    interface: &'a str,
    message: String,
}

/// A line that says which offset is not followed.
#[derive(Serialize)]
struct NotFollowed {
    refused_offset_ns: i64,
    limit_ns: u64,
}

/// Writes each of these once, and again when it comes back.
pub(super) struct Reports<'a> {
    output: &'a mut Output,
    tally: Tally,
    course: Course,
    live: Live,
    warned: Vec<Warning>,
    /// Of each port: its state, and whom it follows.
    states: Vec<(PortState, Option<PortIdentity>)>,
    agreement: Option<Agreement>,
    refused: bool,
    error: Option<Error>,
    /// Why nothing can be written any more.
    written: io::Result<()>,
}

impl<'a> Reports<'a> {
    pub(super) fn to(output: &'a mut Output, course: Course) -> Self {
        Self {
            output,
            tally: Tally::default(),
            course,
            live: Live::default(),
            warned: Vec::new(),
            states: Vec::new(),
            agreement: None,
            refused: false,
            error: None,
            written: Ok(()),
        }
    }

    pub(super) fn output(&mut self) -> &mut Output {
        self.output
    }

    /// Whether everything could be written so far.
    pub(super) fn check(&mut self) -> io::Result<()> {
        std::mem::replace(&mut self.written, Ok(()))
    }

    pub(super) fn ran_for(&mut self, time: Span) {
        self.tally.ran_for(time);
    }

    /// All samples, at the end.
    pub(super) fn into_samples(self) -> (Tally, Course) {
        (self.tally, self.course)
    }

    /// Says what has changed.
    pub(super) fn look(&mut self, node: &Node<'_>, warnings: &[Warning]) {
        if self.written.is_ok() {
            self.written = self.changes(node, warnings);
        }
    }

    /// The line of a second.
    pub(super) fn second(&mut self, node: &Node<'_>, after: Span) {
        if self.written.is_ok() {
            self.written = self.live.write(&node.status(), after, self.output);
        }
    }

    fn changes(&mut self, node: &Node<'_>, warnings: &[Warning]) -> io::Result<()> {
        self.warnings(warnings)?;
        self.refused(node.refused_offset())?;
        self.steering(node.steering_error())?;
        let status = node.status();
        // the first time there is nothing to compare with
        let before = self.agreement.replace(status.agreement);
        if before.is_some_and(|before| before != status.agreement) {
            self.output.line(&Compared {
                agreement: status.agreement.name(),
                sources: &status.sources,
            })?;
            self.output.now(|page| page.line(&compared(&status)))?;
        }
        self.states(&status)
    }

    fn warnings(&mut self, now: &[Warning]) -> io::Result<()> {
        for warning in now.iter().filter(|one| !self.warned.contains(one)) {
            self.output.line(&Warned {
                warning: warning.name(),
                interface: warning.interface(),
                message: warning.to_string(),
            })?;
            self.output
                .now(|page| page.line(&format!("warning: {warning}")))?;
        }
        if self.warned != now {
            self.warned = now.to_vec();
        }
        Ok(())
    }

    fn refused(&mut self, now: Option<RefusedOffset>) -> io::Result<()> {
        let was = std::mem::replace(&mut self.refused, now.is_some());
        let Some(refused) = now.filter(|_| !was) else {
            return Ok(());
        };
        self.output.line(&NotFollowed {
            refused_offset_ns: refused.offset_ns,
            limit_ns: refused.limit_ns,
        })?;
        let error = off_limit(refused);
        self.output.now(|page| page.line(&error.to_string()))
    }

    fn steering(&mut self, now: Option<&Error>) -> io::Result<()> {
        if self.error.as_ref() == now {
            return Ok(());
        }
        self.error = now.cloned();
        let Some(error) = now else { return Ok(()) };
        self.output.line(&NotMoved {
            steering_error: error.to_string(),
        })?;
        self.output
            .now(|page| page.line(&format!("the clock was not moved: {error}")))
    }

    fn states(&mut self, status: &Status) -> io::Result<()> {
        let seen = |state| (state, status.time_transmitter);
        let seen: Vec<_> = status.ports.iter().map(|port| seen(port.state)).collect();
        for (place, port) in status.ports.iter().enumerate() {
            if self.states.get(place) != seen.get(place) {
                self.output.sample(&Line::of_port(status, port))?;
            }
        }
        self.states = seen;
        Ok(())
    }
}

impl Sink for Reports<'_> {
    fn sample(&mut self, _sample: &Sample<'_>) {}

    fn followed(&mut self, _subject: Subject<'_>, sample: &wirestamp_ptp::Sample) {
        if self.written.is_ok() {
            self.written = self.output.sample(&Line::of_sample(sample));
        }
        self.tally.add(sample);
        self.course.add(sample);
        self.live.note(sample.clone());
    }
}

/// Says in a sentence whether the configured sources agree.
fn compared(status: &Status) -> String {
    let sources: Vec<_> = status
        .sources
        .iter()
        .map(|source| {
            let offset = bounded(&source.offset).join(" ");
            format!("{} in domain {}: {offset}", source.identity, source.domain)
        })
        .collect();
    let said = match status.agreement {
        Agreement::Disagree => "the timeTransmitters disagree, none is followed",
        Agreement::Agree => "the timeTransmitters agree",
        Agreement::Alone => "only one of the configured timeTransmitters is heard",
        Agreement::Waiting => "waiting for the other timeTransmitters",
        _ => "only one timeTransmitter is configured",
    };
    format!("{said} ({})", sources.join("; "))
}
