//! The methods that are compared: ours and its peers', behind one trait.
//! Knows no truth.
//!
//! The peers are written from a description of what they do, never from their code, and run
//! at their defaults. Each file names the parts that they leave out. They take the counter's
//! nominal frequency from the scenario even where our own method does not have it.
//!
//! How they compare with the study that described them: rms in ns, study : here, five seeds
//! of 2000 s each. As there, against the *start* of a timestamp's tick; the benches' tables are
//! against its middle, where the readings' tick and the timestamp's cancel.
//!
//! | scenario | sys2 OLS | shortest+slope | linreg | chrony | fbclock | clock-bound | Kalman |
//! |---|---|---|---|---|---|---|---|
//! | S1 | 780 : 812 | 11.8 : 13.0 | 4.7 : 4.2 | 6.3 : 5.7 | 8.0 : 6.6 | 10.6 : 11.8 | 9.6 : 8.8 |
//! | S2 | 630 : 680 | 197 : 197 | 197 : 197 | 198 : 198 | 197 : 197 | 676 : 706 | 197 : 197 |
//! | S3 | 870 : 903 | 58 : 60 | 47 : 46 | 47 : 47 | 51 : 52 | 53 : 53 | 63 : 65 |
//! | S4 | 19700 : 21256 | 530 : 793 | 84 : 124 | 265 : 298 | 342 : 339 | 69 : 57 | 194 : 422 |
//! | S5 | 4100 : 3706 | 22 : 156 | 6.1 : 23.9 | 24 : 6.4 | 47 : 9.9 | 11.0 : 11.8 | 11.0 : 9.5 |
//! | S7 | 4400 : 4416 | 14.0 : 13.1 | 24.0 : 10.3 | 314 : 211 | 8.0 : 6.6 | 12392 : 12795 | 13.8 : 10.6 |
//! | S8 | 8.8 : 5.8 | 5.4 : 5.2 | 3.8 : 3.7 | 3.7 : 3.6 | 4.3 : 4.2 | – : 16.9 | 5.8 : 5.3 |
//! | S9 | 345 : 427 | 497 : 497 | 497 : 497 | 497 : 497 | 497 : 497 | 497 : 497 | 497 : 497 |
//! | S1, 1/s | 780 : 762 | 1150 : 1369 | 211 : 184 | 17 : 19 | – | – | 1507 : 15 |
//! | S3, 1/s | 870 : 857 | – | 214 : 192 | 48 : 48 | – | – | 822 : 49 |
//! | S5, 1/s | 4100 : 3650 | 8100 : 9736 | 1305 : 1468 | 501 : 20 | – | – | 9098 : 202 |
//! | S7, 8 s | – | – | 1447 : 1437 | 2150 : 683 | – | – | 381 : 393 |
//!
//! Coverage, study : here. S2 clock-bound 0.985 : 0.982; S7 chrony 0.965 : 0.996, clock-bound
//! 0.19 : 0.17; S8 fbclock 0.77 : 0.61, Kalman 0.74 : 0.76, shortest 0.18 : 0.00; S9 Kalman
//! 0 : 0; S7 every 8 s chrony 0.55 : 0.65, Kalman 0.989 : 0.992.
//!
//! Where they differ by more than a factor of two: S5 hangs on the few batches in which every
//! reading is late, and on the tail of the outliers, which the study does not state. With
//! one reading a second the Kalman filter here counts the delay of the present reading into
//! its noise, so an outlier weighs little, and chrony's quantiles keep more outliers away. In
//! S7 linreg chooses its shortest window more often. In S8 the study's brackets had a width;
//! here both clocks are latched, so the shortest reading claims no error at all. Of these,
//! the shortest reading (S5, S8), linreg in S5 and the Kalman filter in S4 do worse here
//! than in the study, the others better.

mod chrony;
mod clock_bound;
mod fbclock;
mod kalman;
mod line;
mod linreg;
mod ours;
mod plain;
mod robust;
mod shortest;

use crate::world::{Polling, Shape};
use wirestamp_core::cross::CrossTimestamp;
use wirestamp_core::time::{HardwareTicks, MonotonicTime};
use wirestamp_core::timestamp::HardwareTimestamp;

/// Something that converts timestamps after having seen readings.
pub trait Estimator {
    /// Takes readings in that were made one right after the other.
    fn push_batch(&mut self, readings: &[CrossTimestamp]);

