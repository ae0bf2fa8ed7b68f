//! The limits of a run's results, computed from its parameters before it begins.
//!
//! The parameters are the intervals I (Sync), D (Delay_Req) and A (Announce), the packet loss p,
//! the jitter J (mean of an exponential), the random walk w of the oscillators' frequency per √s,
//! the resolution q of the device's adjustments and the correction limit v (the smaller of
//! `slew_limit_ppm` and the device's range beyond the frequency offset that it must compensate):
//!
//! ```text
//! steady-state error E  = R + q t + 8 J + asymmetry/2 + 6 w t^(3/2)    R = 60 ns: timestamps, rounding
//! frequency error F     = q + (R + J)/(8 t) + 6 w √t                   t: the filter's 32 exchanges
//! holdover H(X)         = E + F X + 6 w X^(3/2)/√3
//! ```
//!
//! A recovery has these steps, one after the other: detecting that the old estimate is wrong (one
//! Delay_Req exchange and a Sync); selecting the timeTransmitter if it was gone (qualification
//! takes two Announces, and up to four intervals); a new estimate (five Syncs, two delay
//! exchanges); the correction itself, |offset|/v; replacing the filter's memory (32 exchanges); and
//! converging to the steady state (an exponential of 4 s). Lost messages are repeated so often that
//! one arrives with a probability of 1 − 10⁻⁹.

use super::plan::{Disturbance, Plan};

/// The error in nanoseconds due to timestamps, rounding, and the drift between two checks.
const TIMESTAMPS: f64 = 60.0;
/// The number of exchanges that the filter remembers.
const MEMORY: f64 = 32.0;
/// The number of standard deviations that are allowed for a random walk.
const DEVIATIONS: f64 = 6.0;
/// The largest step that is followed, in nanoseconds.
const MAX_STEP: f64 = 1e9;
/// The smallest offset that is stepped at the start, in nanoseconds.
const FIRST_STEP: f64 = 20_000.0;
/// The correction limit if none is configured, in ppm.
const SLEW_LIMIT: f64 = 500.0;
/// The time constant of the correction of small offsets, in seconds.
const TIME_CONSTANT: f64 = 4.0;
/// The time to converge to the steady state, in seconds: 12 time constants.
const CLOSING: f64 = 48.0;

/// The limits of a phase of a run: the start, or a disturbance and the time after it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Expectation {
    /// The steady-state error afterwards, in nanoseconds.
    pub(super) steady_ns: f64,
    /// The recovery time in seconds, from the end of the disturbance.
    pub(super) recovery: f64,
    /// The largest distance from the right time at any moment, in nanoseconds.
    pub(super) furthest_ns: f64,
    /// How long the error bound may contain the time from before the disturbance, in seconds, and
    /// its additional error then, in nanoseconds. Only for disturbances that violate the
    /// assumptions of the bound.
    pub(super) excess: Option<(f64, f64)>,
}

/// The additional delays relative to the start, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Routes {
    from_ns: i64,
    to_ns: i64,
}

impl Routes {
    /// Returns the routes after a disturbance.
    pub(super) fn after(self, disturbance: &Disturbance) -> Self {
        match *disturbance {
            Disturbance::DelayStep { from_ns, to_ns } => Self { from_ns, to_ns },
            _ => self,
        }
    }

    /// Returns the asymmetry.
    fn uneven(self, plan: &Plan) -> f64 {
        (plan.network.asymmetry_ns + self.to_ns - self.from_ns) as f64
    }

    /// Returns the width of the possible interval: the path delay of both directions, plus jitter.
    fn width(self, plan: &Plan) -> f64 {
        let network = &plan.network;
        (2 * network.delay_ns
            + network.asymmetry_ns
            + self.from_ns
            + self.to_ns
            + 10 * network.jitter_ns) as f64
    }
}

/// Returns how often something must be sent until it has arrived `wanted` times.
fn tries(wanted: f64, arrives: f64) -> f64 {
    if arrives >= 1.0 {
        wanted
    } else {
        wanted / arrives + 20.7 / -(1.0 - arrives).ln()
    }
}

impl Plan {
    fn sync_interval(&self) -> f64 {
        2f64.powi(self.log_sync.into())
    }

    /// Returns the mean interval of delay requests; the longest one is twice this.
    fn delay_interval(&self) -> f64 {
        2f64.powi(self.log_delay.into())
    }

