//! What `ptp` says at the end: medians, extremes, losses. Decides no exit code.

use super::live::rate;
use crate::commands::limits::{self, Judged};
use crate::distribution::Distribution;
use crate::output::quantity::rounded_up;
use crate::output::{Output, grouped, plural};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;
use wirestamp::{Bounded, Span};
use wirestamp_ptp::{Counts, Sample};

/// So many timeTransmitters are named.
const MOST_TRANSMITTERS: usize = 64;

/// The summary of all reports until now, in bounded memory: a clock may run for years.
#[derive(Debug, Default)]
pub(super) struct Tally {
    offsets: Distribution,
    absolute: Distribution,
    delays: Distribution,
    bounds: Distribution,
    frequency_ppb: Option<f64>,
    /// The first ones: anybody on the network can make up more.
    time_transmitters: BTreeSet<String>,
    source: Option<&'static str>,
    /// Of the newest sample: the greatest distance from the timeTransmitter that the clock may have.
    worst_case_ns: Option<i64>,
    duration: Span,
}

/// The results of a run.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Summary {
    /// Syncs that gave an offset.
    pub(super) samples: u64,
    /// Duration of the run.
    duration_ns: i64,
    /// Which clock timestamped: hardware (the NIC's) or software (the system's); `None`: there was no sample.
    source: Option<&'static str>,
    /// Timestamps that were used, by which clock made them: hardware (the NIC's) or software (the system's).
    stamps: BTreeMap<&'static str, u64>,
    /// Port identities of the followed timeTransmitters, the first ones of many.
    time_transmitters: BTreeSet<String>,
    /// Median of the offsets: timestamping clock minus timeTransmitter; positive: the local clock is ahead.
    median_offset_ns: Option<i64>,
    /// Median of the absolute offsets.
    median_absolute_offset_ns: Option<i64>,
    /// Largest absolute offset.
    largest_absolute_offset_ns: Option<i64>,
    /// Median of the mean path delays.
    median_mean_path_delay_ns: Option<i64>,
    /// Median of the offsets' error bounds.
    median_error_bound_ns: Option<i64>,
    /// Largest error bound of an offset.
    largest_error_bound_ns: Option<i64>,
    /// Frequency offset of the timestamping clock at the end; positive: it runs fast.
    frequency_ppb: Option<f64>,
    /// Exchanges without a sample, for all reasons together.
    pub(super) lost_in_all: u64,
    /// Exchanges without a sample, by reason.
    lost: BTreeMap<&'static str, u64>,
    /// Ignored messages, by reason.
    ignored: BTreeMap<&'static str, u64>,
    /// Limits of the command line (`--max-offset`).
    pub(super) limits: Vec<Judged>,
}

/// The line at the end.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Wrapped<'a> {
    /// The results of the run.
    summary: &'a Summary,
}

impl Tally {
    pub(super) fn add(&mut self, sample: &Sample) {
        let Bounded { value, bound } = sample.offset;
        self.offsets.record(value.nanoseconds());
        self.absolute.record(value.abs().nanoseconds());
        self.delays.record(sample.mean_path_delay_ns.into());
        self.bounds.record(bound.nanoseconds());
        self.worst_case_ns = Some((value.abs() + bound).saturating_nanoseconds());
        self.frequency_ppb = sample.frequency_ppb;
        self.source = Some(sample.source.name());
        if self.time_transmitters.len() < MOST_TRANSMITTERS {
            self.time_transmitters
                .insert(sample.time_transmitter.to_string());
        }
    }

    pub(super) fn ran_for(&mut self, time: Span) {
        self.duration = time;
    }

    pub(super) fn took(&self) -> Duration {
        self.duration.to_duration()
    }

    /// `max_offset`: as the command line limits the offset of the newest sample.
    pub(super) fn summary(&self, counts: Counts, max_offset: Option<Duration>) -> Summary {
        let median = |values: &Distribution| values.median().map(saturated);
        let largest = |values: &Distribution| values.maximum().map(saturated);
        let judged = |most| limits::judge_one("worst_case_offset_ns", most, self.worst_case_ns);
        Summary {
            samples: self.offsets.count(),
            duration_ns: self.duration.saturating_nanoseconds(),
            source: self.source,
            time_transmitters: self.time_transmitters.clone(),
            median_offset_ns: median(&self.offsets),
            largest_absolute_offset_ns: largest(&self.absolute),
            median_absolute_offset_ns: median(&self.absolute),
            median_mean_path_delay_ns: median(&self.delays),
            median_error_bound_ns: median(&self.bounds),
            largest_error_bound_ns: largest(&self.bounds),
            frequency_ppb: self.frequency_ppb,
            lost_in_all: counts.lost_in_all(),
            stamps: counts.stamps,
            lost: counts.lost,
            ignored: counts.ignored,
            limits: max_offset.map(judged).into_iter().collect(),
        }
    }
}

