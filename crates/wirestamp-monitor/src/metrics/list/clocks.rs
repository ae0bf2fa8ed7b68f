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
    into.gauge("wirestamp_clock_offset", seconds(), "Offset of the clock, local minus reference (positive: the clock is ahead). For `realtime`: from the NTP servers or PTP; for a PTP hardware clock: from the real-time clock", both)?;
    into.gauge("wirestamp_clock_error_bound", seconds(), "Error bound: the true offset differs from `wirestamp_clock_offset_seconds` by no more than this", each(|clock| of_ns(clock.utc_bound_ns)))?;
    into.gauge(
        "wirestamp_clock_frequency_offset",
        ratio(),
        "Frequency offset from the monotonic clock (positive: the clock runs fast); 1e-9 is 1 ppb",
        each(|clock| clock.frequency_ppb.map(|ppb| ppb / 1e9)),
    )?;
    into.gauge(
        "wirestamp_clock_frequency_error_bound",
        ratio(),
        "Error bound of the frequency offset",
        each(|clock| clock.frequency_bound_ppb.map(|ppb| ppb / 1e9)),
    )?;
    into.gauge("wirestamp_clock_age", seconds(), "Largest possible time since the last reading of the clock, or the last exchange with its reference", each(|clock| of_ns(clock.age_ns)))?;
    into.gauge(
        "wirestamp_clock_cross_timestamp_width",
        seconds(),
        "How long the narrowest of the last readings of both clocks took",
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
        "Kind of the clock, source of its offset (`system`, `ntp`, `ptp`, `kernel`, `simulation`, `none`), method of reading it",
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
        "Resets and steps of the clock, by cause",
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
