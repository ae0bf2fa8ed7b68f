//! `wirestamp capture`: packets that are not our own, live or to files, and what files of them say.

mod answers;
mod clock;
mod compare;
mod file;
mod folder;
mod input;
mod live;
#[cfg(feature = "parquet")]
mod parquet;
mod queues;
mod shown;
mod simulated;
mod sink;
#[cfg(not(feature = "parquet"))]
mod without_parquet;

use crate::arguments::{self, CaptureAction};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::quantity::{rounded_up, to_unit};
use crate::output::{Output, plural};
#[cfg(all(test, feature = "schema"))]
use crate::schema::Document;
use crate::session::Session;
use serde::Serialize;
use std::time::Duration;
use wirestamp_capture::packet::Unusable;
use wirestamp_capture::spread::Summary;

/// Of all that it prints.
#[cfg(all(test, feature = "schema"))]
pub(super) fn schemas() -> [Document; 3] {
    let title = "A line of the output of `wirestamp capture IFACE --json`";
    let lines = Document::lines("capture", title)
        .line::<shown::Shown>("A packet, if none is written to a file")
        .line::<sink::Summary>("The summary at the end");
    [lines, answers::schema(), compare::schema()]
}

pub(super) fn run(
    arguments: &arguments::Capture,
    session: &Session,
    output: &mut Output,
) -> Result<Exit, Failure> {
    match &arguments.action {
        Some(CaptureAction::Compare(arguments)) => compare::run(arguments, output),
        Some(CaptureAction::Answers(arguments)) => answers::run(arguments, output),
        None => live::run(arguments, session, output),
    }
}

/// What could not be used of a file, as JSON has it.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Unused {
    /// Packets that are not IP; of compared files, those whose bytes cannot be compared.
    not_ip: u64,
    /// Packets behind headers that wirestamp does not read.
    encapsulated: u64,
    /// Packets of which too little was captured.
    cut_off: u64,
    /// Packets without a time: they are looked for as the others are, but not timed.
    without_time: u64,
    /// Blocks of the file of an unknown type, skipped.
    unknown_blocks: u64,
}

impl From<Unusable> for Unused {
    fn from(unusable: Unusable) -> Self {
        Self {
            not_ip: unusable.not_ip,
            encapsulated: unusable.encapsulated,
            cut_off: unusable.cut_off,
            without_time: unusable.without_time,
            unknown_blocks: unusable.unknown_blocks,
        }
    }
}

impl Unused {
    /// `3 packets: not IP`, for each reason that there is.
    fn lines(&self) -> Vec<String> {
        let packets = [
            (self.not_ip, "not IP"),
            (
                self.encapsulated,
                "behind headers that wirestamp does not read",
            ),
            (
                self.cut_off,
                "cut off: capture more of each packet (--snaplen)",
            ),
            (
                self.without_time,
                "without a time: compared, but without a delay",
            ),
        ];
        let packets = packets.map(|(count, why)| (count, plural(count, "packet"), why));
        let blocks = (
            self.unknown_blocks,
            plural(self.unknown_blocks, "block"),
            "of an unknown type, skipped",
        );
        let all = packets.into_iter().chain([blocks]);
        let there = all.filter(|(count, ..)| *count > 0);
        there
            .map(|(_, what, why)| format!("{what}: {why}"))
            .collect()
    }
}

/// Notes on a file that has packets again, whose packets had to be put in order, or whose clock was stepped.
fn order_and_steps(copies: u64, out_of_order: u64, clock_steps: u64) -> Vec<String> {
    let copies = (copies > 0).then(|| {
        let packets = plural(copies, "packet");
        format!("{packets} again, from another interface or direction: each counts once")
    });
    let order = (out_of_order > 0).then(|| {
        let packets = plural(out_of_order, "packet");
        format!("{packets} behind a later one: put in order of time")
    });
    let steps = (clock_steps > 0).then(|| {
        let steps = plural(clock_steps, "step");
        format!("{steps} of the real-time clock: times before and after one are not compared")
    });
    copies.into_iter().chain(order).chain(steps).collect()
}

