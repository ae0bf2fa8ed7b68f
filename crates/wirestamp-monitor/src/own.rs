//! The monitor's own cost, as the system reports it.

use crate::snapshot::{OwnCost, Reasons};
use wirestamp::{MonotonicTime, Span};

/// The lateness from which a turn counts as a missed deadline.
const LATE: Span = Span::from_milliseconds(5);

/// Turns of the loop, and their lateness.
#[derive(Debug, Default)]
pub(crate) struct Own {
    pub(crate) turns: u64,
    missed: u64,
    latest: Span,
    planned: Option<MonotonicTime>,
    pub(crate) reloads: Reasons,
}

impl Own {
    pub(crate) fn turn(&mut self, now: MonotonicTime) {
        self.turns += 1;
        if let Some(planned) = self.planned.take() {
            let late = now - planned;
            self.missed += u64::from(late > LATE);
            self.latest = self.latest.max(late);
        }
    }

    /// When the next turn is to begin at the latest.
    pub(crate) fn plan(&mut self, next: MonotonicTime) {
        self.planned = Some(next);
    }

    pub(crate) fn show(&self) -> OwnCost {
        OwnCost {
            cpu_ns: cpu_ns(),
            resident_bytes: resident_bytes(),
            turns: self.turns,
            missed_deadlines: self.missed,
            latest_ns: self.latest.saturating_nanoseconds(),
            reloads: self.reloads.clone(),
            // counted by the handle, which adds them
            pushes: Reasons::new(),
            series_left_out: 0,
        }
    }
}

/// Source: proc_pid_stat(5), fields 14 and 15, in hundredths of a second.
fn cpu_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some((user + system) * 10_000_000)
}

/// Source: proc_pid_status(5).
fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes * 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_turn_is_a_missed_deadline() {
        let mut own = Own::default();
        let at = |milliseconds| {
            MonotonicTime::from_nanoseconds(0) + Span::from_milliseconds(milliseconds)
        };
        own.turn(at(1));
        own.plan(at(10));
        own.turn(at(14));
        own.plan(at(20));
        own.turn(at(26));
        let shown = own.show();
        assert_eq!(
            (shown.turns, shown.missed_deadlines, shown.latest_ns),
            (3, 1, 6_000_000)
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_says_what_the_process_costs() {
        assert!(cpu_ns().is_some());
        assert!(resident_bytes().is_some_and(|bytes| bytes > 100_000));
    }
}
