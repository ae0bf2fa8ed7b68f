//! What must hold in a run, computed from its parameters before it begins.
//!
//! With the intervals I (Sync), D (Delay_Req) and A (Announce), a packet loss p, the jitter J (mean
//! of an exponential), the frequency w that oscillators change by in √s, the resolution q of the
//! device's adjustments and the correction limit v (the smaller of `slew_limit_ppm` and what the
//! device can do beyond the frequency offset that it must make up):
//!
//! ```text
//! steady-state error E  = R + q t + 8 J + asymmetry/2 + 6 w t^(3/2)    R = 60 ns: timestamps, rounding
//! frequency error F     = q + (R + J)/(8 t) + 6 w √t                   t: the filter's 32 exchanges
//! holdover H(X)         = E + F X + 6 w X^(3/2)/√3
//! ```
//!
//! A recovery takes, one after the other: noticing that the old estimate is wrong (one Delay_Req
//! exchange and a Sync); selecting the timeTransmitter if it was gone (qualification takes two
//! Announces, and up to four intervals); a new estimate (five Syncs, two delay exchanges); the
//! correction itself, |offset|/v; forgetting what the filter remembers (32 exchanges); and closing
//! in on the steady state (an exponential of 4 s). Lost messages are sent again so often that one
//! arrives with a probability of 1 − 10⁻⁹.

use super::plan::{Disturbance, Plan};

/// Timestamps, rounding, and what the clock drifts between two looks, in nanoseconds.
const TIMESTAMPS: f64 = 60.0;
/// Exchanges that the filter remembers.
const MEMORY: f64 = 32.0;
/// So many deviations of a random walk are allowed for.
const DEVIATIONS: f64 = 6.0;
/// A larger one is not followed, in nanoseconds.
const MAX_STEP: f64 = 1e9;
/// A smaller offset is not stepped at the start, in nanoseconds.
const FIRST_STEP: f64 = 20_000.0;
/// The correction limit if none is configured, in ppm.
const SLEW_LIMIT: f64 = 500.0;
/// Of the exponential by which small offsets are corrected, in seconds.
const TIME_CONSTANT: f64 = 4.0;
/// Closing in on the steady state, in time constants of 4 s.
const CLOSING: f64 = 48.0;

/// What must hold in a phase of a run: the start, or a disturbance and the time after it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Expectation {
    /// The clock is within this afterwards, in nanoseconds.
    pub(super) steady_ns: f64,
    /// It is so after this many seconds from the end of the disturbance.
    pub(super) recovery: f64,
    /// No further than this is it ever from the right time, in nanoseconds.
    pub(super) furthest_ns: f64,
    /// How long the error bound may contain the time that was true before the disturbance, in
    /// seconds, and by how much more it may then be off, in nanoseconds: only where the disturbance
    /// breaks what the bound assumes.
    pub(super) excess: Option<(f64, f64)>,
}

/// How much longer packets take than at the start, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Routes {
    from_ns: i64,
    to_ns: i64,
}

impl Routes {
    /// What a disturbance makes of them.
    pub(super) fn after(self, disturbance: &Disturbance) -> Self {
        match *disturbance {
            Disturbance::DelayStep { from_ns, to_ns } => Self { from_ns, to_ns },
            _ => self,
        }
    }

    /// The asymmetry.
    fn uneven(self, plan: &Plan) -> f64 {
        (plan.network.asymmetry_ns + self.to_ns - self.from_ns) as f64
    }

    /// The width of what is possible: the path delay both ways, and what jitter adds.
    fn width(self, plan: &Plan) -> f64 {
        let network = &plan.network;
        (2 * network.delay_ns
            + network.asymmetry_ns
            + self.from_ns
            + self.to_ns
            + 10 * network.jitter_ns) as f64
    }
}

