//! How the offset to the timeTransmitter went, in bounded memory: a clock may run for years.

use crate::output::thinned::{self, Thinned};
use wirestamp::{MonotonicTime, Span};
use wirestamp_ptp::Sample;

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

#[derive(Debug, Default)]
pub(super) struct Course {
    begun: Option<MonotonicTime>,
    /// Taken off all offsets, ns: a NIC's clock may be decades away, and its course is of interest.
    from: i64,
    points: Thinned<Point>,
}

impl Course {
    pub(super) fn add(&mut self, sample: &Sample) {
        if self.begun.is_none() && sample.offset_ns.unsigned_abs() > NEAR {
            self.from = sample.offset_ns;
        }
        let begun = *self.begun.get_or_insert(sample.at);
        let offset = i128::from(sample.offset_ns) - i128::from(self.from);
        let (offset, bound) = (offset as f64, sample.error_bound_ns as f64);
        self.points.add(Point {
            at: (sample.at - begun).nanoseconds() as f64 / 1e9,
            offset,
            within: [offset - bound, offset + bound],
            delay: sample.mean_path_delay_ns as f64,
        });
    }

    /// The time that is taken off all offsets, if any is.
    pub(super) fn from(&self) -> Option<Span> {
        (self.from != 0).then(|| Span::from_nanoseconds(self.from.into()))
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
    use super::Point;
    use crate::output::thinned::{MOST, Thinned};

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
