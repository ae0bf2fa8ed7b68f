//! What the files of `latency --peer` show: histograms, picture and report.

use super::measurement::{Figures, Measurement};
use super::text::{ROUNDED, shown};
use crate::commands::latency::export::offset;
use crate::commands::latency::picture::Shown;
use crate::output::grouped;
use crate::output::html::Grid;
use crate::output::quantity::rounded_up;
use std::collections::BTreeMap;
use wirestamp::latency::Histogram;
use wirestamp_probe::session::SessionReport;

const ROUND_TRIP: &str =
    "from the transmit timestamp to the reply's receive timestamp: both ways, and the reflector";

/// The histograms of a session, as its rows name the values.
pub(super) fn exported(report: &SessionReport) -> Vec<(&'static str, &Histogram)> {
    let all = [
        ("send_path", &report.send_path),
        ("round_trip", &report.round_trip),
        ("path_delay", &report.path_delay),
        ("forward", &report.forward),
        ("backward", &report.backward),
        ("residence", &report.residence),
        ("receive_path", &report.receive_path),
    ];
    let measured = all.into_iter();
    measured
        .filter_map(|(name, delays)| Some((name, delays.histogram()?)))
        .collect()
}

/// By how much the values of each are shifted: the file holds no negative ones.
pub(super) fn offsets(report: &SessionReport) -> BTreeMap<&'static str, u64> {
    let paths = exported(report).into_iter();
    paths
        .map(|(name, histogram)| (name, offset(histogram)))
        .collect()
}

impl Measurement {
    /// Each direction where it is known, else both together.
    pub(super) fn drawn<'a>(&self, report: &'a SessionReport) -> Shown<'a> {
        let directions = [
            (
                "forward",
                "from the transmit timestamp to the reflector's receive timestamp",
                report.forward.histogram(),
            ),
            (
                "backward",
                "from the reflector's transmit timestamp to the receive timestamp",
                report.backward.histogram(),
            ),
        ];
        let both = [
            (
                "path, both ways",
                "the round trip without the time in the reflector",
                report.path_delay.histogram(),
            ),
            (
                "in the reflector",
                "from its receive timestamp to its transmit timestamp",
                report.residence.histogram(),
            ),
        ];
        let known = match report.forward.histogram() {
            Some(_) => directions,
            None => both,
        };
        let round_trip = ("round trip", ROUND_TRIP, report.round_trip.histogram());
        let paths = known.into_iter().chain([round_trip]);
        let mut shown =
            Shown::of(paths.filter_map(|(name, meaning, values)| Some((name, meaning, values?))));
        shown.title = format!("Latency to {}", self.peer);
        shown.outcome = format!("{}; {}", self.conditions(), self.losses_in_words());
        shown.tables = vec![self.quantile_grid(), self.conditions_grid()];
        shown
    }

    fn quantile_grid(&self) -> Grid {
        let value = |value: Option<i64>| value.map_or_else(|| "-".to_owned(), shown);
        let row = |(name, figures): (&str, &Figures)| {
            let values = [
                figures.min,
                figures.p50,
                figures.p90,
                figures.p99,
                figures.p99_9,
                figures.max,
                figures.mean,
            ];
            let bound = figures
                .error_bound
                .map(|bound| format!("±{}", rounded_up(bound)));
            let values = values.map(value).into_iter();
            let bound = bound.unwrap_or_else(|| "-".to_owned());
            let cells = std::iter::once(name.to_owned()).chain(values);
            cells.chain([bound]).collect()
        };
        let head = [
            "path",
            "min",
            "p50",
            "p90",
            "p99",
            "p99.9",
            "max",
            "mean",
            "error bound",
        ];
        let measured = self.figures().into_iter();
        Grid {
            caption: format!("Quantiles ({ROUNDED})"),
            columns: head.map(str::to_owned).into(),
            rows: measured.filter(|(_, one)| one.count > 0).map(row).collect(),
        }
    }

    fn conditions_grid(&self) -> Grid {
        let yes = |is: bool| (if is { "yes" } else { "no" }).to_owned();
        let any = || "any".to_owned();
        let rows = [
            ("peer", self.peer.to_string()),
            ("interface", self.interface.clone().unwrap_or_else(any)),
            (
                "timestamps",
                format!("{} ({})", self.source, grouped(self.stamps)),
            ),
            ("authenticated", yes(self.authenticated)),
            ("packet", format!("{} bytes", self.size_bytes)),
            ("rate", self.pace()),
            ("timeout", shown(self.timeout_ns)),
            ("packets", grouped(self.packets)),
            ("lost", self.losses_in_words()),
            ("clocks", self.clocks.to_owned()),
            ("reflector", self.reflector()),
            ("interrupted", yes(self.interrupted)),
        ];
        Grid::of_values("Conditions", rows)
    }
}
