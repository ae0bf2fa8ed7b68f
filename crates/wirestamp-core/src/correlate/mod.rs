//! The relation between one NIC's clock and the system clock: readings in,
//! conversions with a bound and a generation out. Knows no NIC, no clock and no thread.
//!
//! A conversion is either an [`Estimate`], whose bound contains the truth, or a
//! [`ConversionError`] that says why none can be given. It is never a plausible number.

mod bank;
mod borne_out;
mod change;
mod contradiction;
mod convert;
mod express;
mod fine;
mod fit;
mod generation;
mod interval;
mod knots;
mod latch;
mod learning;
mod limits;
mod model;
mod path;
mod position;
mod prior;
mod published;
mod reading;
mod segment;
mod step;
mod utc_history;

#[cfg(test)]
mod tests;

pub use model::{Correlation, Pushed};
pub use published::Published;
pub use utc_history::UtcHistory;

use crate::time::{Bounded, Clock, HardwareTicks, Span, Time, display};
use core::fmt;

/// One run of a hardware clock between two events that break its relation to the system
/// clock. Counts up from 0 within one [`Correlation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct ClockGeneration(pub u32);

/// The event that opened a clock generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum GenerationCause {
    /// The first reading.
    Start,
    /// The hardware counter ran backwards.
    CounterBackwards,
    /// A reading contradicts the earlier ones: somebody stepped a clock, by too little to tell
    /// which.
    Contradiction,
    /// The system clock was set, back or forward: the readings came at their usual pace by the
    /// hardware clock.
    SystemStep,
    /// The hardware clock was set forward: the readings came at their usual pace by the system
    /// clock.
    HardwareStep,
    /// The rate changed beyond what an oscillator can do.
    FrequencyChange,
    /// No reading for too long.
    Gap,
    /// The system reported a configuration change: the NIC may have been restarted.
    Notification,
    /// Another hardware clock is behind the interface: a bond failed over, another timestamp provider was chosen, or the
    /// NIC was removed and found again.
    ClockReplaced,
}

impl GenerationCause {
    /// All causes, in the order of their declaration.
    pub const ALL: &'static [Self] = &[
        Self::Start,
        Self::CounterBackwards,
        Self::Contradiction,
        Self::SystemStep,
        Self::HardwareStep,
        Self::FrequencyChange,
        Self::Gap,
        Self::Notification,
        Self::ClockReplaced,
    ];

    /// Returns a short, stable name: the one in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::CounterBackwards => "counter_backwards",
            Self::Contradiction => "contradiction",
            Self::SystemStep => "system_step",
            Self::HardwareStep => "hardware_step",
            Self::FrequencyChange => "frequency_change",
            Self::Gap => "gap",
            Self::Notification => "notification",
            Self::ClockReplaced => "clock_replaced",
        }
    }
}

/// A converted instant of clock `C`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(
        bound = "",
        try_from = "crate::serialized::Converted",
        into = "crate::serialized::Converted"
    )
)]
pub struct Estimate<C: Clock> {
    /// The best guess with its error bound.
    pub at: Bounded<Time<C>>,
    /// Which run of the hardware clock it was converted with.
    pub generation: ClockGeneration,
}

/// Prints `2026-11-25T13:00:00.123456789Z ±420 ns`; of other clocks `4711.000123456 s ±420 ns`.
///
/// A precision says how many digits of the fraction are printed: the time is rounded to the nearest, the bound up, and
/// what rounding the time costs is in the bound.
impl<C: Clock> fmt::Display for Estimate<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display::nanoseconds(f, self.at.value, self.at.bound)
    }
}

/// A converted instant of clock `C`, to the picosecond: what the readings tell of a timestamp is
/// finer than the nanoseconds that systems count.
///
/// It is for the middle of the timestamp's tick, and the bound contains all of that tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(
        bound = "",
        try_from = "crate::serialized::ConvertedFine",
        into = "crate::serialized::ConvertedFine"
    )
)]
pub struct FineEstimate<C: Clock> {
    /// The best guess, rounded down to the nanosecond.
    pub at: Time<C>,
    /// From `at` to the best guess: 0 to 999.
    pub picoseconds: u16,
    /// The truth lies within this distance of the best guess.
    pub bound_picoseconds: u64,
    /// Which run of the hardware clock it was converted with.
    pub generation: ClockGeneration,
}

impl<C: Clock> FineEstimate<C> {
    /// Returns the best guess in picoseconds since the clock's start.
    pub fn total_picoseconds(&self) -> i128 {
        i128::from(self.at.nanoseconds()) * 1_000 + i128::from(self.picoseconds)
    }
}

/// Prints `2026-11-25T13:00:00.123456789012Z ±4.20 ns`: as [`Estimate`] does, to the picosecond.
impl<C: Clock> fmt::Display for FineEstimate<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display::picoseconds::<C>(f, self.total_picoseconds(), self.bound_picoseconds)
    }
}

/// The error bound and the generation of a slice of converted timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct SliceEstimate {
    /// The truth lies within this distance of each of the times.
    #[cfg_attr(feature = "serde", serde(rename = "error_bound_ns"))]
    pub bound: Span,
    /// Which run of the hardware clock they were converted with.
    pub generation: ClockGeneration,
}

