//! The schedule of a correlator and its status.

use crate::interface::Interface;
use std::time::Duration;
use wirestamp_core::correlate::{Assumptions, ClockGeneration, GenerationCause};
use wirestamp_core::cross::CrossMethod;
use wirestamp_core::time::Span;
use wirestamp_core::{Error, ErrorKind, Result};

/// The schedule by which a [`Correlator`](crate::Correlator) reads the clocks.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct CorrelatorOptions {
    /// The interval between batches of cross timestamps after the initial burst; with a `budget`,
    /// the longest one.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "period_ns", with = "wirestamp_core::serialized::nanoseconds")
    )]
    pub period: Duration,
    /// The number of batches taken in quick succession at the start and after every restart of the
    /// clock, so that its frequency is known soon. Unless it is 0, batches also come sooner after
    /// cross timestamps that contradict earlier ones, and after failures: see
    /// [`Burst`](crate::correlator::Burst).
    pub burst: u32,
    /// The interval between the batches of a burst: the longer, the better the first estimate of
    /// the frequency. After a contradiction it is the shortest one.
    #[cfg_attr(
        feature = "serde",
        serde(
            rename = "burst_gap_ns",
            with = "wirestamp_core::serialized::nanoseconds"
        )
    )]
    pub burst_gap: Duration,
    /// The number of cross timestamps in a batch. All of them are used.
    pub readings_per_batch: usize,
    /// The time per second that cross timestamps may take. The correlator then chooses when to take
    /// a batch (at most `period` apart, even beyond the budget) and how many cross timestamps it
    /// needs to outweigh delayed ones: see [`Sampling`](crate::correlator::Sampling). If `None`,
    /// uses `period` and `readings_per_batch` as given, regardless of cost, but for the batches that
    /// come sooner (`burst`).
    #[cfg_attr(
        feature = "serde",
        serde(
            rename = "budget_ns",
            with = "wirestamp_core::serialized::nanoseconds_or_none"
        )
    )]
    pub budget: Option<Duration>,
    /// The assumptions under which error bounds hold: how fast the oscillators wander, and what
    /// other programs do to the clocks.
    pub assumptions: Assumptions,
}

impl CorrelatorOptions {
    /// A fixed schedule: a batch of 5 cross timestamps every 5 seconds, as in the specification's
    /// example, after a burst of 16 batches over 150 ms. The burst bounds the frequency to a few
    /// ppm if a cross timestamp is good to half a microsecond. A batch has 5 because its first one
    /// is always the worst. After contradictions and failures batches come sooner here, too.
    pub const FIXED: Self = Self {
        period: Duration::from_secs(5),
        burst: 16,
        burst_gap: Duration::from_millis(10),
        readings_per_batch: 5,
        budget: None,
        assumptions: Assumptions::USUAL,
    };

    /// Returns why this schedule is invalid; `None` if it is valid.
    pub fn fault(&self) -> Option<&'static str> {
        Some(match self {
            _ if self.period.is_zero() => "a period of zero",
            _ if self.burst_gap.is_zero() && self.burst > 1 => "a burst without a gap",
            _ if self.readings_per_batch == 0 => "batches without a reading",
            _ if self.budget.is_some_and(|budget| budget.is_zero()) => "a budget of nothing",
            _ => return assumptions_fault(&self.assumptions),
        })
    }
}

fn assumptions_fault(assumptions: &Assumptions) -> Option<&'static str> {
    let is_fraction = |value: f64| (0.0..=1.0).contains(&value);
    Some(match assumptions {
        all if !is_fraction(all.wander_per_second) => "a wander that is no fraction",
        all if all.largest_tick <= Span::ZERO => "a tick of no length",
        all if !is_fraction(all.unseen_change) => "an unseen change that is no fraction",
        all if all.unseen_within <= Span::ZERO => "unseen changes within no time",
        all if hidden(all) > Span::from_seconds(10) => {
            "unseen changes that hide more than ten seconds"
        }
        _ => return None,
    })
}

/// Returns how far a clock may be from one whose unseen changes are spread out.
fn hidden(assumptions: &Assumptions) -> Span {
    let within = assumptions.unseen_within.saturating_nanoseconds() as f64;
    let hidden = assumptions.unseen_change * within / 8.0;
    Span::from_nanoseconds(hidden.ceil() as i128)
}

/// The burst of [`FIXED`](Self::FIXED) at the start, then a budget of 100 µs per second.
impl Default for CorrelatorOptions {
    fn default() -> Self {
        Self {
            budget: Some(Duration::from_micros(100)),
            ..Self::FIXED
        }
    }
}

/// The state of a [`Correlator`](crate::Correlator): its cross timestamps, their failures and their
/// cost.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct CorrelatorStatus {
    /// The current generation of the hardware clock; `None` before the first cross timestamp.
    pub generation: Option<ClockGeneration>,
    /// The event that began this generation.
    pub cause: Option<GenerationCause>,
    /// The number of cross timestamps that current conversions use.
    pub readings: usize,
    /// The number of failed batches since the start.
    pub failures: u64,
    /// The error of the last batch; `None` if it succeeded.
    pub last_error: Option<Error>,
    /// The method of the last cross timestamp.
    pub method: Option<CrossMethod>,
    /// The number of cross timestamps taken since the start.
    pub taken: u64,
    /// The total time spent on taking them.
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
