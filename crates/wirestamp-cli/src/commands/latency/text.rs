//! The text form of `latency`.

use super::{Figures, Latency, Offsets, limits};
use crate::output::colour::{DOUBTFUL, GOOD, paint};
use crate::output::quantity::rounded_up;
use crate::output::{Column, Page, Report, Rows, Table, plural};
use wirestamp::Span;

const PATHS: [(&str, &str); 3] = [
    (
        "send path",
        "from just before the send call to the transmit timestamp",
    ),
    (
        "wire",
        "from the transmit timestamp to the receive timestamp",
    ),
    (
        "receive path",
        "from the receive timestamp to just after the receive call",
    ),
];

impl Report for Latency {
    /// They are printed as they come.
    fn rows(&self, _: &mut Rows) {}

    fn print(&self, page: &mut Page) {
        page.heading(&format!(
            "latency on {}: {}",
            self.interface,
            self.conditions()
        ));
        page.line(&format!(
            "{}, {}",
            plural(self.packets, "packet"),
            self.losses()
        ));
        page.quiet(&format!("warm-up: {}", shown(self.warm_up_ns)));
        if let Some(bound) = self.max_error_bound_ns {
            page.quiet(&format!(
                "clock conversion adds at most ± {}",
                rounded_up(bound)
            ));
        }
        let shifted = self
            .histogram_offset_ns
            .as_ref()
            .map(Offsets::shifted)
            .unwrap_or_default();
        if !shifted.is_empty() {
            page.quiet(&format!(
                "values shifted in the histogram file (some are negative): {}",
                shifted.join(", ")
            ));
        }
        self.reasons(page);
        page.gap();
        page.table(self.table());
        self.explain_queue(page);
        limits::print(&self.limits, page);
        for ((name, meaning), histogram) in self.paths().iter().zip(&self.pictures) {
            if histogram.count() > 0 {
                page.gap();
                page.line(&format!("{name}: {meaning}"));
                page.picture(histogram);
            }
        }
    }
}

impl Latency {
    /// Returns the measured paths, and from where to where each goes.
    pub(super) fn paths(&self) -> [(&'static str, &'static str); 3] {
        let mut paths = PATHS;
        if self.peer.is_some() {
            paths[1] = (
                "round trip",
                "from the transmit timestamp to the answer's receive timestamp: both ways, and the echo service",
            );
        }
        paths
    }

    /// The figures of each path, with its name.
    pub(super) fn figures(&self) -> impl Iterator<Item = (&'static str, &Figures)> {
        let between = self.wire_ns.as_ref().or(self.round_trip_ns.as_ref());
        let [send_path, on_the_wire, receive_path] = self.paths().map(|(name, _)| name);
        let figures = [
            (send_path, Some(&self.send_path_ns)),
            ("- to queue", self.to_queue_ns.as_ref()),
            ("- from queue", self.from_queue_ns.as_ref()),
            (on_the_wire, between),
            (receive_path, Some(&self.receive_path_ns)),
        ];
        let measured = |(name, figures): (_, Option<_>)| Some((name, figures?));
        figures.into_iter().filter_map(measured)
    }

    /// What the parts of the send path are between.
    fn explain_queue(&self, page: &mut Page) {
        if self.to_queue_ns.is_some() {
            page.gap();
            page.line("- to queue: from just before the send call to the queueing discipline");
            page.line("- from queue: from the queueing discipline to the transmit timestamp");
        }
    }

    pub(super) fn conditions(&self) -> String {
        let family = if self.family == "ipv4" {
            "IPv4"
        } else {
            "IPv6"
        };
        let pace = super::pace(self.rate_pps, self.interval_ns);
        let pace = pace.unwrap_or_else(|| "one after another".to_owned());
        let peer = self
            .peer
            .map_or_else(String::new, |peer| format!(", returned by {peer}"));
        format!(
            "{} timestamps, {family}, {} bytes, {pace}{peer}",
            self.source, self.size_bytes
        )
    }

    fn losses(&self) -> String {
        let words = self.losses_in_words();
        let style = if words.starts_with("nothing") {
            GOOD
        } else {
            DOUBTFUL
        };
        match words.split_once(" (") {
            Some((lost, interrupted)) => format!("{} ({interrupted}", paint(style, lost)),
            None => paint(style, &words),
        }
    }

    pub(super) fn losses_in_words(&self) -> String {
        let interrupted = match self.unresolved {
            _ if !self.interrupted => String::new(),
            0 => " (interrupted)".to_owned(),
            unresolved => format!(" (interrupted, {unresolved} still in flight)"),
        };
        let lost = &self.lost;
        let all = [
            (lost.packets, "packet"),
            (lost.transmit_timestamps, "transmit timestamp"),
            (lost.receive_timestamps, "receive timestamp"),
            (lost.conversions, "conversion"),
        ];
        let some: Vec<_> = all
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, noun)| plural(*count, noun))
            .collect();
        if some.is_empty() {
            format!("nothing lost{interrupted}")
        } else {
            format!("lost: {}{interrupted}", some.join(", "))
        }
    }

    /// Why, for each.
    fn reasons(&self, page: &mut Page) {
        for (reason, count) in self
            .lost_reasons
            .packets
            .0
            .iter()
            .filter(|(_, count)| *count > 0)
        {
            let what = match *reason {
                "late" => format!(
                    " arrived more than {} after sending",
                    shown(self.timeout_ns)
                ),
                "receive_buffer_full" => " had no room in this host's receive buffer".to_owned(),
                _ => " had not arrived when the measurement ended".to_owned(),
            };
            page.field(reason, &(plural(*count, "packet") + &what));
        }
        for (reason, count) in self
            .lost_reasons
            .transmit_timestamps
            .0
            .iter()
            .filter(|(_, count)| *count > 0)
        {
            page.field(reason, &plural(*count, "transmit timestamp"));
        }
        if self.lost.receive_timestamps > 0 {
            page.field(
                "not timestamped",
                &format!(
                    "{} arrived without one",
                    plural(self.lost.receive_timestamps, "packet")
                ),
            );
        }
        if let Some(refusal) = self.lost_reasons.conversions {
            page.field(refusal, "the reason of the last conversion error");
        }
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[
            Column::Left("path"),
            Column::Right("p50"),
            Column::Right("p90"),
            Column::Right("p99"),
            Column::Right("p99.9"),
            Column::Right("max"),
            Column::Right("mean"),
        ]);
        for (name, figures) in self.figures() {
            let Figures {
                p50,
                p90,
                p99,
                p99_9,
                max,
                mean,
                ..
            } = figures;
            let cells = [p50, p90, p99, p99_9, max, mean]
                .map(|figure| figure.map_or_else(|| "-".to_owned(), shown));
            table.row(std::iter::once(name.to_owned()).chain(cells));
        }
        table
    }
}

pub(super) fn shown(nanoseconds: i64) -> String {
    Span::from_nanoseconds(i128::from(nanoseconds)).to_string()
}
