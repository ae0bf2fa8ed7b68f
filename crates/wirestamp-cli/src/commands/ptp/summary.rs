//! Owns what `ptp` says at the end: medians, extremes, losses. Decides no exit code.

use super::live::rate;
use crate::output::{Output, plural};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use wirestamp::Span;
use wirestamp_ptp::{Counts, PortState, Sample};

/// What has been told until now.
#[derive(Debug, Default)]
pub(super) struct Tally {
    offsets: Vec<i64>,
    delays: Vec<i64>,
    bounds: Vec<i64>,
    rate_ppb: Option<f64>,
    transmitters: BTreeSet<String>,
    source: Option<&'static str>,
    heard: bool,
    duration: Span,
}

/// Times in nanoseconds.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    pub(super) samples: usize,
    duration_ns: i64,
    source: Option<&'static str>,
    transmitters: BTreeSet<String>,
    #[serde(skip)]
    pub(super) heard: bool,
    median_offset_ns: Option<i64>,
    median_absolute_offset_ns: Option<i64>,
    largest_absolute_offset_ns: Option<i64>,
    median_mean_path_delay_ns: Option<i64>,
    median_bound_ns: Option<i64>,
    largest_bound_ns: Option<i64>,
    rate_ppb: Option<f64>,
    pub(super) lost_in_all: u64,
    lost: BTreeMap<&'static str, u64>,
    ignored: BTreeMap<&'static str, u64>,
}

#[derive(Serialize)]
struct Wrapped<'a> {
    summary: &'a Summary,
}

fn median(mut values: Vec<i64>) -> Option<i64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

impl Tally {
    pub(super) fn add(&mut self, sample: &Sample) {
        self.offsets.push(sample.offset_ns);
        self.delays.push(sample.mean_path_delay_ns);
        self.bounds.push(sample.bound_ns);
        self.rate_ppb = sample.rate_ppb;
        self.source = Some(sample.source.name());
        self.transmitters.insert(sample.transmitter.to_string());
    }

    pub(super) fn entered(&mut self, state: PortState) {
        self.heard |= state == PortState::Receiver;
    }

    pub(super) fn ran_for(&mut self, time: Span) {
        self.duration = time;
    }

    pub(super) fn summary(&self, counts: Counts) -> Summary {
        let absolute: Vec<i64> = self.offsets.iter().map(|offset| offset.saturating_abs()).collect();
        Summary {
            samples: self.offsets.len(),
            duration_ns: self.duration.saturating_nanoseconds(),
            source: self.source,
            transmitters: self.transmitters.clone(),
            heard: self.heard,
            median_offset_ns: median(self.offsets.clone()),
            largest_absolute_offset_ns: absolute.iter().copied().max(),
            median_absolute_offset_ns: median(absolute),
            median_mean_path_delay_ns: median(self.delays.clone()),
            median_bound_ns: median(self.bounds.clone()),
            largest_bound_ns: self.bounds.iter().copied().max(),
            rate_ppb: self.rate_ppb,
            lost_in_all: counts.lost_in_all(),
            lost: counts.lost,
            ignored: counts.ignored,
        }
    }
}

impl Summary {
    pub(super) fn write(&self, output: &mut Output) -> io::Result<()> {
        output.line(&Wrapped { summary: self })?;
        output.now(|page| {
            let shown = |value: Option<i64>| {
                value.map_or_else(|| "-".to_owned(), |value| Span::from_nanoseconds(value.into()).to_string())
            };
            page.gap();
            let ran = Span::from_nanoseconds(self.duration_ns.into());
            let samples = plural(self.samples as u64, "sample");
            page.heading(&match self.source {
                Some(source) => format!("{samples} in {ran}, {source} stamps"),
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
                    &format!("median {}, largest {}", shown(self.median_bound_ns), shown(self.largest_bound_ns)),
                );
                page.field("path delay", &format!("median {}", shown(self.median_mean_path_delay_ns)));
                page.field("rate", &self.rate_ppb.map_or_else(|| "not known".to_owned(), rate));
                page.field("transmitter", &self.transmitters.iter().cloned().collect::<Vec<_>>().join(", "));
            }
            page.field("lost exchanges", &counted(&self.lost));
            page.field("ignored", &counted(&self.ignored));
        })
    }
}

/// `3 (receive_stamp 2, epoch 1)`.
pub(super) fn counted(counts: &BTreeMap<&'static str, u64>) -> String {
    let all: u64 = counts.values().sum();
    if all == 0 {
        return "none".to_owned();
    }
    let each: Vec<_> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
    format!("{all} ({})", each.join(", "))
}
