//! How times, delays and probabilities are written in a scenario file, and their ranges.

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;

/// A signed length of time, written with its unit: `"700ns"`, `"1.2us"`, `"5ms"`, `"3s"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Length(i64);

/// The longest time in a scenario: ten years either way.
const LONGEST: i64 = 10 * 366 * 86_400 * 1_000_000_000;
const UNITS: [(&str, i64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("h", 3_600_000_000_000),
];

impl Length {
    pub(crate) const fn from_nanoseconds(nanoseconds: i64) -> Self {
        Self(nanoseconds)
    }

    pub(crate) const fn nanoseconds(self) -> i64 {
        self.0
    }

    pub(crate) const fn negated(self) -> Self {
        Self(-self.0)
    }

    /// Reads a number with a unit. `None` if it is none, finer than a nanosecond or too long.
    fn parse(text: &str) -> Option<Self> {
        let (number, per) = UNITS
            .iter()
            .find_map(|(unit, per)| Some((text.trim().strip_suffix(unit)?, *per)))?;
        let (negative, number) = match number.trim_end().strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, number.trim_end()),
        };
        let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |part: &str| {
            part.bytes()
                .all(|byte| byte.is_ascii_digit())
                .then(|| part.parse::<i64>().ok())?
        };
        let scale = 10i64.checked_pow(u32::try_from(decimals.len()).ok()?)?;
        let fraction = i128::from(digits(decimals)?) * i128::from(per);
        if fraction % i128::from(scale) != 0 {
            return None;
        }
        let magnitude = i128::from(digits(whole)?) * i128::from(per) + fraction / i128::from(scale);
        let nanoseconds = i64::try_from(magnitude)
            .ok()
            .filter(|magnitude| *magnitude <= LONGEST)?;
        Some(Self(if negative { -nanoseconds } else { nanoseconds }))
    }
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Length;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a length of time with its unit (ns, us, ms, s, min, h), such as \"1.2us\"",
                )
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Length, E> {
                Length::parse(text)
                    .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// A length that is not negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Positive(Length);

impl Positive {
    pub(crate) const fn from_nanoseconds(nanoseconds: u32) -> Self {
        Self(Length(nanoseconds as i64))
    }

    pub(crate) const fn from_seconds(seconds: u32) -> Self {
        Self(Length(seconds as i64 * 1_000_000_000))
    }

    pub(crate) const fn nanoseconds(self) -> i64 {
        self.0.0
    }

    pub(crate) const fn length(self) -> Length {
        self.0
    }
}

impl<'de> Deserialize<'de> for Positive {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let length = Length::deserialize(deserializer)?;
        if length.0 < 0 {
            return Err(D::Error::custom(format_args!(
                "{} ns is negative; allowed: 0ns and more",
                length.0
            )));
        }
        Ok(Self(length))
    }
}

/// A probability, kept as a threshold for 53 random bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Probability(u64);

impl Probability {
    const CERTAIN: f64 = (1u64 << 53) as f64;
    /// The probability of a certain event.
    pub(crate) const CERTAINTY: Self = Self(1 << 53);

    pub(crate) const fn threshold(self) -> u64 {
        self.0
    }
}

impl<'de> Deserialize<'de> for Probability {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        if !(0.0..=1.0).contains(&value) {
            return Err(D::Error::custom(format_args!(
                "{value} is no probability; allowed: 0.0 to 1.0"
            )));
        }
        // exact: a multiplication by a power of two, then cut
        Ok(Self((value * Self::CERTAIN) as u64))
    }
}

/// How long something takes: a constant, an exponential part, and seldom a second, longer one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Delay {
    pub(crate) base: Length,
    /// Mean of the exponential part.
    pub(crate) jitter: Length,
    /// How often an outlier is added.
    pub(crate) outliers: Probability,
    /// Mean of the outlier's exponential part.
    pub(crate) outlier: Length,
}

impl Delay {
    pub(crate) const fn constant(nanoseconds: u32) -> Self {
        Self::jittery(nanoseconds, 0)
    }

    pub(crate) const fn jittery(base: u32, jitter: u32) -> Self {
        Self {
            base: Length(base as i64),
            jitter: Length(jitter as i64),
            outliers: Probability(0),
            outlier: Length(0),
        }
    }
}

/// A delay that is not a plain length.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    base: Positive,
    #[serde(default)]
    jitter: Positive,
    #[serde(default)]
    outliers: Probability,
    #[serde(default)]
    outlier: Positive,
}

impl<'de> Deserialize<'de> for Delay {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrParts;
        impl<'de> Visitor<'de> for TextOrParts {
            type Value = Delay;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a length of time with its unit (ns, us, ms, s, min, h), such as \"700ns\" and not negative, ",
                )?;
                f.write_str("or a table { base, jitter, outliers, outlier }")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Delay, E> {
                let base = Length::parse(text).filter(|length| length.0 >= 0);
                let base =
                    base.ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))?;
                Ok(Delay {
                    base,
                    ..Delay::default()
                })
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Delay, A::Error> {
                let parts = Parts::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
                Ok(Delay {
                    base: parts.base.length(),
                    jitter: parts.jitter.length(),
                    outliers: parts.outliers,
                    outlier: parts.outlier.length(),
                })
            }
        }
        deserializer.deserialize_any(TextOrParts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_exactly() {
        let read = |text| Length::parse(text).map(Length::nanoseconds);
        assert_eq!(read("700ns"), Some(700));
        assert_eq!(read("1.2us"), Some(1_200));
        assert_eq!(read("1.2 µs"), Some(1_200));
        assert_eq!(read("-0.5s"), Some(-500_000_000));
        assert_eq!(read("2min"), Some(120_000_000_000));
        assert_eq!(read("5ms"), Some(5_000_000));
    }

    #[test]
    fn what_is_no_length_is_refused() {
        for text in [
            "",
            "5",
            "ns",
            "1.5ns",
            "--1s",
            "+1s",
            "1e3s",
            "1.s2",
            "9999999h",
            "99999999999999999999ns",
            "1..0s",
        ] {
            assert_eq!(Length::parse(text), None, "{text}");
        }
    }
}
