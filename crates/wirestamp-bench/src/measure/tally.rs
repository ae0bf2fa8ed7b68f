//! The sums over all trials of a scenario, and what they come to.

use super::recovery::{AFTER, ROUNDING, Recovery, convergence, first_batch};
use super::replay::{Answer, Record, Trial};
use super::statistics::{quantile, rms, upper_limit};
use crate::world::Moment;
use serde::Serialize;

/// What a method did in a scenario; ns where not said otherwise.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// The scenario's name.
    pub scenario: &'static str,
    /// The method's name.
    pub method: &'static str,
    /// Conversions after the warm-up that were given, the blind ones not counted.
    pub conversions: usize,
    /// Timestamps after the warm-up that were refused, the blind ones not counted.
    pub refused: usize,
    /// Root mean square of the error.
    pub rms: f64,
    /// Median of its size.
    pub p50: f64,
    /// 99th percentile of its size.
    pub p99: f64,
    /// Its largest size.
    pub max: f64,
    /// Root mean square after each trial's mean error was taken off.
    pub unbiased_rms: f64,
    /// Root mean square against the *start* of the timestamp's tick: as the study measured.
    pub edge_rms: f64,
    /// Root mean square one batch later.
    pub later_rms: f64,
    /// Mean bound; `None` if the method gives none.
    pub bound: Option<f64>,
    /// 99th percentile of the bound.
    pub bound_p99: Option<f64>,
    /// Mean bound over the least possible half width; `None` where brackets are unknown.
    pub tightness: Option<f64>,
    /// Share of right bounds.
    pub coverage: Option<f64>,
    /// Conversions with a wrong bound.
    pub wrong: usize,
    /// Bounds that hold the event, but not all of its tick.
    pub tick_not_held: usize,
    /// The share of wrong bounds is below this with 95 % confidence.
    pub wrong_limit: f64,
    /// Wrong bounds during the warm-up.
    pub warm_up_wrong: usize,
    /// Wrong bounds among conversions made one batch later.
    pub later_wrong: usize,
    /// Conversions between a break and the next batch, and those with a wrong bound.
    pub blind: [usize; 2],
    /// Rates that were reported after a batch, and those outside their own bound.
    pub rates: [usize; 2],
    /// Root mean square of the error of the rate, ppb.
    pub rate_rms: Option<f64>,
    /// Until the estimate has settled at the start, s; the worst trial.
    pub convergence_seconds: Option<f64>,
    /// After steps, resets and the like.
    pub recovery: Recovery,
    /// chrony's own measure: largest error over the stated jitter, from the 4th and from the
    /// 8th sample on.
    pub over_jitter: Option<[f64; 2]>,
}

/// Sums over trials.
#[derive(Debug, Default)]
pub struct Tally {
    errors: Vec<f32>,
    bounds: Vec<f32>,
    refused: usize,
    squares: f64,
    unbiased: f64,
    edge_squares: f64,
    later_squares: f64,
    later: usize,
    least_half_width: Option<f64>,
    bounded: usize,
    bound_sum: f64,
    wrong: usize,
    tick_not_held: usize,
    warm_up_wrong: usize,
    later_wrong: usize,
    blind: [usize; 2],
    rates: [usize; 2],
    rate_squares: f64,
    convergence: Option<Option<f64>>,
    recovery: Recovery,
    over_jitter: Option<[f64; 2]>,
}

/// To which measures a timestamp belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    WarmUp,
    Blind,
    Counted,
}

impl Tally {
    /// Adds one trial.
    pub fn add(&mut self, trial: &Trial, record: &Record) {
        self.least_half_width = trial.shape.least_half_width();
        let blind: Vec<(Moment, Moment)> = trial
            .truth
            .breaks()
            .iter()
            .map(|event| (event.at, first_batch(record, event.visible)))
            .collect();
        let warm = Moment::from_seconds(trial.shape.warm_up);
        let phase = |at: Moment| match () {
            () if blind.iter().any(|(from, to)| (*from..*to).contains(&at)) => Phase::Blind,
            () if at < warm => Phase::WarmUp,
            () => Phase::Counted,
        };
        self.add_online(trial, record, phase);
        self.add_later(trial, record, phase);
        self.add_breaks(trial, record, warm);
        self.add_jitter(trial, record);
        for rate in record
            .rates
            .iter()
            .filter(|rate| phase(rate.at) != Phase::Blind)
        {
            self.rates[0] += 1;
            self.rates[1] += usize::from(rate.error.abs() > rate.bound);
            self.rate_squares += rate.error * rate.error;
        }
    }

