//! A two-state Kalman filter (offset, frequency) with ntpd-rs' rules: eight samples to
//! start, noise from the spread of the last eight delays, one long delay skipped, and a
//! wander that follows a score of the surprises. Its constants, made for networks, are
//! adapted to a bus: no floor of microseconds on the delay.

use super::line::{Line, Point, delay, shortest};
use super::{Converted, Estimator};
use std::collections::VecDeque;
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::timestamp::HardwareTimestamp;

const DELAYS: usize = 8;
/// Initial uncertainty of the frequency, ns/s: 100 ppm.
const FREQUENCY: f64 = 1e5;
/// Initial wander, (ns/s)²/s: 1e-16 in seconds.
const WANDER: f64 = 100.0;
/// Least variance of a measurement, ns²: both clocks are printed in whole steps.
const LEAST_VARIANCE: f64 = 1.0;
const OUTLIER: f64 = 5.0;
const SCORE: i32 = 16;
const ADAPT: f64 = 4.0;
const SECOND: f64 = 1e9;
/// Squared surprises that a third of all samples stay below, and go beyond.
const CALM: f64 = 0.186;
const SURPRISING: f64 = 0.936;

pub(super) struct Kalman {
    period: f64,
    delays: VecDeque<f64>,
    skipped: bool,
    state: Option<State>,
    wander: f64,
    score: i32,
}

/// Offset (ns, against `origin`) and frequency (ns/s) with their covariance.
#[derive(Clone, Copy)]
struct State {
    origin: Point,
    offset: f64,
    frequency: f64,
    covariance: [f64; 3],
}

impl State {
    /// The covariance after `t` seconds.
    fn covariance_after(&self, t: f64, wander: f64) -> [f64; 3] {
        let [a, b, c] = self.covariance;
        let t2 = t * t;
        [
            a + 2.0 * b * t + c * t2 + wander * t2 * t.abs() / 3.0,
            b + c * t + wander * t2 / 2.0,
            c + wander * t.abs(),
        ]
    }
}

impl Kalman {
    pub(super) fn new(period: f64) -> Self {
        let delays = VecDeque::with_capacity(DELAYS + 1);
        Self {
            period,
            delays,
            skipped: false,
            state: None,
            wander: WANDER,
            score: 0,
        }
    }

    fn spread(&self) -> (f64, f64) {
        let n = self.delays.len() as f64;
        let mean = self.delays.iter().sum::<f64>() / n;
        (
            mean,
            self.delays
                .iter()
                .map(|delay| (delay - mean).powi(2))
                .sum::<f64>()
                / n,
        )
    }

    fn update(&mut self, mut state: State, point: Point, noise: f64) -> State {
        let (x, y) = point.since(&state.origin, self.period);
        let t = x / SECOND;
        let [a, b, c] = state.covariance_after(t, self.wander);
        let surprise = y - state.offset - state.frequency * t;
        let variance = a + noise;
        self.adapt(surprise * surprise / variance);
        let (gain, gain_of_frequency) = (a / variance, b / variance);
        state.origin = point;
        // against the new origin, which is where the measurement lies
        state.offset = gain * surprise - surprise;
        state.frequency += gain_of_frequency * surprise;
        state.covariance = [
            a * (1.0 - gain),
            b * (1.0 - gain),
            c - gain_of_frequency * b,
        ];
        state
    }

    fn adapt(&mut self, squared: f64) {
        self.score += i32::from(squared > SURPRISING) - i32::from(squared < CALM);
        if self.score.abs() >= SCORE {
            self.wander *= if self.score > 0 { ADAPT } else { 1.0 / ADAPT };
            self.score = 0;
        }
    }
}

impl Estimator for Kalman {
    fn push_batch(&mut self, readings: &[CrossTimestamp]) {
        let Some(reading) = shortest(readings) else {
            return;
        };
        let delay = delay(reading);
        let (mean, variance) = self.spread();
        if self.delays.len() == DELAYS && delay > mean + OUTLIER * variance.sqrt() && !self.skipped
        {
            self.skipped = true;
            return;
        }
        self.skipped = false;
        self.delays.push_back(delay);
        if self.delays.len() > DELAYS {
            self.delays.pop_front();
        }
        let noise = (self.spread().1 / 4.0).max(LEAST_VARIANCE);
        let origin = Point::middle(reading);
        if let Some(state) = self.state {
            self.state = Some(self.update(state, origin, noise));
        } else if self.delays.len() == DELAYS {
            let covariance = [noise, 0.0, FREQUENCY * FREQUENCY];
            self.state = Some(State {
                origin,
                offset: 0.0,
                frequency: 0.0,
                covariance,
            });
        }
    }

    fn convert(&self, timestamp: &HardwareTimestamp) -> Option<Converted> {
        let state = self.state.as_ref()?;
        let slope = state.frequency / SECOND;
        let line = Line {
            origin: state.origin,
            offset: state.offset,
            slope,
            period: self.period,
        };
        let t = line.age(timestamp.ticks) / SECOND;
        let [variance, ..] = state.covariance_after(t, self.wander);
        let delay = self.delays.back().copied().unwrap_or_default();
        let bound = 2.0 * variance.max(0.0).sqrt() + delay / 4.0;
        Some(Converted {
            bound: Some(bound),
            ..line.at(timestamp.ticks)
        })
    }
}
