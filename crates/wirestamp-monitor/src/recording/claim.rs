//! This host's claim about its real-time clock over an interval: the largest claimed error in it, and no claim if one
//! was missing meanwhile.

use crate::snapshot::NtpState;
use wirestamp::{Bounded, MonotonicTime, Span, UtcTime};
use wirestamp_measure::{Known, Moment};

/// The reason for a missing claim: neither NTP servers nor the kernel state the clock's error against UTC.
const NO_CLAIM: &str = "not_synchronized";
/// The rate at which the kernel's claim grows while nothing corrects the clock (MAXFREQ of adjtimex(2)).
const KERNEL_PPM: u32 = 500;

/// A claim at one instant: the clock minus UTC lies between these, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Said {
    low: i64,
    high: i64,
    /// The rate at which it becomes less certain.
    growth_ppm: u32,
    /// How many NTP servers must be right for it.
    right_servers: Option<u64>,
}

impl Said {
    /// `offset`: nanoseconds ahead of UTC.
    pub(crate) fn new(offset: i64, bound: i64, growth_ppm: u32) -> Self {
        Self {
            low: offset.saturating_sub(bound),
            high: offset.saturating_add(bound),
            growth_ppm,
            right_servers: None,
        }
    }

    fn if_right(self, right_servers: Option<u64>) -> Self {
        Self {
            right_servers,
            ..self
        }
    }

    /// By NTP servers that agree, else by the kernel. `growth_ppm`: of the servers.
    pub(crate) fn by(
        ntp: Option<&NtpState>,
        growth_ppm: u32,
        kernel: impl FnOnce() -> Option<Span>,
    ) -> Option<Self> {
        let ntp = ntp.and_then(|ntp| {
            let said = Self::new(ntp.offset_ns?, ntp.bound_ns?, growth_ppm);
            Some(said.if_right(ntp.right_servers))
        });
        ntp.or_else(|| Some(Self::new(0, kernel()?.saturating_nanoseconds(), KERNEL_PPM)))
    }

    fn after(self, passed: Span) -> Self {
        let grown = passed.nanoseconds().max(0) * i128::from(self.growth_ppm);
        let grown = i64::try_from((grown + 999_999) / 1_000_000).unwrap_or(i64::MAX);
        Self {
            low: self.low.saturating_sub(grown),
            high: self.high.saturating_add(grown),
            ..self
        }
    }

    fn with(self, other: Self) -> Self {
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            right_servers: self.right_servers.max(other.right_servers),
            ..self
        }
    }

    fn middle(self) -> Bounded<Span> {
        let middle = i128::midpoint(self.low.into(), self.high.into());
        let bound = (i128::from(self.high) - middle).max(middle - i128::from(self.low));
        let [middle, bound] = [middle, bound].map(Span::from_nanoseconds);
        Bounded::new(middle, bound)
    }
}

/// Of an interval that is still open.
#[derive(Debug, Default)]
pub(crate) struct Claim {
    from: Option<UtcTime>,
    all: Option<Said>,
    is_broken: bool,
    last: Option<(MonotonicTime, Option<Said>)>,
}

impl Claim {
    /// Takes what is said now. Until then the earlier word held, less certain as time passed.
    pub(crate) fn look(&mut self, moment: &Moment, said: Option<Said>) {
        self.from.get_or_insert(moment.reading.utc);
        let before = self.last.replace((moment.now, said));
        self.is_broken |= said.is_none() || matches!(before, Some((_, None)));
        let until_now = before.and_then(|(at, said)| Some(said?.after(moment.now - at)));
        for one in until_now.into_iter().chain(said) {
            self.all = Some(self.all.map_or(one, |all| all.with(one)));
        }
    }

