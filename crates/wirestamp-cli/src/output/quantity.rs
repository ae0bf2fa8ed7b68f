//! Times, offsets and error bounds as text, with the digits that have a meaning.

use wirestamp::{Bounded, Span};

/// In the unit that fits.
pub(crate) fn shown(nanoseconds: i64) -> String {
    Span::from_nanoseconds(nanoseconds.into()).to_string()
}

/// In the unit that fits, with no digit finer than `finest` nanoseconds: of a file with microseconds, `3 µs` and not `3.00 µs`.
pub(crate) fn to_unit(nanoseconds: i64, finest: u64) -> String {
    printed(nanoseconds, finest).1
}

/// The time that [`to_unit`]'s text states, in nanoseconds, and that text: rounded to `finest`, then cut off after three digits.
pub(crate) fn printed(nanoseconds: i64, finest: u64) -> (i128, String) {
    let finest = u128::from(finest.max(1));
    let magnitude = u128::from(nanoseconds.unsigned_abs());
    let rounded = (magnitude + finest / 2) / finest * finest;
    let (sign, name) = match nanoseconds < 0 && rounded > 0 {
        true => (-1, "-"),
        false => (1, ""),
    };
    let (stated, text) = cut_off(rounded, finest);
    (sign * stated as i128, format!("{name}{text}"))
}

