//! The parameters of a run, drawn from its seed: settings, oscillators, network, clock device and
//! disturbances. All are within the assumptions of the error bound, except disturbances that are
//! meant to violate them.

use super::draw::Draw;
use super::expect::{Expectation, Routes};
use crate::configuration::{Clock, Configuration, DelayMechanism, Role};
use serde::Serialize;

/// The parameters of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Plan {
    /// The number of the run in the campaign.
    pub run: u32,
    /// The seed of all random numbers in the run.
    pub seed: u64,
    /// Whether the timeReceiver runs with the default configuration.
    pub defaults: bool,
    /// The configured limit; `None` if not configured.
    pub(super) slew_limit_ppm: Option<u32>,
    /// The configured largest drift.
    pub(super) max_drift_ppm: u32,
    /// The configured largest change of the frequency per second.
    pub(super) wander_ppb: u32,
    /// The interval of Syncs, as a power of two of a second.
    pub(super) log_sync: i8,
    /// The interval of delay requests, as a power of two of a second.
    pub(super) log_delay: i8,
    /// The interval of Announce messages, as a power of two of a second.
    pub(super) log_announce: i8,
    /// Whether path delays are measured with peer delay messages.
    pub(super) p2p: bool,
    /// The configured least path delay.
    pub(super) least_delay_ns: u32,
    /// The timeTransmitter's oscillator, and the timeReceiver's.
    pub(super) oscillators: [Oscillator; 2],
    /// The offset at the start: timeReceiver minus timeTransmitter.
    pub(super) first_offset_ns: i64,
    /// The network between them.
    pub(super) network: Network,
    /// The steered clock device.
    pub(super) device: Device,
    /// The disturbances, in order.
    pub(super) disturbances: Vec<Disturbance>,
}

/// The errors of an oscillator.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Oscillator {
    /// The frequency offset.
    pub(super) error_ppb: i32,
    /// The random walk of the frequency, in ppb per square root of a second.
    pub(super) wander_ppb: f64,
}

/// The cable.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Network {
    /// The constant path delay of each direction.
    pub(super) delay_ns: i64,
    /// The mean of the exponential delay.
    pub(super) jitter_ns: i64,
    /// Added in the direction to the timeTransmitter.
    pub(super) asymmetry_ns: i64,
    /// The fraction of lost packets.
    pub(super) loss: f64,
}

/// The clock device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Device {
    /// The largest adjustment that it takes.
    pub(super) limit_ppb: u32,
    /// Whether it limits a larger adjustment silently.
    pub(super) clamps: bool,
    /// The resolution of adjustments; 0: none.
    pub(super) step_ppb: f64,
}

/// A disturbance of the steady state. Times are in seconds, offsets in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Disturbance {
    /// No disturbance: the start only.
    Nothing { seconds: f64 },
    /// The timeTransmitter's clock is stepped and stays there.
    Step { by_ns: i64 },
    /// The timeTransmitter's clock is wrong for a while, then right again.
    Lie { by_ns: i64, seconds: f64 },
    /// The timeTransmitter is off.
    Outage { seconds: f64 },
    /// The timeTransmitter's clock is stepped, and it is lost while the timeReceiver catches up.
    OutageWhileSlewing {
        by_ns: i64,
        after: f64,
        seconds: f64,
    },
    /// The cable is unplugged and plugged in again.
    LinkDown { seconds: f64 },
    /// The routes change: the delays from and to the timeTransmitter become longer.
    DelayStep { from_ns: i64, to_ns: i64 },
    /// The timeTransmitter ends and starts again.
    TransmitterRestart { seconds: f64 },
    /// The timeReceiver ends regularly and starts again.
    ReceiverRestart { seconds: f64 },
    /// The timeReceiver is killed while it catches up, so that nothing ends its correction.
    ReceiverKilled {
        by_ns: i64,
        after: f64,
        seconds: f64,
    },
    /// The device rejects every change for a while.
    DeviceRefuses { seconds: f64 },
    /// The driver loses the frequency adjustment. Reading it back shows that; or, as with Linux'
    /// kernel, the requested value.
    AdjustmentLost { shown: bool },
}

impl Disturbance {
    /// Its name in reports.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Nothing { .. } => "no disturbance",
            Self::Step { .. } => "step",
            Self::Lie { .. } => "lie",
            Self::Outage { .. } => "outage",
            Self::OutageWhileSlewing { .. } => "outage while slewing",
            Self::LinkDown { .. } => "link down",
            Self::DelayStep { .. } => "delay step",
            Self::TransmitterRestart { .. } => "timeTransmitter restart",
            Self::ReceiverRestart { .. } => "timeReceiver restart",
            Self::ReceiverKilled { .. } => "timeReceiver killed",
            Self::DeviceRefuses { .. } => "device refuses",
            Self::AdjustmentLost { .. } => "adjustment lost",
        }
    }
}