/// So often something is sent until it arrived `wanted` times.
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

    /// Delay requests are this far apart on average, and twice as far at most.
    fn delay_interval(&self) -> f64 {
        2f64.powi(self.log_delay.into())
    }

    fn announce_interval(&self) -> f64 {
        2f64.powi(self.log_announce.into())
    }

    /// Of a Sync and its Follow_Up, or a Delay_Req and its Delay_Resp.
    fn exchange(&self) -> f64 {
        (1.0 - self.network.loss).powi(2)
    }

    /// The frequency offset that the steered clock must make up, in ppm.
    fn drift_ppm(&self) -> f64 {
        let [theirs, ours] = self
            .oscillators
            .map(|oscillator| f64::from(oscillator.error_ppb));
        (ours - theirs) / 1e3
    }

    /// The correction limit, in ppm.
    pub(super) fn correction_ppm(&self) -> f64 {
        let device = f64::from(self.device.limit_ppb) / 1e3 - self.drift_ppm().abs();
        self.slew_limit_ppm
            .map_or(SLEW_LIMIT, f64::from)
            .min(device)
    }

    /// Seconds that the filter remembers.
    fn memory(&self) -> f64 {
        MEMORY * self.sync_interval().max(self.delay_interval()) / self.exchange()
    }

    /// What both oscillators' frequencies change by in √s, as a part of one.
    fn wander(&self) -> f64 {
        let [theirs, ours] = self.oscillators.map(|oscillator| oscillator.wander_ppb);
        theirs.hypot(ours) * 1e-9
    }

    /// The steady-state error, in nanoseconds, with `uneven` nanoseconds of asymmetry.
    fn steady(&self, uneven: f64) -> f64 {
        let memory = self.memory();
        let jitter = 8.0 * self.network.jitter_ns as f64;
        let wander = DEVIATIONS * self.wander() * memory.powf(1.5) * 1e9;
        let steps = self.device.step_ppb * memory;
        TIMESTAMPS + jitter + uneven.abs() / 2.0 + wander + steps
    }

    /// The error of the base frequency, as a part of one.
    fn frequency_error(&self) -> f64 {
        let memory = self.memory();
        let measured = (TIMESTAMPS + self.network.jitter_ns as f64) * 1e-9 / (memory / 8.0);
        self.device.step_ppb * 1e-9 + measured + DEVIATIONS * self.wander() * memory.sqrt()
    }

    /// The same when five Syncs have come.
    fn rough_frequency_error(&self) -> f64 {
        let jitter = 2.0 * (TIMESTAMPS + self.network.jitter_ns as f64) * 1e-9;
        self.frequency_error() + jitter / (2.0 * self.sync_interval())
    }

    /// How far it goes, beyond that, where a new estimate has just begun and then is lost for so many seconds.
    /// A step that the path delay explains looks like a change of frequency until the filter has forgotten it.
    fn relearning(&self, seconds: f64, step_ns: f64) -> f64 {
        let mistaken = 4.0 * step_ns * 1e-9 / self.memory();
        (2.0 * self.rough_frequency_error() + mistaken) * (seconds + self.memory()) * 1e9
    }

    /// How far the clock goes until a route that became so much longer or shorter is all that the filter remembers, in
    /// nanoseconds. The slope through the Syncs takes half of them to be the change: it is wrong by
    /// change / (16 Syncs). The fastest request is sought among all that are remembered, moved by that slope; so half of
    /// what it makes of the filter's memory, and half of the change itself, are taken for an offset. The correction
    /// closes in on that with a time constant of 4 s, and the base frequency errs by the slope meanwhile.
    fn mistaken_route(&self, change_ns: f64) -> f64 {
        let slope = change_ns / (MEMORY / 2.0 * self.sync_interval() / self.exchange());
        change_ns / 2.0 + slope * (self.memory() / 2.0 + TIME_CONSTANT)
    }

    /// How far the clock goes in `seconds` without a reference, in nanoseconds.
    fn holdover(&self, seconds: f64) -> f64 {
        let wandered = DEVIATIONS * self.wander() * seconds.powf(1.5) / 3f64.sqrt();
        (self.frequency_error() * seconds + wandered) * 1e9
    }

    /// From the timeTransmitter's first message until it is followed.
    pub(super) fn selecting(&self) -> f64 {
        let announces = tries(2.0, 1.0 - self.network.loss);
        self.announce_interval() * (4.0 + 2.0 * announces)
    }

    /// A new estimate, and its use.
    fn locking(&self) -> f64 {
        let syncs = self.sync_interval() * tries(5.0, self.exchange());
        let requests = 2.0 * self.delay_interval() * tries(2.0, self.exchange());
        syncs.max(requests) + 2.0
    }

    /// Until a clock that stepped is noticed.
    fn noticing(&self) -> f64 {
        (self.sync_interval() + 2.0 * self.delay_interval()) * tries(1.0, self.exchange())
    }

    /// How far off an estimate may go when a clock is stepped so many seconds after the estimate began, beyond the size
    /// of the step, in nanoseconds: at the end of a lie, whose beginning was a contradiction. The frequency is known from
    /// messages since: two intervals of the width W, t seconds apart, limit it to 2 W/t, and at first it is anything that
    /// `max_drift_ppm` allows. The step may be taken for such a frequency, and estimates go that way until the next
    /// exchange contradicts them.
    fn mistaken_step(&self, seconds: f64, routes: Routes) -> f64 {
        let allowed = (f64::from(self.max_drift_ppm) + self.drift_ppm().abs()) * 1e3; // ns/s
        let since = (seconds - self.noticing()).max(0.0);
        allowed.min(2.0 * routes.width(self) / since) * self.noticing()
    }

    /// What the base frequency makes of the clock, in ns/s.
    fn adjusted(&self) -> f64 {
        self.drift_ppm().abs() * 1e3
    }

    /// From one command to the next: the pause, and a Sync; or, while messages contradict each other, another pause.
    fn commanding(&self) -> f64 {
        2.0 + self.sync_interval() * tries(1.0, self.exchange())
    }

    /// How long a step may pass for path delay and frequency. The new time lies outside of what the old one allows
    /// by e at most, and the frequency may be taken wrongly by r: after t seconds it lies e + r t - w t²/2 outside, with
    /// the wander w that is configured. Messages contradict each other once that is more than the way from the truth to
    /// the further side of what they allow, D, so r is no more than √(2 w (D - e)) if they never do; and then the
    /// distance is gone after (√(2 w (D - e)) + √(2 w D))/w at the latest, which is most for e = 0.
    fn explained(&self, step_ns: f64, routes: Routes) -> f64 {
        let outside = step_ns.min((routes.width(self) + routes.uneven(self).abs()) / 2.0);
        2.0 * (2.0 * outside / f64::from(self.wander_ppb)).sqrt()
    }

    /// How long a correction takes that would take so many seconds if nothing interrupted it. Each three Announces that are
    /// lost in a row end it until the timeTransmitter is selected again.
    fn interrupted(&self, seconds: f64) -> f64 {
        let often = seconds * self.network.loss.powi(3) / self.announce_interval();
        let selected = self.announce_interval() * (4.0 + 2.0 / (1.0 - self.network.loss));
        seconds + (often + DEVIATIONS * often.sqrt()) * selected
    }

    /// From an offset of so many nanoseconds to the steady state.
    fn correcting(&self, offset_ns: f64) -> f64 {
        let quickest = self.interrupted(offset_ns.abs() / 1e3 / self.correction_ppm());
        quickest + 1.5 * self.memory() + CLOSING.max(8.0 * self.sync_interval())
    }
}

