//! Records how far frequency adjustments had moved the monotonic clock when packets were timestamped.

use std::collections::VecDeque;
use wirestamp::time::Adjusted;
use wirestamp::{Bounded, MonotonicTime, Span, UdpSocket};

/// The number of readings that are kept in addition to the one before the last request. Timestamps are older than the
/// newest reading, so one is not enough.
const READINGS: usize = 16;

/// Readings, one for each request and each wait for timestamps.
#[derive(Debug, Default)]
pub(crate) struct Adjustments {
    /// The reading before the last request. Packets of strangers do not displace it.
    sent: Option<Adjusted>,
    readings: VecDeque<Adjusted>,
}

impl Adjustments {
    /// Reads the clocks before a request is sent.
    pub(crate) fn look_before_sending(&mut self, socket: &UdpSocket) {
        let reading = socket.adjusted();
        self.sent = Some(reading);
        self.note(reading);
    }

    /// Reads the clocks when timestamps have arrived.
    pub(crate) fn look(&mut self, socket: &UdpSocket) {
        self.note(socket.adjusted());
    }

    fn note(&mut self, reading: Adjusted) {
        if self.readings.len() == READINGS {
            self.readings.pop_front();
        }
        self.readings.push_back(reading);
    }

    /// Returns how far adjustments had moved the clock at a time; `None` for a time that is certainly before all readings.
    pub(crate) fn at(&self, time: Bounded<MonotonicTime>) -> Option<Bounded<Span>> {
        let (earliest, latest) = (time.value - time.bound, time.value + time.bound);
        let known = || self.sent.iter().chain(&self.readings);
        let Some(before) = known()
            .filter(|reading| reading.at <= earliest)
            .max_by_key(|reading| reading.at)
        else {
            // the first reading may be before it or after it, because it is unsure
            let first = known().min_by_key(|reading| reading.at)?;
            let mut by = (first.at <= latest).then_some(first.by)?;
            by.bound += Adjusted::most_within((first.at - earliest).max(latest - first.at));
            return Some(by);
        };
        let after = known()
            .filter(|reading| reading.at >= latest)
            .min_by_key(|reading| reading.at);
        let (mut by, unsure) = match after {
            Some(after) => (before.until(after, time.value), time.bound),
            // it can lie after the newest reading, because it is unsure
            None => (before.by, latest - before.at),
        };
        by.bound += Adjusted::most_within(unsure);
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

    /// Somebody's packets do not take away the reading before a request.
    #[test]
    fn a_flood_leaves_the_reading_before_the_request() {
        let reading = |at: i64| Adjusted {
            at: MonotonicTime::from_nanoseconds(at),
            by: Bounded::exact(Span::from_nanoseconds(i128::from(at) / 12)),
        };
        let mut adjustments = Adjustments {
            sent: Some(reading(1_000_000)),
            ..Adjustments::default()
        };
        for at in 0..100 {
            adjustments.note(reading(9_000_000 + at * 1_000));
        }
        let arrived = 8_000_000;
        let known = adjustments.at(time(arrived)).expect("read");
        assert!(
            known.contains(Span::from_nanoseconds(i128::from(arrived) / 12)),
            "{known}"
        );
        assert_eq!(adjustments.at(time(999_999)), None);
    }

    /// The first request's times, while the NIC's clock is not known well: they can lie before the first reading.
    #[test]
    fn a_time_that_may_be_before_the_first_reading_is_known_as_well() {
        let truth = |at: i64| Span::from_nanoseconds(i128::from(at) / 12);
        let first = 5_000_000;
        let adjustments = Adjustments {
            sent: Some(Adjusted {
                at: MonotonicTime::from_nanoseconds(first),
                by: Bounded::exact(truth(first)),
            }),
            ..Adjustments::default()
        };
        for (shown, bound) in [
            (first + 3_000, 20_000),
            (first - 3_000, 20_000),
            (first - 20_000, 20_000),
        ] {
            let unsure = Span::from_nanoseconds(bound.into());
            let shown_at = MonotonicTime::from_nanoseconds(shown);
            let known = adjustments.at(Bounded::new(shown_at, unsure));
            let known = known.expect("read within its bound");
            for at in [shown - bound, shown, shown + bound] {
                assert!(known.contains(truth(at)), "{at}: {known}");
            }
        }
        assert_eq!(adjustments.at(time(first - 1)), None);
    }

    /// A time that is unsure by more than the newest reading is old, while chronyd slews the clock.
    #[test]
    fn an_unsure_time_in_a_fast_slew_is_inside() {
        let truth = |at: i64| i128::from((at - 5_000_000).max(0)) / 12;
        let mut adjustments = Adjustments::default();
        for at in (0..10).map(|milliseconds| milliseconds * 1_000_000) {
            adjustments.note(Adjusted {
                at: MonotonicTime::from_nanoseconds(at),
                by: Bounded::exact(Span::from_nanoseconds(truth(at))),
            });
        }
        for (shown, bound) in [
            (8_990_000, 20_000),
            (9_010_000, 30_000),
            (5_990_000, 15_000),
        ] {
            let unsure = Span::from_nanoseconds(bound.into());
            let time = Bounded::new(MonotonicTime::from_nanoseconds(shown), unsure);
            let known = adjustments.at(time).expect("read");
            for at in [shown - bound, shown, shown + bound] {
                let truth = Span::from_nanoseconds(truth(at));
                assert!(known.contains(truth), "{at}: {known}, really {truth}");
            }
        }
    }
}
