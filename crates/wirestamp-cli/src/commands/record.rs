//! `record`: writes down readings, timestamps and notifications as the engine yields them. Fits nothing: that is `convert`.

#[cfg(feature = "parquet")]
mod parquet;
mod recorder;
mod run;
#[cfg(not(feature = "parquet"))]
mod without_parquet;

use super::advised;
use super::each_second::EachSecond;
use crate::arguments::{self, Form};
use crate::exit::Exit;
use crate::failure::{Failure, and_also, told};
use crate::output::{Draft, Output, Page, Report, Rows, Target, plural};
#[cfg(all(test, feature = "schema"))]
use crate::schema::Document;
use crate::session::{Session, endless};
#[cfg(feature = "parquet")]
use parquet::Store;
use run::Run;
use serde::Serialize;
use std::io;
use std::time::Duration;
use wirestamp::{CorrelatorOptions, Error, ErrorKind, Interface, Span};
use wirestamp_measure::{Datagrams, Engine, Measurements, Recording};
#[cfg(not(feature = "parquet"))]
use without_parquet::Store;

const WRITE: &str = "write events";

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Recorded {
    /// Name of the interface.
    interface: String,
    /// Whether it is a simulated NIC.
    simulated: bool,
    /// How long the run took.
    duration_ns: u64,
    /// Readings less than 1 ms apart are one batch.
    batches: u64,
    /// Readings of both clocks.
    readings: u64,
    /// Hardware timestamps.
    timestamps: u64,
    /// Notifications that the configuration may have changed.
    notifications: u64,
    /// Readings that failed, and timestamps that did not come.
    failures: u64,
    /// The last error; null: none.
    last_failure: Option<String>,
    /// Whether a signal ended the run early.
    interrupted: bool,
}

#[cfg(all(test, feature = "schema"))]
pub(super) fn schema() -> Document {
    Document::of::<Recorded>("record", "Output of `wirestamp record --json`").row::<Recorded>()
}

pub(super) fn run(
    arguments: &arguments::Record,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let interface = Interface::find(&arguments.interface)?;
    check(arguments, &interface, output)?;
    if arguments.parquet.is_some() {
        // without a clock no folder is made
        let clock = interface.hardware_clock();
        clock.map_err(|error| advised(error, &interface))?;
    }
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
            run.record(|| Ok(io::sink()), output)
                .map_err(|(_, failure)| failure)?;
            output.report(&run.report)?;
        }
        None => {
            run.each = None; // the events are there instead
            match run.record(|| Ok(io::stdout().lock()), output) {
                // whoever read the events has seen enough, and what failed until then has failed
                Err((_, Failure::Output(error))) if error.kind() == io::ErrorKind::BrokenPipe => {}
                recorded => drop(recorded.map_err(|(_, failure)| failure)?),
            }
        }
        Some(target) => {
            let name = target.name().to_owned();
            let draft = run.record(|| target.start(), output);
            draft.map_err(|failed| kept(&name, failed))?.finish()?;
            output.report(&run.report)?;
        }
    }
    let failed = run.report.failures > 0;
    Ok(if failed { Exit::Lossy } else { Exit::Success })
}

/// Says where the events are that could be written.
fn kept(name: &str, (draft, failure): (Option<Draft>, Failure)) -> Failure {
    let error = match failure {
        Failure::Output(error) => told(ErrorKind::Io, WRITE, name, &error),
        Failure::Library(error) => error,
        other @ Failure::OffLimit(_) => return other,
    };
    let kept = draft.and_then(Draft::keep_lines);
    let kept = kept.map(|kept| format!("the events until then are in {}", kept.display()));
    match kept {
        Some(kept) => and_also(error, &kept).into(),
        None => error.into(),
    }
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
    wanted.times = arguments.parquet.is_some();
    wanted
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
