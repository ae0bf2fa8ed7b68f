//! What `cross` reports: the readings, and what they say together.

use super::Taken;
use crate::arguments;
use crate::output::json;
use serde::Serialize;
use std::collections::VecDeque;
use wirestamp::correlator::{Correlation, FrequencyEstimate};
use wirestamp::latency::{Histogram, Summary};
use wirestamp::time::Frequency;
use wirestamp::{Bounded, Interface, Span};
use wirestamp_measure::ClockReading;

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Cross {
    /// Name of the interface.
    pub(super) interface: String,
    /// Whether it is a simulated NIC.
    pub(super) simulated: bool,
    /// From one reading to the next.
    pub(super) interval_ns: u64,
    /// TAI - UTC in seconds, as given with --tai-offset.
    pub(super) tai_minus_utc_s: i32,
    /// How many readings there were.
    pub(super) count: u64,
    /// Readings of both clocks: all, or the newest 1,000 of a run without an end.
    pub(super) readings: VecDeque<Reading>,
    /// Readings that failed.
    pub(super) failures: u32,
    /// The last error; null: none.
    pub(super) last_failure: Option<String>,
    /// Nominal ticks a second of the NIC's clock; `None`: the driver does not report them.
    pub(super) nominal_frequency_hz: Option<u64>,
    /// Frequency of the NIC's clock by the monotonic clock; `None`: too few readings, or a clock that restarts again and again.
    pub(super) frequency: Option<FrequencyReport>,
    /// Uninterrupted runs of the clock.
    pub(super) generations: u32,
    /// How often another clock came behind the interface: a bond failed over, or the NIC came back.
    pub(super) clock_changes: u32,
    /// The reading with the shortest bracket.
    pub(super) best: Option<Reading>,
    /// The time between both readings of the monotonic clock.
    pub(super) bracket_ns: Widths,
    /// Whether a signal ended the run early.
    pub(super) interrupted: bool,
    #[serde(skip)]
    pub(super) narrowest: Option<Offsets>,
    #[serde(skip)]
    pub(super) widths: Histogram,
}

/// Both clocks at once.
#[derive(Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Reading {
    /// The monotonic clock before the NIC's was read.
    #[serde(serialize_with = "json::digits")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Digits"))]
    pub(super) monotonic_before_ns: i64,
    /// The NIC's clock.
    #[serde(serialize_with = "json::digits")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Digits"))]
    pub(super) hardware_ticks: u64,
    /// The monotonic clock afterwards.
    #[serde(serialize_with = "json::digits")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Digits"))]
    pub(super) monotonic_after_ns: i64,
    /// The time between both readings of the monotonic clock; `None`: the method does not report it.
    pub(super) bracket_ns: Option<i64>,
    /// precise, extended, basic or driver.
    pub(super) method: &'static str,
    /// Generation of the clock: readings of the same generation are of one clock, undisturbed.
    pub(super) generation: u32,
    #[serde(flatten)]
    pub(super) offsets: Offsets,
}