/// How times are distributed, as JSON has it.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Times {
    /// How many times.
    count: u64,
    /// The smallest.
    min_ns: i64,
    /// Median.
    p50_ns: i64,
    /// Nine of ten are not above it.
    p90_ns: i64,
    /// 99 of 100 are not above it.
    p99_ns: i64,
    /// The largest.
    max_ns: i64,
    /// Mean.
    mean_ns: i64,
    /// Error bound of each time; null: not known for all of them.
    error_bound_ns: Option<u64>,
}

impl From<Summary> for Times {
    fn from(summary: Summary) -> Self {
        Self {
            count: summary.count,
            min_ns: summary.minimum_ns,
            p50_ns: summary.p50_ns,
            p90_ns: summary.p90_ns,
            p99_ns: summary.p99_ns,
            max_ns: summary.maximum_ns,
            mean_ns: summary.mean_ns,
            error_bound_ns: summary.error_bound_ns,
        }
    }
}

impl Times {
    /// `min 3.00 ms, p50 …`, without digits that times in this unit do not have.
    fn text(&self, unit_ns: u64) -> String {
        let span = |time: i64| to_unit(time, unit_ns);
        let bound = match self.error_bound_ns {
            Some(bound) => format!(
                ", ±{}",
                rounded_up(i64::try_from(bound).unwrap_or(i64::MAX))
            ),
            None => String::new(),
        };
        let (min, p50) = (span(self.min_ns), span(self.p50_ns));
        let (p99, max) = (span(self.p99_ns), span(self.max_ns));
        format!("min {min}, p50 {p50}, p99 {p99}, max {max}{bound}")
    }
}

/// A note on packets that a mirror port seems to have sent twice: on many, or on those that count once.
fn mirrored(mirrored: u64, packets: u64, is_once: bool) -> Option<String> {
    let are_many = mirrored > 0 && mirrored >= packets / 5 * 2;
    (are_many || is_once && mirrored > 0).then(|| {
        let again = plural(mirrored, "packet");
        let counted = if is_once {
            "each counts once"
        } else {
            "if a mirror port sends each twice, --copies counts it once"
        };
        format!("{again} again within 10 ms, with the same IPv4 identification: {counted}")
    })
}

/// A note on files with a unit that is coarser than nanoseconds, by their names.
fn coarse(units: &[(&str, u64)]) -> Option<String> {
    let coarsest = units.iter().map(|(_, unit)| *unit).max()?;
    let named: Vec<_> = units
        .iter()
        .filter(|(_, unit)| *unit == coarsest)
        .map(|(name, _)| *name)
        .collect();
    let unit = to_unit(coarsest.try_into().unwrap_or(i64::MAX), coarsest);
    (coarsest > 1).then(|| {
        let names = named.join(" and ");
        format!("times to {unit}: that is the unit of {names}")
    })
}

fn nanoseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// `20 (2.00 %)`.
fn share(part: u64, whole: u64) -> String {
    let number = crate::output::grouped(part);
    if part == 0 || whole == 0 {
        return number;
    }
    format!("{number} ({:.2} %)", part as f64 * 100.0 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A delay that is off by 1,175 ns is within 1,179 ns, and not within 1.17 µs.
    #[test]
    fn the_bound_of_times_is_printed_rounded_up() {
        let times = Times {
            count: 1,
            min_ns: 3_000_000,
            p50_ns: 3_000_000,
            p90_ns: 3_000_000,
            p99_ns: 3_000_000,
            max_ns: 3_000_000,
            mean_ns: 3_000_000,
            error_bound_ns: Some(1_179),
        };
        let text = times.text(1);
        assert!(text.ends_with("max 3.00 ms, ±1.18 µs"), "{text}");
    }
}
