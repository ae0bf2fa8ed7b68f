//! `record`: takes readings, timestamps and notifications as they come and writes them down.
//! Fits nothing: that is `convert`.

#[cfg(feature = "parquet")]
mod parquet;
mod schedule;
mod traffic;
#[cfg(not(feature = "parquet"))]
mod without_parquet;

use super::advised;
use crate::arguments::{self, Form};
use crate::exit::Exit;
use crate::failure::{Failure, told};
use crate::output::{Output, Page, Report, Rows, Target, plural};
use crate::session::Session;
#[cfg(feature = "parquet")]
use parquet::Store;
use schedule::Schedule;
use serde::Serialize;
use std::io::{self, BufWriter, Write};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use traffic::Traffic;
use wirestamp::events::{CONFIRMING_BATCHES, Header, Writer};
use wirestamp::{
    ChangeEvent, CrossTimestamp, Error, ErrorKind, Frequency, HardwareClock, Interface, Span, Watch,
};
#[cfg(not(feature = "parquet"))]
use without_parquet::Store;

const WRITE: &str = "write events";
/// How often a clock that is busy at the start, or unreadable at the end, is asked again, and after how long.
const ATTEMPTS: u32 = 5;
const RETRY: Duration = Duration::from_millis(20);

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

/// Time as it passes on this system, or in the simulation.
struct Pace<'a> {
    session: &'a Session,
    simulated: bool,
    begun: Instant,
    passed: Duration,
}

/// The sources and the destination of a recording.
struct Recorder<'a> {
    interface: &'a Interface,
    clock: Option<HardwareClock>,
    /// The number of the clock that is read, and whether its readings are not written yet.
    behind: Option<u32>,
    is_another: bool,
    changes: Receiver<ChangeEvent>,
    traffic: Option<Traffic>,
    schedule: Schedule,
    store: Option<Store>,
    report: Recorded,
}

pub(super) fn run(
    arguments: &arguments::Record,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let interface = Interface::find(&arguments.interface)?;
    if output.form() != Form::Table && arguments.output.is_none() && arguments.parquet.is_none() {
        let cause = "standard output is taken by the summary in the form that was asked for";
        let error = Error::new(ErrorKind::InvalidInput, "record", interface.name(), cause);
        return Err(error
            .with_remedy("say where the events go with --output FILE")
            .into());
    }
    let clock = interface
        .hardware_clock()
        .map_err(|error| advised(error, &interface))?;
    let target = arguments
        .output
        .as_deref()
        .map(|path| Target::check(path, WRITE))
        .transpose()?;
    let simulated = interface.description().simulated;
    let traffic = arguments
        .timestamps
        .map(|_| Traffic::start(&interface, arguments.to))
        .transpose()?;
    let (_watch, changes) = watch(&interface)?;
    session.listen_to_interrupts();
    let report = Recorded {
        interface: interface.name().to_owned(),
        simulated,
        duration_ns: 0,
        batches: 0,
        readings: 0,
        timestamps: 0,
        notifications: 0,
        failures: 0,
        last_failure: None,
        interrupted: false,
    };
    let schedule = Schedule::new(arguments, &interface)?;
    let store = Store::open(arguments, &interface)?;
    let mut recorder = Recorder {
        interface: &interface,
        clock: Some(clock),
        behind: interface.description().hardware_clock,
        is_another: false,
        changes,
        traffic,
        schedule,
        store,
        report,
    };
    let pace = Pace {
        session,
        simulated,
        begun: Instant::now(),
        passed: Duration::ZERO,
    };
    match target {
        None if recorder.store.is_some() => {
            recorder.record(arguments, pace, || Ok(io::sink()))?;
            output.report(&recorder.report)?;
        }
        None => match recorder.record(arguments, pace, || Ok(io::stdout().lock())) {
            // whoever read the events has seen enough, and what failed until then has failed
            Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {}
            recorded => drop(recorded?),
        },
        Some(target) => {
            let name = target.name().to_owned();
            let in_file = |failure| match failure {
                Failure::Output(error) => told(ErrorKind::Io, WRITE, &name, &error).into(),
                other => other,
            };
            let draft = recorder
                .record(arguments, pace, || target.start())
                .map_err(in_file)?;
            draft.finish()?;
            output.report(&recorder.report)?;
        }
    }
    let failed = recorder.report.failures > 0;
    Ok(if failed { Exit::Lossy } else { Exit::Success })
}

