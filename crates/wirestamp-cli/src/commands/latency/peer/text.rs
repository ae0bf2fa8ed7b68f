//! The text form of `latency --peer`.

use super::measurement::{Directions, Figures, Measurement, Variation};
use crate::commands::latency::export::tag;
use crate::commands::latency::pace;
use crate::output::colour::{DOUBTFUL, GOOD, paint};
use crate::output::quantity::rounded_up;
use crate::output::{Column, Page, Report, Rows, Table, grouped, interrupted, plural};
use wirestamp::Span;

/// What the digits of the table are good for.
pub(super) const ROUNDED: &str =
    "error bound: of each measured value; shown are three digits, percentiles within 0.8 %";

impl Report for Measurement {
    fn rows(&self, _: &mut Rows) {
        // the rows are the packets: see `packets`
    }

    fn print(&self, page: &mut Page) {
        page.heading(&format!("latency to {}: {}", self.peer, self.conditions()));
        page.line(&format!(
            "{}, {}",
            plural(self.packets, "packet"),
            self.losses()
        ));
        if let Some(said) = interrupted(self.interrupted, self.unconfirmed) {
            page.line(said);
        }
        self.oddities(page);
        page.quiet(&format!("the reflector reports: {}", self.reflector()));
        page.gap();
        page.table(self.table());
        page.quiet(ROUNDED);
        self.direction(page);
        page.gap();
        page.table(self.variations());
        self.shifted(page);
    }
}

impl Measurement {
    pub(super) fn conditions(&self) -> String {
        let mode = if self.authenticated {
            "authenticated"
        } else {
            "unauthenticated"
        };
        format!(
            "{} timestamps, STAMP, {mode}, {} bytes, {}",
            self.source,
            self.size_bytes,
            self.pace()
        )
    }

    pub(super) fn pace(&self) -> String {
        pace(self.rate_pps, self.interval_ns).unwrap_or_default()
    }

    fn losses(&self) -> String {
        let words = self.losses_in_words();
        match self.lost.packets {
            0 => paint(GOOD, &words),
            _ => paint(DOUBTFUL, &words),
        }
    }

    pub(super) fn losses_in_words(&self) -> String {
        if self.lost.packets == 0 {
            return "nothing lost".to_owned();
        }
        let share = self.lost.packets as f64 * 100.0 / self.packets as f64;
        let mut text = format!(
            "lost: {} ({share:.2} %)",
            plural(self.lost.packets, "packet")
        );
        text += &match (self.lost.forward, self.lost.backward, self.lost.undecided) {
            (Some(forward), Some(backward), Some(0)) => {
                format!(", {forward} forward and {backward} backward")
            }
            (Some(forward), Some(backward), Some(undecided)) => {
                format!(
                    ", {forward} forward, {backward} backward and the last {undecided} in either direction"
                )
            }
            _ => ", direction unknown: the reflector does not count packets".to_owned(),
        };
        text
    }

    /// Prints what the file of histograms added to values.
    fn shifted(&self, page: &mut Page) {
        let offsets = self.histogram_offset_ns.iter().flatten();
        let shifted = offsets.filter(|(_, offset)| **offset > 0);
        let tags: Vec<_> = shifted.map(|(path, offset)| tag(path, *offset)).collect();
        if !tags.is_empty() {
            let tags = tags.join(", ");
            page.quiet(&format!(
                "values shifted in the histogram file (some are negative): {tags}"
            ));
        }
    }

    /// Prints anomalies.
    fn oddities(&self, page: &mut Page) {
        let both = |page: &mut Page, name: &str, counts: &Directions| {
            if counts.forward + counts.backward > 0 {
                let text = format!("{} forward, {} backward", counts.forward, counts.backward);
                page.field(name, &text);
            }
        };
        both(page, "duplicated", &self.duplicated);
        both(page, "reordered", &self.reordered);
        both(page, "DSCP changed", &self.dscp_changed);
        let counts = [
            (
                "ECN changed",
                self.ecn_changed_forward,
                "packet",
                " forward",
            ),
            ("clock steps", self.clock_steps, "time", ""),
            (
                "no timestamp",
                self.missing_receive_timestamps,
                "reply",
                " without a receive timestamp here",
            ),
            (
                "not sent",
                self.refused_by_system,
                "packet",
                " refused by the system",
            ),
        ];
        for (name, count, noun, more) in counts {
            if count > 0 {
                page.field(name, &(plural(count, noun) + more));
            }
        }
        for (reason, count) in &self.missing_transmit_reasons {
            let packets = plural(*count, "packet");
            page.field(
                "no timestamp",
                &format!("{packets} without a transmit timestamp here: {reason}"),
            );
        }
        self.path_mtu(page);
        for (reason, count) in &self.rejected {
            page.field(
                "rejected",
                &format!("{}: {reason}", plural(*count, "packet")),
            );
        }
        if self.reflector.sends_utc_in_ptp_format {
            page.field(
                "reflector",
                "its PTP timestamps look like UTC and not TAI: give --tai-offset 0",
            );
        }
    }

