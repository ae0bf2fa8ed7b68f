//! The largest claimed error of this host's clock against UTC during a measurement.

use std::time::{Duration, Instant};
use wirestamp::Span;

/// The interval at which the kernel is asked for its claim.
const ASK: Duration = Duration::from_millis(100);

/// The kernel's claim of the clock's error against UTC.
type Ask = fn() -> Option<Span>;

/// The largest claim so far of this host's error against UTC.
#[derive(Debug)]
pub struct Claim {
    bound: Option<Span>,
    /// The kernel as the source, unless the user made a claim, and when it was asked. Its claim grows while nothing
    /// corrects the clock.
    kernel: Option<(Ask, Instant)>,
}

impl Claim {
    /// Begins with the user's claim, else with the kernel's.
    pub fn new(said: Option<Span>, ask: Ask, now: Instant) -> Self {
        Self {
            bound: said.or_else(ask),
            kernel: said.is_none().then_some((ask, now)),
        }
    }

    /// Returns the largest claim; `None` once a claim was missing.
    pub fn bound(&self) -> Option<Span> {
        self.bound
    }

    /// Asks the kernel again, if it is due.
    pub fn look(&mut self, now: Instant) {
        if let Some((ask, asked)) = &mut self.kernel
            && now.saturating_duration_since(*asked) >= ASK
        {
            *asked = now;
            let bound = ask();
            self.bound = self.bound.and_then(|greatest| Some(bound?.max(greatest)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_claim_is_the_greatest_that_the_kernel_says_and_none_if_it_once_says_none() {
        use std::cell::Cell;
        thread_local!(static SAYS: Cell<Option<i64>> = const { Cell::new(Some(5_000)) });
        let ask = || SAYS.get().map(|bound| Span::from_nanoseconds(bound.into()));
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        let mut claim = Claim::new(None, ask, begun);
        let span = |bound: i64| Span::from_nanoseconds(bound.into());
        assert_eq!(claim.bound, Some(span(5_000)));
        for (second, says, bound) in [
            (1, Some(9_000), Some(9_000)),
            (2, Some(6_000), Some(9_000)),
            (3, None, None),
            (4, Some(5_000), None),
        ] {
            SAYS.set(says);
            claim.look(after(second));
            assert_eq!(claim.bound, bound.map(span), "second {second}");
        }
        // a claim on the command line is the user's responsibility
        let mut claim = Claim::new(Some(span(7)), ask, begun);
        SAYS.set(Some(9_000));
        claim.look(after(9));
        assert_eq!(claim.bound, Some(span(7)));
    }
}