/// The longest computed recovery that is drawn, in seconds.
const LONGEST_RECOVERY: f64 = 3_600.0;
/// The largest expected movement of the clock that is drawn, in nanoseconds: the panic limit is a
/// second.
const FURTHEST: f64 = 5e8;

impl Plan {
    /// Draws run `run` of the campaign of `seed`.
    pub(super) fn draw(seed: u64, run: u32) -> Self {
        let mut draw = Draw::new(seed, run);
        let defaults = draw.happens(0.5);
        let default = Configuration::default();
        let mut plan = Self {
            run,
            seed: draw.seed(),
            defaults,
            slew_limit_ppm: default.steering.slew_limit_ppm,
            max_drift_ppm: default.max_drift_ppm,
            wander_ppb: default.wander_ppb,
            log_sync: default.log_sync_interval,
            log_delay: default.log_delay_interval,
            log_announce: default.log_announce_interval,
            p2p: false,
            least_delay_ns: default.least_delay_ns,
            oscillators: [Oscillator {
                error_ppb: 0,
                wander_ppb: 0.0,
            }; 2],
            first_offset_ns: draw.signed(1e3, 1e10),
            network: network(&mut draw),
            device: Device {
                limit_ppb: 62_499_999,
                clamps: false,
                step_ppb: 0.0,
            },
            disturbances: Vec::new(),
        };
        if !defaults {
            plan.draw_settings(&mut draw);
        }
        plan.draw_device(&mut draw);
        plan.draw_oscillators(&mut draw);
        plan.draw_disturbances(&mut draw);
        plan
    }

    fn draw_settings(&mut self, draw: &mut Draw) {
        self.slew_limit_ppm = draw.happens(0.8).then(|| draw.spread(1.0, 60_000.0) as u32);
        self.max_drift_ppm = draw.spread(20.0, 1_000.0) as u32;
        self.wander_ppb = draw.spread(10.0, 300.0) as u32;
        self.log_sync = draw.between(-3, 1) as i8;
        self.log_delay = (i64::from(self.log_sync) + draw.between(-1, 1)).clamp(-3, 2) as i8;
        self.log_announce = (i64::from(self.log_sync) + draw.between(0, 2)).clamp(-2, 2) as i8;
        self.p2p = draw.happens(0.2);
        if draw.happens(0.3) {
            self.least_delay_ns = draw.between(0, self.network.delay_ns) as u32;
        }
    }

    /// Draws a device: the system clock of Linux, igb and igc, an 82574, an mlx5, or a coarse one.
    fn draw_device(&mut self, draw: &mut Draw) {
        const DEVICES: [Device; 6] = [
            Device {
                limit_ppb: 500_000,
                clamps: true,
                step_ppb: 0.000_015,
            },
            Device {
                limit_ppb: 99_999_999,
                clamps: false,
                step_ppb: 0.005,
            },
            Device {
                limit_ppb: 62_499_999,
                clamps: false,
                step_ppb: 0.0,
            },
            Device {
                limit_ppb: 23_999_999,
                clamps: false,
                step_ppb: 95.0,
            },
            Device {
                limit_ppb: 50_000_000,
                clamps: false,
                step_ppb: 0.0,
            },
            Device {
                limit_ppb: 200_000,
                clamps: true,
                step_ppb: 1.0,
            },
        ];
        self.device = DEVICES[draw.between(0, DEVICES.len() as i64 - 1) as usize];
        // the program rejects a limit beyond the device's
        let most = self.device.limit_ppb / 1_000;
        self.slew_limit_ppm = self.slew_limit_ppm.map(|limit| limit.min(most));
    }

    /// Draws drifts that the settings allow, up to 100 ppm, and a sixth of the allowed wander,
    /// because the random walk has a tail.
    fn draw_oscillators(&mut self, draw: &mut Draw) {
        let most = (f64::from(self.max_drift_ppm) * 900.0).min(100_000.0);
        let drift = draw.between(-(most as i64), most as i64);
        let transmitter = draw.between(-1_000, 1_000);
        let wander = f64::from(self.wander_ppb) / 6.0;
        let [theirs, ours] = [0, 1].map(|_| {
            if draw.happens(0.5) {
                draw.spread(0.01, wander / 2.0)
            } else {
                0.05
            }
        });
        self.oscillators = [
            Oscillator {
                error_ppb: transmitter as i32,
                wander_ppb: theirs,
            },
            Oscillator {
                error_ppb: (drift + transmitter) as i32,
                wander_ppb: ours,
            },
        ];
    }

    fn draw_disturbances(&mut self, draw: &mut Draw) {
        let mut routes = Routes::default();
        for _ in 0..draw.between(1, 2) {
            // disturbances that would take too long to observe are drawn again
            for _ in 0..40 {
                let disturbance = self.draw_disturbance(draw);
                let expected = Expectation::of(self, &disturbance, routes);
                if expected.recovery < LONGEST_RECOVERY && expected.furthest_ns < FURTHEST {
                    routes = routes.after(&disturbance);
                    self.disturbances.push(disturbance);
                    break;
                }
            }
        }
    }