    fn announce_interval(&self) -> f64 {
        2f64.powi(self.log_announce.into())
    }

    /// Returns the probability that a Sync and its Follow_Up, or a Delay_Req and its Delay_Resp,
    /// arrive.
    fn exchange(&self) -> f64 {
        (1.0 - self.network.loss).powi(2)
    }

    /// Returns the frequency offset that the steered clock must compensate, in ppm.
    fn drift_ppm(&self) -> f64 {
        let [theirs, ours] = self
            .oscillators
            .map(|oscillator| f64::from(oscillator.error_ppb));
        (ours - theirs) / 1e3
    }

    /// Returns the correction limit in ppm.
    pub(super) fn correction_ppm(&self) -> f64 {
        let device = f64::from(self.device.limit_ppb) / 1e3 - self.drift_ppm().abs();
        self.slew_limit_ppm
            .map_or(SLEW_LIMIT, f64::from)
            .min(device)
    }

    /// Returns the filter's memory in seconds.
    fn memory(&self) -> f64 {
        MEMORY * self.sync_interval().max(self.delay_interval()) / self.exchange()
    }

    /// Returns the random walk of both oscillators' frequencies per √s, as a fraction.
    fn wander(&self) -> f64 {
        let [theirs, ours] = self.oscillators.map(|oscillator| oscillator.wander_ppb);
        theirs.hypot(ours) * 1e-9
    }

    /// Returns the steady-state error in nanoseconds, with an asymmetry of `uneven` nanoseconds.
    fn steady(&self, uneven: f64) -> f64 {
        let memory = self.memory();
        let jitter = 8.0 * self.network.jitter_ns as f64;
        let wander = DEVIATIONS * self.wander() * memory.powf(1.5) * 1e9;
        let steps = self.device.step_ppb * memory;
        TIMESTAMPS + jitter + uneven.abs() / 2.0 + wander + steps
    }

    /// Returns the error of the base frequency as a fraction.
    fn frequency_error(&self) -> f64 {
        let memory = self.memory();
        let measured = (TIMESTAMPS + self.network.jitter_ns as f64) * 1e-9 / (memory / 8.0);
        self.device.step_ppb * 1e-9 + measured + DEVIATIONS * self.wander() * memory.sqrt()
    }

    /// Returns the same after five Syncs.
    fn rough_frequency_error(&self) -> f64 {
        let jitter = 2.0 * (TIMESTAMPS + self.network.jitter_ns as f64) * 1e-9;
        self.frequency_error() + jitter / (2.0 * self.sync_interval())
    }

    /// Returns the additional movement if a new estimate has just begun and is then lost for this
    /// many seconds. A step that the path delay explains looks like a change of frequency until the
    /// filter has forgotten it.
    fn relearning(&self, seconds: f64, step_ns: f64) -> f64 {
        let mistaken = 4.0 * step_ns * 1e-9 / self.memory();
        (2.0 * self.rough_frequency_error() + mistaken) * (seconds + self.memory()) * 1e9
    }

    /// Returns how far the clock moves, in nanoseconds, until the filter remembers only packets of
    /// a changed route. The slope through the Syncs is wrong by change / (16 Syncs). The fastest
    /// request is selected among all remembered ones, extrapolated by that slope; half of its
    /// effect over the filter's memory, and half of the change itself, are therefore taken for an
    /// offset. The correction converges to it with a time constant of 4 s, and meanwhile the base
    /// frequency is wrong by the slope.
    fn mistaken_route(&self, change_ns: f64) -> f64 {
        let slope = change_ns / (MEMORY / 2.0 * self.sync_interval() / self.exchange());
        change_ns / 2.0 + slope * (self.memory() / 2.0 + TIME_CONSTANT)
    }

    /// Returns how far the clock moves in `seconds` without a reference, in nanoseconds.
    fn holdover(&self, seconds: f64) -> f64 {
        let wandered = DEVIATIONS * self.wander() * seconds.powf(1.5) / 3f64.sqrt();
        (self.frequency_error() * seconds + wandered) * 1e9
    }

    /// Returns the time from the timeTransmitter's first message until it is followed.
    pub(super) fn selecting(&self) -> f64 {
        let announces = tries(2.0, 1.0 - self.network.loss);
        self.announce_interval() * (4.0 + 2.0 * announces)
    }

