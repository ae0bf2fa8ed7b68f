//! Metrics of clocks against UTC and TAI.

use super::{by, of_ns, ratio, seconds};
use crate::metrics::families::Families;
use crate::snapshot::ClockState;
use std::fmt::Error;

pub(super) fn clocks(clocks: &[ClockState], into: &mut Families<'_>) -> Result<(), Error> {
    let label = |clock: &'_ ClockState| -> String { clock.name.clone() };
    let names: Vec<String> = clocks.iter().map(label).collect();
    let each = |pick: fn(&ClockState) -> Option<f64>| {
        clocks
            .iter()
            .zip(&names)
            .map(move |(clock, name)| (vec![("clock", name.as_str())], pick(clock)))
            .collect::<Vec<_>>()
    };
    let offsets = |pick: fn(&ClockState) -> Option<i64>, scale: &'static str| {
        clocks
            .iter()
            .map(move |clock| {
                (
                    vec![("clock", clock.name.as_str()), ("reference", scale)],
                    of_ns(pick(clock)),
                )
            })
            .collect::<Vec<_>>()
    };
    let mut both = offsets(|clock| clock.utc_offset_ns, "utc");
    both.extend(offsets(|clock| clock.tai_offset_ns, "tai"));
    into.gauge("wirestamp_clock_offset", seconds(), "Offset of the clock, local minus reference (positive: the local clock is ahead); of a PTP hardware clock against the real-time clock", both)?;
    into.gauge("wirestamp_clock_error_bound", seconds(), "The true offset is within this distance of wirestamp_clock_offset_seconds, evaluated at the scrape", each(|clock| of_ns(clock.utc_bound_ns)))?;
    into.gauge("wirestamp_clock_frequency_offset", ratio(), "Frequency offset against the monotonic clock (positive: the clock runs fast); 1e-9 is 1 ppb", each(|clock| clock.frequency_ppb.map(|ppb| ppb / 1e9)))?;
    into.gauge(
        "wirestamp_clock_frequency_error_bound",
        ratio(),
        "Error bound of the frequency offset",
        each(|clock| clock.frequency_bound_ppb.map(|ppb| ppb / 1e9)),
    )?;
    into.gauge("wirestamp_clock_age", seconds(), "Time since the last successful reading of the clock or exchange with its reference, at most", each(|clock| of_ns(clock.age_ns)))?;
    into.gauge(
        "wirestamp_clock_cross_timestamp_width",
        seconds(),
        "Width of the narrowest of the last cross timestamps",
        each(|clock| of_ns(clock.cross_width_ns)),
    )?;
    let info = clocks.iter().map(|clock| {
        let (reference, method) = (
            clock.reference.as_deref().unwrap_or("none"),
            clock.cross_method.as_deref().unwrap_or("none"),
        );
        vec![
            ("clock", clock.name.as_str()),
            ("kind", clock.kind.as_str()),
            ("reference", reference),
            ("method", method),
        ]
    });
    into.info(
        "wirestamp_clock",
        "Kind of the clock, where its offset comes from, and how it is read",
        info,
    )?;
    let changes = clocks.iter().flat_map(|clock| {
        by(
            vec![("clock", clock.name.as_str())],
            "cause",
            &clock.generation_changes,
        )
    });
    into.counter(
        "wirestamp_clock_generation_changes",
        None,
        "Changes of the clock generation, by cause: resets and steps",
        changes,
    )?;
    let counts = |pick: fn(&ClockState) -> u64| {
        clocks
            .iter()
            .map(move |clock| (vec![("clock", clock.name.as_str())], pick(clock) as f64))
    };
    into.counter(
        "wirestamp_clock_readings",
        None,
        "Cross timestamps taken",
        counts(|clock| clock.readings),
    )?;
    into.counter(
        "wirestamp_clock_reading_failures",
        None,
        "Attempts to read the clock that failed",
        counts(|clock| clock.failures),
    )
}
