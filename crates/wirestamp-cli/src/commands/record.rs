//! `record`: writes down readings, timestamps and notifications as the engine yields them. Fits nothing: that is `convert`.

#[cfg(feature = "parquet")]
mod parquet;
mod recorder;
#[cfg(not(feature = "parquet"))]
mod without_parquet;

use super::advised;
use super::each_second::EachSecond;
use crate::arguments::{self, Form};
use crate::exit::Exit;
use crate::failure::{Failure, told};
use crate::output::{Output, Page, Report, Rows, Target, plural};
use crate::session::{Session, endless};
#[cfg(feature = "parquet")]
use parquet::Store;
use recorder::Recorder;
use serde::Serialize;
use std::io::{self, Write};
use std::time::Duration;
use wirestamp::{CorrelatorOptions, Error, ErrorKind, Interface, Span};
use wirestamp_measure::{Datagrams, Engine, Measurements, Recording};
#[cfg(not(feature = "parquet"))]
use without_parquet::Store;

const WRITE: &str = "write events";
/// How soon a signal is noticed.
const NAP: Span = Span::from_milliseconds(50);

#[derive(Serialize)]
struct Recorded {
    interface: String,
    simulated: bool,
    duration_ns: u64,
    batches: u64,
    readings: u64,
    timestamps: u64,
    notifications: u64,
    /// Batches that could not be read, timestamps that did not come.
    failures: u64,
    last_failure: Option<String>,
    interrupted: bool,
}

pub(super) fn run(
    arguments: &arguments::Record,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let interface = Interface::find(&arguments.interface)?;
    check(arguments, &interface, output)?;
    let target = arguments
        .output
        .as_deref()
        .map(|path| Target::check(path, WRITE))
        .transpose()?;
    session.listen_to_interrupts();
    let all = Measurements::default().recording(wanted(arguments));
    let engine = Engine::new(all, session.place(&interface)?)?;
    let mut run = Run {
        interface: &interface,
        session,
        engine,
        duration: arguments.duration.into(),
        each: arguments.is_endless().then(EachSecond::new),
        store: Store::open(arguments, &interface)?,
        report: Recorded::of(&interface),
    };
    match target {
        None if run.store.is_some() => {
            run.record(|| Ok(io::sink()), output)?;
            output.report(&run.report)?;
        }
        None => {
            run.each = None; // the events are there instead
            match run.record(|| Ok(io::stdout().lock()), output) {
                // whoever read the events has seen enough, and what failed until then has failed
                Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {}
                recorded => drop(recorded?),
            }
        }
        Some(target) => {
            let name = target.name().to_owned();
            let in_file = |failure| match failure {
                Failure::Output(error) => told(ErrorKind::Io, WRITE, &name, &error).into(),
                other => other,
            };
            let draft = run.record(|| target.start(), output).map_err(in_file)?;
            draft.finish()?;
            output.report(&run.report)?;
        }
    }
    let failed = run.report.failures > 0;
    Ok(if failed { Exit::Lossy } else { Exit::Success })
}

fn check(
    arguments: &arguments::Record,
    interface: &Interface,
    output: &Output,
) -> Result<(), Error> {
    let (kind, name) = (ErrorKind::InvalidInput, interface.name());
    if arguments.is_endless() && interface.description().simulated {
        return Err(endless("record", name));
    }
    if output.form() != Form::Table && arguments.output.is_none() && arguments.parquet.is_none() {
        let cause = "standard output is taken by the summary in the form that was asked for";
        return Err(Error::new(kind, "record", name, cause)
            .with_remedy("say where the events go with --output FILE"));
    }
    Ok(())
}

/// A fixed interval, or the library's plan.
fn wanted(arguments: &arguments::Record) -> Recording {
    let adaptive = CorrelatorOptions {
        budget: Some(arguments.budget),
        ..CorrelatorOptions::default()
    };
    let fixed = |period| CorrelatorOptions {
        period,
        burst: 0,
        ..CorrelatorOptions::FIXED
    };
    let mut wanted = Recording::of(&*arguments.interface);
    wanted.schedule = arguments.interval.map_or(adaptive, fixed);
    wanted.schedule.readings_per_batch = arguments.readings as usize;
    wanted.datagrams = arguments.timestamps.map(|each_second| {
        let mut datagrams = Datagrams::each(Duration::from_secs(1) / each_second);
        datagrams.to = arguments.to;
        datagrams
    });
    wanted
}

struct Run<'a> {
    interface: &'a Interface,
    session: &'a Session,
    engine: Engine,
    duration: Span,
    /// Of a run without an end.
    each: Option<EachSecond>,
    store: Option<Store>,
    report: Recorded,
}

impl Run<'_> {
    /// Opens the events' file once there is something to write; returns it when all is written.
    fn record<W: Write>(
        &mut self,
        open: impl FnOnce() -> Result<W, Error>,
        output: &mut Output,
    ) -> Result<W, Failure> {
        let name = self.interface.name();
        let mut recorder = Recorder::new(name, open, self.store.take(), &mut self.report);
        let begun = self.engine.now();
        let until = begun + self.duration;
        while !recorder.has_begun() || self.engine.now() < until && !self.session.is_interrupted() {
            let next = self.engine.serve(&self.engine.moment(), &mut recorder);
            recorder.check()?;
            if let Some(error) = recorder.first_failure(&self.engine) {
                return Err(advised(error, self.interface).into());
            }
            if let Some(seconds) = self.each.as_mut().and_then(EachSecond::due) {
                let line = recorder.line(seconds);
                output.now(|page| page.line(&line))?;
            }
            let nap = self.engine.now() + NAP;
            let next = if recorder.has_begun() {
                next.min(until)
            } else {
                next
            };
            self.engine.wait(next.min(nap))?;
        }
        recorder.ended(self.engine.now() - begun, self.session.is_interrupted());
        self.engine.finish();
        while !self.engine.is_over() {
            let next = self.engine.serve(&self.engine.moment(), &mut recorder);
            recorder.check()?;
            if !self.engine.is_over() {
                self.engine.wait(next)?;
            }
        }
        recorder.finish()
    }
}

impl Recorded {
    fn of(interface: &Interface) -> Self {
        Self {
            interface: interface.name().to_owned(),
            simulated: interface.description().simulated,
            duration_ns: 0,
            batches: 0,
            readings: 0,
            timestamps: 0,
            notifications: 0,
            failures: 0,
            last_failure: None,
            interrupted: false,
        }
    }

    fn batches(&self) -> String {
        plural(self.batches, "batch").replace("batchs", "batches")
    }
}

impl Report for Recorded {
    fn print(&self, page: &mut Page) {
        let interrupted = if self.interrupted {
            ", interrupted"
        } else {
            ""
        };
        let time = Span::from(Duration::from_nanos(self.duration_ns));
        page.heading(&format!(
            "recorded {} for {time}{interrupted}",
            self.interface
        ));
        page.field(
            "readings",
            &format!("{} in {}", self.readings, self.batches()),
        );
        page.field("timestamps", &self.timestamps.to_string());
        page.field("notifications", &self.notifications.to_string());
        if let Some(error) = &self.last_failure {
            page.field(
                "failed",
                &format!("{}; last: {error}", plural(self.failures, "time")),
            );
        }
    }

    fn rows(&self, rows: &mut Rows) {
        rows.row(self);
    }
}