impl Summary {
    /// What a report has of it: names and values.
    pub(super) fn values(&self) -> Vec<(&'static str, String)> {
        let shown = |value: Option<i64>| {
            let span = |value: i64| Span::from_nanoseconds(value.into()).to_string();
            value.map_or_else(|| "-".to_owned(), span)
        };
        let bound = |value: Option<i64>| value.map_or_else(|| "-".to_owned(), rounded_up);
        let transmitters: Vec<_> = self.time_transmitters.iter().map(String::as_str).collect();
        vec![
            ("samples", self.samples.to_string()),
            ("duration", shown(Some(self.duration_ns))),
            (
                "timestamps",
                self.stamped().unwrap_or_else(|| "-".to_owned()),
            ),
            ("timeTransmitter", transmitters.join(", ")),
            ("offset, median", shown(self.median_offset_ns)),
            ("offset, largest", shown(self.largest_absolute_offset_ns)),
            ("error bound, median", bound(self.median_error_bound_ns)),
            ("error bound, largest", bound(self.largest_error_bound_ns)),
            ("path delay, median", shown(self.median_mean_path_delay_ns)),
            (
                "frequency",
                self.frequency_ppb
                    .map_or_else(|| "not known".to_owned(), rate),
            ),
            ("lost exchanges", counted(&self.lost)),
            ("ignored", counted(&self.ignored)),
        ]
    }

    /// How many timestamps were used of which source: `42 software`; `None`: none were.
    fn stamped(&self) -> Option<String> {
        let each = self.stamps.iter();
        let each = each.map(|(source, count)| format!("{} {source}", grouped(*count)));
        let each: Vec<_> = each.collect();
        (!each.is_empty()).then(|| each.join(" and "))
    }

    pub(super) fn write(&self, output: &mut Output) -> io::Result<()> {
        output.line(&Wrapped { summary: self })?;
        output.now(|page| {
            let shown = |value: Option<i64>| {
                value.map_or_else(
                    || "-".to_owned(),
                    |value| Span::from_nanoseconds(value.into()).to_string(),
                )
            };
            let bound = |value: Option<i64>| value.map_or_else(|| "-".to_owned(), rounded_up);
            page.gap();
            let ran = Span::from_nanoseconds(self.duration_ns.into());
            let samples = plural(self.samples, "sample");
            page.heading(&match self.stamped() {
                Some(stamped) => format!("{samples} in {ran}, {stamped} timestamps"),
                None => format!("{samples} in {ran}"),
            });
            if self.samples > 0 {
                page.field(
                    "offset",
                    &format!(
                        "median {}, median of the absolute {}, largest {}",
                        shown(self.median_offset_ns),
                        shown(self.median_absolute_offset_ns),
                        shown(self.largest_absolute_offset_ns),
                    ),
                );
                page.field(
                    "bound",
                    &format!(
                        "median {}, largest {}",
                        bound(self.median_error_bound_ns),
                        bound(self.largest_error_bound_ns)
                    ),
                );
                page.field(
                    "path delay",
                    &format!("median {}", shown(self.median_mean_path_delay_ns)),
                );
                page.field(
                    "frequency",
                    &self
                        .frequency_ppb
                        .map_or_else(|| "not known".to_owned(), rate),
                );
                page.field(
                    "timeTransmitter",
                    &self
                        .time_transmitters
                        .iter()
                        .cloned()
                        .collect::<Vec<_>>()
                        .join(", "),
                );
            }
            page.field("lost exchanges", &counted(&self.lost));
            page.field("ignored", &counted(&self.ignored));
            limits::print(&self.limits, page);
        })
    }
}

fn saturated(nanoseconds: i128) -> i64 {
    Span::from_nanoseconds(nanoseconds).saturating_nanoseconds()
}

/// `3 (receive_timestamp 2, generation 1)`.
pub(super) fn counted(counts: &BTreeMap<&'static str, u64>) -> String {
    let all: u64 = counts.values().sum();
    if all == 0 {
        return "none".to_owned();
    }
    let each: Vec<_> = counts
        .iter()
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    format!("{all} ({})", each.join(", "))
}