    /// Ends the interval; the next one begins here. `None`: there was none, or nobody looked since the one before ended.
    pub(crate) fn take(&mut self, until: UtcTime) -> Option<Known> {
        let (all, is_broken) = (self.all.take(), std::mem::take(&mut self.is_broken));
        if all.is_none() && !is_broken {
            return None;
        }
        let from = self.from.replace(until)?;
        let all = all.filter(|_| !is_broken);
        Some(Known {
            // a clock that was set back
            from: from.min(until),
            until,
            generation: None,
            offset: all.map(Said::middle).ok_or(NO_CLAIM),
            right_servers: all.and_then(|all| all.right_servers),
            frequency_ppt: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirestamp::time::UtcCrossTimestamp;

    fn moment(second: i64) -> Moment {
        let now = MonotonicTime::from_nanoseconds(second * 1_000_000_000);
        let reading = UtcCrossTimestamp {
            before: now,
            utc: utc(second),
            after: now,
        };
        Moment::of(reading)
    }

    fn utc(second: i64) -> UtcTime {
        UtcTime::from_nanoseconds((1_790_000_000 + second) * 1_000_000_000)
    }

    #[test]
    fn the_claim_is_the_greatest_error_that_was_said_and_none_once_nobody_says() {
        let mut claim = Claim::default();
        assert_eq!(claim.take(utc(0)), None);
        let said = |offset, bound| Some(Said::new(offset, bound, 0));
        let mut claimed = |from: i64, all: &[Option<Said>]| {
            for (second, said) in (from + 1..).zip(all) {
                claim.look(&moment(second), *said);
            }
            let known = claim.take(utc(from + all.len() as i64)).expect("looked");
            assert_eq!(known.until, utc(from + all.len() as i64));
            let shown = |offset: Bounded<Span>| {
                let [offset, bound] = [offset.value, offset.bound].map(Span::nanoseconds);
                (offset, bound)
            };
            known.offset.map(shown)
        };
        let three = [said(0, 5_000), said(0, 9_000), said(0, 6_000)];
        assert_eq!(claimed(0, &three), Ok((0, 9_000)));
        // the claim at its beginning holds until there is another
        assert_eq!(claimed(3, &[said(0, 2_000)]), Ok((0, 6_000)));
        assert_eq!(claimed(4, &[said(0, 2_000)]), Ok((0, 2_000)));
        assert_eq!(
            claimed(5, &[said(0, 2_000), None, said(0, 2_000)]),
            Err(NO_CLAIM)
        );
        assert_eq!(claimed(8, &[None]), Err(NO_CLAIM));
        // until somebody said so it was not known
        assert_eq!(claimed(9, &[said(0, 2_000)]), Err(NO_CLAIM));
        assert_eq!(
            claimed(10, &[said(100, 50), said(-100, 50)]),
            Ok((0, 2_000))
        );
        assert_eq!(claimed(12, &[said(-100, 50)]), Ok((-100, 50)));
    }

    /// A monitor that ends right after an interval did knew the time until then: a row without a claim would say that it did not.
    #[test]
    fn an_interval_without_a_look_is_none() {
        let mut claim = Claim::default();
        for (second, said) in [Some(Said::new(0, 10, 0)), None].into_iter().enumerate() {
            let second = second as i64;
            claim.look(&moment(second), said);
            assert!(claim.take(utc(second)).is_some(), "{said:?}");
            assert_eq!(claim.take(utc(second)), None, "{said:?}");
        }
    }

    #[test]
    fn between_two_looks_it_is_less_certain_than_at_the_first() {
        let mut claim = Claim::default();
        claim.look(&moment(0), Some(Said::new(0, 1_000, 500)));
        // corrected shortly before
        claim.look(&moment(1), Some(Said::new(0, 1_000, 500)));
        let known = claim.take(utc(1)).expect("looked");
        assert_eq!((known.from, known.until), (utc(0), utc(1)));
        assert_eq!(
            known.offset,
            Ok(Bounded::new(Span::ZERO, Span::from_microseconds(501)))
        );
    }

    #[test]
    fn servers_that_agree_say_it_before_the_kernel_does() {
        let servers = |offset_ns, bound_ns| {
            made!(NtpState {
                offset_ns: offset_ns,
                bound_ns: bound_ns,
            })
        };
        let kernel = || Some(Span::from_microseconds(30));
        let agree = servers(Some(-7), Some(20));
        assert_eq!(
            Said::by(Some(&agree), 15, kernel),
            Some(Said::new(-7, 20, 15))
        );
        let disagree = servers(None, None);
        for ntp in [Some(&disagree), None] {
            let said = Said::by(ntp, 15, kernel);
            assert_eq!(said, Some(Said::new(0, 30_000, KERNEL_PPM)));
            assert_eq!(Said::by(ntp, 15, || None), None);
        }
    }

    /// Servers of which two have to be right, then three, then the kernel.
    #[test]
    fn the_claim_states_how_many_servers_have_to_be_right() {
        let servers = |right_servers| {
            let agree = made!(NtpState {
                offset_ns: Some(0),
                bound_ns: Some(20),
                right_servers: right_servers,
            });
            Said::by(Some(&agree), 15, || None)
        };
        let kernel = Said::by(None, 15, || Some(Span::from_microseconds(30)));
        let mut claim = Claim::default();
        let mut claimed = |from: i64, all: &[Option<Said>]| {
            for (second, said) in (from + 1..).zip(all) {
                claim.look(&moment(second), *said);
            }
            let known = claim.take(utc(from + all.len() as i64));
            known.expect("looked").right_servers
        };
        let said = [servers(Some(2)), servers(Some(3)), servers(Some(2))];
        assert_eq!(claimed(0, &said), Some(3), "the greatest of all");
        // the servers' claim held when this interval began
        assert_eq!(claimed(3, &[kernel]), Some(2));
        assert_eq!(claimed(4, &[kernel]), None);
        assert_eq!(claimed(5, &[None]), None);
    }

    #[test]
    fn limits_of_64_bits_are_kept() {
        let all = Said::new(i64::MIN, i64::MAX, 500).with(Said::new(i64::MAX, i64::MAX, 500));
        assert_eq!((all.low, all.high), (i64::MIN, i64::MAX));
        assert_eq!(
            all.after(Span::from_seconds(9))
                .middle()
                .bound
                .saturating_nanoseconds(),
            i64::MAX
        );
    }

    #[test]
    fn a_clock_that_was_set_back_makes_no_interval_that_ends_before_it_begins() {
        let mut claim = Claim::default();
        claim.look(&moment(5), Some(Said::new(0, 10, 0)));
        let known = claim.take(utc(-100)).expect("looked");
        assert_eq!((known.from, known.until), (utc(-100), utc(-100)));
    }
}
