//! Conversion of a NIC's timestamps to the monotonic clock. A [`Correlation`] learns the relation
//! of the two clocks from cross timestamps, and converts with an error bound and a clock
//! generation.
//!
//! The result of a conversion is either an [`Estimate`], whose error bound contains the true time,
//! or a [`ConversionError`] with the reason why there is none.

mod bank;
mod borne_out;
mod burst;
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

pub use burst::Burst;
pub use model::{Correlation, Pushed};
pub use published::Published;
pub use utc_history::UtcHistory;

use crate::time::{Bounded, Clock, HardwareTicks, Span, Time, display};
use core::fmt;

/// The number of a clock generation: an uninterrupted run of a hardware clock, between two events
/// that break its relation to the monotonic clock (a reset, a step). Counts from 0 within a
/// [`Correlation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct ClockGeneration(pub u32);

/// The event that began a clock generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum GenerationCause {
    /// The first cross timestamp.
    Start,
    /// The hardware clock ran backwards.
    CounterBackwards,
    /// A cross timestamp contradicts earlier ones: a clock was stepped by too little to determine
    /// which one.
    Contradiction,
    /// The system clock was set back or forward: by the hardware clock, cross timestamps came at
    /// their usual interval.
    SystemStep,
    /// The hardware clock was set forward: by the system clock, cross timestamps came at their
    /// usual interval.
    HardwareStep,
    /// The frequency changed by more than an oscillator can cause.
    FrequencyChange,
    /// There was no cross timestamp for too long.
    Gap,
    /// The system reported a configuration change, so the NIC may have been restarted.
    Notification,
    /// The interface has another hardware clock: a bond failed over, another timestamp provider was
    /// selected, or the NIC was removed and found again.
    ClockReplaced,
}

impl GenerationCause {
    /// All causes in their order of declaration.
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

/// A converted instant of clock `C`, with its error bound and clock generation.
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
    /// The estimate with its error bound.
    pub at: Bounded<Time<C>>,
    /// The generation of the hardware clock that it was converted with.
    pub generation: ClockGeneration,
}

/// Prints `2026-11-25T13:00:00.123456789Z ±420 ns`, or `4711.000123456 s ±420 ns` for clocks other
/// than UTC.
///
/// The precision is the number of digits of the fraction. The time is rounded to the nearest and
/// the error bound up; the bound includes the rounding error of the time.
impl<C: Clock> fmt::Display for Estimate<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display::nanoseconds(f, self.at.value, self.at.bound)
    }
}

/// A converted instant of clock `C` in picoseconds: the correlation's estimate is finer than the
/// nanoseconds that systems count.
///
/// The estimate is for the middle of the timestamp's tick, and the error bound covers the whole
/// tick.
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
    /// The estimate, rounded down to the nanosecond.
    pub at: Time<C>,
    /// The picoseconds from `at` to the estimate: 0 to 999.
    pub picoseconds: u16,
    /// The error bound in picoseconds.
    pub bound_picoseconds: u64,
    /// The generation of the hardware clock that it was converted with.
    pub generation: ClockGeneration,
}

impl<C: Clock> FineEstimate<C> {
    /// Returns the estimate in picoseconds since the clock's start.
    pub fn total_picoseconds(&self) -> i128 {
        i128::from(self.at.nanoseconds()) * 1_000 + i128::from(self.picoseconds)
    }
}

/// Prints `2026-11-25T13:00:00.123456789012Z ±4.20 ns`: like [`Estimate`], with picoseconds.
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
    /// The error bound of every time.
    #[cfg_attr(feature = "serde", serde(rename = "error_bound_ns"))]
    pub bound: Span,
    /// The generation of the hardware clock that they were converted with.
    pub generation: ClockGeneration,
}

/// An instant of the monotonic clock, converted to ticks of a NIC's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct HardwareEstimate {
    /// The estimate in ticks.
    #[cfg_attr(feature = "serde", serde(rename = "hardware_ticks"))]
    pub ticks: HardwareTicks,
    /// The error bound in ticks.
    #[cfg_attr(feature = "serde", serde(rename = "error_bound_ticks"))]
    pub bound: u64,
    /// The generation of the hardware clock that it was converted with.
    pub generation: ClockGeneration,
}

