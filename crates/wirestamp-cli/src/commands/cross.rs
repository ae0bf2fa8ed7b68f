//! `cross`: takes cross timestamps, shows them, and estimates the clock's frequency with the library's fit.

use super::advised;
use crate::arguments;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::cell::good;
use crate::output::quantity::rounded_up;
use crate::output::{Column, Output, Page, Report, Rows, Table, json, plural};
use crate::session::Session;
use comfy_table::Cell;
use serde::Serialize;
use wirestamp::latency::{Histogram, Summary};
use wirestamp::{
    Correlation, CrossTimestamp, Error, ErrorKind, Frequency, FrequencyEstimate, HardwareClock,
    Interface, Span, UtcCrossTimestamp,
};

/// More readings than this are shown in part.
const SHOWN: usize = 20;

#[derive(Serialize)]
struct Cross {
    interface: String,
    simulated: bool,
    interval_ns: u64,
    tai_minus_utc_s: i32,
    readings: Vec<Reading>,
    failures: u32,
    last_failure: Option<String>,
    nominal_frequency_hz: Option<u64>,
    /// `None`: too few readings, or a clock that restarts again and again.
    frequency: Option<FrequencyReport>,
    generations: u32,
    best: Option<Reading>,
    bracket_ns: Widths,
    interrupted: bool,
    #[serde(skip)]
    widths: Histogram,
}

/// Both clocks at once.
#[derive(Clone, Copy, Serialize)]
struct Reading {
    #[serde(serialize_with = "json::digits")]
    monotonic_before_ns: i64,
    #[serde(serialize_with = "json::digits")]
    hardware_ticks: u64,
    #[serde(serialize_with = "json::digits")]
    monotonic_after_ns: i64,
    /// `None`: the method does not report it.
    bracket_ns: Option<i64>,
    method: &'static str,
    #[serde(flatten)]
    offsets: Offsets,
}

/// The PHC minus other clocks; positive: the PHC is ahead. `None`: the width of the reading is unknown, the real-time
/// clock was stepped meanwhile, or the PHC does not count nanoseconds.
#[derive(Clone, Copy, Default, Serialize)]
struct Offsets {
    phc_minus_utc_ns: Option<i64>,
    phc_minus_tai_ns: Option<i64>,
    /// Of both.
    offset_error_bound_ns: Option<i64>,
}

#[derive(Serialize)]
struct FrequencyReport {
    hertz: f64,
    error_bound_parts_per_billion: f64,
    /// How much faster than the driver says, if it says.
    deviation_parts_per_billion: Option<f64>,
}

#[derive(Serialize)]
struct Widths {
    min: Option<i64>,
    p50: Option<i64>,
    p90: Option<i64>,
    p99: Option<i64>,
    max: Option<i64>,
    mean: Option<i64>,
}

/// The readings so far.
struct Taken {
    readings: Vec<(CrossTimestamp, Offsets)>,
    tai_offset: i32,
    correlation: Correlation,
    failures: u32,
    last_failure: Option<Error>,
}

pub(super) fn run(
    arguments: &arguments::Cross,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let interface = Interface::find(&arguments.interface)?;
    let clock = interface
        .hardware_clock()
        .map_err(|error| advised(error, &interface))?;
    let nominal = interface
        .supported()
        .ok()
        .and_then(|supported| supported.nominal_frequency);
    let mut taken = Taken {
        readings: Vec::new(),
        tai_offset: arguments.tai_offset,
        correlation: Correlation::new(interface.index(), nominal),
        failures: 0,
        last_failure: None,
    };
    session.listen_to_interrupts();
    let simulated = interface.description().simulated;
    let progress = output.progress(u64::from(arguments.count), "readings");
    for number in 0..arguments.count {
        if number > 0 {
            session.pass(arguments.interval, simulated)?;
        }
        if session.is_interrupted() {
            break;
        }
        taken
            .read(&clock, &interface)
            .map_err(|error| advised(error, &interface))?;
        progress.inc(1);
    }
    progress.finish_and_clear();
    if let (true, Some(error)) = (taken.readings.is_empty(), taken.last_failure.clone()) {
        return Err(error.into());
    }
    let exit = if taken.failures > 0 {
        Exit::Lossy
    } else {
        Exit::Success
    };
    output.report(&Cross::of(
        &interface,
        arguments,
        taken,
        session.is_interrupted(),
    ))?;
    Ok(exit)
}

