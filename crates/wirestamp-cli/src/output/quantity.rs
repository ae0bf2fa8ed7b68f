//! Times, offsets and error bounds as text, with the digits that have a meaning.

use wirestamp::{Bounded, Span};

/// In the unit that fits.
pub(crate) fn shown(nanoseconds: i64) -> String {
    Span::from_nanoseconds(nanoseconds.into()).to_string()
}

/// An offset with its sign, and as many digits as [`magnitude`] has.
pub(crate) fn signed(offset: i64, bound: i64) -> String {
    let sign = ["-", "", "+"][usize::from(offset >= 0) + usize::from(offset > 0)];
    format!("{sign}{}", magnitude(offset, bound))
}

/// The same, and its error bound: `±120 ns`.
pub(crate) fn bounded(offset: &Bounded<Span>) -> [String; 2] {
    let [value, bound] = [offset.value, offset.bound].map(Span::saturating_nanoseconds);
    [signed(value, bound), format!("±{}", rounded_up(bound))]
}

/// An offset without its sign, in as many digits as its bound gives a meaning to: rounded by a twentieth of the bound at
/// most, and three digits at least.
pub(crate) fn magnitude(offset: i64, bound: i64) -> String {
    let (offset, bound) = (u128::from(offset.unsigned_abs()), i128::from(bound));
    let (unit, places, name) = match offset {
        0..1_000 => return format!("{offset} ns"),
        1_000..1_000_000 => (1_000u128, 3, "µs"),
        1_000_000..1_000_000_000 => (1_000_000, 6, "ms"),
        _ => (1_000_000_000, 9, "s"),
    };
    let least = match offset / unit {
        0..10 => 2,
        10..100 => 1,
        _ => 0,
    };
    let step = |decimals: usize| unit / 10u128.pow(decimals as u32);
    let is_fine = |decimals: &usize| step(*decimals) as i128 * 10 <= bound;
    let decimals = (least..places).find(is_fine).unwrap_or(places);
    let rounded = (offset + step(decimals) / 2) / step(decimals) * step(decimals);
    let (whole, rest) = (rounded / unit, rounded % unit / step(decimals));
    match decimals {
        0 => format!("{whole} {name}"),
        _ => format!("{whole}.{rest:0decimals$} {name}"),
    }
}

/// A bound with three digits must not be less than it is.
pub(crate) fn rounded_up(nanoseconds: i64) -> String {
    let (mut digits, mut unit) = (i128::from(nanoseconds), 1);
    while digits >= 1_000 {
        digits = (digits + 9) / 10;
        unit *= 10;
    }
    // of the largest, the next of three digits is more than 64 bits
    Span::from_nanoseconds(digits * unit).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_rounded_up() {
        let rounded = [0, 999, 1_000, 1_001, 9_991, 99_950, 5_002_500].map(rounded_up);
        assert_eq!(
            rounded,
            [
                "0 ns", "999 ns", "1.00 µs", "1.01 µs", "10.0 µs", "100 µs", "5.01 ms"
            ]
        );
    }

    #[test]
    fn a_saturated_bound_is_no_negative_one() {
        let largest = rounded_up(i64::MAX);
        assert!(
            !largest.contains('-') && largest.ends_with(" s"),
            "{largest}"
        );
    }

    #[test]
    fn offsets_have_the_digits_that_their_bounds_give_a_meaning_to() {
        let shown = |offset, bound| signed(offset, bound);
        assert_eq!(
            [shown(5, 1), shown(0, 1), shown(-1_500, 9_000)],
            ["+5 ns", "0 ns", "-1.50 µs"]
        );
        // three digits would be wrong by a thousand times the bound
        assert_eq!(shown(-249_999_835, 557), "-249.99984 ms");
        assert_eq!(shown(-249_999_835, 3_000_000), "-250.0 ms");
        assert_eq!(shown(-249_999_835, 90_000_000), "-250 ms");
        assert_eq!(shown(5_000_000_123, 0), "+5.000000123 s");
        assert_eq!(shown(1_999_999, 2_000_000), "+2.00 ms");
        assert_eq!(shown(999_999, 5_000), "+1000.0 µs");
        assert_eq!(shown(i64::MIN, i64::MAX), "-9223372037 s");
    }
}
