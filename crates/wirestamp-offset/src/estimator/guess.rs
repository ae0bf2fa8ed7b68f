//! The estimates of offset, frequency and path delay within the error bounds. They do not affect
//! the bounds.

use super::Estimator;

/// The number of delays to remember; their median is the path delay.
pub(super) const DELAYS: usize = 15;

impl Estimator {
    /// The estimate of the offset: halfway between the fastest of the last Syncs and the fastest of
    /// the last requests, each extrapolated to now by the rate.
    pub(super) fn guess(&self, at: i64, low: i64, high: i64) -> i64 {
        let rate = self.free_rate();
        let fastest_sync = self.syncs.least(at, rate);
        match (fastest_sync, self.requests.greatest(at, rate)) {
            (Some(sync), Some(request)) => sync / 2 + request / 2,
            (Some(sync), None) => sync.saturating_sub(self.mean_path_delay().unwrap_or(0)),
            (None, _) => low / 2 + high / 2,
        }
    }

    /// The rate that the packets suggest, or the nearest bound.
    pub(super) fn free_rate(&self) -> Option<f64> {
        let (low, high) = self.feasible.rate();
        Some(self.guessed_rate()?.clamp(low, high))
    }

    /// Whether the bounds exclude the rate that the packets suggest.
    pub(super) fn is_rate_limited(&self) -> bool {
        self.free_rate() != self.guessed_rate()
    }

    /// The median of three guesses that err in different ways: the slopes along the fastest Syncs,
    /// along the fastest requests, and through the middle of the Syncs. Guesses outside the bounds
    /// are ignored: a single packet from before a step causes such a slope among the first few
    /// packets.
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

    /// The spread of the three guesses and of those of each half of the Syncs, because halfway over
    /// a step the three agree.
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

    /// The age of the oldest packet that the guesses use; `None` until the memory is full.
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

    /// The median of the last delays, at least 0: timestamps of unlike clocks can make one
    /// negative.
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
