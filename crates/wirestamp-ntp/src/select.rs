//! The servers that can be right together: Marzullo's intersection of intervals (RFC 5905 §11.2.1), without the RFC's
//! condition on midpoints, which is for estimates and not for bounds.

use wirestamp_core::time::{Bounded, Span};

/// The possible offsets, local minus UTC, that follow from one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// The least offset.
    pub low: Span,
    /// The greatest offset.
    pub high: Span,
}

/// Whether servers agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// There is no server to compare.
    None,
    /// There is one server, which cannot be checked.
    Single,
    /// All can be right together.
    All,
    /// More than half can be right together; the others are falsetickers.
    Majority,
    /// No more than half can be right together, and it is unknown which.
    Disagreement,
}

/// The result of the comparison of several servers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Selection {
    /// Whether they agree.
    pub agreement: Agreement,
    /// The interval that contains the offset if [`right`](Self::right) servers are right; `None` without agreement.
    pub interval: Option<Interval>,
    /// The largest number of servers that can be right together; 0 without agreement. It is not enough that more than
    /// half are right: some of these, together with wrong ones, may form a larger group elsewhere.
    pub right: usize,
    /// Indices of the servers that cannot be right if [`right`](Self::right) servers are.
    pub falsetickers: Vec<usize>,
}

impl Agreement {
    /// Returns a short, stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Single => "single",
            Self::All => "all",
            Self::Majority => "majority",
            Self::Disagreement => "disagreement",
        }
    }
}

impl Interval {
    /// Returns the interval around an offset.
    #[must_use]
    pub fn around(offset: Span, bound: Span) -> Self {
        Self {
            low: offset - bound,
            high: offset + bound,
        }
    }

    /// Returns its middle, with the distance to either end, rounded up.
    #[must_use]
    pub fn middle(&self) -> Bounded<Span> {
        let middle = (self.low.nanoseconds() + self.high.nanoseconds()).div_euclid(2);
        let half = self.high.nanoseconds() - middle;
        Bounded::new(Span::from_nanoseconds(middle), Span::from_nanoseconds(half))
    }

    fn contains(&self, offset: Span) -> bool {
        (self.low..=self.high).contains(&offset)
    }
}

/// Compares servers by their intervals at one instant.
///
/// The result is the place where most intervals overlap, if more than half of all do; if there are several such places,
/// it reaches from the first to the last. The offset lies in it if as many servers are right as overlap there. A server
/// whose interval touches none of these places is a falseticker.
#[must_use]
pub fn select(intervals: &[Interval]) -> Selection {
    let best = places(intervals);
    let all = intervals.len();
    let (most, agreement) = match (best.first(), all) {
        (None, _) => (0, Agreement::None),
        (Some((count, _)), 1) => (*count, Agreement::Single),
        (Some((count, _)), _) if *count == all => (*count, Agreement::All),
        (Some((count, _)), _) if *count * 2 > all => (*count, Agreement::Majority),
        (Some((count, _)), _) => (*count, Agreement::Disagreement),
    };
    if most == 0 || agreement == Agreement::Disagreement {
        return Selection {
            agreement,
            interval: None,
            right: 0,
            falsetickers: Vec::new(),
        };
    }
    let hull = best
        .iter()
        .map(|(_, place)| *place)
        .reduce(|one, next| Interval {
            low: one.low.min(next.low),
            high: one.high.max(next.high),
        });
    let has_part = |interval: &Interval| best.iter().any(|(_, place)| interval.contains(place.low));
    let falsetickers = (0..all).filter(|index| !has_part(&intervals[*index]));
    Selection {
        agreement,
        interval: hull,
        right: most,
        falsetickers: falsetickers.collect(),
    }
}