    fn add_online(&mut self, trial: &Trial, record: &Record, phase: impl Fn(Moment) -> Phase) {
        let half_tick = trial.shape.granule_nanoseconds() / 2.0;
        let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for (timestamp, answer) in trial.timestamps.iter().zip(&record.online) {
            let phase = phase(timestamp.at);
            let Answer::Given { error, bound } = *answer else {
                self.refused += usize::from(phase == Phase::Counted);
                continue;
            };
            let wrong = bound.is_some_and(|bound| error.abs() > bound + ROUNDING);
            match phase {
                Phase::WarmUp => self.warm_up_wrong += usize::from(wrong),
                Phase::Blind => {
                    self.blind[0] += 1;
                    self.blind[1] += usize::from(wrong);
                }
                Phase::Counted => {
                    let middle = error - timestamp.to_middle;
                    (count, sum, squares) = (count + 1.0, sum + middle, squares + middle * middle);
                    self.edge_squares += (middle + half_tick).powi(2);
                    self.errors.push(middle.abs() as f32);
                    self.wrong += usize::from(wrong);
                    if let Some(bound) = bound {
                        self.bounded += 1;
                        self.bound_sum += bound;
                        self.bounds.push(bound as f32);
                        self.tick_not_held +=
                            usize::from(!wrong && middle.abs() + half_tick > bound + ROUNDING);
                    }
                }
            }
        }
        self.squares += squares;
        self.unbiased += if count > 0.0 {
            squares - sum * sum / count
        } else {
            0.0
        };
    }

    fn add_later(&mut self, trial: &Trial, record: &Record, phase: impl Fn(Moment) -> Phase) {
        for (timestamp, answer) in trial.timestamps.iter().zip(&record.later) {
            let Answer::Given { error, bound } = *answer else {
                continue;
            };
            if phase(timestamp.at) == Phase::Counted {
                self.later += 1;
                self.later_squares += (error - timestamp.to_middle).powi(2);
                self.later_wrong +=
                    usize::from(bound.is_some_and(|bound| error.abs() > bound + ROUNDING));
            }
        }
    }

    fn add_breaks(&mut self, trial: &Trial, record: &Record, warm: Moment) {
        let steady_p99 = steady_p99(trial, record, warm);
        let converged = convergence(trial, record, steady_p99);
        self.convergence = Some(match self.convergence {
            None => converged,
            Some(worst) => worst.zip(converged).map(|(a, b)| a.max(b)),
        });
        for event in trial.truth.breaks() {
            self.recovery
                .merge(Recovery::after(trial, record, *event, steady_p99));
        }
    }

    fn add_jitter(&mut self, trial: &Trial, record: &Record) {
        let Some(jitter) = trial.shape.stated_jitter else {
            return;
        };
        let worst = self.over_jitter.get_or_insert([0.0; 2]);
        for (worst, samples) in worst.iter_mut().zip([4, 8]) {
            let Some(from) = record.batches.get(samples - 1) else {
                continue;
            };
            for (timestamp, answer) in trial
                .timestamps
                .iter()
                .zip(&record.online)
                .filter(|(timestamp, _)| timestamp.at >= *from)
            {
                let error = match answer {
                    Answer::Given { error, .. } => (error - timestamp.to_middle).abs(),
                    Answer::Refused => f64::INFINITY,
                };
                *worst = worst.max(error / jitter);
            }
        }
    }

    /// What it comes to.
    pub fn summary(mut self, scenario: &'static str, method: &'static str) -> Summary {
        let conversions = self.errors.len();
        let has_bound = self.bounded > 0;
        let mean_bound = self.bound_sum / self.bounded.max(1) as f64;
        Summary {
            scenario,
            method,
            conversions,
            refused: self.refused,
            rms: rms(self.squares, conversions),
            p50: quantile(&mut self.errors, 0.5),
            p99: quantile(&mut self.errors, 0.99),
            max: quantile(&mut self.errors, 1.0),
            unbiased_rms: rms(self.unbiased, conversions),
            edge_rms: rms(self.edge_squares, conversions),
            later_rms: rms(self.later_squares, self.later),
            bound: has_bound.then_some(mean_bound),
            bound_p99: has_bound.then(|| quantile(&mut self.bounds, 0.99)),
            tightness: self
                .least_half_width
                .filter(|_| has_bound)
                .map(|least| mean_bound / least),
            coverage: has_bound.then(|| 1.0 - self.wrong as f64 / self.bounded as f64),
            wrong: self.wrong,
            tick_not_held: self.tick_not_held,
            wrong_limit: upper_limit(self.wrong, self.bounded),
            warm_up_wrong: self.warm_up_wrong,
            later_wrong: self.later_wrong,
            blind: self.blind,
            rates: self.rates,
            rate_rms: (self.rates[0] > 0).then(|| rms(self.rate_squares, self.rates[0])),
            convergence_seconds: self.convergence.flatten(),
            recovery: self.recovery,
            over_jitter: self.over_jitter,
        }
    }
}

/// p99 of the error in quiet times: after the warm-up, not within 200 s after a break.
fn steady_p99(trial: &Trial, record: &Record, warm: Moment) -> f64 {
    let after = Moment::from_seconds(AFTER);
    let quiet = |at: Moment| {
        at >= warm
            && !trial
                .truth
                .breaks()
                .iter()
                .any(|event| (event.at..event.visible + after).contains(&at))
    };
    let mut errors: Vec<f32> = (trial.timestamps.iter().zip(&record.online))
        .filter(|(timestamp, _)| quiet(timestamp.at))
        .filter_map(|(timestamp, answer)| match answer {
            Answer::Given { error, .. } => Some((error - timestamp.to_middle).abs() as f32),
            Answer::Refused => None,
        })
        .collect();
    quantile(&mut errors, 0.99)
}
