//! The estimate: a bank of two-state Kalman filters that assume different wander. The one with the
//! smallest recent error gives the estimate; the error bound comes from `fit`.
//!
//! Each filter estimates an offset and a rate, which is a random walk. Units are nanoseconds and
//! seconds. Between batches of cross timestamps the state is the *prediction* for the newest
//! instant; the open batch updates it when it is complete.

/// The number of filters.
const FILTERS: usize = 9;
/// The wander that the steadiest filter assumes, in ns²/s³; each further one assumes ten times
/// more.
const STEADIEST: f64 = 1e-3;
/// The weight of a batch relative to the next one, in the choice of the filter.
const FADING: f64 = 0.99;
/// Added to the rate's variance after an event, in (ns/s)²: the rate probably stays within 1 ppm.
const SHAKEN: f64 = 1e6;

/// The measurement of a batch: the offset is `centre`, with this variance in ns².
#[derive(Debug, Clone, Copy)]
pub(super) struct Measurement {
    pub(super) centre: f64,
    pub(super) variance: f64,
}

#[derive(Debug, Clone, Copy)]
struct Filter {
    offset: f64,
    rate: f64,
    /// The variances of offset and rate, and their covariance.
    offset_variance: f64,
    covariance: f64,
    rate_variance: f64,
    /// The weighted mean square error of its recent predictions.
    error: f64,
}

