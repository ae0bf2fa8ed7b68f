//! `cross`: shows readings of a NIC's clock beside the system's, and estimates its frequency with the library's fit. The
//! engine takes the readings.

mod drawn;
mod report;
mod text;

use super::advised;
use super::each_second::EachSecond;
use crate::arguments::{self, fitting};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
#[cfg(all(test, feature = "schema"))]
use crate::schema::Document;
use crate::session::{Session, endless};
use drawn::{Drawn, Shown};
use indicatif::ProgressBar;
use report::{Cross, Offsets, Reading};
use std::collections::VecDeque;
use std::io;
use wirestamp::correlator::Correlation;
use wirestamp::latency::Histogram;
use wirestamp::{Error, Interface, Span};
use wirestamp_measure::{
    ClockReading, Engine, Measurements, Outcome, Readings, Sample, Sink, Subject,
};

/// How soon a signal is noticed between two readings.
const NAP: Span = Span::from_milliseconds(50);
/// Where neither a number of readings nor a time is asked for.
const FEW: u32 = 20;
/// More readings than these are not kept; of a run without an end, the newest few.
const MOST: u32 = 1_000_000;
const KEPT: u32 = 1_000;

#[cfg(all(test, feature = "schema"))]
pub(super) fn schema() -> Document {
    Document::of::<Cross>("cross", "Output of `wirestamp cross --json`").row::<Reading>()
}

pub(super) fn run(
    arguments: &arguments::Cross,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let interface = Interface::find(&arguments.interface)?;
    let is_endless = arguments.is_endless();
    if is_endless && interface.description().simulated {
        return Err(endless("take cross timestamps", interface.name()).into());
    }
    let mut readings = Readings::of(interface.name());
    readings.interval = arguments.interval;
    let unsaid = arguments.duration.map_or(FEW, |_| MOST);
    let count = arguments.count.unwrap_or(unsaid);
    readings.count = (!is_endless).then_some(count);
    session.listen_to_interrupts();
    let files = drawn::files(arguments)?;
    let all = Measurements::default().readings(readings);
    let mut engine = Engine::new(all, session.place(&interface)?)?;
    let mut each_second = is_endless.then(EachSecond::new);
    let progress = match is_endless {
        true => ProgressBar::hidden(),
        false => output.progress(expected(arguments, count), "readings"),
    };
    let most = if is_endless { KEPT } else { MOST };
    let mut taken = Taken::new(arguments.tai_offset, most, output.has_rows(), progress);
    taken.drawn = (!files.is_empty()).then(Drawn::begin);
    let begun = taken.drawn.is_some().then(|| engine.now());
    let until = arguments.duration;
    let until = until.map(|all| engine.now() + Span::from(all));
    let is_over =
        |engine: &Engine| engine.is_over() || until.is_some_and(|until| engine.now() >= until);
    while !is_over(&engine) && !session.is_interrupted() {
        let next = engine.serve(&engine.moment(), &mut taken);
        taken.write(each_second.as_mut(), output)?;
        if is_endless && taken.count == 0 && has_failed(&engine) {
            break; // nothing else would end it
        }
        let next = until.map_or(next, |until| next.min(until));
        if !is_over(&engine) {
            engine.wait(next.min(engine.now() + NAP))?;
        }
    }
    taken.progress.finish_and_clear();
    if taken.count == 0 {
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
    let drawn = taken.drawn.take();
    let cross = Cross::of(&interface, arguments, taken, interrupted);
    output.report(&cross)?;
    if let Some((drawn, begun)) = drawn.as_ref().zip(begun) {
        let took = (engine.now() - begun).to_duration();
        files.write(&Shown {
            drawn,
            cross: &cross,
            took,
        })?;
    }
    Ok(exit)
}

fn has_failed(engine: &Engine) -> bool {
    engine.outcomes().iter().any(|one| one.error.is_some())
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
    count: u64,
    /// The newest of them, so many at most.
    readings: VecDeque<Reading>,
    most: u32,
    /// Those that are not written yet, where somebody wants rows.
    rows: Option<Vec<Reading>>,
    widths: Histogram,
    /// What the files need, if any were asked for.
    drawn: Option<Drawn>,
    best: Option<Reading>,
    /// The narrowest offsets to UTC of the clock as it is now: those before a change say nothing of it.
    narrowest: Option<Offsets>,
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
    fn new(tai_offset: i32, most: u32, has_rows: bool, progress: ProgressBar) -> Self {
        Self {
            count: 0,
            readings: VecDeque::new(),
            most,
            rows: has_rows.then(Vec::new),
            widths: Histogram::new(),
            drawn: None,
            best: None,
            narrowest: None,
            tai_offset,
            correlation: None,
            clock_changes: 0,
            failures: 0,
            last_failure: None,
            progress,
        }
    }

    /// Writes rows as they come, and each second of a run without an end a line.
    fn write(&mut self, each: Option<&mut EachSecond>, output: &mut Output) -> io::Result<()> {
        for reading in self.rows.iter_mut().flat_map(|rows| rows.drain(..)) {
            output.row(&reading)?;
        }
        let Some(seconds) = each.and_then(EachSecond::due) else {
            return Ok(());
        };
        let line = self.line(seconds);
        output.now(|page| page.line(&line))
    }

    fn note(&mut self, reading: Reading) {
        self.count += 1;
        let before = self.readings.back().map(|before| before.generation);
        if before != Some(reading.generation) {
            self.narrowest = None;
        }
        if let Some(width) = reading.bracket_ns {
            self.widths.record(Span::from_nanoseconds(width.into()));
            let is_better = |best: &Reading| best.bracket_ns.is_none_or(|best| width < best);
            if self.best.as_ref().is_none_or(is_better) {
                self.best = Some(reading);
            }
        }
        self.narrowest = Offsets::narrower(self.narrowest, reading.offsets);
        if self.readings.len() >= self.most as usize {
            self.readings.pop_front();
        }
        self.readings.push_back(reading);
        self.rows.iter_mut().for_each(|rows| rows.push(reading));
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
        if let Some(drawn) = &mut self.drawn {
            drawn.compare(correlation, &reading.cross);
        }
        let _ = correlation.push(&reading.cross);
        let generation = correlation
            .generation()
            .map_or(0, |generation| generation.0);
        if let Some(drawn) = &mut self.drawn {
            drawn.note(generation, &reading.cross);
        }
        self.note(Reading::of(reading, generation, self.tai_offset));
        self.progress.inc(1);
    }

    fn unread(&mut self, _: Subject<'_>, error: &Error) {
        self.failures += 1;
        self.last_failure = Some(error.clone());
        self.progress.inc(1);
    }
}
