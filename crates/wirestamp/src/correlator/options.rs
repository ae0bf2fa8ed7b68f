//! The schedule of a correlator, and what it reports of itself.

use crate::interface::Interface;
use std::time::Duration;
use wirestamp_core::correlate::{ClockGeneration, GenerationCause};
use wirestamp_core::cross::CrossMethod;
use wirestamp_core::time::Span;
use wirestamp_core::{Error, ErrorKind, Result};

/// The schedule by which a [`Correlator`](crate::Correlator) reads the clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct CorrelatorOptions {
    /// From one reading to the next, in the long run.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "period_ns", with = "wirestamp_core::serialized::nanoseconds")
    )]
    pub period: Duration,
    /// How many readings are taken in quick succession at the start and after every restart,
    /// so that the rate is known soon.
    pub burst: u32,
    /// From one reading of a burst to the next: the longer, the better the first rate.
    #[cfg_attr(
        feature = "serde",
        serde(
            rename = "burst_gap_ns",
            with = "wirestamp_core::serialized::nanoseconds"
        )
    )]
    pub burst_gap: Duration,
    /// How many cross timestamps are taken for one reading; all of them count.
    pub readings_per_batch: usize,
    /// How much of each second may go into reading the clocks. The correlator then reads as often
    /// as helps, `period` apart at most even if the budget does not pay for it, and takes as many
    /// cross timestamps for one reading as delayed ones make necessary: see [`Sampling`](crate::correlator::Sampling). If
    /// `None`, uses `period` and `readings_per_batch` as given, regardless of cost.
    #[cfg_attr(
        feature = "serde",
        serde(
            rename = "budget_ns",
            with = "wirestamp_core::serialized::nanoseconds_or_none"
        )
    )]
    pub budget: Option<Duration>,
}

impl CorrelatorOptions {
    /// A reading every 5 seconds, as in the specification's example; 16 at the start, over 150
    /// ms, which bound the rate to a few ppm where one cross timestamp is good to half a
    /// microsecond; 5 at a time, because the first of a batch is always the worst.
    pub const FIXED: Self = Self {
        period: Duration::from_secs(5),
        burst: 16,
        burst_gap: Duration::from_millis(10),
        readings_per_batch: 5,
        budget: None,
    };

    /// Returns why no clock can be read by this schedule; `None`: it can.
    pub fn fault(&self) -> Option<&'static str> {
        Some(match self {
            _ if self.period.is_zero() => "a period of zero",
            _ if self.burst_gap.is_zero() && self.burst > 1 => "a burst without a gap",
            _ if self.readings_per_batch == 0 => "batches without a reading",
            _ if self.budget.is_some_and(|budget| budget.is_zero()) => "a budget of nothing",
            _ => return None,
        })
    }
}

/// As [`FIXED`](Self::FIXED) at the start; then as often as helps, for 100 µs of each second.
impl Default for CorrelatorOptions {
    fn default() -> Self {
        Self {
            budget: Some(Duration::from_micros(100)),
            ..Self::FIXED
        }
    }
}

/// The state of a [`Correlator`](crate::Correlator): its readings, their failures, and their cost.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct CorrelatorStatus {
    /// The current generation of the hardware clock; `None` before the first reading.
    pub generation: Option<ClockGeneration>,
    /// What opened it.
    pub cause: Option<GenerationCause>,
    /// How many readings the current conversions stand on.
    pub readings: usize,
    /// How many attempts to read failed since the start.
    pub failures: u64,
    /// Why the last failure failed; `None` once a reading has succeeded after it.
    pub last_error: Option<Error>,
    /// How the last reading was made.
    pub method: Option<CrossMethod>,
    /// How many cross timestamps were taken since the start.
    pub taken: u64,
    /// What taking them took.
    #[cfg_attr(feature = "serde", serde(rename = "reading_time_ns"))]
    pub reading_time: Span,
}

pub(super) fn check(interface: &Interface, options: &CorrelatorOptions) -> Result<()> {
    let Some(fault) = options.fault() else {
        return Ok(());
    };
    Err(Error::new(
        ErrorKind::InvalidInput,
        "start a correlator",
        interface.name(),
        fault,
    )
    .with_remedy("start from CorrelatorOptions::default()"))
}
