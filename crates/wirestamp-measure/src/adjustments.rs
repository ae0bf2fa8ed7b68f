//! How far adjustments had moved the monotonic clock when packets were timestamped.

use std::collections::VecDeque;
use wirestamp::time::Adjusted;
use wirestamp::{Bounded, MonotonicTime, Span, UdpSocket};

/// So many readings are kept: timestamps are older than the newest one.
const READINGS: usize = 16;

/// Readings, one for each time that timestamps were waited for.
#[derive(Debug, Default)]
pub(crate) struct Adjustments {
    readings: VecDeque<Adjusted>,
}

impl Adjustments {
    /// Reads the clocks, before a packet is sent and when there are timestamps.
    pub(crate) fn look(&mut self, socket: &UdpSocket) {
        self.note(socket.adjusted());
    }

    fn note(&mut self, reading: Adjusted) {
        if self.readings.len() == READINGS {
            self.readings.pop_front();
        }
        self.readings.push_back(reading);
    }

    /// How far they had moved the clock at a time; `None` before anything was read.
    pub(crate) fn at(&self, time: Bounded<MonotonicTime>) -> Option<Bounded<Span>> {
        let later = self
            .readings
            .partition_point(|reading| reading.at <= time.value);
        let before = self.readings.get(later.saturating_sub(1))?;
        let after = self.readings.get(later).unwrap_or(before);
        let mut by = before.until(after, time.value);
        // the clock is moved by less than this while the time is unsure
        by.bound += Span::from_nanoseconds(time.bound.nanoseconds() / 1_000 + 1);
        Some(by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(nanoseconds: i64) -> Bounded<MonotonicTime> {
        Bounded::exact(MonotonicTime::from_nanoseconds(nanoseconds))
    }

    /// 400 ppm, from the second reading on.
    #[test]
    fn a_timestamp_lies_between_two_readings() {
        let truth = |at: i64| i128::from((at - 1_000_000_000).max(0)) / 2_500;
        let mut adjustments = Adjustments::default();
        assert_eq!(adjustments.at(time(7)), None);
        for at in (0..40).map(|tenth| tenth * 100_000_000) {
            adjustments.note(Adjusted {
                at: MonotonicTime::from_nanoseconds(at),
                by: Bounded::exact(Span::from_nanoseconds(truth(at))),
            });
        }
        assert_eq!(adjustments.readings.len(), READINGS);
        for at in (2_400_000_000..4_000_000_000).step_by(7_000_000) {
            let known = adjustments.at(time(at)).expect("read");
            let truth = Span::from_nanoseconds(truth(at));
            assert!(known.contains(truth), "{at}: {known}, really {truth}");
        }
        let soon = adjustments.at(time(3_800_050_000)).expect("read");
        assert!(soon.bound < Span::from_microseconds(21), "{soon}");
    }
}
