//! The summary of `convert --json`: names and units of its fields. Counts nothing itself
//! but the bounds.

use crate::distribution::Distribution;
use crate::output::{Page, Report, Rows, grouped, json, plural};
use serde::Serialize;
use std::collections::BTreeMap;
use wirestamp::correlator::FrequencyEstimate;
use wirestamp::events::{ConversionErrors, GenerationSummary, Header, Summary};
use wirestamp::time::Frequency;

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Converted {
    /// Ticks a second of the system clock.
    system_hz: u64,
    /// Nominal ticks a second of the NIC's clock; 0: unknown; `None`: the file does not state them.
    hardware_hz: Option<u64>,
    /// Whether each timestamp was converted with the next batch of readings, too.
    later: bool,
    /// Readings of both clocks.
    readings: u64,
    /// Readings that came too late to be used.
    readings_outdated: u64,
    /// Readings that contradict themselves.
    readings_invalid: u64,
    /// Batches of readings: those less than 1 ms apart are one.
    batches: u64,
    /// Notifications that the configuration may have changed.
    notifications: u64,
    /// Hardware timestamps.
    timestamps: u64,
    /// Timestamps that were converted.
    converted: u64,
    /// Timestamps that could not be converted.
    conversion_errors: u64,
    /// Timestamps that could not be converted, by reason.
    conversion_errors_by_reason: BTreeMap<&'static str, u64>,
    /// Timestamps that were converted at first and count among the conversion errors now: later readings contradicted
    /// their times, or too few batches followed.
    withdrawn: u64,
    /// Timestamps whose times were withdrawn, by reason.
    withdrawn_by_reason: BTreeMap<&'static str, u64>,
    /// Uninterrupted runs of the clock.
    generations: Vec<Opened>,
    /// How many generations are left out before the last one in `generations`.
    generations_left_out: u64,
    /// Frequency of the NIC's clock by the monotonic clock, at the end of the last generation.
    frequency: Option<FrequencyReport>,
    /// How fast the frequency may change at most.
    prior: Option<Prior>,
    /// The error bounds of the converted timestamps.
    error_bound_ns: Option<Bounds>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Opened {
    /// Number of the generation.
    generation: u32,
    /// Why it began.
    cause: &'static str,
    /// Monotonic clock at its first reading.
    #[serde(serialize_with = "json::digits")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Digits"))]
    first_monotonic_ns: i64,
    /// Monotonic clock at its last reading.
    #[serde(serialize_with = "json::digits")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Digits"))]
    last_monotonic_ns: i64,
    /// Readings of both clocks.
    readings: u64,
    /// Frequency of the NIC's clock in this generation, by the monotonic clock.
    frequency: Option<FrequencyReport>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct FrequencyReport {
    /// Ticks a second.
    hertz: f64,
    /// How much faster than stated; `None` where nothing is stated.
    ppm: Option<f64>,
    /// Error bound of `ppm`.
    error_bound_ppm: f64,
}

/// How fast the rate is believed to change at most.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Prior {
    /// How fast the frequency may change in the time that the readings cover.
    seen_ppm_per_second: f64,
    /// How fast the frequency may change after the newest reading.
    unseen_ppm_per_second: f64,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Bounds {
    /// The smallest.
    min: f64,
    /// The median.
    median: f64,
    /// The mean.
    mean: f64,
    /// The largest.
    max: f64,
}

impl Converted {
    pub(super) fn of(
        header: Header,
        later: bool,
        summary: &Summary,
        bounds: &Distribution,
    ) -> Self {
        let generations: Vec<Opened> = summary
            .generations
            .iter()
            .map(|generation| Opened::of(generation, header.hardware))
            .collect();
        let rate = summary
            .generations
            .last()
            .and_then(|generation| generation.frequency);
        Self {
            system_hz: header.system.hertz(),
            hardware_hz: header.hardware.map(Frequency::hertz),
            later,
            readings: summary.readings,
            readings_outdated: summary.outdated,
            readings_invalid: summary.invalid,
            batches: summary.batches,
            notifications: summary.notifications,
            timestamps: summary.timestamps,
            converted: summary.converted,
            conversion_errors: summary.errors.total(),
            conversion_errors_by_reason: by_reason(&summary.errors),
            withdrawn: summary.withdrawn.total(),
            withdrawn_by_reason: by_reason(&summary.withdrawn),
            generations,
            generations_left_out: summary.generations_left_out,
            frequency: rate.map(|rate| FrequencyReport::of(rate, header.hardware)),
            prior: summary.prior.map(|prior| Prior {
                seen_ppm_per_second: prior.seen_per_second * 1e6,
                unseen_ppm_per_second: prior.unseen_per_second * 1e6,
            }),
            error_bound_ns: Bounds::of(bounds),
        }
    }
}

fn by_reason(errors: &ConversionErrors) -> BTreeMap<&'static str, u64> {
    let named = errors.by_reason();
    named
        .map(|(reason, count)| (reason.name(), count))
        .collect()
}

impl Opened {
    fn of(generation: &GenerationSummary, nominal: Option<Frequency>) -> Self {
        Self {
            generation: generation.generation.0,
            cause: generation.cause.name(),
            first_monotonic_ns: generation.first.nanoseconds(),
            last_monotonic_ns: generation.last.nanoseconds(),
            readings: generation.readings,
            frequency: generation
                .frequency
                .map(|rate| FrequencyReport::of(rate, nominal)),
        }
    }
}

impl FrequencyReport {
    fn of(rate: FrequencyEstimate, nominal: Option<Frequency>) -> Self {
        let ppm = nominal.map(|nominal| (rate.hertz / nominal.hertz() as f64 - 1.0) * 1e6);
        Self {
            hertz: rate.hertz,
            ppm,
            error_bound_ppm: rate.error_bound_parts_per_billion / 1e3,
        }
    }
}

impl Bounds {
    /// `picoseconds`: of the bounds.
    fn of(picoseconds: &Distribution) -> Option<Self> {
        let nanoseconds = |picoseconds: i128| picoseconds as f64 / 1e3;
        Some(Self {
            min: nanoseconds(picoseconds.minimum()?),
            median: nanoseconds(picoseconds.median()?),
            mean: picoseconds.mean()? / 1e3,
            max: nanoseconds(picoseconds.maximum()?),
        })
    }
}

impl Report for Converted {
    fn print(&self, page: &mut Page) {
        let timestamps = plural(self.timestamps, "timestamp");
        page.heading(&format!(
            "{timestamps}, {} converted",
            grouped(self.converted)
        ));
        let batches = plural(self.batches, "batch").replace("batchs", "batches");
        page.field(
            "readings",
            &format!("{} in {batches}", grouped(self.readings)),
        );
        for (reason, count) in &self.conversion_errors_by_reason {
            let withdrawn = match self.withdrawn_by_reason.get(reason) {
                Some(withdrawn) => format!(", {} withdrawn", grouped(*withdrawn)),
                None => String::new(),
            };
            let errors = plural(*count, "conversion error");
            page.field(reason, &format!("{errors}{withdrawn}"));
        }
        if let Some(bounds) = &self.error_bound_ns {
            let up = |nanoseconds: f64| format!("{:.1} ns", (nanoseconds * 10.0).ceil() / 10.0);
            page.field(
                "error bound",
                &format!(
                    "median {}, mean {}, largest {}",
                    up(bounds.median),
                    up(bounds.mean),
                    up(bounds.max)
                ),
            );
        }
        if let Some(FrequencyReport {
            hertz,
            error_bound_ppm,
            ..
        }) = &self.frequency
        {
            page.field(
                "frequency",
                &format!(
                    "{hertz:.3} Hz ± {:.3} ppm",
                    (error_bound_ppm * 1e3).ceil() / 1e3
                ),
            );
        }
        for Opened {
            generation,
            cause,
            readings,
            ..
        } in &self.generations
        {
            let readings = plural(*readings, "reading");
            page.field(
                &format!("generation {generation}"),
                &format!("{cause}, {readings}"),
            );
        }
        if self.generations_left_out > 0 {
            page.field("left out", &plural(self.generations_left_out, "generation"));
        }
    }

    /// Rows are printed as they come.
    fn rows(&self, _: &mut Rows) {}
}
