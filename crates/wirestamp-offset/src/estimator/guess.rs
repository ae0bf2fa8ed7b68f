//! The best guesses within the bounds: of the offset, the frequency and the path delay. None of them moves a bound.

use super::Estimator;

/// So many delays are remembered; their median is the path delay.
pub(super) const DELAYS: usize = 15;

impl Estimator {
    /// The best guess: half way between the fastest of the last Syncs and the fastest of the
    /// last requests, each moved to now by the rate.
    pub(super) fn guess(&self, at: i64, low: i64, high: i64) -> i64 {
        let rate = self.free_rate();
        let fastest_sync = self.syncs.least(at, rate);
        match (fastest_sync, self.requests.greatest(at, rate)) {
            (Some(sync), Some(request)) => sync / 2 + request / 2,
            (Some(sync), None) => sync.saturating_sub(self.mean_path_delay().unwrap_or(0)),
            (None, _) => low / 2 + high / 2,
        }
    }

    /// The guess of the packets, or the bound next to it.
    pub(super) fn free_rate(&self) -> Option<f64> {
        let (low, high) = self.feasible.rate();
        Some(self.guessed_rate()?.clamp(low, high))
    }

    /// Whether the bounds exclude the guess of the packets.
    pub(super) fn is_rate_limited(&self) -> bool {
        self.free_rate() != self.guessed_rate()
    }

    /// Three guesses that err in different ways: along the fastest Syncs, along the fastest
    /// requests, and amid the Syncs. The one between the others is seldom far off. One outside the bounds is ignored: a
    /// single packet from before a step makes such a slope of the first few.
    fn guessed_rate(&self) -> Option<f64> {
        let (low, high) = self.feasible.rate();
        let amid = self.syncs.slope_amid()?;
        let below = self.syncs.slope_below().unwrap_or(amid);
        let above = self.requests.slope_above().unwrap_or(amid);
        let is_possible = |slope: &f64| (low..=high).contains(slope);
        let amid = Some(amid).filter(is_possible).unwrap_or(below);
        // the median of the three
        Some(below.min(above).max(amid.min(below.max(above))))
    }

    /// How far apart these three are, and those of each half of the Syncs: halfway over a step the three agree.
    pub(super) fn rate_spread(&self) -> f64 {
        let guesses = || {
            let [older, newer] = self.syncs.slopes_below_halves()?;
            Some([
                self.syncs.slope_amid()?,
                self.syncs.slope_below()?,
                self.requests.slope_above()?,
                older,
                newer,
            ])
        };
        let Some(guesses) = guesses() else {
            return f64::INFINITY;
        };
        guesses.into_iter().fold(f64::MIN, f64::max) - guesses.into_iter().fold(f64::MAX, f64::min)
    }

    /// How far back the packets reach that these come from; `None` until there are as many as are remembered.
    pub(super) fn rate_memory(&self, at: i64) -> Option<i64> {
        let oldest = self.syncs.full_since()?.min(self.requests.full_since()?);
        Some(at.saturating_sub(oldest))
    }

    pub(super) fn add_delay(&mut self, delay: i64) {
        self.delays.push_back(delay);
        if self.delays.len() > DELAYS {
            self.delays.pop_front();
        }
    }

    /// The median of the last delays. Timestamps of unlike clocks can make one negative; none is.
    pub(super) fn mean_path_delay(&self) -> Option<i64> {
        let mut sorted = [0; DELAYS];
        let sorted = &mut sorted[..self.delays.len()];
        for (place, delay) in sorted.iter_mut().zip(&self.delays) {
            *place = *delay;
        }
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).map(|delay| (*delay).max(0))
    }
}
