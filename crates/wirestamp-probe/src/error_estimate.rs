//! The Error Estimate field: the error bound of a packet's timestamps.

use crate::timestamp::TimestampFormat;
use wirestamp_core::time::Span;

const SYNCHRONIZED: u16 = 1 << 15;
const PTP: u16 = 1 << 14;
const GREATEST_SCALE: u8 = 63;

/// An Error Estimate: Multiplier · 2^(Scale − 32) seconds, with the bits S and Z.
///
/// Source: RFC 4656, section 4.1.2; RFC 8186, section 2.3 (Z).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorEstimate {
    synchronized: bool,
    format: TimestampFormat,
    scale: u8,
    multiplier: u8,
}

impl ErrorEstimate {
    /// Returns the smallest estimate that is at least `bound`: up to 1/128 larger above 30 ns, up
    /// to 233 ps larger below.
    ///
    /// `synchronized` is the S bit: an external source synchronises the clock to UTC, and `bound`
    /// includes the clock's error bound relative to UTC.
    pub fn at_least(bound: Span, synchronized: bool, format: TimestampFormat) -> Self {
        let nanoseconds = bound.nanoseconds().clamp(0, i128::from(u64::MAX)) as u128;
        let units = (nanoseconds << 32).div_ceil(1_000_000_000).max(1);
        // the leading eight bits, and one more if rounding up carries
        let mut scale = (128 - units.leading_zeros()).saturating_sub(8) as u8;
        if units.div_ceil(1 << scale) > 255 {
            scale += 1;
        }
        let scale = scale.min(GREATEST_SCALE);
        let multiplier = units.div_ceil(1 << scale).min(255) as u8;
        Self {
            synchronized,
            format,
            scale,
            multiplier,
        }
    }

    /// Decodes the field; `None` if its multiplier is 0, which is invalid (RFC 4656).
    pub fn from_bits(bits: u16) -> Option<Self> {
        let [high, multiplier] = bits.to_be_bytes();
        (multiplier != 0).then_some(Self {
            synchronized: bits & SYNCHRONIZED != 0,
            format: if bits & PTP == 0 {
                TimestampFormat::Ntp
            } else {
                TimestampFormat::Ptp
            },
            scale: high & GREATEST_SCALE,
            multiplier,
        })
    }

    /// Returns the field.
    pub fn bits(self) -> u16 {
        let synchronized = if self.synchronized { SYNCHRONIZED } else { 0 };
        let format = match self.format {
            TimestampFormat::Ntp => 0,
            TimestampFormat::Ptp => PTP,
        };
        synchronized | format | u16::from(self.scale) << 8 | u16::from(self.multiplier)
    }

    /// Returns the error bound, rounded up to nanoseconds.
    pub fn bound(self) -> Span {
        let units = u128::from(self.multiplier) << self.scale;
        Span::from_nanoseconds((units * 1_000_000_000).div_ceil(1 << 32) as i128)
    }

    /// Returns the S bit: whether the clock claims to be synchronised to UTC.
    pub fn is_synchronized(self) -> bool {
        self.synchronized
    }

    /// Returns the format of the packet's own timestamps (the Z bit).
    pub fn format(self) -> TimestampFormat {
        self.format
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Computed by another program, from the formula of RFC 4656.
    #[test]
    fn known_estimates() {
        let table = [
            (1, 0x0005, 2),
            (100, 0x01d7, 101),
            (1_000, 0x0587, 1_006),
            (4_200, 0x078d, 4_203),
            (50_000, 0x0ad2, 50_068),
            (1_000_000, 0x0f84, 1_007_081),
        ];
        for (bound, bits, decoded) in table {
            let span = Span::from_nanoseconds(bound);
            let estimate = ErrorEstimate::at_least(span, false, TimestampFormat::Ntp);
            assert_eq!(estimate.bits(), bits, "{bound} ns");
            assert_eq!(estimate.bound().nanoseconds(), decoded, "{bound} ns");
            let synchronized = ErrorEstimate::at_least(span, true, TimestampFormat::Ntp);
            assert_eq!(synchronized.bits(), bits | 0x8000);
            let ptp = ErrorEstimate::at_least(span, true, TimestampFormat::Ptp);
            assert_eq!(ptp.bits(), bits | 0xc000);
        }
    }

    #[test]
    fn no_bound_is_the_least_and_a_multiplier_of_zero_is_refused() {
        for bound in [-5, 0] {
            let bound = Span::from_nanoseconds(bound);
            assert_eq!(
                ErrorEstimate::at_least(bound, false, TimestampFormat::Ntp).bits(),
                1
            );
        }
        assert_eq!(ErrorEstimate::from_bits(0x8a00), None);
        assert_eq!(ErrorEstimate::from_bits(0), None);
    }

    proptest! {
        #[test]
        fn never_less_than_the_bound_and_hardly_more(bound in 0..i64::MAX) {
            let span = Span::from_nanoseconds(bound.into());
            let said = ErrorEstimate::at_least(span, true, TimestampFormat::Ptp).bound();
            prop_assert!(said >= span);
            let excess = (said - span).nanoseconds();
            prop_assert!(excess <= 1 + i128::from(bound) / 127, "{} for {}", said, span);
        }

        #[test]
        fn every_field_survives(bits: u16) {
            if let Some(read) = ErrorEstimate::from_bits(bits) {
                prop_assert_eq!(read.bits(), bits);
            }
        }
    }
}
