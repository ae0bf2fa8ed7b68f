//! How the offset to another clock went, in bounded memory: a measurement may run for years.

use crate::output::thinned::{self, Thinned};
use wirestamp::latency::Histogram;
use wirestamp::{Bounded, MonotonicTime, Span};

/// Offsets up to this many nanoseconds are shown as they are.
const NEAR: u64 = 1_000_000_000;

/// Some samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// Seconds since the first sample.
    pub(super) at: f64,
    /// Of the offsets, less [`Course::from`], the furthest from zero, ns.
    pub(super) offset: f64,
    /// The same less and more their bounds: the least and the greatest, ns.
    pub(super) within: [f64; 2],
    /// The longest path delay, ns.
    pub(super) delay: f64,
}

#[derive(Debug)]
pub(in crate::commands) struct Course {
    /// A clock that is steered comes near, and is shown as it is.
    is_steered: bool,
    first: Option<MonotonicTime>,
    /// Taken off all offsets, ns: a NIC's clock may be decades away, and its course is of interest.
    from: i64,
    points: Thinned<Point>,
    /// Of offsets and path delays.
    histograms: [Histogram; 2],
}

impl Course {
    pub(in crate::commands) fn of(is_steered: bool) -> Self {
        Self {
            is_steered,
            first: None,
            from: 0,
            points: Thinned::default(),
            histograms: Default::default(),
        }
    }

    /// `delay`: of the path, ns.
    pub(in crate::commands) fn add(
        &mut self,
        at: MonotonicTime,
        offset: Bounded<Span>,
        delay: i64,
    ) {
        let path = Span::from_nanoseconds(delay.into());
        for (histogram, value) in self.histograms.iter_mut().zip([offset.value, path]) {
            histogram.record(value);
        }
        let [offset, bound] = [offset.value, offset.bound].map(Span::saturating_nanoseconds);
        if !self.is_steered && self.first.is_none() && offset.unsigned_abs() > NEAR {
            self.from = offset;
        }
        let first = *self.first.get_or_insert(at);
        let offset = i128::from(offset) - i128::from(self.from);
        let (offset, bound) = (offset as f64, bound as f64);
        let at = (at - first).nanoseconds() as f64 / 1e9;
        // another port's may have become final before
        let last = self.points.last().map_or(0.0, |last| last.at);
        self.points.add(Point {
            at: at.max(last),
            offset,
            within: [offset - bound, offset + bound],
            delay: delay as f64,
        });
    }

    /// The time that is taken off all offsets, if any is.
    pub(super) fn from(&self) -> Option<Span> {
        (self.from != 0).then(|| Span::from_nanoseconds(self.from.into()))
    }

    /// Of offsets and path delays.
    pub(super) const fn histograms(&self) -> &[Histogram; 2] {
        &self.histograms
    }

    pub(super) fn points(&self) -> &[Point] {
        &self.points
    }
}

impl thinned::Point for Point {
    fn and(self, next: Self) -> Self {
        let further = |one: f64, other: f64| if other.abs() > one.abs() { other } else { one };
        Self {
            at: self.at,
            offset: further(self.offset, next.offset),
            within: [
                self.within[0].min(next.within[0]),
                self.within[1].max(next.within[1]),
            ],
            delay: self.delay.max(next.delay),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Course, Point, Thinned};
    use crate::output::thinned::MOST;
    use wirestamp::{Bounded, MonotonicTime, Span};

    /// One second after the other, and then one of another port that became final late.
    fn course(is_steered: bool) -> Course {
        let mut course = Course::of(is_steered);
        for (second, offset) in [(0, 37_000_000_000), (1, 37_000_000_400), (0, 90)] {
            let at = MonotonicTime::from_nanoseconds(5) + Span::from_seconds(second);
            let span = |nanoseconds: i64| Span::from_nanoseconds(nanoseconds.into());
            course.add(at, Bounded::new(span(offset), span(20)), 700);
        }
        course
    }

    #[test]
    fn a_clock_that_is_far_away_is_shown_from_there_unless_it_comes_near() {
        let far = course(false);
        assert_eq!(far.from(), Some(Span::from_seconds(37)));
        assert_eq!(far.points()[1].within.map(|edge| edge as i64), [380, 420]);
        let steered = course(true);
        assert_eq!(steered.from(), None);
        let band = steered.points()[2].within;
        assert_eq!(band.map(|edge| edge as i64), [70, 110]);
        assert!(steered.points().is_sorted_by(|one, next| one.at <= next.at));
    }

    #[test]
    fn whatever_a_point_stands_for_lies_within_its_band() {
        let mut points = Thinned::default();
        let count = 10 * MOST + 7;
        let offset = |number: usize| {
            if number == count / 2 {
                -5e6
            } else {
                (number % 40) as f64
            }
        };
        for number in 0..count {
            let offset = offset(number);
            points.add(Point {
                at: number as f64,
                offset,
                within: [offset - 3.0, offset + 3.0],
                delay: 100.0 + (number % 7) as f64,
            });
        }
        assert!(points.len() <= MOST && points.len() >= MOST / 2);
        let ends = points.iter().skip(1).map(|point| point.at as usize);
        let ends: Vec<_> = ends.chain([count]).collect();
        let mut from = 0;
        for (point, end) in points.iter().zip(ends) {
            for number in from..end {
                let offset = offset(number);
                assert!(point.within[0] <= offset - 3.0 && offset + 3.0 <= point.within[1]);
            }
            from = end;
        }
        assert_eq!(points.iter().filter(|point| point.offset < 0.0).count(), 1);
        assert!(
            points
                .iter()
                .all(|point| (100.0..=106.0).contains(&point.delay))
        );
    }
}
