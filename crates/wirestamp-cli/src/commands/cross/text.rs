//! What `cross` prints.

use super::Taken;
use super::report::{Cross, FrequencyReport, Offsets, Reading};
use crate::output::cell::good;
use crate::output::quantity::rounded_up;
use crate::output::{Column, Page, Report, Rows, Table, plural};
use comfy_table::Cell;
use wirestamp::Span;
use wirestamp::correlator::Correlation;
use wirestamp::time::Frequency;

/// More readings than this are shown in part.
const SHOWN: usize = 20;

impl Report for Cross {
    fn print(&self, page: &mut Page) {
        let interrupted = if self.interrupted {
            ", interrupted"
        } else {
            ""
        };
        let count = plural(self.count, "cross timestamp");
        page.heading(&format!("{count} of {}{interrupted}", self.interface));
        page.table(self.table());
        page.gap();
        for (name, value) in self.values() {
            page.field(name, &value);
        }
        if self.widths.count() > 1 {
            page.gap();
            page.line("bracket widths (both scales logarithmic)");
            page.picture(&self.widths);
        }
    }

    /// They are written as they come.
    fn rows(&self, _: &mut Rows) {}
}

impl Cross {
    /// What the readings say together: names and values.
    pub(super) fn values(&self) -> Vec<(&'static str, String)> {
        let best = self.best.as_ref();
        let best = best.map_or_else(|| "unknown".to_owned(), Reading::width);
        let mut values = vec![("best bracket", best)];
        values.extend(self.offsets());
        let frequency = self.frequency.as_ref();
        let unknown = || "not known yet: take more readings".to_owned();
        values.push((
            "frequency",
            frequency.map_or_else(unknown, FrequencyReport::shown),
        ));
        if self.clock_changes > 0 {
            let times = plural(self.clock_changes.into(), "time");
            let said = format!("another clock came behind the interface {times}");
            values.push(("other clocks", said));
        }
        let restarts = self.generations.saturating_sub(1 + self.clock_changes);
        if restarts > 0 {
            let times = plural(restarts.into(), "time");
            values.push(("restarts", format!("the clock restarted {times}")));
        }
        if let Some(error) = &self.last_failure {
            let readings = plural(self.failures.into(), "reading");
            values.push(("failed", format!("{readings}; last: {error}")));
        }
        values
    }

    /// The narrowest of them.
    fn offsets(&self) -> Vec<(&'static str, String)> {
        let Some(Offsets {
            phc_minus_utc_ns: Some(utc),
            phc_minus_tai_ns: Some(tai),
            offset_error_bound_ns: Some(bound),
        }) = self.narrowest
        else {
            return Vec::new();
        };
        let (bound, leap) = (rounded_up(bound), self.tai_minus_utc_s);
        let [utc, tai] = [utc, tai].map(|offset| format!("{} ± {bound}", exact(offset)));
        vec![
            ("PHC - UTC", format!("{utc} (positive: the PHC is ahead)")),
            ("PHC - TAI", format!("{tai} (TAI - UTC taken as {leap} s)")),
        ]
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[
            Column::Right("#"),
            Column::Right("monotonic before"),
            Column::Right("hardware"),
            Column::Right("after"),
            Column::Left("method"),
        ]);
        let skipped = self.readings.len().saturating_sub(SHOWN);
        let before = self.count - self.readings.len() as u64;
        let best = self.best.map(|reading| reading.hardware_ticks);
        for (place, reading) in self.readings.iter().enumerate() {
            if skipped > 0 && (SHOWN / 2..SHOWN / 2 + skipped).contains(&place) {
                if place == SHOWN / 2 {
                    table.row(["...".to_owned(), format!("{skipped} more")]);
                }
                continue;
            }
            let width = match reading.bracket_ns {
                Some(_) => format!("+{}", reading.width()),
                None => reading.width(),
            };
            table.row([
                Cell::new(before + place as u64 + 1),
                Cell::new(reading.monotonic_before_ns),
                Cell::new(reading.hardware_ticks),
                if best == Some(reading.hardware_ticks) {
                    good(width)
                } else {
                    Cell::new(width)
                },
                Cell::new(reading.method),
            ]);
        }
        table
    }
}

impl Taken {
    /// What a run without an end says each second.
    pub(super) fn line(&self, seconds: u32) -> String {
        let mut line = format!("{seconds:>5} s  {}", plural(self.count, "reading"));
        let newest = self.readings.back().map(|newest| newest.offsets);
        if let Some(Offsets {
            phc_minus_utc_ns: Some(utc),
            offset_error_bound_ns: Some(bound),
            ..
        }) = newest
        {
            line += &format!("; PHC - UTC {} ± {}", exact(utc), rounded_up(bound));
        }
        let correlation = self.correlation.as_ref();
        if let Some(rate) = correlation.and_then(Correlation::frequency) {
            let nominal = correlation.and_then(Correlation::nominal);
            let report = FrequencyReport::of(rate, nominal.map(Frequency::hertz));
            line += &format!("; {}", report.shown());
        }
        if self.failures > 0 {
            line += &format!("; failed {}", plural(self.failures.into(), "time"));
        }
        line
    }
}

impl Reading {
    fn width(&self) -> String {
        self.bracket_ns.map_or_else(|| "unknown".to_owned(), shown)
    }
}

impl FrequencyReport {
    fn shown(&self) -> String {
        let bound = format!(
            "{:.3} Hz ± {:.1} ppb",
            self.hertz,
            (self.error_bound_parts_per_billion * 10.0).ceil() / 10.0
        );
        match self.deviation_parts_per_billion {
            Some(deviation) => format!("{bound} ({deviation:+.1} ppb from nominal)"),
            None => bound,
        }
    }
}

/// To the nanosecond: `+402 ns`, `-36.999999598 s`.
fn exact(nanoseconds: i64) -> String {
    if nanoseconds.abs() < 1_000_000 {
        return format!("{nanoseconds:+} ns");
    }
    let sign = if nanoseconds < 0 { '-' } else { '+' };
    let magnitude = nanoseconds.unsigned_abs();
    let (whole, part) = (magnitude / 1_000_000_000, magnitude % 1_000_000_000);
    format!("{sign}{whole}.{part:09} s")
}

fn shown(nanoseconds: i64) -> String {
    Span::from_nanoseconds(i128::from(nanoseconds)).to_string()
}

#[cfg(test)]
mod tests {
    use super::exact;

    #[test]
    fn offsets_are_shown_to_the_nanosecond() {
        let shown = [402, -5, 1_000_000, -36_999_999_598].map(exact);
        assert_eq!(
            shown,
            ["+402 ns", "-5 ns", "+0.001000000 s", "-36.999999598 s"]
        );
    }
}
