//! Parses queries of the history: a query string, with limits.

use crate::rfc3339::nanoseconds;
use std::time::Duration;

/// The longest range.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3_600);
const NEEDED: &str =
    "from and to are needed, as RFC 3339 times: ?from=2026-11-23T03:00:00Z&to=2026-11-23T03:30:00Z";

/// A range of time and what to show of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    /// Nanoseconds of UTC; the range has `from` and not `to`.
    pub(crate) from: i64,
    pub(crate) to: i64,
    /// The number of bins into which the range is divided.
    pub(crate) points: u32,
    pub(crate) show: Show,
    /// Only this clock, server, peer or interface.
    pub(crate) name: Option<String>,
    /// Only delays of this segment.
    pub(crate) segment: Option<String>,
}

/// The part of the history that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Show {
    Offsets,
    Delays,
    Events,
}

impl Show {
    /// The most bins, and how many there are if nothing is said.
    fn points(self) -> (u32, u32) {
        match self {
            Self::Offsets => (1_000, 300),
            Self::Delays => (240, 120),
            Self::Events => (1, 1),
        }
    }
}

impl Question {
    /// Parses a query string. The error is a sentence for the client.
    pub(crate) fn read(query: &str) -> Result<Self, String> {
        let (mut from, mut to, mut points, mut show) = (None, None, None, None);
        let (mut name, mut segment) = (None, None);
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            let place = match key.as_ref() {
                "from" => &mut from,
                "to" => &mut to,
                "points" => &mut points,
                "show" => &mut show,
                "name" => &mut name,
                "segment" => &mut segment,
                _ => return Err("the fields are from, to, points, show, name and segment".into()),
            };
            if place.replace(value.into_owned()).is_some() {
                return Err("each field can be given once".into());
            }
        }
        let (from, to) = (instant(from)?, instant(to)?);
        if from >= to || (to - from).unsigned_abs() > LONGEST.as_nanos() as u64 {
            return Err("to is after from, by at most 366 days".into());
        }
        let show = match show.as_deref() {
            None | Some("offsets") => Show::Offsets,
            Some("delays") => Show::Delays,
            Some("events") => Show::Events,
            Some(_) => return Err("show is offsets, delays or events".into()),
        };
        let (most, usual) = show.points();
        let points = match points.as_deref().map(str::parse) {
            None => usual,
            Some(Ok(points)) if (1..=most).contains(&points) => points,
            Some(_) => return Err(format!("points is a number from 1 to {most}")),
        };
        Ok(Self {
            from,
            to,
            points,
            show,
            name,
            segment,
        })
    }

    /// The length of a bin in nanoseconds: so that there are at most `points`.
    pub(crate) fn bin_ns(&self) -> i64 {
        (self.to - self.from)
            .unsigned_abs()
            .div_ceil(self.points.into()) as i64
    }

    /// The number of the bin that an instant is in; `None`: it is outside of the range.
    pub(crate) fn bin(&self, at: i64) -> Option<u32> {
        (self.from..self.to)
            .contains(&at)
            .then(|| ((at - self.from) / self.bin_ns()) as u32)
    }
}

fn instant(text: Option<String>) -> Result<i64, String> {
    text.and_then(|text| nanoseconds(&text))
        .ok_or_else(|| NEEDED.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: &str = "from=2026-11-23T03:00:00Z&to=2026-11-23T04:00:00Z";

    #[test]
    fn a_range_has_as_many_bins_as_it_is_asked_for() {
        let question = Question::read(&format!("{RANGE}&points=7&name=a%20%3Cb%3E%26%2B"))
            .expect("it is right");
        assert_eq!(question.name.as_deref(), Some("a <b>&+"));
        assert_eq!(question.bin(question.from), Some(0));
        assert_eq!(question.bin(question.to - 1), Some(6));
        assert_eq!(
            (question.bin(question.from - 1), question.bin(question.to)),
            (None, None)
        );
        assert_eq!(Question::read(RANGE).expect("it is right").points, 300);
    }

    #[test]
    fn what_is_no_question_is_told() {
        let long = "a".repeat(10_000);
        for wrong in [
            "",
            "from=2026-11-23T03:00:00Z",
            "from=now&to=2026-11-23T03:00:00Z",
            "from=2026-11-23T03:00:00Z&to=2026-11-23T03:00:00Z",
            "from=2026-11-23T04:00:00Z&to=2026-11-23T03:00:00Z",
            "from=1970-01-01T00:00:00Z&to=2026-11-23T03:00:00Z",
            "from=9999-01-01T00:00:00Z&to=9999-12-31T23:59:59Z",
            &format!("{RANGE}&points=0"),
            &format!("{RANGE}&points=1001"),
            &format!("{RANGE}&points=-1"),
            &format!("{RANGE}&points=1e3"),
            &format!("{RANGE}&points=99999999999999999999"),
            &format!("{RANGE}&show=delays&points=241"),
            &format!("{RANGE}&show=/etc/passwd"),
            &format!("{RANGE}&{RANGE}"),
            &format!("{RANGE}&directory=/etc"),
            &format!("{RANGE}&{long}=1"),
            "%00%ff=%",
        ] {
            assert!(Question::read(wrong).is_err(), "{wrong}");
        }
    }
}
