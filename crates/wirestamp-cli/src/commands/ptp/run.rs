//! The engine, run as a PTP clock until its end.

use super::reports::Reports;
use crate::failure::Failure;
use crate::session::Session;
use std::time::Duration;
use wirestamp::{Error, Interface, MonotonicTime, Span};
use wirestamp_measure::{Engine, Measurements, Ptp, PtpReport};
use wirestamp_ptp::{Configuration, StatusServer};

/// How often the table is written.
const STEP: Span = Span::from_seconds(1);
/// How soon a signal and a question for the status are noticed.
const NAP: Span = Span::from_milliseconds(200);

/// A clock that runs.
pub(super) struct Run {
    engine: Engine,
    /// Who asks for its status.
    server: Option<StatusServer>,
    begun: MonotonicTime,
}

impl Run {
    /// Opens its ports, and starts to steer.
    pub(super) fn begin(
        configuration: Configuration,
        first: &Interface,
        session: &Session,
        reports: &mut Reports<'_>,
    ) -> Result<Self, Failure> {
        let mut clock = Ptp::alone(configuration);
        clock.seed = session.seed();
        let asked = Measurements::default().ptp(clock).answered();
        let engine = Engine::new(asked, session.place(first)?)?;
        let mut run = Self {
            begun: engine.now(),
            engine,
            server: None,
        };
        run.turn(reports)?;
        run.begun = run.engine.now(); // to switch a NIC's timestamping on can take seconds
        // nobody can ask a simulated clock, and a real one is no worse if nobody can
        if !first.description().simulated {
            run.server = StatusServer::open(first.name()).ok();
        }
        Ok(run)
    }

    /// Until its time is over, somebody ends it, or it has to end itself.
    pub(super) fn serve(
        &mut self,
        duration: Option<Duration>,
        session: &Session,
        reports: &mut Reports<'_>,
    ) -> Result<(), Failure> {
        let end = duration.map_or(MonotonicTime::MAX, |all| self.begun + Span::from(all));
        let mut step = self.begun + STEP;
        loop {
            let next = self.turn(reports)?;
            let now = self.engine.now();
            self.engine.ptp(|node| {
                if let Some(server) = &self.server {
                    server.answer(|| node.status());
                }
                if now >= step {
                    reports.second(node, now - self.begun);
                }
            });
            reports.check()?;
            if now >= end || session.is_interrupted() || self.engine.is_over() {
                return Ok(());
            }
            if now >= step {
                step = step + STEP;
            }
            let until = next.min(end).min(step).min(now + NAP);
            self.engine.wait(until)?;
        }
    }

    /// Ends steering, once all samples are confirmed.
    pub(super) fn end(mut self, reports: &mut Reports<'_>) -> Result<PtpReport, Failure> {
        reports.ran_for(self.engine.now() - self.begun);
        self.engine.finish();
        self.turn(reports)?;
        let report = self.engine.into_ptp(reports).remove(0)?;
        reports.check()?;
        Ok(report)
    }

    /// Serves the clock; its error ends it.
    fn turn(&mut self, reports: &mut Reports<'_>) -> Result<MonotonicTime, Failure> {
        let next = self.engine.serve(&self.engine.moment(), reports);
        reports.check()?;
        if self.engine.is_over()
            && let Some(error) = self.error()
        {
            return Err(error.into());
        }
        Ok(next)
    }

    fn error(&self) -> Option<Error> {
        self.engine.outcomes().first()?.error.cloned()
    }
}
