//! Owns the summary of `convert --json`: names and units of its fields. Counts nothing itself
//! but the bounds.

use crate::output::{Page, Report};
use serde::Serialize;
use std::collections::BTreeMap;
use wirestamp::events::{EpochSummary, Header, Row, Summary};
use wirestamp::{Frequency, RateEstimate};

#[derive(Serialize)]
pub(super) struct Converted {
    system_hz: u64,
    /// As the file states it; `None`: it does not.
    hardware_hz: Option<u64>,
    /// Whether each stamp was converted one batch later.
    later: bool,
    readings: u64,
    readings_outdated: u64,
    readings_invalid: u64,
    batches: u64,
    notifications: u64,
    stamps: u64,
    converted: u64,
    refused: u64,
    refused_by_reason: BTreeMap<&'static str, u64>,
    epochs: Vec<Opened>,
    /// At the end of the last epoch.
    rate: Option<Rate>,
    prior: Option<Prior>,
    bound_ns: Option<Bounds>,
}

#[derive(Serialize)]
struct Opened {
    epoch: u32,
    cause: &'static str,
    first_system_ns: i64,
    last_system_ns: i64,
    readings: u64,
    rate: Option<Rate>,
}

#[derive(Serialize)]
struct Rate {
    hertz: f64,
    /// How much faster than stated; `None` where nothing is stated.
    ppm: Option<f64>,
    bound_ppm: f64,
}

/// How fast the rate is believed to change at most.
#[derive(Serialize)]
struct Prior {
    /// Per second: in the time that the readings cover.
    seen_ppm_per_second: f64,
    /// Per second: since the newest reading.
    unseen_ppm_per_second: f64,
}

#[derive(Serialize)]
struct Bounds {
    min: f64,
    median: f64,
    mean: f64,
    max: f64,
}

impl Converted {
    pub(super) fn of(header: Header, later: bool, summary: &Summary, rows: &[Row]) -> Self {
        let epochs: Vec<Opened> = summary.epochs.iter().map(|epoch| Opened::of(epoch, header.hardware)).collect();
        let rate = summary.epochs.last().and_then(|epoch| epoch.rate);
        Self {
            system_hz: header.system.hertz(),
            hardware_hz: header.hardware.map(Frequency::hertz),
            later,
            readings: summary.readings,
            readings_outdated: summary.outdated,
            readings_invalid: summary.invalid,
            batches: summary.batches,
            notifications: summary.notifications,
            stamps: summary.stamps,
            converted: summary.converted,
            refused: summary.refused.total(),
            refused_by_reason: summary.refused.by_reason().map(|(reason, count)| (reason.name(), count)).collect(),
            epochs,
            rate: rate.map(|rate| Rate::of(rate, header.hardware)),
            prior: summary.prior.map(|prior| Prior {
                seen_ppm_per_second: prior.seen_per_second * 1e6,
                unseen_ppm_per_second: prior.unseen_per_second * 1e6,
            }),
            bound_ns: Bounds::of(rows),
        }
    }
}

impl Opened {
    fn of(epoch: &EpochSummary, nominal: Option<Frequency>) -> Self {
        Self {
            epoch: epoch.epoch.0,
            cause: epoch.cause.name(),
            first_system_ns: epoch.first.nanoseconds(),
            last_system_ns: epoch.last.nanoseconds(),
            readings: epoch.readings,
            rate: epoch.rate.map(|rate| Rate::of(rate, nominal)),
        }
    }
}

impl Rate {
    fn of(rate: RateEstimate, nominal: Option<Frequency>) -> Self {
        let ppm = nominal.map(|nominal| (rate.hertz / nominal.hertz() as f64 - 1.0) * 1e6);
        Self { hertz: rate.hertz, ppm, bound_ppm: rate.bound_parts_per_billion / 1e3 }
    }
}

impl Bounds {
    fn of(rows: &[Row]) -> Option<Self> {
        let mut bounds: Vec<u64> =
            rows.iter().filter_map(|row| row.answer.ok()).map(|estimate| estimate.bound_picoseconds).collect();
        bounds.sort_unstable();
        let nanoseconds = |picoseconds: u64| picoseconds as f64 / 1e3;
        let (min, max) = (*bounds.first()?, *bounds.last()?);
        let sum: u128 = bounds.iter().map(|bound| u128::from(*bound)).sum();
        Some(Self {
            min: nanoseconds(min),
            median: nanoseconds(bounds[bounds.len() / 2]),
            mean: sum as f64 / bounds.len() as f64 / 1e3,
            max: nanoseconds(max),
        })
    }
}

impl Report for Converted {
    /// Rows are printed instead.
    fn print(&self, _: &mut Page) {}
}
