//! A NIC's clock against UTC: its offset and its frequency offset, and why they are not known.

use crate::reading::ClockReading;
use wirestamp::correlator::FrequencyEstimate;
use wirestamp::time::Frequency;
use wirestamp::{Bounded, Interface, Span, UtcTime};

/// Why a clock has no offset to UTC: its ticks are no nanoseconds, it is further off than 292 years.
pub(super) const OTHER_UNIT: &str = "not_nanoseconds";
const TOO_FAR: &str = "overflow";
/// It could not be read now, or the real-time clock was stepped meanwhile.
pub(super) const UNREAD: &str = "unread";

/// A clock minus UTC.
pub(super) struct Offset {
    pub(super) at: UtcTime,
    pub(super) offset: Bounded<Span>,
}

impl Offset {
    /// # Errors
    /// The number does not fit.
    pub(super) fn of(at: UtcTime, offset: i128, bound: i128) -> Result<Self, &'static str> {
        let is_near = |value| i64::try_from(value).is_ok();
        if !is_near(offset) || !is_near(bound) {
            return Err(TOO_FAR);
        }
        let [offset, bound] = [offset, bound].map(Span::from_nanoseconds);
        Ok(Self {
            at,
            offset: Bounded::new(offset, bound),
        })
    }

    /// That of a clock that counts nanoseconds.
    pub(super) fn read(reading: &ClockReading) -> Result<Self, &'static str> {
        // a clock whose driver states no frequency counts nanoseconds
        let nominal = Some(Frequency::GIGAHERTZ);
        let reading = ClockReading {
            nominal,
            ..*reading
        };
        let Bounded { value, bound } = reading.offset_to_utc().ok_or(UNREAD)?;
        Self::of(reading.utc(), value.nanoseconds(), bound.nanoseconds())
    }
}

/// Whether an interface's clock counts nanoseconds.
pub(super) fn counts_nanoseconds(interface: &Interface) -> wirestamp::Result<bool> {
    let nominal = interface.supported()?.nominal_frequency;
    Ok(nominal.is_none_or(|nominal| nominal == Frequency::GIGAHERTZ))
}

/// How much faster a clock of nanoseconds runs than the monotonic clock, in parts per 10^12.
pub(super) fn parts_per_trillion(frequency: &FrequencyEstimate) -> i64 {
    ((frequency.hertz / 1e9 - 1.0) * 1e12).round() as i64
}