impl Expectation {
    /// Of the start.
    pub(super) fn of_start(plan: &Plan) -> Self {
        let steady_ns = plan.steady(plan.network.asymmetry_ns as f64);
        let found = plan.selecting() + plan.locking();
        // its frequency is not known yet, nor can it be much better once a few messages have come
        let drifted = plan.drift_ppm().abs() * 1e3 * found;
        let rough = 2.0 * plan.rough_frequency_error() * plan.memory() * 1e9;
        Self {
            steady_ns,
            recovery: found + plan.correcting(FIRST_STEP + rough),
            furthest_ns: plan.first_offset_ns.abs() as f64 + drifted + rough + steady_ns,
            excess: None,
        }
    }

    /// Of a disturbance that finds the routes so.
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
        // a timeTransmitter whose Announces were lost has just been selected again: its estimate is as new as amid a lie
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
                // where the path delay explains it, the filter mistakes it as it does a changed route
                step.furthest_ns += plan.mistaken_route(size.min(routes.width(plan)));
                step
            }
            Disturbance::Lie { by_ns, seconds } => {
                let size = by_ns.abs() as f64;
                // beyond the panic limit it is not followed at all
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
                // what nobody sees is a step of what the clock went astray until the next command
                let (wait, by) = (plan.commanding(), plan.adjusted() * plan.commanding());
                let explained = plan.explained(by, routes);
                let excess = Some((wait + plan.noticing() + explained, by));
                let astray = by + plan.relearning(0.0, by.min(routes.width(plan)));
                after(wait + found + explained, astray, excess)
            }
        }
    }
}