    fn draw_disturbance(&self, draw: &mut Draw) -> Disturbance {
        let by_ns = draw.signed(1e3, 4e8);
        match draw.between(0, 15) {
            0 => Disturbance::Nothing {
                seconds: draw.spread(10.0, 1_000.0),
            },
            1 | 2 => Disturbance::Step { by_ns },
            // also beyond the panic limit, but not near it
            3 => Disturbance::Lie {
                by_ns: draw.signed(1.5e9, 1e10),
                seconds: draw.spread(1.0, 30.0),
            },
            4 | 5 => Disturbance::Lie {
                by_ns,
                seconds: draw.spread(1.0, 30.0),
            },
            6 | 7 => Disturbance::Outage {
                seconds: draw.spread(1.0, 36_000.0),
            },
            8 | 9 => Disturbance::OutageWhileSlewing {
                by_ns,
                after: draw.spread(2.0, 10.0),
                seconds: draw.spread(1.0, 36_000.0),
            },
            10 => Disturbance::LinkDown {
                seconds: draw.spread(1.0, 300.0),
            },
            11 => Disturbance::DelayStep {
                from_ns: draw.spread(100.0, 1e7) as i64 * i64::from(draw.happens(0.6)),
                to_ns: draw.spread(100.0, 1e7) as i64 * i64::from(draw.happens(0.6)),
            },
            12 => Disturbance::TransmitterRestart {
                seconds: draw.spread(0.1, 100.0),
            },
            13 => Disturbance::ReceiverRestart {
                seconds: draw.spread(0.1, 1_000.0),
            },
            14 => Disturbance::ReceiverKilled {
                by_ns,
                after: draw.spread(2.0, 10.0),
                seconds: draw.spread(0.1, 60.0),
            },
            _ if draw.happens(0.5) => Disturbance::DeviceRefuses {
                seconds: draw.spread(1.0, 100.0),
            },
            _ => Disturbance::AdjustmentLost {
                shown: draw.happens(0.5),
            },
        }
    }

    /// Returns the configuration of either side.
    pub(super) fn configuration(&self, role: Role) -> Configuration {
        let mut configuration = Configuration {
            role,
            priority1: if role == Role::TimeTransmitter {
                100
            } else {
                128
            },
            // the timeTransmitter's clock is not steered; with this setting it has no correlator
            clock: Clock::Nic,
            ..Configuration::default()
        };
        configuration.log_sync_interval = self.log_sync;
        configuration.log_delay_interval = self.log_delay;
        configuration.log_announce_interval = self.log_announce;
        if self.p2p {
            configuration.delay_mechanism = DelayMechanism::P2p;
        }
        configuration.max_drift_ppm = self.max_drift_ppm;
        configuration.wander_ppb = self.wander_ppb;
        configuration.least_delay_ns = self.least_delay_ns;
        configuration.steering.slew_limit_ppm = self.slew_limit_ppm;
        configuration
    }

    /// Returns the simulation of the run.
    pub(super) fn simulation(&self) -> String {
        const START: i64 = 1_700_000_000_000_000_000;
        let clock = |name: &str, oscillator: &Oscillator, start: i64| {
            format!(
                "[{name}.clock]\nfrequency_error_ppb = {}\nwander_ppb = {:?}\nstart = {start}\n",
                oscillator.error_ppb, oscillator.wander_ppb
            )
        };
        let Network {
            delay_ns,
            jitter_ns,
            asymmetry_ns,
            loss,
        } = self.network;
        let Device {
            limit_ppb,
            clamps,
            step_ppb,
        } = self.device;
        let beyond = if clamps { "clamp" } else { "refuse" };
        [
            "preset = \"ideal\"\n".to_owned(),
            format!("[link]\ndelay = {{ base = \"{delay_ns}ns\", jitter = \"{jitter_ns}ns\" }}\n"),
            format!("asymmetry = \"{asymmetry_ns}ns\"\nlost = {loss:?}\n"),
            clock("sim0", &self.oscillators[0], START),
            clock("sim1", &self.oscillators[1], START + self.first_offset_ns),
            format!(
                "[sim1.clock.adjustment]\nlimit_ppb = {limit_ppb}\nbeyond = \"{beyond}\"\nstep_ppb = {step_ppb:?}\n"
            ),
        ]
        .concat()
    }
}

fn network(draw: &mut Draw) -> Network {
    Network {
        delay_ns: draw.spread(100.0, 1e6) as i64,
        jitter_ns: if draw.happens(0.5) {
            draw.spread(1.0, 20_000.0) as i64
        } else {
            5
        },
        asymmetry_ns: if draw.happens(0.3) {
            draw.spread(10.0, 20_000.0) as i64
        } else {
            0
        },
        loss: if draw.happens(0.4) {
            draw.spread(0.01, 0.3)
        } else {
            0.0
        },
    }
}