impl Taken {
    /// Takes one reading; a clock that is busy or talks nonsense may do better next time.
    fn read(&mut self, clock: &HardwareClock, interface: &Interface) -> Result<(), Error> {
        let before = interface.utc_cross_timestamp();
        match clock.cross_timestamp() {
            Ok(reading) => {
                let after = interface.utc_cross_timestamp();
                let _ = self.correlation.push(&reading);
                let offsets = match self.correlation.nominal() {
                    Some(Frequency::GIGAHERTZ) => {
                        Offsets::of(&reading, [before, after], self.tai_offset)
                    }
                    _ => Offsets::default(),
                };
                self.readings.push((reading, offsets));
                Ok(())
            }
            Err(error) if matches!(error.kind(), ErrorKind::Busy | ErrorKind::Io) => {
                self.failures += 1;
                self.last_failure = Some(error);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

impl Cross {
    fn of(
        interface: &Interface,
        arguments: &arguments::Cross,
        taken: Taken,
        interrupted: bool,
    ) -> Self {
        let mut widths = Histogram::new();
        taken
            .readings
            .iter()
            .filter_map(|(reading, _)| reading.bracket())
            .for_each(|width| widths.record(width));
        let known = taken
            .readings
            .iter()
            .filter(|(reading, _)| reading.bracket().is_some());
        let best = known.min_by_key(|(reading, _)| reading.bracket());
        let nominal = taken.correlation.nominal().map(wirestamp::Frequency::hertz);
        Self {
            interface: interface.name().to_owned(),
            simulated: interface.description().simulated,
            tai_minus_utc_s: arguments.tai_offset,
            interval_ns: u64::try_from(arguments.interval.as_nanos()).unwrap_or(u64::MAX),
            best: best.map(Reading::of),
            readings: taken.readings.iter().map(Reading::of).collect(),
            failures: taken.failures,
            last_failure: taken.last_failure.map(|error| error.to_string()),
            nominal_frequency_hz: nominal,
            frequency: taken
                .correlation
                .frequency()
                .map(|rate| FrequencyReport::of(rate, nominal)),
            generations: taken
                .correlation
                .generation()
                .map_or(0, |generation| generation.0 + 1),
            bracket_ns: Widths::of(Summary::of(&widths)),
            interrupted,
            widths,
        }
    }
}

impl Reading {
    fn of((reading, offsets): &(CrossTimestamp, Offsets)) -> Self {
        Self {
            offsets: *offsets,
            monotonic_before_ns: reading.monotonic_before().nanoseconds(),
            hardware_ticks: reading.hardware().raw(),
            monotonic_after_ns: reading.monotonic_after().nanoseconds(),
            bracket_ns: reading.bracket().map(Span::saturating_nanoseconds),
            method: reading.method().name(),
        }
    }

    fn width(&self) -> String {
        self.bracket_ns.map_or_else(|| "unknown".to_owned(), shown)
    }
}

impl Offsets {
    /// `utc`: readings of the real-time clock before and after.
    fn of(reading: &CrossTimestamp, utc: [UtcCrossTimestamp; 2], tai_offset: i32) -> Self {
        Self::within(reading, utc, tai_offset).unwrap_or_default()
    }

    fn within(
        reading: &CrossTimestamp,
        utc: [UtcCrossTimestamp; 2],
        tai_offset: i32,
    ) -> Option<Self> {
        reading.bracket()?;
        // UTC minus the monotonic clock lies in what both readings allow
        let [first, last] = utc.map(|reading| {
            let utc = i128::from(reading.utc.nanoseconds());
            [reading.after, reading.before].map(|at| utc - i128::from(at.nanoseconds()))
        });
        let (low, high) = (first[0].max(last[0]), first[1].min(last[1]));
        if low > high {
            return None; // it was stepped
        }
        let ticks = i128::from(reading.hardware().raw());
        let after = i128::from(reading.monotonic_after().nanoseconds());
        let before = i128::from(reading.monotonic_before().nanoseconds());
        let (least, most) = (ticks - after - high, ticks - before - low);
        let offset = least + (most - least) / 2;
        let tai = offset - i128::from(tai_offset) * 1_000_000_000;
        Some(Self {
            phc_minus_utc_ns: Some(i64::try_from(offset).ok()?),
            phc_minus_tai_ns: Some(i64::try_from(tai).ok()?),
            // each clock shows a nanosecond that has begun
            offset_error_bound_ns: Some(i64::try_from((most - least + 1) / 2).ok()? + 1),
        })
    }
}

/// To the nanosecond: `+402 ns`, `-36.999999598 s`.
fn exact(nanoseconds: i64) -> String {
    if nanoseconds.abs() < 1_000_000 {
        return format!("{nanoseconds:+} ns");
    }
    let sign = if nanoseconds < 0 { '-' } else { '+' };
    let magnitude = nanoseconds.unsigned_abs();
    let (whole, part) = (magnitude / 1_000_000_000, magnitude % 1_000_000_000);
    format!("{sign}{whole}.{part:09} s")
}

impl FrequencyReport {
    fn of(rate: FrequencyEstimate, nominal: Option<u64>) -> Self {
        Self {
            hertz: rate.hertz,
            error_bound_parts_per_billion: rate.error_bound_parts_per_billion,
            deviation_parts_per_billion: nominal
                .map(|nominal| (rate.hertz / nominal as f64 - 1.0) * 1e9),
        }
    }

    fn shown(&self) -> String {
        let bound = format!(
            "{:.3} Hz ± {:.1} ppb",
            self.hertz,
            (self.error_bound_parts_per_billion * 10.0).ceil() / 10.0
        );
        match self.deviation_parts_per_billion {
            Some(deviation) => format!("{bound} ({deviation:+.1} ppb from nominal)"),
            None => bound,
        }
    }
}

impl Widths {
    fn of(summary: Option<Summary>) -> Self {
        let figure = |of: fn(&Summary) -> Span| {
            summary
                .as_ref()
                .map(|summary| of(summary).saturating_nanoseconds())
        };
        Self {
            min: figure(|summary| summary.minimum),
            p50: figure(|summary| summary.p50),
            p90: figure(|summary| summary.p90),
            p99: figure(|summary| summary.p99),
            max: figure(|summary| summary.maximum),
            mean: figure(|summary| summary.mean),
        }
    }
}

impl Report for Cross {
    fn print(&self, page: &mut Page) {
        let interrupted = if self.interrupted {
            ", interrupted"
        } else {
            ""
        };
        let count = plural(self.readings.len() as u64, "cross timestamp");
        page.heading(&format!("{count} of {}{interrupted}", self.interface));
        page.table(self.table());
        page.gap();
        page.field(
            "best bracket",
            &self
                .best
                .as_ref()
                .map_or_else(|| "unknown".to_owned(), Reading::width),
        );
        let closest = self
            .readings
            .iter()
            .filter(|reading| reading.offsets.offset_error_bound_ns.is_some())
            .min_by_key(|reading| reading.offsets.offset_error_bound_ns);
        if let Some(Offsets {
            phc_minus_utc_ns: Some(utc),
            phc_minus_tai_ns: Some(tai),
            offset_error_bound_ns: Some(bound),
        }) = closest.map(|reading| reading.offsets)
        {
            let ahead = "(positive: the PHC is ahead)";
            page.field(
                "PHC - UTC",
                &format!("{} ± {} {ahead}", exact(utc), rounded_up(bound)),
            );
            let leap = self.tai_minus_utc_s;
            let taken = format!("(TAI - UTC taken as {leap} s)");
            page.field(
                "PHC - TAI",
                &format!("{} ± {} {taken}", exact(tai), rounded_up(bound)),
            );
        }
        page.field(
            "frequency",
            &self.frequency.as_ref().map_or_else(
                || "not known yet: take more readings".to_owned(),
                FrequencyReport::shown,
            ),
        );
        if self.generations > 1 {
            page.field(
                "restarts",
                &format!(
                    "the clock restarted {}",
                    plural(u64::from(self.generations) - 1, "time")
                ),
            );
        }
        if let Some(error) = &self.last_failure {
            page.field(
                "failed",
                &format!(
                    "{}; last: {error}",
                    plural(u64::from(self.failures), "reading")
                ),
            );
        }
        if self.widths.count() > 1 {
            page.gap();
            page.line("bracket widths (both scales logarithmic)");
            page.picture(&self.widths);
        }
    }

    fn rows(&self, rows: &mut Rows) {
        self.readings.iter().for_each(|reading| rows.row(reading));
    }
}

impl Cross {
    fn table(&self) -> Table {
        let mut table = Table::new(&[
            Column::Right("#"),
            Column::Right("monotonic before"),
            Column::Right("hardware"),
            Column::Right("after"),
            Column::Left("method"),
        ]);
        let skipped = self.readings.len().saturating_sub(SHOWN);
        let best = self.best.map(|reading| reading.hardware_ticks);
        for (place, reading) in self.readings.iter().enumerate() {
            if skipped > 0 && (SHOWN / 2..SHOWN / 2 + skipped).contains(&place) {
                if place == SHOWN / 2 {
                    table.row(["...".to_owned(), format!("{skipped} more")]);
                }
                continue;
            }
            let width = match reading.bracket_ns {
                Some(_) => format!("+{}", reading.width()),
                None => reading.width(),
            };
            table.row([
                Cell::new(place + 1),
                Cell::new(reading.monotonic_before_ns),
                Cell::new(reading.hardware_ticks),
                if best == Some(reading.hardware_ticks) {
                    good(width)
                } else {
                    Cell::new(width)
                },
                Cell::new(reading.method),
            ]);
        }
        table
    }
}

fn shown(nanoseconds: i64) -> String {
    Span::from_nanoseconds(i128::from(nanoseconds)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirestamp::{CrossMethod, HardwareTicks, MonotonicTime, UtcTime};

    fn utc(before: i64, utc: i64, after: i64) -> UtcCrossTimestamp {
        UtcCrossTimestamp {
            before: MonotonicTime::from_nanoseconds(before),
            utc: UtcTime::from_nanoseconds(utc),
            after: MonotonicTime::from_nanoseconds(after),
        }
    }

    fn reading(before: i64, ticks: u64, after: i64) -> CrossTimestamp {
        let at = MonotonicTime::from_nanoseconds;
        let ticks = HardwareTicks::new(ticks);
        CrossTimestamp::new(at(before), ticks, at(after), CrossMethod::Extended).expect("valid")
    }

    #[test]
    fn the_offset_contains_every_truth_that_the_readings_allow() {
        // UTC is ahead of the monotonic clock by 500, the PHC of UTC by 7
        let reading = reading(100, 110 + 500 + 7, 120);
        let around = [utc(80, 90 + 500, 100), utc(125, 130 + 500, 135)];
        let offsets = Offsets::of(&reading, around, 0);
        let (offset, bound) = (
            offsets.phc_minus_utc_ns.expect("known"),
            offsets.offset_error_bound_ns.expect("known"),
        );
        // 10 of half a bracket, 5 of the narrower reading of UTC
        assert_eq!((offset, bound), (7, 16));
        let tai = Offsets::of(&reading, around, 37).phc_minus_tai_ns;
        assert_eq!(tai, Some(7 - 37_000_000_000));
    }

    #[test]
    fn a_step_meanwhile_leaves_no_offset() {
        let around = [utc(80, 590, 100), utc(125, 1_630, 135)];
        let offsets = Offsets::of(&reading(100, 617, 120), around, 37);
        assert_eq!(offsets.phc_minus_utc_ns, None);
        assert_eq!(offsets.offset_error_bound_ns, None);
    }

    #[test]
    fn offsets_are_shown_to_the_nanosecond() {
        let shown = [402, -5, 1_000_000, -36_999_999_598].map(exact);
        assert_eq!(
            shown,
            ["+402 ns", "-5 ns", "+0.001000000 s", "-36.999999598 s"]
        );
    }
}