/// The bank of filters.
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
    /// Creates filters that only know the rate's limits: `spread` ns/s around `rate`.
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

    /// Continues with the same oscillator after a clock was stepped.
    #[must_use]
    pub(super) fn after_step(mut self) -> Self {
        for filter in &mut self.filters {
            (filter.offset, filter.offset_variance, filter.covariance) = (0.0, 1e18, 0.0);
            filter.rate_variance += SHAKEN;
        }
        self
    }

    /// Updates the filters with a complete batch.
    pub(super) fn update(&mut self, measured: Measurement) {
        let weight = 1.0 / (measured.variance + 1.0);
        let mut least = f64::INFINITY;
        for (place, filter) in self.filters.iter_mut().enumerate() {
            let surprise = measured.centre - filter.offset;
            // there is no prediction before the first batch
            if filter.offset_variance < 1e12 {
                filter.error = filter.error * FADING + surprise * surprise * weight;
            }
            if filter.error < least {
                (least, self.chosen) = (filter.error, place);
            }
            filter.update(measured);
        }
    }

    /// The difference of a centre from the prediction, if there is one.
    pub(super) fn surprise(&self, centre: f64) -> f64 {
        let chosen = &self.filters[self.chosen];
        if chosen.offset_variance < 1e12 {
            centre - chosen.offset
        } else {
            0.0
        }
    }

    /// Predicts `seconds` ahead, in which the system clock gained `gained` on the scale.
    pub(super) fn predict(&mut self, seconds: f64, gained: f64) {
        let mut wander = STEADIEST;
        for filter in &mut self.filters {
            filter.predict(seconds, gained, wander);
            wander *= 10.0;
        }
    }

    /// The estimates of offset and rate (ns/s), including the open batch.
    pub(super) fn guess(&self, measured: Measurement) -> (f64, f64) {
        let mut filter = self.filters[self.chosen];
        filter.update(measured);
        (filter.offset, filter.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILTER: Filter = Filter {
        offset: 1.0,
        rate: 4.0,
        offset_variance: 10.0,
        covariance: 2.0,
        rate_variance: 5.0,
        error: 0.0,
    };

    fn near(found: [f64; 5], expected: [f64; 5]) {
        for (found, expected) in found.into_iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{found:?} {expected:?}");
        }
    }

    fn state(filter: &Filter) -> [f64; 5] {
        let &Filter {
            offset,
            rate,
            offset_variance,
            covariance,
            rate_variance,
            ..
        } = filter;
        [offset, rate, offset_variance, covariance, rate_variance]
    }

    /// The prediction as in textbooks: F P Fᵀ + Q, with the noise of a random walk of the
    /// frequency.
    #[test]
    fn two_seconds_later_less_is_known() {
        let mut filter = FILTER;
        filter.predict(2.0, 3.0, 6.0);
        let offset_variance = 10.0 + 2.0 * 2.0 * 2.0 + 4.0 * 5.0 + 6.0 * 8.0 / 3.0;
        let covariance = 2.0 + 2.0 * 5.0 + 6.0 * 4.0 / 2.0;
        near(
            state(&filter),
            [6.0, 4.0, offset_variance, covariance, 17.0],
        );
    }

    /// The update as in textbooks, with a gain of 30 / (30 + 10) for the offset and 20 / 40 for the
    /// frequency.
    #[test]
    fn a_measurement_counts_as_much_as_it_is_better_than_the_prediction() {
        let mut filter = Filter {
            offset_variance: 30.0,
            covariance: 20.0,
            rate_variance: 16.0,
            ..FILTER
        };
        filter.update(Measurement {
            centre: 9.0,
            variance: 10.0,
        });
        near(state(&filter), [7.0, 8.0, 7.5, 5.0, 6.0]);
    }

    #[test]
    fn a_new_bank_knows_the_limits_of_the_rate_and_no_offset() {
        let mut bank = Bank::new(3.0, 5.0);
        let nothing = [0.0, 3.0, 1e18, 0.0, 25.0];
        bank.filters
            .iter()
            .for_each(|filter| near(state(filter), nothing));
        let measured = Measurement {
            centre: 7.0,
            variance: 1.0,
        };
        assert!(bank.surprise(7.0).abs() < 1e-9, "no prediction yet");
        assert!((bank.guess(measured).0 - 7.0).abs() < 1e-6);
        assert!(bank.surprise(7.0).abs() < 1e-9, "a guess changes nothing");
        bank.update(measured);
        bank.predict(2.0, 4.0);
        // 7 + 2 · 3 - 4
        assert!((bank.surprise(11.0) - 2.0).abs() < 1e-6);
        // the strength of wander grows tenfold from filter to filter
        for (place, filter) in bank.filters.iter().enumerate() {
            let wander = 1e-3 * 10f64.powi(place as i32);
            assert!((filter.rate_variance / (25.0 + 2.0 * wander) - 1.0).abs() < 1e-9);
        }
        let stepped = bank.after_step();
        assert!(stepped.surprise(11.0).abs() < 1e-9, "no prediction left");
        for (place, filter) in stepped.filters.iter().enumerate() {
            let rate_variance = 25.0 + 2e-3 * 10f64.powi(place as i32) + 1e6;
            let [offset, _, offset_variance, covariance, found] = state(filter);
            near(
                [offset, offset_variance, covariance, found, 0.0],
                [0.0, 1e18, 0.0, rate_variance, 0.0],
            );
        }
    }

    /// Two filters that predict 10 and 2; 6 and then 3 are measured.
    #[test]
    fn the_filter_that_was_right_lately_is_chosen() {
        let mut bank = Bank::new(0.0, 0.0);
        for (place, filter) in bank.filters.iter_mut().enumerate() {
            filter.offset = if place == 2 { 2.0 } else { 10.0 };
            (filter.offset_variance, filter.rate_variance) = (0.0, 0.0);
        }
        let measured = |centre| Measurement {
            centre,
            variance: 3.0,
        };
        bank.update(measured(6.0));
        assert_eq!(bank.chosen, 0, "the steadiest of equals");
        bank.update(measured(3.0));
        assert_eq!(bank.chosen, 2);
        // the squares divided by the variance, and one more; the older one counts 99 %
        assert!((bank.filters[2].error - (0.99 * 16.0 + 1.0) / 4.0).abs() < 1e-9);
        assert!((bank.filters[0].error - (0.99 * 16.0 + 49.0) / 4.0).abs() < 1e-9);
        assert!((bank.guess(measured(3.0)).0 - 2.0).abs() < 1e-9);
    }
}