    /// Returns the time until a new estimate is available and used.
    fn locking(&self) -> f64 {
        let syncs = self.sync_interval() * tries(5.0, self.exchange());
        let requests = 2.0 * self.delay_interval() * tries(2.0, self.exchange());
        syncs.max(requests) + 2.0
    }

    /// Returns the time until a step is detected.
    fn noticing(&self) -> f64 {
        (self.sync_interval() + 2.0 * self.delay_interval()) * tries(1.0, self.exchange())
    }

    /// Returns the largest error of an estimate beyond the size of a step, in nanoseconds, if a
    /// clock is stepped this many seconds after the estimate began: at the end of a lie, whose
    /// beginning was a contradiction. The frequency is known from messages since: two intervals of
    /// the width W, t seconds apart, limit it to 2 W/t, and at first only `max_drift_ppm` does. The
    /// step may be taken for such a frequency, which estimates follow until the next exchange
    /// contradicts them.
    fn mistaken_step(&self, seconds: f64, routes: Routes) -> f64 {
        let allowed = (f64::from(self.max_drift_ppm) + self.drift_ppm().abs()) * 1e3; // ns/s
        let since = (seconds - self.noticing()).max(0.0);
        allowed.min(2.0 * routes.width(self) / since) * self.noticing()
    }

    /// Returns the movement of the clock by the base frequency, in ns/s.
    fn adjusted(&self) -> f64 {
        self.drift_ppm().abs() * 1e3
    }

    /// Returns the time between commands: the pause and a Sync or, while messages contradict each
    /// other, another pause.
    fn commanding(&self) -> f64 {
        2.0 + self.sync_interval() * tries(1.0, self.exchange())
    }

    /// Returns how long a step may look like path delay and frequency. The new time is outside the
    /// old interval by at most e, and the frequency may be wrong by r: after t seconds it is e + r
    /// t - w t²/2 outside, with the configured wander w. Messages contradict each other once that
    /// exceeds the distance D from the truth to the farther end of their interval, so if they never
    /// do, r is at most √(2 w (D - e)). The distance is then gone after at most (√(2 w (D - e)) +
    /// √(2 w D))/w, which is largest for e = 0.
    fn explained(&self, step_ns: f64, routes: Routes) -> f64 {
        let outside = step_ns.min((routes.width(self) + routes.uneven(self).abs()) / 2.0);
        2.0 * (2.0 * outside / f64::from(self.wander_ppb)).sqrt()
    }

    /// Returns how long a correction takes that would take this many seconds without interruption.
    /// Three consecutive lost Announces interrupt it until the timeTransmitter is selected again.
    fn interrupted(&self, seconds: f64) -> f64 {
        let often = seconds * self.network.loss.powi(3) / self.announce_interval();
        let selected = self.announce_interval() * (4.0 + 2.0 / (1.0 - self.network.loss));
        seconds + (often + DEVIATIONS * often.sqrt()) * selected
    }

    /// Returns the time from an offset in nanoseconds to the steady state.
    fn correcting(&self, offset_ns: f64) -> f64 {
        let quickest = self.interrupted(offset_ns.abs() / 1e3 / self.correction_ppm());
        quickest + 1.5 * self.memory() + CLOSING.max(8.0 * self.sync_interval())
    }
}

impl Expectation {
    /// Returns the limits of the start.
    pub(super) fn of_start(plan: &Plan) -> Self {
        let steady_ns = plan.steady(plan.network.asymmetry_ns as f64);
        let found = plan.selecting() + plan.locking();
        // its frequency is unknown at first, and a few messages do not determine it much better
        let drifted = plan.drift_ppm().abs() * 1e3 * found;
        let rough = 2.0 * plan.rough_frequency_error() * plan.memory() * 1e9;
        Self {
            steady_ns,
            recovery: found + plan.correcting(FIRST_STEP + rough),
            furthest_ns: plan.first_offset_ns.abs() as f64 + drifted + rough + steady_ns,
            excess: None,
        }
    }