/// The time that the text states, and the text of a rounded time.
fn cut_off(rounded: u128, finest: u128) -> (u128, String) {
    let (unit, name) = match rounded.max(finest) {
        0..1_000 => return (rounded, format!("{rounded} ns")),
        1_000..1_000_000 => (1_000, "µs"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    let usual = match rounded / unit {
        0..10 => 2,
        10..100 => 1,
        _ => 0,
    };
    let decimals = (0..usual).take_while(|place| unit / 10_u128.pow(*place) >= 10 * finest);
    let decimals = decimals.count();
    let step = unit / 10_u128.pow(decimals as u32);
    let (whole, rest) = (rounded / unit, rounded % unit / step);
    let text = match decimals {
        0 => format!("{whole} {name}"),
        _ => format!("{whole}.{rest:0decimals$} {name}"),
    };
    (rounded / step * step, text)
}

/// An offset with its sign, and as many digits as [`magnitude`] has.
pub(crate) fn signed(offset: i64, bound: i64) -> String {
    let sign = ["-", "", "+"][usize::from(offset >= 0) + usize::from(offset > 0)];
    format!("{sign}{}", magnitude(offset, bound))
}

/// The same, and its error bound: `±120 ns`.
pub(crate) fn bounded(offset: &Bounded<Span>) -> [String; 2] {
    let [value, bound] = [offset.value, offset.bound].map(Span::saturating_nanoseconds);
    [
        signed(value, bound),
        format!("±{}", beside(bound, value, bound)),
    ]
}

/// An error bound of `offset`, which is printed beside it with the digits of the bound `by`: rounded up, and with what
/// rounding the offset costs, so that the printed interval contains the measured one.
pub(crate) fn beside(bound: i64, offset: i64, by: i64) -> String {
    let lost = Rounded::of(offset, by).lost(offset);
    rounded_up(bound.saturating_add(lost))
}

/// An offset without its sign, in as many digits as its bound gives a meaning to: rounded by a twentieth of the bound at
/// most, and three digits at least.
pub(crate) fn magnitude(offset: i64, bound: i64) -> String {
    Rounded::of(offset, bound).text()
}

/// A magnitude in nanoseconds, rounded to so many decimals of its unit.
struct Rounded {
    nanoseconds: u128,
    unit: u128,
    name: &'static str,
    decimals: usize,
}

impl Rounded {
    fn of(offset: i64, bound: i64) -> Self {
        let (offset, bound) = (u128::from(offset.unsigned_abs()), i128::from(bound));
        let (unit, places, name) = match offset {
            0..1_000 => (1u128, 0, "ns"),
            1_000..1_000_000 => (1_000, 3, "µs"),
            1_000_000..1_000_000_000 => (1_000_000, 6, "ms"),
            _ => (1_000_000_000, 9, "s"),
        };
        let least = match offset / unit {
            _ if unit == 1 => 0,
            0..10 => 2,
            10..100 => 1,
            _ => 0,
        };
        let step = |decimals: usize| unit / 10u128.pow(decimals as u32);
        let is_fine = |decimals: &usize| step(*decimals) as i128 * 10 <= bound;
        let decimals = (least..places).find(is_fine).unwrap_or(places);
        let nanoseconds = (offset + step(decimals) / 2) / step(decimals) * step(decimals);
        Self {
            nanoseconds,
            unit,
            name,
            decimals,
        }
    }

    /// How far it is from the offset that it was made of.
    fn lost(&self, offset: i64) -> i64 {
        let lost = self.nanoseconds.abs_diff(offset.unsigned_abs().into());
        i64::try_from(lost).unwrap_or(i64::MAX)
    }

    fn text(&self) -> String {
        let (decimals, name) = (self.decimals, self.name);
        let step = self.unit / 10u128.pow(decimals as u32);
        let (whole, rest) = (
            self.nanoseconds / self.unit,
            self.nanoseconds % self.unit / step,
        );
        match decimals {
            0 => format!("{whole} {name}"),
            _ => format!("{whole}.{rest:0decimals$} {name}"),
        }
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
    use proptest::prelude::*;

    /// A printed text, in nanoseconds.
    fn read(text: &str) -> i128 {
        let (number, unit) = text.split_once(' ').expect("a unit");
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let unit: i128 = match unit {
            "ns" => 1,
            "µs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            other => panic!("{other}"),
        };
        let digits: i128 = format!("{whole}{part}").parse().expect("a number");
        digits * unit / 10i128.pow(part.len() as u32)
    }

    fn of_any_size(most: u32) -> impl Strategy<Value = i64> {
        (0..=most).prop_flat_map(|power| 0..10i64.pow(power))
    }

    proptest! {
        #[test]
        fn the_printed_interval_contains_the_measured_one(
            magnitude in of_any_size(18),
            is_behind in any::<bool>(),
            bound in of_any_size(15),
            other in of_any_size(15),
        ) {
            let offset = if is_behind { -magnitude } else { magnitude };
            let shown = read(&signed(offset, bound));
            let apart = (shown - i128::from(offset)).abs();
            for one in [bound, other] {
                prop_assert!(read(&beside(one, offset, bound)) >= i128::from(one) + apart);
            }
            prop_assert!(apart * 20 <= i128::from(bound).max(shown.abs() / 10 + 1));
        }

        #[test]
        fn the_stated_time_is_that_of_the_text(
            magnitude in of_any_size(18),
            is_behind in any::<bool>(),
            finest in of_any_size(9),
        ) {
            let time = if is_behind { -magnitude } else { magnitude };
            let (stated, text) = printed(time, finest as u64);
            prop_assert_eq!(read(&text), stated, "{}", text);
            prop_assert_eq!(to_unit(time, 1), shown(time));
        }
    }

    #[test]
    fn no_digit_is_finer_than_the_unit() {
        for (nanoseconds, finest, expected) in [
            (523, 1, "523 ns"),
            (523, 1_000, "1 µs"),
            (499, 1_000, "0 µs"),
            (-499, 1_000, "0 µs"),
            (-3_499, 1_000, "-3 µs"),
            (3_499, 100, "3.5 µs"),
            (3_499, 10, "3.50 µs"),
            (349, 100, "300 ns"),
            (12_345_678, 1_000, "12.3 ms"),
            (1_234_567, 1_000, "1.23 ms"),
            (1_234_567, 976_563, "976 µs"),
            (523, 1_000_000_000, "0 s"),
            (i64::MIN, 1_000_000_000, "-9223372037 s"),
        ] {
            assert_eq!(
                to_unit(nanoseconds, finest),
                expected,
                "{nanoseconds} {finest}"
            );
        }
    }

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
