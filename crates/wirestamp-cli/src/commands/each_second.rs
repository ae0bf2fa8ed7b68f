//! The line that a run without an end writes each second. Measures nothing.

use crate::output::quantity::shown;
use crate::output::{Output, grouped};
use std::io;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

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
        (seconds > self.lines && passed >= SECOND).then(|| {
            self.lines = seconds;
            seconds
        })
    }
}

/// Packets of this second.
pub(super) struct Packets {
    each: EachSecond,
    /// What took how long, in nanoseconds.
    name: &'static str,
    times: Vec<i64>,
    lost: u64,
}

impl Packets {
    pub(super) fn new(name: &'static str) -> Self {
        Self {
            each: EachSecond::new(),
            name,
            times: Vec::new(),
            lost: 0,
        }
    }

    /// How long a packet took; `None`: it is lost.
    pub(super) fn note(&mut self, took: Option<i64>) {
        match took {
            Some(took) => self.times.push(took),
            None => self.lost += 1,
        }
    }

    /// Writes a line, if it is due.
    pub(super) fn write(&mut self, output: &mut Output) -> io::Result<()> {
        let Some(seconds) = self.each.due() else {
            return Ok(());
        };
        let line = self.line(seconds);
        (self.lost, self.times) = (0, Vec::with_capacity(self.times.len()));
        output.now(|page| page.line(&line))
    }

    fn line(&mut self, seconds: u32) -> String {
        self.times.sort_unstable();
        let count = self.times.len();
        let (came, lost) = (grouped(count as u64), grouped(self.lost));
        let Some(last) = count.checked_sub(1) else {
            return format!("{seconds:>5} s  nothing came, {lost} lost");
        };
        let at = |share: f64| shown(self.times[(last as f64 * share).round() as usize]);
        format!(
            "{seconds:>5} s  {came} came, {lost} lost; {}: p50 {}, p99 {}, max {}",
            self.name,
            at(0.5),
            at(0.99),
            at(1.0),
        )
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
    fn a_line_has_what_came_and_what_is_lost_in_its_second() {
        let mut packets = Packets::new("round trip");
        assert_eq!(packets.line(3), "    3 s  nothing came, 0 lost");
        (1..=1_000).for_each(|number| packets.note(Some(1_000_000 - number * 1_000)));
        packets.note(None);
        let line = "   12 s  1,000 came, 1 lost; round trip: p50 500 µs, p99 989 µs, max 999 µs";
        assert_eq!(packets.line(12), line);
    }
}
