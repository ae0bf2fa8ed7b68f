//! What a world is like, as plain numbers. The scenarios fill it in.

use super::{Path, Reach};

/// Everything a world is made from; chance fills in the rest.
#[derive(Debug, Clone)]
pub struct Shape {
    /// Length of the run, s.
    pub duration: f64,
    /// What the measures skip at the start, s.
    pub warm_up: f64,
    /// The NIC's counter.
    pub counter: Counter,
    /// What drives it.
    pub oscillator: Oscillator,
    /// The step of the system clock as programs read it, ns.
    pub quantum: i64,
    /// The way between the system and the counter.
    pub path: Path,
    /// When readings are made.
    pub polling: Polling,
    /// When none are made.
    pub gaps: Vec<Gap>,
    /// What happens to the clocks.
    pub disturbances: Vec<Disturbance>,
    /// The jitter that chrony's own test would state for these readings, ns.
    pub stated_jitter: Option<f64>,
}

/// The NIC's counter.
#[derive(Debug, Clone, Copy)]
pub struct Counter {
    /// Nominal frequency.
    pub hertz: u64,
    /// Whether the driver states the frequency.
    pub stated: bool,
    /// Ticks that the counter advances by at once.
    pub granule: u64,
    /// Its value when the run begins.
    pub start: Start,
}

/// The value of a counter when the run begins.
#[derive(Debug, Clone, Copy)]
pub enum Start {
    /// Some hours after its own start.
    Hours,
    /// As many seconds before its 64 bits run over.
    BeforeWrap(f64),
    /// The UTC in nanoseconds, as Linux sets a PHC.
    Utc,
}

/// What drives the counter. Frequencies are relative to nominal.
#[derive(Debug, Clone)]
pub struct Oscillator {
    /// The constant offset is drawn evenly from ± this.
    pub offset: f64,
    /// Random walk of the frequency, per √s.
    pub wander: f64,
    /// Changes of temperature.
    pub thermal: Vec<Thermal>,
    /// A program that adjusts the frequency.
    pub servo: Option<Servo>,
}

/// A periodic change of the frequency.
#[derive(Debug, Clone, Copy)]
pub struct Thermal {
    /// Largest deviation, relative.
    pub amplitude: f64,
    /// s.
    pub period: f64,
    /// Its form.
    pub wave: Wave,
}

/// The form of a periodic change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wave {
    /// A sine.
    Sine,
    /// Even ramps up and down: an air conditioner with two thresholds.
    Triangle,
    /// Rests with fast exponential moves between them: a load that comes and goes.
    Charge,
}

/// A program that adjusts the frequency at a fixed pace.
#[derive(Debug, Clone, Copy)]
pub struct Servo {
    /// s between adjustments.
    pub every: f64,
    /// Each one is drawn evenly from ± this, relative.
    pub amplitude: f64,
}

/// When readings are made.
#[derive(Debug, Clone, Copy)]
pub struct Polling {
    /// s between the starts of batches.
    pub period: f64,
    /// Readings in a batch, one right after the other.
    pub readings: usize,
}

/// A time without readings.
#[derive(Debug, Clone, Copy)]
pub struct Gap {
    /// s since the run began.
    pub start: f64,
    /// s.
    pub length: f64,
}

/// Something that happens to a clock.
#[derive(Debug, Clone, Copy)]
pub struct Disturbance {
    /// s since the run began.
    pub at: f64,
    /// What.
    pub change: Change,
}

/// What happens to a clock.
#[derive(Debug, Clone, Copy)]
pub enum Change {
    /// Somebody sets the counter forward or back by so many ns.
    Step(f64),
    /// The NIC restarts: the counter starts again from this value.
    Reset(u64),
    /// The system clock leaves out so many s (the machine was suspended or moved).
    SystemJump(f64),
    /// The frequency changes for good, relative.
    Rate(f64),
    /// The random walk of the frequency becomes so many times stronger.
    Wander(f64),
    /// A servo replaces its last adjustment by this one, relative.
    Adjust(f64),
}

impl Change {
    /// Whether no estimator can know the relation until the next reading, and none should
    /// use the readings from before any more.
    pub const fn breaks(self) -> bool {
        matches!(
            self,
            Self::Step(_) | Self::Reset(_) | Self::SystemJump(_) | Self::Rate(_)
        )
    }
}

impl Shape {
    /// Half the least width that readings over this path can leave for the instant of a
    /// timestamp, ns: both shortest delays and the tick of the timestamp itself. `None` where the
    /// width of a bracket is unknown, or has no least value.
    pub fn least_half_width(&self) -> Option<f64> {
        let bracket = match self.path.reach {
            Reach::Bracket => {
                Some(self.path.there.base + self.path.back.base).filter(|width| *width > 0.0)
            }
            Reach::EqualBracket => None,
            Reach::Latch => Some(0.0),
        };
        bracket.map(|width| (width + self.granule_nanoseconds()) / 2.0)
    }

    /// The time between two values of the counter, ns.
    pub fn granule_nanoseconds(&self) -> f64 {
        self.counter.granule as f64 * 1e9 / self.counter.hertz as f64
    }
}
