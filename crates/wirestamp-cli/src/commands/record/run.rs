//! The engine, run until a recording is complete.

use super::recorder::Recorder;
use super::{Recorded, Store};
use crate::commands::advised;
use crate::commands::each_second::EachSecond;
use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;
use std::io::Write;
use wirestamp::{Error, Interface, MonotonicTime, Span};
use wirestamp_measure::Engine;

/// How soon a signal is noticed.
const NAP: Span = Span::from_milliseconds(50);

/// A recording under way.
pub(super) struct Run<'a> {
    pub(super) interface: &'a Interface,
    pub(super) session: &'a Session,
    pub(super) engine: Engine,
    pub(super) duration: Span,
    /// Of a run without an end.
    pub(super) each: Option<EachSecond>,
    pub(super) store: Option<Store>,
    pub(super) report: Recorded,
}

impl Run<'_> {
    /// Opens the events' file once there is something to write; returns it when all is written.
    ///
    /// # Errors
    /// With the file, if there is one: it has what could be written.
    pub(super) fn record<W: Write>(
        &mut self,
        open: impl FnOnce() -> Result<W, Error>,
        output: &mut Output,
    ) -> Result<W, (Option<W>, Failure)> {
        let mut report = Recorded::of(self.interface);
        let name = self.interface.name();
        let mut recorder = Recorder::new(name, open, self.store.take(), &mut report);
        let served = self.serve(&mut recorder, output);
        let recorded = match served {
            Ok(()) => recorder.finish(),
            Err(failure) => Err((recorder.abandon(), failure)),
        };
        self.report = report;
        recorded
    }

    fn serve<W: Write, F: FnOnce() -> Result<W, Error>>(
        &mut self,
        recorder: &mut Recorder<'_, W, F>,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let begun = self.engine.now();
        let until = begun + self.duration;
        while !recorder.has_begun() || self.engine.now() < until && !self.session.is_interrupted() {
            let next = self.turn(recorder)?;
            if let Some(error) = recorder.first_failure(&self.engine) {
                return Err(advised(error, self.interface).into());
            }
            let second = self.each.as_mut().and_then(EachSecond::due);
            if let Some(line) = second.map(|second| recorder.line(second)) {
                // who closes the terminal ends it, and has the file
                if output.now(|page| page.line(&line)).is_err() {
                    break;
                }
            }
            let next = match recorder.has_begun() {
                true => next.min(until),
                false => next,
            };
            self.engine.wait(next.min(self.engine.now() + NAP))?;
        }
        recorder.ended(self.engine.now() - begun, self.session.is_interrupted());
        self.engine.finish();
        loop {
            let next = self.turn(recorder)?;
            if self.engine.is_over() {
                return Ok(());
            }
            self.engine.wait(next)?;
        }
    }

    fn turn<W: Write, F: FnOnce() -> Result<W, Error>>(
        &mut self,
        recorder: &mut Recorder<'_, W, F>,
    ) -> Result<MonotonicTime, Failure> {
        let next = self.engine.serve(&self.engine.moment(), recorder);
        recorder.check().map(|()| next)
    }
}
