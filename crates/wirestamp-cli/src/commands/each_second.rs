//! The line that a run without an end writes each second.

use crate::output::{Output, grouped};
use std::io;
use std::time::{Duration, Instant};
use wirestamp::Span;
use wirestamp::latency::{Histogram, Summary};

/// When the next line is due.
pub(super) struct EachSecond {
    begun: Instant,
    lines: u32,
}

impl EachSecond {
    pub(super) fn new() -> Self {
        Self {
            begun: Instant::now(),
            lines: 0,
        }
    }

    /// How many seconds have passed, if a line is due. What could not be written in time is left out.
    pub(super) fn due(&mut self) -> Option<u32> {
        self.due_after(self.begun.elapsed())
    }

    fn due_after(&mut self, passed: Duration) -> Option<u32> {
        let seconds = u32::try_from(passed.as_secs()).unwrap_or(u32::MAX);
        (seconds > self.lines).then(|| {
            self.lines = seconds;
            seconds
        })
    }
}

/// Packets of this second.
pub(super) struct Packets {
    each: EachSecond,
    /// The path whose times are counted.
    path: &'static str,
    times: Histogram,
    came: u64,
    lost: u64,
}

impl Packets {
    pub(super) fn new(path: &'static str) -> Self {
        Self {
            each: EachSecond::new(),
            path,
            times: Histogram::new(),
            came: 0,
            lost: 0,
        }
    }

    /// Whether a packet came, and how long it took, if that is known.
    pub(super) fn note(&mut self, has_come: bool, took: Option<Span>) {
        match has_come {
            true => self.came += 1,
            false => self.lost += 1,
        }
        if let Some(took) = took.filter(|_| has_come) {
            self.times.record(took);
        }
    }

    /// Writes a line, if it is due.
    pub(super) fn write(&mut self, output: &mut Output) -> io::Result<()> {
        let Some(seconds) = self.each.due() else {
            return Ok(());
        };
        let line = self.line(seconds);
        (self.came, self.lost, self.times) = (0, 0, Histogram::new());
        output.now(|page| page.line(&line))
    }

    fn line(&self, seconds: u32) -> String {
        let [came, lost] = [self.came, self.lost].map(grouped);
        let times = match (Summary::of(&self.times), self.came) {
            (_, 0) => String::new(),
            (None, _) => format!("; {}: not measured", self.path),
            (Some(times), _) => self.times(&times),
        };
        format!("{seconds:>5} s  {came} came, {lost} lost{times}")
    }

    fn times(&self, times: &Summary) -> String {
        let Summary {
            p50, p99, maximum, ..
        } = times;
        let of = match self.came - times.count {
            0 => String::new(),
            _ => format!(" of {}", grouped(times.count)),
        };
        format!("; {}{of}: p50 {p50}, p99 {p99}, max {maximum}", self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_due_once_a_second_and_none_is_caught_up_with() {
        let mut each = EachSecond::new();
        let mut due = |milliseconds| each.due_after(Duration::from_millis(milliseconds));
        let found = [0, 999, 1_000, 1_500, 2_100, 7_900, 7_950, 8_000].map(&mut due);
        let expected = [None, None, Some(1), None, Some(2), Some(7), None, Some(8)];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_packet_that_came_without_a_time_is_not_lost() {
        let mut packets = Packets::new("wire");
        assert_eq!(packets.line(3), "    3 s  0 came, 0 lost");
        packets.note(false, None);
        assert_eq!(packets.line(3), "    3 s  0 came, 1 lost");
        (0..1_000).for_each(|_| packets.note(true, None));
        let line = "    3 s  1,000 came, 1 lost; wire: not measured";
        assert_eq!(packets.line(3), line);
        (0..200).for_each(|_| packets.note(true, Some(Span::from_nanoseconds(40))));
        let line = "    3 s  1,200 came, 1 lost; wire of 200: p50 40 ns, p99 40 ns, max 40 ns";
        assert_eq!(packets.line(3), line);
    }

    #[test]
    fn where_each_packet_has_a_time_no_number_is_said_of_it() {
        let mut packets = Packets::new("round trip");
        packets.note(true, Some(Span::from_microseconds(500)));
        let line = packets.line(12);
        assert!(
            line.starts_with("   12 s  1 came, 0 lost; round trip: p50 500"),
            "{line}"
        );
    }
}
