//! The best guess: filters that believe in wander of different strength, and which of
//! them was right lately. Gives no bound.
//!
//! Each filter holds an offset and a rate (Kalman, two states, the rate a random walk). Units:
//! nanoseconds and seconds. Between batches of readings the state is the *prediction* for the
//! newest instant; what the open batch says is taken in for good when it is complete.

/// How many filters.
const FILTERS: usize = 9;
/// The steadiest one's strength of wander, ns²/s³; each next one's is ten times as much.
const STEADIEST: f64 = 1e-3;
/// What a batch counts for after the next one, in the choice of the filter.
const FADING: f64 = 0.99;
/// Added to a rate's variance after an event, (ns/s)²: within 1 ppm it is probably the old.
const SHAKEN: f64 = 1e6;

/// What a batch of readings says: the offset is `centre`, with this variance in ns².
#[derive(Debug, Clone, Copy)]
pub(super) struct Measurement {
    pub(super) centre: f64,
    pub(super) variance: f64,
}

#[derive(Debug, Clone, Copy)]
struct Filter {
    offset: f64,
    rate: f64,
    /// Variances of offset and rate, and their covariance.
    offset_variance: f64,
    covariance: f64,
    rate_variance: f64,
    /// Weighted mean square of its late predictions' errors.
    error: f64,
}

/// The filters.
#[derive(Debug, Clone)]
pub(super) struct Bank {
    filters: [Filter; FILTERS],
    chosen: usize,
}

impl Filter {
    #[inline]
    fn predict(&mut self, seconds: f64, gained: f64, wander: f64) {
        self.offset += self.rate * seconds - gained;
        let carried = self.covariance + self.rate_variance * seconds;
        self.offset_variance +=
            seconds * (self.covariance + carried) + wander * seconds * seconds * seconds / 3.0;
        self.covariance = carried + wander * seconds * seconds / 2.0;
        self.rate_variance += wander * seconds;
    }

    #[inline]
    fn update(&mut self, measured: Measurement) {
        let weight = 1.0 / (self.offset_variance + measured.variance);
        let (offset_gain, rate_gain) = (self.offset_variance * weight, self.covariance * weight);
        let surprise = measured.centre - self.offset;
        self.offset += offset_gain * surprise;
        self.rate += rate_gain * surprise;
        self.rate_variance -= rate_gain * self.covariance;
        self.covariance *= 1.0 - offset_gain;
        self.offset_variance *= 1.0 - offset_gain;
    }
}

impl Bank {
    /// Nothing known but the rate's limits: `spread` ns/s around `rate`.
    pub(super) fn new(rate: f64, spread: f64) -> Self {
        let filter = Filter {
            offset: 0.0,
            rate,
            offset_variance: 1e18,
            covariance: 0.0,
            rate_variance: spread * spread,
            error: 0.0,
        };
        Self {
            filters: [filter; FILTERS],
            chosen: FILTERS / 2,
        }
    }

    /// The same oscillator after somebody stepped a clock.
    #[must_use]
    pub(super) fn after_step(mut self) -> Self {
        for filter in &mut self.filters {
            (filter.offset, filter.offset_variance, filter.covariance) = (0.0, 1e18, 0.0);
            filter.rate_variance += SHAKEN;
        }
        self
    }

    /// Takes a complete batch in.
    pub(super) fn update(&mut self, measured: Measurement) {
        let weight = 1.0 / (measured.variance + 1.0);
        let mut least = f64::INFINITY;
        for (place, filter) in self.filters.iter_mut().enumerate() {
            let surprise = measured.centre - filter.offset;
            // the first prediction is none
            if filter.offset_variance < 1e12 {
                filter.error = filter.error * FADING + surprise * surprise * weight;
            }
            if filter.error < least {
                (least, self.chosen) = (filter.error, place);
            }
            filter.update(measured);
        }
    }

    /// By how much a centre differs from the prediction, if there is one.
    pub(super) fn surprise(&self, centre: f64) -> f64 {
        let chosen = &self.filters[self.chosen];
        if chosen.offset_variance < 1e12 {
            centre - chosen.offset
        } else {
            0.0
        }
    }

    /// Goes `seconds` on, in which the system clock gained on the scale.
    pub(super) fn predict(&mut self, seconds: f64, gained: f64) {
        let mut wander = STEADIEST;
        for filter in &mut self.filters {
            filter.predict(seconds, gained, wander);
            wander *= 10.0;
        }
    }

    /// Offset and rate (ns/s) in the light of the open batch.
    pub(super) fn guess(&self, measured: Measurement) -> (f64, f64) {
        let mut filter = self.filters[self.chosen];
        filter.update(measured);
        (filter.offset, filter.rate)
    }
}
