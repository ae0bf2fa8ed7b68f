//! Formatting of instants and error bounds. Values are rounded to the nearest and error bounds up,
//! and a bound includes the rounding error of its value: the printed interval contains the measured
//! one.

use super::instant::{Clock, Time};
use super::rfc3339;
use alloc::format;
use alloc::string::String;
use core::fmt::{self, Alignment, Write};

/// Picoseconds per second.
const PICOSECONDS: i128 = 1_000_000_000_000;
const IN_A_NANOSECOND: i128 = 1_000;
/// Digits of the fraction of a second, in nanoseconds and in picoseconds.
const NANOSECOND_DIGITS: usize = 9;
const PICOSECOND_DIGITS: usize = 12;

/// Prints UTC in the form of RFC 3339, `2026-11-23T06:30:00.123456789Z`, and other clocks in
/// seconds since their start, `4711.000123456 s`.
///
/// The precision is the number of digits of the fraction, up to 9, rounded to the nearest: `{:.3}`
/// prints milliseconds.
impl<C: Clock> fmt::Display for Time<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = i128::from(self.nanoseconds()) * IN_A_NANOSECOND;
        let (at, digits) = rounded(at, f.precision(), NANOSECOND_DIGITS);
        pad(f, &text::<C>(at, digits)?)
    }
}

/// Prints `at` ± `bound`, both in picoseconds, with `finest` digits of the fraction unless `f` asks
/// for fewer.
fn with_bound<C: Clock>(
    f: &mut fmt::Formatter<'_>,
    at: i128,
    bound: u128,
    finest: usize,
) -> fmt::Result {
    let (shown, digits) = rounded(at, f.precision(), finest);
    let bound = bound.saturating_add(shown.abs_diff(at));
    let time = text::<C>(shown, digits)?;
    pad(f, &format!("{time} ±{}", Bound(bound)))
}

/// Prints an instant in nanoseconds.
pub(crate) fn nanoseconds<C: Clock>(
    f: &mut fmt::Formatter<'_>,
    at: Time<C>,
    bound: super::Span,
) -> fmt::Result {
    let bound = bound.nanoseconds().max(0).unsigned_abs();
    let at = i128::from(at.nanoseconds()) * IN_A_NANOSECOND;
    with_bound::<C>(
        f,
        at,
        bound.saturating_mul(IN_A_NANOSECOND.unsigned_abs()),
        NANOSECOND_DIGITS,
    )
}

/// Prints a time span with its error bound.
pub(crate) fn span(
    f: &mut fmt::Formatter<'_>,
    value: super::Span,
    bound: super::Span,
) -> fmt::Result {
    let bound = (bound + value.cut_off())
        .nanoseconds()
        .max(0)
        .unsigned_abs();
    let bound = bound.saturating_mul(IN_A_NANOSECOND.unsigned_abs());
    pad(f, &format!("{value} ±{}", Bound(bound)))
}

/// Prints an instant in picoseconds.
pub(crate) fn picoseconds<C: Clock>(
    f: &mut fmt::Formatter<'_>,
    at: i128,
    bound: u64,
) -> fmt::Result {
    with_bound::<C>(f, at, bound.into(), PICOSECOND_DIGITS)
}

/// An error bound in picoseconds, printed with three significant digits, rounded up; whole
/// nanoseconds below a microsecond are printed exactly.
struct Bound(u128);

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1_000_000 && self.0 % 1_000 == 0 {
            return write!(f, "{} ns", self.0 / 1_000);
        }
        // 9.995 rounded up has the digits of 10.0
        let (_, per, digits) = unit(self.0);
        let smallest = per / 10u128.pow(digits);
        let up = self.0.div_ceil(smallest).saturating_mul(smallest);
        let (name, per, digits) = unit(up);
        write!(f, "{}", up / per)?;
        if digits > 0 {
            let rest = up % per / (per / 10u128.pow(digits));
            write!(f, ".{rest:0width$}", width = digits as usize)?;
        }
        write!(f, " {name}")
    }
}

/// A suitable unit, its length in picoseconds, and the digits of the fraction for three significant
/// digits.
fn unit(picoseconds: u128) -> (&'static str, u128, u32) {
    let units = [("s", 12), ("ms", 9), ("µs", 6), ("ns", 3)];
    let fitting = units
        .into_iter()
        .map(|(name, power)| (name, 10u128.pow(power)))
        .find(|(_, per)| picoseconds >= *per);
    let Some((name, per)) = fitting else {
        return ("ps", 1, 0);
    };
    let digits = match picoseconds / per {
        0..10 => 2,
        10..100 => 1,
        _ => 0,
    };
    (name, per, digits)
}

/// Rounds half up to the requested number of digits, and returns that number too.
fn rounded(picoseconds: i128, asked: Option<usize>, finest: usize) -> (i128, usize) {
    let digits = asked.unwrap_or(finest).min(finest);
    let step = step(digits);
    ((picoseconds + step / 2).div_euclid(step) * step, digits)
}

/// The value in picoseconds of the last of `digits` decimal places of a second.
fn step(digits: usize) -> i128 {
    (digits..PICOSECOND_DIGITS).fold(1, |step, _| step * 10)
}

/// Writes the decimal point and the digits after it.
fn write_fraction(to: &mut String, picoseconds: i128, digits: usize) -> fmt::Result {
    if digits == 0 {
        return Ok(());
    }
    write!(to, ".{:0digits$}", picoseconds / step(digits))
}

/// Formats an instant with `digits` digits of the fraction.
fn text<C: Clock>(picoseconds: i128, digits: usize) -> Result<String, fmt::Error> {
    let mut text = String::new();
    if C::IS_TIME_OF_DAY {
        // rounded down, so that the remainder is positive before 1970 too
        let seconds = picoseconds.div_euclid(PICOSECONDS);
        rfc3339::write_seconds(&mut text, seconds as i64)?;
        write_fraction(&mut text, picoseconds.rem_euclid(PICOSECONDS), digits)?;
        text.push('Z');
    } else {
        let sign = if picoseconds < 0 { "-" } else { "" };
        let magnitude = picoseconds.abs();
        write!(text, "{sign}{}", magnitude / PICOSECONDS)?;
        write_fraction(&mut text, magnitude % PICOSECONDS, digits)?;
        text.push_str(" s");
    }
    Ok(text)
}

/// Pads to the width of `f`, whose precision was already used for the digits.
fn pad(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let missing = f.width().unwrap_or(0).saturating_sub(text.chars().count());
    let before = match f.align() {
        Some(Alignment::Right) => missing,
        Some(Alignment::Center) => missing / 2,
        Some(Alignment::Left) | None => 0,
    };
    for _ in 0..before {
        f.write_char(f.fill())?;
    }
    f.write_str(text)?;
    for _ in before..missing {
        f.write_char(f.fill())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