/// The PHC minus other clocks; positive: the PHC is ahead. `None`: the width of the reading is unknown, the real-time
/// clock was stepped meanwhile, or the PHC does not count nanoseconds.
#[derive(Clone, Copy, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Offsets {
    /// The PHC minus this host's real-time clock; positive: the PHC is ahead. null: not known.
    pub(super) phc_minus_utc_ns: Option<i64>,
    /// `phc_minus_utc_ns` less TAI - UTC (`tai_minus_utc_s`).
    pub(super) phc_minus_tai_ns: Option<i64>,
    /// Error bound of `phc_minus_utc_ns` and `phc_minus_tai_ns`.
    pub(super) offset_error_bound_ns: Option<i64>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct FrequencyReport {
    /// Ticks a second.
    pub(super) hertz: f64,
    /// Error bound of the frequency.
    pub(super) error_bound_parts_per_billion: f64,
    /// How much faster than the driver's nominal frequency; `None`: it does not report that.
    pub(super) deviation_parts_per_billion: Option<f64>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Widths {
    /// The smallest.
    pub(super) min: Option<i64>,
    /// The median.
    pub(super) p50: Option<i64>,
    /// 90 % are at most this.
    pub(super) p90: Option<i64>,
    /// 99 % are at most this.
    pub(super) p99: Option<i64>,
    /// The largest.
    pub(super) max: Option<i64>,
    /// The mean.
    pub(super) mean: Option<i64>,
}

impl Cross {
    pub(super) fn of(
        interface: &Interface,
        arguments: &arguments::Cross,
        taken: Taken,
        interrupted: bool,
    ) -> Self {
        let correlation = taken.correlation.as_ref();
        let nominal = correlation.and_then(Correlation::nominal);
        let nominal = nominal.map(Frequency::hertz);
        let frequency = correlation.and_then(Correlation::frequency);
        let newest = taken.readings.back();
        Self {
            interface: interface.name().to_owned(),
            simulated: interface.description().simulated,
            tai_minus_utc_s: arguments.tai_offset,
            interval_ns: u64::try_from(arguments.interval.as_nanos()).unwrap_or(u64::MAX),
            best: taken.best,
            narrowest: taken.narrowest,
            count: taken.count,
            failures: taken.failures,
            last_failure: taken.last_failure.map(|error| error.to_string()),
            nominal_frequency_hz: nominal,
            frequency: frequency.map(|rate| FrequencyReport::of(rate, nominal)),
            generations: newest.map_or(0, |newest| newest.generation + 1),
            clock_changes: taken.clock_changes,
            bracket_ns: Widths::of(Summary::of(&taken.widths)),
            interrupted,
            widths: taken.widths,
            readings: taken.readings,
        }
    }
}

impl Reading {
    pub(super) fn of(reading: &ClockReading, generation: u32, tai_offset: i32) -> Self {
        let cross = &reading.cross;
        Self {
            offsets: Offsets::of(reading, tai_offset).unwrap_or_default(),
            monotonic_before_ns: cross.monotonic_before().nanoseconds(),
            hardware_ticks: cross.hardware().raw(),
            monotonic_after_ns: cross.monotonic_after().nanoseconds(),
            bracket_ns: cross.bracket().map(Span::saturating_nanoseconds),
            method: cross.method().name(),
            generation,
        }
    }
}

impl Offsets {
    /// Those with the narrower bound; the older of two that are alike.
    pub(super) fn narrower(older: Option<Self>, newer: Self) -> Option<Self> {
        let bounds = (
            older.and_then(|older| older.offset_error_bound_ns),
            newer.offset_error_bound_ns,
        );
        match bounds {
            (Some(older_bound), Some(bound)) if bound >= older_bound => older,
            (_, None) => older,
            _ => Some(newer),
        }
    }

    /// `None` as well where nanoseconds do not fit: the clocks are 292 years apart.
    fn of(reading: &ClockReading, tai_offset: i32) -> Option<Self> {
        let Bounded { value, bound } = reading.offset_to_utc()?;
        let tai = value.nanoseconds() - i128::from(tai_offset) * 1_000_000_000;
        Some(Self {
            phc_minus_utc_ns: Some(i64::try_from(value.nanoseconds()).ok()?),
            phc_minus_tai_ns: Some(i64::try_from(tai).ok()?),
            offset_error_bound_ns: Some(i64::try_from(bound.nanoseconds()).ok()?),
        })
    }
}

impl FrequencyReport {
    pub(super) fn of(rate: FrequencyEstimate, nominal: Option<u64>) -> Self {
        Self {
            hertz: rate.hertz,
            error_bound_parts_per_billion: rate.error_bound_parts_per_billion,
            deviation_parts_per_billion: nominal
                .map(|nominal| (rate.hertz / nominal as f64 - 1.0) * 1e9),
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