/// Changes come on a thread of the library's.
fn watch(interface: &Interface) -> Result<(Watch, Receiver<ChangeEvent>), Error> {
    let (sender, changes) = channel();
    let watch = interface.watch(move |event: &ChangeEvent| {
        // once nobody listens any more, nobody wants to know
        let _ = sender.send(*event);
    })?;
    Ok((watch, changes))
}

impl Recorder<'_> {
    /// Opens the output once there is something to write; returns it when all is written.
    fn record<W: Write>(
        &mut self,
        arguments: &arguments::Record,
        mut pace: Pace<'_>,
        open: impl FnOnce() -> Result<W, Error>,
    ) -> Result<W, Failure> {
        // one that can't be read at all is an error; later a batch may fail
        let first = self
            .first(&mut pace)
            .map_err(|error| advised(error, self.interface))?;
        let nominal = self
            .interface
            .supported()
            .ok()
            .and_then(|supported| supported.nominal_frequency);
        let system = self
            .clock
            .as_ref()
            .map_or(Frequency::GIGAHERTZ, HardwareClock::system_frequency);
        let header = Header {
            system,
            hardware: nominal,
        };
        let mut writer = Writer::new(BufWriter::new(open()?), header)?;
        writer.comment(&format!(
            "wirestamp {} on {}",
            env!("CARGO_PKG_VERSION"),
            self.interface.name()
        ))?;
        let mut next_batch = self.write(&mut writer, &first)?;
        let pause = arguments
            .timestamps
            .map(|timestamps| Duration::from_secs(1) / timestamps);
        let mut next_timestamp = pause.map(|pause| pause / 2);
        loop {
            let next = next_timestamp.map_or(next_batch, |timestamp| timestamp.min(next_batch));
            if next >= arguments.duration || !pace.wait_until(next)? {
                break;
            }
            self.notice(&mut writer)?;
            if next_timestamp == Some(next) {
                next_timestamp = pause.map(|pause| next + pause);
                self.timestamp(&mut writer)?;
            }
            if next == next_batch {
                next_batch = next + self.batch(&mut writer)?;
            }
        }
        pace.wait_until(arguments.duration)?;
        self.notice(&mut writer)?;
        self.report.interrupted = pace.session.is_interrupted();
        self.report.duration_ns = u64::try_from(pace.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.confirm(&mut writer, &mut pace)?;
        let output = writer
            .into_inner()
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        if let Some(store) = self.store.take() {
            store.finish()?;
        }
        Ok(output)
    }

    /// Takes the batches that show whether the clock was changed before the last timestamps. A batch that fails confirms
    /// nothing, so another follows.
    fn confirm(
        &mut self,
        writer: &mut Writer<impl Write>,
        pace: &mut Pace<'_>,
    ) -> Result<(), Failure> {
        if self.report.timestamps == 0 {
            return Ok(());
        }
        let (mut pause, mut failures) = (self.schedule.pause(), 0);
        let needed = self.report.batches + u64::from(CONFIRMING_BATCHES);
        while self.report.batches < needed && failures < ATTEMPTS {
            pace.pause(pause)?;
            self.notice(writer)?;
            let before = self.report.batches;
            self.batch(writer)?;
            pause = self.schedule.pause();
            if self.report.batches == before {
                failures += 1;
                pause = pause.min(RETRY);
            }
        }
        Ok(())
    }

    /// A clock that is busy is asked again.
    fn first(&mut self, pace: &mut Pace<'_>) -> Result<Vec<CrossTimestamp>, Error> {
        for attempt in 1..=ATTEMPTS {
            match self.readings() {
                Err(error) if error.kind() == ErrorKind::Busy => {
                    pace.wait_until(RETRY * attempt)?
                }
                answer => return answer,
            };
        }
        self.readings()
    }

    /// Notifications come before what is read after them.
    fn notice(&mut self, writer: &mut Writer<impl Write>) -> Result<(), Failure> {
        if self.changes.try_iter().count() > 0 {
            self.report.notifications += 1;
            self.clock = None;
            self.schedule.restart();
            writer.notify()?;
        }
        Ok(())
    }

    /// Takes a batch; after how long the next is due.
    fn batch(&mut self, writer: &mut Writer<impl Write>) -> Result<Duration, Failure> {
        match self.readings() {
            Ok(readings) => {
                if std::mem::take(&mut self.is_another) {
                    writer.replaced()?;
                    self.schedule.replace_clock();
                }
                self.write(writer, &readings)
            }
            Err(error) => {
                self.clock = None; // it may be back, as another
                self.failed(&error);
                Ok(self.schedule.after_failure())
            }
        }
    }

    /// Readings of the clock that is behind the interface now.
    fn readings(&mut self) -> Result<Vec<CrossTimestamp>, Error> {
        match self.readings_once() {
            Err(error) if error.kind() == ErrorKind::NoSuchDevice => {
                (self.clock, self.is_another) = (None, true);
                self.readings_once()
            }
            answer => answer,
        }
    }

    fn readings_once(&mut self) -> Result<Vec<CrossTimestamp>, Error> {
        let clock = match self.clock.take() {
            Some(clock) => clock,
            None => {
                let interface = Interface::find(self.interface.name())?;
                let number = interface.description().hardware_clock;
                self.is_another |= number != self.behind;
                self.behind = number;
                interface.hardware_clock()?
            }
        };
        self.clock
            .insert(clock)
            .cross_timestamps(self.schedule.readings())
    }

    fn write(
        &mut self,
        writer: &mut Writer<impl Write>,
        readings: &[CrossTimestamp],
    ) -> Result<Duration, Failure> {
        self.report.batches += 1;
        self.report.readings += readings.len() as u64;
        readings
            .iter()
            .try_for_each(|reading| writer.cross(reading))?;
        if let Some(store) = &mut self.store {
            store.readings(readings)?;
        }
        Ok(self.schedule.next(readings))
    }

    fn timestamp(&mut self, writer: &mut Writer<impl Write>) -> Result<(), Failure> {
        match self.traffic.as_mut().map(Traffic::timestamp) {
            None => {}
            Some(Ok(timestamp)) => {
                self.report.timestamps += 1;
                writer.timestamp(timestamp.ticks)?;
                if let Some(store) = &mut self.store {
                    store.timestamp(&timestamp)?;
                }
            }
            Some(Err(error)) => self.failed(&error),
        }
        Ok(())
    }

    fn failed(&mut self, error: &Error) {
        self.report.failures += 1;
        self.report.last_failure = Some(error.to_string());
    }
}

impl Pace<'_> {
    /// Waits until so much time has passed since the start; whether it did, or Ctrl-C came.
    fn wait_until(&mut self, end: Duration) -> Result<bool, Error> {
        let left = end.saturating_sub(self.elapsed());
        self.session.pass(left, self.simulated)?;
        self.passed = self.passed.max(end);
        Ok(!self.session.is_interrupted())
    }

    /// Lets so much time pass, also after Ctrl-C.
    fn pause(&mut self, time: Duration) -> Result<(), Error> {
        let end = self.elapsed() + time;
        if self.simulated {
            self.session.pass(time, true)?;
        } else {
            std::thread::sleep(time);
        }
        self.passed = self.passed.max(end);
        Ok(())
    }

    /// The simulation's time passes only when it is advanced.
    fn elapsed(&self) -> Duration {
        if self.simulated {
            self.passed
        } else {
            self.begun.elapsed()
        }
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
        let batches = plural(self.batches, "batch").replace("batchs", "batches");
        page.field("readings", &format!("{} in {batches}", self.readings));
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