    /// Returns the limits of a disturbance, given the routes before it.
    pub(super) fn of(plan: &Plan, disturbance: &Disturbance, before: Routes) -> Self {
        let routes = before.after(disturbance);
        let steady_ns = plan.steady(routes.uneven(plan));
        let (again, found) = (
            plan.selecting() + plan.locking(),
            plan.noticing() + plan.locking(),
        );
        let moved = |seconds: f64| seconds * plan.correction_ppm() * 1e3;
        let after = |wait: f64, offset: f64, excess| Self {
            steady_ns,
            recovery: wait + plan.correcting(offset),
            furthest_ns: offset + steady_ns,
            excess,
        };
        let explained = |by_ns: i64| plan.explained(by_ns.abs() as f64, routes);
        // a timeTransmitter whose Announces were lost may just have been selected again, with an
        // estimate as new as during a lie
        let begun = if plan.network.loss > 0.0 {
            plan.mistaken_step(0.0, routes)
        } else {
            0.0
        };
        let stepped = |by_ns: i64| {
            Some((
                plan.noticing() + explained(by_ns),
                by_ns.abs() as f64 + begun,
            ))
        };
        match *disturbance {
            Disturbance::Nothing { .. } => after(0.0, 0.0, None),
            Disturbance::Step { by_ns } => {
                let size = by_ns.abs() as f64;
                let mut step = after(found + explained(by_ns), size, stepped(by_ns));
                // if the path delay explains it, the filter treats it like a changed route
                step.furthest_ns += plan.mistaken_route(size.min(routes.width(plan)));
                step
            }
            Disturbance::Lie { by_ns, seconds } => {
                let size = by_ns.abs() as f64;
                // a step beyond the panic limit is not followed
                let followed = if size < MAX_STEP {
                    size.min(moved(seconds + found))
                } else {
                    plan.holdover(seconds)
                };
                let excess = Some((
                    plan.noticing() + explained(by_ns),
                    size + plan.mistaken_step(seconds, routes).max(begun),
                ));
                let mut lie = after(2.0 * found + explained(by_ns), followed, excess);
                let mistaken = size.min(routes.width(plan));
                lie.furthest_ns +=
                    plan.holdover(seconds + found) + plan.relearning(seconds + found, mistaken);
                lie
            }
            Disturbance::Outage { seconds } | Disturbance::TransmitterRestart { seconds } => {
                after(again, plan.holdover(seconds + again), None)
            }
            Disturbance::LinkDown { seconds } => {
                after(again + found, plan.holdover(seconds + again), None)
            }
            Disturbance::OutageWhileSlewing {
                by_ns,
                after: slewing,
                seconds,
            } => {
                let offset = by_ns.abs() as f64
                    + plan.holdover(seconds + again + slewing)
                    + plan.relearning(
                        slewing + seconds,
                        (by_ns.abs() as f64).min(routes.width(plan)),
                    );
                after(again + explained(by_ns), offset, stepped(by_ns))
            }
            Disturbance::DelayStep { from_ns, to_ns } => {
                let change = (from_ns - before.from_ns)
                    .abs()
                    .max((to_ns - before.to_ns).abs()) as f64;
                let explained = (2.0 * change / f64::from(plan.wander_ppb)).sqrt();
                let steady_ns = steady_ns.max(plan.steady(before.uneven(plan)));
                let astray = plan.holdover(explained) + plan.mistaken_route(change);
                Self {
                    steady_ns,
                    recovery: found + explained + plan.correcting(astray),
                    furthest_ns: steady_ns + astray,
                    excess: None,
                }
            }
            Disturbance::ReceiverRestart { seconds } => after(
                again,
                plan.holdover(seconds + again) + plan.relearning(seconds, 0.0),
                None,
            ),
            Disturbance::ReceiverKilled {
                by_ns,
                after: slewing,
                seconds,
            } => {
                let offset = by_ns.abs() as f64
                    + moved(seconds + slewing + again)
                    + plan.relearning(0.0, (by_ns.abs() as f64).min(routes.width(plan)));
                after(again + explained(by_ns), offset, stepped(by_ns))
            }
            Disturbance::DeviceRefuses { seconds } => {
                after(again + found, plan.holdover(seconds + again), None)
            }
            Disturbance::AdjustmentLost { shown: true } => {
                let (gone, memory) = (plan.adjusted(), plan.memory());
                after(
                    found + memory,
                    gone * (found + memory),
                    Some((found + memory, gone * (found + memory))),
                )
            }
            Disturbance::AdjustmentLost { shown: false } => {
                // the undetected error is a step of the clock's movement until the next command
                let (wait, by) = (plan.commanding(), plan.adjusted() * plan.commanding());
                let explained = plan.explained(by, routes);
                let excess = Some((wait + plan.noticing() + explained, by));
                let astray = by + plan.relearning(0.0, by.min(routes.width(plan)));
                after(wait + found + explained, astray, excess)
            }
        }
    }
}