    /// The system time of a timestamp; `None` where it is refused.
    fn convert(&self, timestamp: &HardwareTimestamp) -> Option<Converted>;

    /// Returns the counter's frequency, where the method has one.
    fn rate(&self) -> Option<Rate> {
        None
    }

    /// Converts every timestamp and adds up the results: what a conversion costs without the
    /// price of a virtual call.
    fn convert_all(&self, timestamps: &[HardwareTimestamp]) -> i64 {
        let sum = |sum: i64, c: Converted| {
            sum.wrapping_add(c.whole.nanoseconds())
                .wrapping_add(c.fraction as i64)
        };
        timestamps
            .iter()
            .filter_map(|timestamp| self.convert(timestamp))
            .fold(0, sum)
    }

    /// Converts many timestamps that were read together; `false` where the method has no such way,
    /// or refuses one of them.
    fn convert_slice(
        &self,
        _ticks: &[HardwareTicks],
        _read_at: MonotonicTime,
        _into: &mut [MonotonicTime],
    ) -> bool {
        false
    }

    /// Bytes of the estimator itself, its heap not included.
    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// A converted timestamp: `fraction` nanoseconds after `whole`. Two numbers, because a float
/// does not hold an absolute time.
#[derive(Debug, Clone, Copy)]
pub struct Converted {
    /// A system time near the estimate.
    pub whole: MonotonicTime,
    /// From there to the estimate, ns.
    pub fraction: f64,
    /// The truth is claimed to lie within this distance, ns.
    pub bound: Option<f64>,
}

/// A frequency with its bound.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    /// Ticks per second of the system clock.
    pub hertz: f64,
    /// The truth is claimed to lie within so many parts per billion.
    pub error_bound_parts_per_billion: f64,
}

/// The methods, ours first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// `wirestamp_core::correlate::Correlation`.
    Ours,
    /// The specification's regression on the second system time.
    Plain,
    /// The shortest reading of a batch, and the slope between the last two.
    Shortest,
    /// linuxptp: shortest reading, linreg servo.
    Linreg,
    /// chrony: hwclock.
    Chrony,
    /// facebook/time: fbclock v2.
    Fbclock,
    /// clock-bound 3 beta.
    ClockBound,
    /// A two-state Kalman filter with ntpd-rs' adaptation.
    Kalman,
}

impl Method {
    /// All of them, in the order of the tables.
    pub const ALL: [Self; 8] = [
        Self::Ours,
        Self::Plain,
        Self::Shortest,
        Self::Linreg,
        Self::Chrony,
        Self::Fbclock,
        Self::ClockBound,
        Self::Kalman,
    ];

    /// Head of its column.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ours => "wirestamp",
            Self::Plain => "sys2 OLS",
            Self::Shortest => "shortest+slope",
            Self::Linreg => "linreg",
            Self::Chrony => "chrony",
            Self::Fbclock => "fbclock",
            Self::ClockBound => "clock-bound",
            Self::Kalman => "Kalman",
        }
    }

    /// The schedule it runs on: fbclock's own, at ninety times the bus reads, where the
    /// scenario does not prescribe a slower or thinner one.
    pub fn polling(self, shape: &Shape) -> Polling {
        match self {
            Self::Fbclock if shape.polling.readings > 1 && shape.polling.period < 1.0 => {
                fbclock::POLLING
            }
            _ => shape.polling,
        }
    }

    /// Ready for the first reading.
    pub fn build(self, shape: &Shape) -> Box<dyn Estimator> {
        let period = 1e9 / shape.counter.hertz as f64;
        match self {
            Self::Ours => Box::new(ours::Ours::new(shape)),
            Self::Plain => Box::new(plain::Plain::new(period)),
            Self::Shortest => Box::new(shortest::Shortest::new(period)),
            Self::Linreg => Box::new(linreg::Linreg::new(period)),
            Self::Chrony => Box::new(chrony::Chrony::new(
                period,
                shape.quantum,
                shape.polling.period,
            )),
            Self::Fbclock => Box::new(fbclock::Fbclock::new(period)),
            Self::ClockBound => Box::new(clock_bound::ClockBound::new(period)),
            Self::Kalman => Box::new(kalman::Kalman::new(period)),
        }
    }
}
