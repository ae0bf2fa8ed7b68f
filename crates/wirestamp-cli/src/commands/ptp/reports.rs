//! What a PTP clock says while it runs: samples, changes of state, warnings, a line a second.

use super::line::Line;
use super::live::Live;
use super::off_limit::off_limit;
use super::summary::Tally;
use crate::commands::offsets::Course;
use crate::output::Output;
use crate::output::quantity::bounded;
use serde::Serialize;
use std::io;
use wirestamp::Span;
use wirestamp_measure::{PtpChange, Sample, Sink, Subject};
use wirestamp_ptp::{Node, SourceStatus, Status};

/// A line that says why the clock could not be moved.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct NotMoved {
    /// The reason, in a sentence.
    steering_error: String,
}

/// A line for each change of what the configured sources are to each other.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Compared<'a> {
    /// Whether the configured sources agree.
    agreement: &'static str,
    /// The compared sources that were heard recently.
    sources: &'a [SourceStatus],
}

/// A line that says what its user may not want.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Warned<'a> {
    /// software_instead: the system timestamps though the NIC was to be switched on; diverted: a bridge, bond or team
    /// takes what arrives at the interface; shows_utc: a grandmaster's clock shows UTC and its time is announced as TAI.
    warning: &'static str,
    /// Name of the interface.
    interface: &'a str,
    /// The warning in a sentence, with the remedy.
    message: String,
}

/// A line that says which offset is not followed.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct NotFollowed {
    /// The offset that is larger than the limit.
    refused_offset_ns: i64,
    /// The largest offset that is followed.
    limit_ns: u64,
}

/// Writes each change once.
pub(super) struct Reports<'a> {
    output: &'a mut Output,
    tally: Tally,
    course: Course,
    live: Live,
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

    /// The line of a second.
    pub(super) fn second(&mut self, node: &Node<'_>, after: Span) {
        if self.written.is_ok() {
            self.written = self.live.write(&node.status(), after, self.output);
        }
    }

    fn write(&mut self, status: &Status, change: &PtpChange) -> io::Result<()> {
        match change {
            PtpChange::Port(place) => match status.ports.get(*place) {
                Some(port) => self.output.sample(&Line::of_port(status, port)),
                None => Ok(()),
            },
            PtpChange::Agreement => {
                let compared = Compared {
                    agreement: status.agreement.name(),
                    sources: &status.sources,
                };
                self.says(&compared, &self::compared(status))
            }
            PtpChange::Warning(warning) => {
                let warned = Warned {
                    warning: warning.name(),
                    interface: warning.interface(),
                    message: warning.to_string(),
                };
                self.says(&warned, &format!("warning: {warning}"))
            }
            PtpChange::Refused(refused) => {
                let line = NotFollowed {
                    refused_offset_ns: refused.offset_ns,
                    limit_ns: refused.limit_ns,
                };
                self.says(&line, &off_limit(*refused).to_string())
            }
            PtpChange::NotMoved(error) => {
                let line = NotMoved {
                    steering_error: error.to_string(),
                };
                self.says(&line, &format!("the clock was not moved: {error}"))
            }
            // why nothing is measured is said at the end
            _ => Ok(()),
        }
    }

    /// The line of JSON, or the sentence.
    fn says(&mut self, line: &impl Serialize, sentence: &str) -> io::Result<()> {
        self.output.line(line)?;
        self.output.now(|page| page.line(sentence))
    }
}

impl Sink for Reports<'_> {
    fn sample(&mut self, _sample: &Sample<'_>) {}

    fn changed(&mut self, status: &Status, change: &PtpChange) {
        if self.written.is_ok() {
            self.written = self.write(status, change);
        }
    }

    fn followed(&mut self, _subject: Subject<'_>, sample: &wirestamp_ptp::Sample) {
        if self.written.is_ok() {
            self.written = self.output.sample(&Line::of_sample(sample));
        }
        self.tally.add(sample);
        self.course
            .add(sample.at, sample.offset, sample.mean_path_delay_ns);
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
    format!("{} ({})", status.agreement, sources.join("; "))
}
