//! `cross`: shows readings of a NIC's clock beside the system's, and estimates its frequency with the library's fit. The
//! engine takes the readings.

mod report;
mod text;

use super::advised;
use crate::arguments::{self, fitting};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;
use indicatif::ProgressBar;
use report::{Cross, Reading};
use wirestamp::{Correlation, Error, Interface, Span};
use wirestamp_measure::{
    ClockReading, Engine, Measurements, Outcome, Readings, Sample, Sink, Subject,
};

/// How soon a signal is noticed between two readings.
const NAP: Span = Span::from_milliseconds(50);
/// Where neither a number of readings nor a time is asked for.
const FEW: u32 = 20;
/// More readings than these are not kept.
const MOST: u32 = 1_000_000;

pub(super) fn run(
    arguments: &arguments::Cross,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let interface = Interface::find(&arguments.interface)?;
    let mut readings = Readings::of(interface.name());
    readings.interval = arguments.interval;
    let unsaid = arguments.duration.map_or(FEW, |_| MOST);
    let count = arguments.count.unwrap_or(unsaid);
    readings.count = Some(count);
    session.listen_to_interrupts();
    let all = Measurements::default().readings(readings);
    let mut engine = Engine::new(all, session.place(&interface)?)?;
    let progress = output.progress(expected(arguments, count), "readings");
    let mut taken = Taken::new(arguments.tai_offset, progress);
    let until = arguments.duration;
    let until = until.map(|all| engine.now() + Span::from(all));
    let is_over =
        |engine: &Engine| engine.is_over() || until.is_some_and(|until| engine.now() >= until);
    while !is_over(&engine) && !session.is_interrupted() {
        let next = engine.serve(&engine.moment(), &mut taken);
        let next = until.map_or(next, |until| next.min(until));
        if !is_over(&engine) {
            engine.wait(next.min(engine.now() + NAP))?;
        }
    }
    taken.progress.finish_and_clear();
    if taken.readings.is_empty() {
        let opened = engine.outcomes();
        let error = opened
            .iter()
            .find_map(|outcome: &Outcome<'_>| outcome.error);
        if let Some(error) = error.or(taken.last_failure.as_ref()) {
            return Err(advised(error.clone(), &interface).into());
        }
    }
    let exit = match taken.failures {
        0 => Exit::Success,
        _ => Exit::Lossy,
    };
    let interrupted = session.is_interrupted() && !is_over(&engine);
    output.report(&Cross::of(&interface, arguments, taken, interrupted))?;
    Ok(exit)
}

/// How many readings there will be.
fn expected(arguments: &arguments::Cross, count: u32) -> u64 {
    let fit = arguments
        .duration
        .map(|all| fitting(all, arguments.interval));
    fit.map_or(count.into(), |fit| fit.min(count.into()))
}

/// The readings so far.
struct Taken {
    readings: Vec<Reading>,
    tai_offset: i32,
    /// From the first reading on.
    correlation: Option<Correlation>,
    /// How often another clock was behind the interface.
    clock_changes: u32,
    failures: u32,
    last_failure: Option<Error>,
    progress: ProgressBar,
}

impl Taken {
    fn new(tai_offset: i32, progress: ProgressBar) -> Self {
        Self {
            readings: Vec::new(),
            tai_offset,
            correlation: None,
            clock_changes: 0,
            failures: 0,
            last_failure: None,
            progress,
        }
    }
}

impl Sink for Taken {
    fn sample(&mut self, _: &Sample<'_>) {}

    fn reading(&mut self, _: Subject<'_>, reading: &ClockReading) {
        let (interface, nominal) = (reading.interface, reading.nominal);
        let begin = || Correlation::new(interface, nominal);
        let correlation = self.correlation.get_or_insert_with(begin);
        if reading.is_another {
            self.clock_changes += 1;
            correlation.replace_clock(interface, nominal);
        }
        let _ = correlation.push(&reading.cross);
        let generation = correlation
            .generation()
            .map_or(0, |generation| generation.0);
        let reading = Reading::of(reading, generation, self.tai_offset);
        self.readings.push(reading);
        self.progress.inc(1);
    }

    fn unread(&mut self, _: Subject<'_>, error: &Error) {
        self.failures += 1;
        self.last_failure = Some(error.clone());
        self.progress.inc(1);
    }
}