    fn path_mtu(&self, page: &mut Page) {
        let mtu = &self.path_mtu;
        let Some(bytes) = mtu.bytes else {
            return;
        };
        if mtu.bytes_at_first.is_some_and(|first| bytes < first) {
            page.field(
                "path MTU",
                &format!("{bytes} bytes, reported by a router on the way meanwhile"),
            );
        }
        if mtu.too_large > 0 {
            let packets = plural(mtu.too_large, "packet");
            page.field(
                "path MTU",
                &format!(
                    "{packets} of {} bytes with headers not sent: {bytes} is the most",
                    mtu.packet_bytes
                ),
            );
        }
    }

    pub(super) fn reflector(&self) -> String {
        let reflector = &self.reflector;
        let error = reflector.advertised_error_ns.map_or_else(
            || "none".to_owned(),
            |error| format!("±{}", rounded_up(error)),
        );
        let clock = if reflector.synchronized {
            "synchronised to UTC"
        } else {
            "not synchronised"
        };
        let method = reflector
            .receive_method
            .map_or_else(String::new, |method| format!(", {method} timestamps"));
        let exact = match (reflector.followed_up, reflector.not_followed_up) {
            (0, _) => "no send time of its replies".to_owned(),
            (all, 0) => format!("the send time of all {} replies", grouped(all)),
            (some, missing) => {
                let all = grouped(some + missing);
                format!("the send time of {} of {all} replies", grouped(some))
            }
        };
        format!("clock error {error}, {clock}{method}, and {exact}")
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[
            Column::Left("what"),
            Column::Right("min"),
            Column::Right("p50"),
            Column::Right("p90"),
            Column::Right("p99"),
            Column::Right("max"),
            Column::Right("error bound"),
        ]);
        for (name, figures) in self.figures() {
            if figures.count > 0 {
                table.row(row(name, figures));
            }
        }
        table
    }

    /// In the order of a packet's way.
    pub(super) fn figures(&self) -> [(&'static str, &Figures); 9] {
        [
            ("send path", &self.send_path_ns),
            ("forward", &self.forward_ns),
            ("reflector, receive", &self.residence_as_written_ns),
            ("reflector, send", &self.reflector_send_path_ns),
            ("in the reflector", &self.residence_ns),
            ("backward", &self.backward_ns),
            ("receive path", &self.receive_path_ns),
            ("path, both ways", &self.path_delay_ns),
            ("round trip", &self.round_trip_ns),
        ]
    }

    /// Prints why there are no delays of one direction, and the limits of the offset.
    fn direction(&self, page: &mut Page) {
        let Some(reason) = self.unknown_offset else {
            return;
        };
        page.line(&format!("forward, backward: unknown offset ({reason})"));
        if let Some([low, high]) = self.offset_ns {
            let text = format!(
                "the reflector's clock less ours lies from {} to {}",
                shown(low),
                shown(high)
            );
            page.line(&text);
        }
    }

    fn variations(&self) -> Table {
        let mut table = Table::new(&[
            Column::Left("variation"),
            Column::Right("jitter"),
            Column::Right("p50"),
            Column::Right("p99"),
            Column::Right("max"),
        ]);
        let rows = [
            ("forward", &self.forward_variation),
            ("backward", &self.backward_variation),
            ("round trip", &self.round_trip_variation),
        ];
        for (name, variation) in rows {
            if let Some(Variation {
                jitter_ns,
                p50_ns,
                p99_ns,
                max_ns,
            }) = variation
            {
                let figures = [jitter_ns, p50_ns, p99_ns, max_ns].map(|value| shown(*value));
                table.row(std::iter::once(name.to_owned()).chain(figures));
            }
        }
        table
    }
}

fn row(name: &str, figures: &Figures) -> Vec<String> {
    let value = |value: Option<i64>| value.map_or_else(|| "-".to_owned(), shown);
    let bound = figures
        .error_bound
        .map_or_else(|| "-".to_owned(), |bound| format!("±{}", rounded_up(bound)));
    let values = [
        figures.min,
        figures.p50,
        figures.p90,
        figures.p99,
        figures.max,
    ]
    .map(value);
    std::iter::once(name.to_owned())
        .chain(values)
        .chain([bound])
        .collect()
}

pub(super) fn shown(nanoseconds: i64) -> String {
    Span::from_nanoseconds(nanoseconds.into()).to_string()
}
