//! The comparison of several time sources within their error bounds.

use wirestamp::{MonotonicTime, Span};

/// How long sources must agree after a disagreement before one is followed again.
pub(crate) const AGREED_FOR: Span = Span::from_seconds(10);
/// How long to wait for the other sources at the start, before a single one is followed.
pub(crate) const WAITED_FOR: Span = Span::from_seconds(10);

/// The agreement of the configured sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Agreement {
    /// Only one source is configured: there is nothing to compare.
    #[default]
    Single,
    /// At the start, the other sources are awaited, for at most ten seconds.
    Waiting,
    /// The other configured sources are silent.
    Alone,
    /// All sources that are heard agree within their error bounds.
    Agree,
    /// Two sources differ by more than their error bounds allow, or did in the last ten seconds.
    /// None is followed.
    Disagree,
}

impl std::fmt::Display for Agreement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Single => "only one timeTransmitter is configured",
            Self::Waiting => "waiting for the other timeTransmitters",
            Self::Alone => "only one of the configured timeTransmitters is heard",
            Self::Agree => "the timeTransmitters agree",
            Self::Disagree => "the timeTransmitters disagree, none is followed",
        })
    }
}

impl Agreement {
    /// Returns a short, stable name: the one in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Waiting => "waiting",
            Self::Alone => "alone",
            Self::Agree => "agree",
            Self::Disagree => "disagree",
        }
    }

    /// Returns whether a clock may be steered and time be passed on.
    pub(crate) fn allows_following(self) -> bool {
        !matches!(self, Self::Waiting | Self::Disagree)
    }
}

/// The offset to one source and its error bound, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Measured {
    pub(crate) offset: i64,
    pub(crate) bound: i64,
}

impl Measured {
    fn agrees(&self, other: &Self, tolerance: u32) -> bool {
        let apart = i128::from(self.offset) - i128::from(other.offset);
        apart.abs() <= i128::from(self.bound) + i128::from(other.bound) + i128::from(tolerance)
    }
}

/// The judge of the sources. A disagreement ends only with agreement: if one of two disagreeing
/// sources falls silent, the other is not therefore right.
#[derive(Debug)]
pub(crate) struct Judge {
    agreement: Agreement,
    /// The allowed difference of two right sources beyond their error bounds, in nanoseconds.
    tolerance: u32,
    /// The time of the first estimate of any source.
    heard_at: Option<MonotonicTime>,
    /// Since when at least two sources are heard and all agree.
    agreed_since: Option<MonotonicTime>,
}

impl Judge {
    pub(crate) fn new(compares: bool, tolerance: u32) -> Self {
        let agreement = if compares {
            Agreement::Waiting
        } else {
            Agreement::Single
        };
        Self {
            agreement,
            tolerance,
            heard_at: None,
            agreed_since: None,
        }
    }

    pub(crate) fn agreement(&self) -> Agreement {
        self.agreement
    }

    /// Compares all heard sources at the same instant.
    pub(crate) fn hear(&mut self, sources: &[Measured], now: MonotonicTime) {
        if self.agreement == Agreement::Single || sources.is_empty() {
            return;
        }
        let heard_at = *self.heard_at.get_or_insert(now);
        let contradicts = |one: &Measured, other: &Measured| !one.agrees(other, self.tolerance);
        let disagree = sources
            .iter()
            .enumerate()
            .any(|(place, one)| sources[..place].iter().any(|other| contradicts(one, other)));
        if disagree {
            self.agreement = Agreement::Disagree;
            self.agreed_since = None;
            return;
        }
        if sources.len() < 2 {
            self.agreed_since = None;
            self.agreement = match self.agreement {
                Agreement::Waiting if now - heard_at < WAITED_FOR => Agreement::Waiting,
                Agreement::Disagree => Agreement::Disagree,
                _ => Agreement::Alone,
            };
            return;
        }
        let since = *self.agreed_since.get_or_insert(now);
        if self.agreement != Agreement::Disagree || now - since >= AGREED_FOR {
            self.agreement = Agreement::Agree;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Measured = Measured {
        offset: 0,
        bound: 100,
    };
    const B: Measured = Measured {
        offset: 150,
        bound: 50,
    };
    const LIAR: Measured = Measured {
        offset: 151,
        bound: 50,
    };

    fn at(seconds: i64) -> MonotonicTime {
        MonotonicTime::from_nanoseconds(seconds * 1_000_000_000)
    }

    fn after(judge: &mut Judge, seconds: i64, sources: &[Measured]) -> Agreement {
        judge.hear(sources, at(seconds));
        judge.agreement()
    }

    #[test]
    fn intervals_that_touch_agree_and_others_do_not() {
        let mut judge = Judge::new(true, 0);
        assert_eq!(judge.agreement(), Agreement::Waiting);
        assert_eq!(after(&mut judge, 0, &[A]), Agreement::Waiting);
        assert_eq!(after(&mut judge, 1, &[A, B]), Agreement::Agree);
        assert_eq!(after(&mut judge, 2, &[A, LIAR]), Agreement::Disagree);
        assert_eq!(
            after(&mut judge, 3, &[A]),
            Agreement::Disagree,
            "silence proves nobody right"
        );
        assert_eq!(after(&mut judge, 4, &[A, B]), Agreement::Disagree);
        assert_eq!(after(&mut judge, 13, &[A, B]), Agreement::Disagree);
        assert_eq!(
            after(&mut judge, 14, &[A, B]),
            Agreement::Agree,
            "ten seconds of agreement"
        );
        let extreme = |offset| Measured { offset, bound: 0 };
        assert_eq!(
            after(&mut judge, 15, &[extreme(i64::MIN), extreme(i64::MAX)]),
            Agreement::Disagree
        );
    }

    #[test]
    fn one_that_stays_alone_is_followed_after_a_while() {
        let mut judge = Judge::new(true, 0);
        assert_eq!(after(&mut judge, 100, &[A]), Agreement::Waiting);
        assert!(!judge.agreement().allows_following());
        assert_eq!(after(&mut judge, 109, &[A]), Agreement::Waiting);
        assert_eq!(after(&mut judge, 110, &[A]), Agreement::Alone);
        assert!(judge.agreement().allows_following());
        assert_eq!(after(&mut judge, 111, &[A, LIAR]), Agreement::Disagree);
        let mut single = Judge::new(false, 0);
        assert_eq!(after(&mut single, 0, &[A, LIAR]), Agreement::Single);
    }
}