/// An instant of the monotonic clock, converted to a NIC's counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct HardwareEstimate {
    /// The best guess, in ticks.
    #[cfg_attr(feature = "serde", serde(rename = "hardware_ticks"))]
    pub ticks: HardwareTicks,
    /// The truth lies within this many ticks of it.
    #[cfg_attr(feature = "serde", serde(rename = "error_bound_ticks"))]
    pub bound: u64,
    /// Which run of the hardware clock it was converted with.
    pub generation: ClockGeneration,
}

/// Prints `123456789 ±3 ticks`.
impl fmt::Display for HardwareEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ±{} ticks", self.ticks.raw(), self.bound)
    }
}

/// The hardware clock's frequency against the system clock: what the specification's
/// samples call `QueryHardwareClockFrequency` and leave empty.
///
/// It is that of the newest reading. A frequency that a program changes at a stroke shows
/// only in the readings that follow.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct FrequencyEstimate {
    /// Ticks per second of the system clock.
    pub hertz: f64,
    /// The truth lies within this many parts per billion of `hertz`.
    pub error_bound_parts_per_billion: f64,
    /// Which run of the hardware clock it is for.
    pub generation: ClockGeneration,
}

/// The assumptions under which error bounds hold: the parameters of the contract
/// (`docs/error-bound.md`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assumptions {
    /// How fast the frequency of one clock against the other changes at most, as a fraction per
    /// second. Thermal ramps of common oscillators reach 10⁻⁸ a second, a poor one that swings by
    /// 1 ppm in five minutes 2·10⁻⁸.
    pub wander_per_second: f64,
    /// The longest time for which the counter shows one value, unless a unit of it is longer. All
    /// values that it shows are a multiple of its tick apart; only ticks of up to 8 ns may be
    /// irregular. Readings show smaller ticks soon.
    pub largest_tick: Span,
}

impl Assumptions {
    /// 3·10⁻⁸ a second, and 10 µs.
    pub const USUAL: Self = Self {
        wander_per_second: 3e-8,
        largest_tick: Span::from_microseconds(10),
    };
}

impl Default for Assumptions {
    fn default() -> Self {
        Self::USUAL
    }
}

/// The expected speed at which the frequency of a hardware clock changes, in fractions per second.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Prior {
    /// What the readings show: twice the largest change seen lately, down to 10⁻⁹. No error bound
    /// becomes narrower by it: a quiet oscillator may ramp in the next minute.
    pub seen_per_second: f64,
    /// What error bounds rest on: [`Assumptions::wander_per_second`], or more if readings
    /// contradict that.
    pub unseen_per_second: f64,
    /// Which run of the hardware clock it is for.
    pub generation: ClockGeneration,
}

/// The reason that a timestamp cannot be converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ConversionError {
    /// Too few readings in this generation yet; take more.
    NotReady,
    /// The timestamp is of another interface's clock.
    OtherClock,
    /// The system does not say which device made the timestamp: of a frame that was sent on a bridge, say.
    UnknownDevice,
    /// The timestamp fits no generation that is still known: it was made before a reset, or the
    /// reset has not been noticed yet.
    OutsideGenerations,
    /// The timestamp fits more than one generation, or can be of one that ended before its rate was known.
    Ambiguous,
    /// The last reading is too old for any bound.
    Stale,
    /// UTC at that time is unknown: the real-time clock was stepped around it, or was not read before it.
    UtcUnknown,
    /// The packet carries no timestamp of the clock that counts.
    NoTimestamp,
    /// The clock was not read often enough after the timestamp: a change just before it would not have shown.
    Unconfirmed,
}

impl ConversionError {
    /// Returns a short, stable name: the one in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotReady => "not_ready",
            Self::OtherClock => "other_clock",
            Self::UnknownDevice => "unknown_device",
            Self::OutsideGenerations => "outside_generations",
            Self::Ambiguous => "ambiguous",
            Self::Stale => "stale",
            Self::UtcUnknown => "utc_unknown",
            Self::NoTimestamp => "no_timestamp",
            Self::Unconfirmed => "unconfirmed",
        }
    }
}

impl core::error::Error for ConversionError {}

impl fmt::Display for ConversionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotReady => "too few cross timestamps yet",
            Self::OtherClock => "the timestamp is of another hardware clock",
            Self::UnknownDevice => "the system does not say which device made the timestamp",
            Self::OutsideGenerations => {
                "the timestamp fits no known generation of the hardware clock"
            }
            Self::Ambiguous => "the timestamp fits more than one generation of the hardware clock",
            Self::Stale => "the last cross timestamp is too old",
            Self::UtcUnknown => {
                "the real-time clock was stepped around the time of the timestamp, or not read before it"
            }
            Self::NoTimestamp => "the packet carries no timestamp of the clock that counts",
            Self::Unconfirmed => {
                "no three batches of cross timestamps after the timestamp confirm its clock generation"
            }
        })
    }
}