/// Returns the places where most intervals overlap, and how many do. Such a place begins where one interval begins, and
/// ends where the first interval that contains this point ends.
fn places(intervals: &[Interval]) -> Vec<(usize, Interval)> {
    let mut places: Vec<(usize, Interval)> = Vec::new();
    for start in intervals {
        let within = || intervals.iter().filter(|other| other.contains(start.low));
        let place = Interval {
            low: start.low,
            high: within().map(|other| other.high).min().unwrap_or(start.high),
        };
        places.push((within().count(), place));
    }
    let most = places.iter().map(|(count, _)| *count).max().unwrap_or(0);
    places.retain(|(count, _)| *count == most);
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn interval(low: i64, high: i64) -> Interval {
        Interval {
            low: Span::from_nanoseconds(low.into()),
            high: Span::from_nanoseconds(high.into()),
        }
    }

    fn told(intervals: &[(i64, i64)]) -> (Agreement, Option<Interval>, Vec<usize>) {
        let intervals: Vec<_> = intervals
            .iter()
            .map(|(low, high)| interval(*low, *high))
            .collect();
        let Selection {
            agreement,
            interval,
            falsetickers,
            ..
        } = select(&intervals);
        (agreement, interval, falsetickers)
    }

    #[test]
    fn the_example_of_the_algorithm() {
        // Marzullo's example: 10 ± 2, 12 ± 1, 11 ± 1 give 11.5 ± 0.5
        let wanted = (Agreement::All, Some(interval(110, 120)), vec![]);
        assert_eq!(told(&[(80, 120), (110, 130), (100, 120)]), wanted);
        // with 14.5 ± 0.5 instead of the last one, two of three agree
        let wanted = (Agreement::Majority, Some(interval(110, 120)), vec![2]);
        assert_eq!(told(&[(80, 120), (110, 130), (140, 150)]), wanted);
    }

    #[test]
    fn of_two_that_differ_nobody_is_named() {
        assert_eq!(
            told(&[(0, 10), (11, 20)]),
            (Agreement::Disagreement, None, vec![])
        );
        assert_eq!(
            told(&[(0, 10), (0, 10), (20, 30), (20, 30)]).0,
            Agreement::Disagreement
        );
        let touching = (Agreement::All, Some(interval(10, 10)), vec![]);
        assert_eq!(told(&[(0, 10), (10, 20)]), touching);
    }

    #[test]
    fn one_or_none() {
        assert_eq!(told(&[]), (Agreement::None, None, vec![]));
        assert_eq!(
            told(&[(3, 4)]),
            (Agreement::Single, Some(interval(3, 4)), vec![])
        );
    }

    #[test]
    fn who_may_be_right_with_either_half_is_not_named() {
        // the middle one agrees with each of the other two, which contradict each other
        let wanted = (Agreement::Majority, Some(interval(5, 15)), vec![]);
        assert_eq!(told(&[(0, 7), (5, 15), (13, 20)]), wanted);
    }

    proptest! {
        /// While more than half of the servers are right, the result contains the truth and none of them is a
        /// falseticker.
        #[test]
        fn the_truth_is_inside_while_most_are_right(
            right in prop::collection::vec((0i64..1_000, 0i64..1_000), 2..8),
            wrong in prop::collection::vec((-5_000i64..5_000, 0i64..100), 0..7),
        ) {
            let wrong = &wrong[..wrong.len().min(right.len() - 1)];
            let mut intervals: Vec<_> = right.iter().map(|(below, above)| interval(-below, *above)).collect();
            intervals.extend(wrong.iter().map(|(low, width)| interval(*low, low + width)));
            let selection = select(&intervals);
            prop_assert!(matches!(selection.agreement, Agreement::All | Agreement::Majority));
            let found = selection.interval.expect("they agree");
            // the correct servers overlap at the truth, so no place can have more of them; but
            // wrong ones may overlap with some of them elsewhere, and then the hull includes that
            // place
            let most = places(&intervals)[0].0;
            if most == right.len() + wrong.iter().filter(|(low, width)| *low <= 0 && low + width >= 0).count() {
                prop_assert_eq!(selection.right, most);
                prop_assert!(found.contains(Span::ZERO), "{:?}", found);
                prop_assert!(selection.falsetickers.iter().all(|index| *index >= right.len()));
            }
        }
    }
}