/// Prints `123456789 ±3 ticks`.
impl fmt::Display for HardwareEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ±{} ticks", self.ticks.raw(), self.bound)
    }
}

/// The hardware clock's frequency relative to the monotonic clock. (The specification's samples
/// leave this open, as `QueryHardwareClockFrequency`.)
///
/// It is the frequency at the newest cross timestamp. A sudden change by a program becomes visible
/// only in later ones.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct FrequencyEstimate {
    /// Ticks of the hardware clock per second of the monotonic clock.
    pub hertz: f64,
    /// The error bound in parts per billion of `hertz`.
    pub error_bound_parts_per_billion: f64,
    /// The generation of the hardware clock.
    pub generation: ClockGeneration,
}

/// The assumptions under which error bounds hold (`docs/error-bound.md`).
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Assumptions {
    /// The fastest change of the clocks' relative frequency, as a fraction per second. Thermal
    /// ramps of common oscillators reach 10⁻⁸ per second; a poor one that swings by 1 ppm in five
    /// minutes reaches 2·10⁻⁸.
    pub wander_per_second: f64,
    /// The longest tick of the hardware clock: the time for which it shows the same value, unless
    /// one unit of it is longer. Its values differ by multiples of the tick; only ticks of up to 8
    /// ns may be irregular. Smaller ticks are soon learnt from cross timestamps.
    #[cfg_attr(feature = "serde", serde(rename = "largest_tick_ns"))]
    pub largest_tick: Span,
    /// How far programs may change the frequency in steps that nobody reports, as a fraction: the
    /// largest difference that such steps make between two instants at most
    /// [`unseen_within`](Self::unseen_within) apart. A servo that corrects a clock often, in either
    /// direction, may make any number of them.
    ///
    /// Error bounds grow by a quarter of the product of the two, and as if the oscillators wandered
    /// faster by their quotient.
    pub unseen_change: f64,
    /// See [`unseen_change`](Self::unseen_change).
    #[cfg_attr(feature = "serde", serde(rename = "unseen_within_ns"))]
    pub unseen_within: Span,
}

impl Assumptions {
    /// The defaults: 3·10⁻⁸ per second, 10 µs, and no unseen changes.
    pub const USUAL: Self = Self {
        wander_per_second: 3e-8,
        largest_tick: Span::from_microseconds(10),
        unseen_change: 0.0,
        unseen_within: Span::from_seconds(1),
    };
}

impl Default for Assumptions {
    fn default() -> Self {
        Self::USUAL
    }
}

/// The expected speed of change (wander) of a hardware clock's frequency, in fractions per second.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Prior {
    /// The observed wander: twice the largest recent change, at least 10⁻⁹. It never narrows an
    /// error bound, because a quiet oscillator may ramp in the next minute.
    pub seen_per_second: f64,
    /// The wander that error bounds allow for: [`Assumptions::wander_per_second`], or more if cross
    /// timestamps contradict that.
    pub unseen_per_second: f64,
    /// The generation of the hardware clock.
    pub generation: ClockGeneration,
}

/// The reason why a timestamp cannot be converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ConversionError {
    /// There are too few cross timestamps in this generation yet; take more.
    NotReady,
    /// The timestamp is of another interface's clock.
    OtherClock,
    /// The system does not report which device made the timestamp, for example for a frame that was
    /// sent on a bridge.
    UnknownDevice,
    /// The timestamp fits no known generation: it was made before a reset, or after one that was
    /// not noticed yet.
    OutsideGenerations,
    /// The timestamp fits more than one generation, or may be of one that ended before its
    /// frequency was known.
    Ambiguous,
    /// The last cross timestamp is too old for an error bound.
    Stale,
    /// UTC at that time is unknown: the real-time clock was stepped around it, or was not read
    /// before and after it.
    UtcUnknown,
    /// The packet has no timestamp of the requested source.
    NoTimestamp,
    /// There are too few cross timestamps after the timestamp: a change of the clock just before it
    /// would not be visible yet.
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
