//! Serialises integers for JSON readers that are exact only to 2^53: larger ones become strings. For `serde(with = …)`.

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

/// The largest integer that every JSON reader keeps exactly.
const EXACT: i64 = (1 << 53) - 1;

/// A 64-bit integer, or an optional one, that is written and read this way.
pub trait Integer: Sized {
    /// Returns its value; `None` is null.
    fn value(&self) -> Option<i128>;

    /// Returns the integer of this value, or `None` if this type has none.
    fn of(value: Option<i128>) -> Option<Self>;
}

macro_rules! integers {
    ($($name:ty),*) => {$(
        impl Integer for $name {
            fn value(&self) -> Option<i128> {
                Some((*self).into())
            }

            fn of(value: Option<i128>) -> Option<Self> {
                value?.try_into().ok()
            }
        }
    )*};
}

integers!(i64, u64);

impl<T: Integer> Integer for Option<T> {
    fn value(&self) -> Option<i128> {
        self.as_ref()?.value()
    }

    fn of(value: Option<i128>) -> Option<Self> {
        match value {
            None => Some(None),
            some => T::of(some).map(Some),
        }
    }
}

/// Writes an integer.
///
/// # Errors
/// The serializer's.
pub fn serialize<T: Integer, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let Some(value) = value.value() else {
        return serializer.serialize_none();
    };
    match i64::try_from(value) {
        Ok(small) if (-EXACT..=EXACT).contains(&small) => serializer.serialize_i64(small),
        _ => serializer.collect_str(&value),
    }
}

/// One of many, in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exact(pub Option<i64>);

impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(&self.0, serializer)
    }
}

/// Reads an integer, from a number or a string.
///
/// # Errors
/// The deserializer's; also for text that is not an integer, and for integers outside the type.
pub fn deserialize<'de, T: Integer, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    Option::<Read<T>>::deserialize(deserializer)?.map_or_else(|| none(), |read| Ok(read.0))
}

fn none<T: Integer, E: Error>() -> Result<T, E> {
    T::of(None).ok_or_else(|| E::invalid_type(Unexpected::Unit, &"an integer"))
}

struct Read<T>(T);

impl<'de, T: Integer> Deserialize<'de> for Read<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader(PhantomData)).map(Self)
    }
}

struct Reader<T>(PhantomData<T>);

impl<T: Integer> Visitor<'_> for Reader<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an integer, or a string of its digits")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        let refused = || E::invalid_value(Unexpected::Signed(number), &self);
        T::of(Some(number.into())).ok_or_else(refused)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        let refused = || E::invalid_value(Unexpected::Unsigned(number), &self);
        T::of(Some(number.into())).ok_or_else(refused)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        let number: Option<i128> = text.parse().ok();
        let refused = || E::invalid_value(Unexpected::Str(text), &self);
        number
            .and_then(|number| T::of(Some(number)))
            .ok_or_else(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Numbers {
        #[serde(with = "crate::exact")]
        signed: i64,
        #[serde(with = "crate::exact")]
        unsigned: u64,
        #[serde(default, with = "crate::exact")]
        some: Option<i64>,
        #[serde(default, with = "crate::exact")]
        none: Option<u64>,
    }

    #[test]
    fn integers_beyond_2_to_the_53rd_are_strings_and_are_read_back() {
        for (numbers, json) in [
            (
                Numbers {
                    signed: -EXACT,
                    unsigned: EXACT as u64,
                    some: Some(0),
                    none: None,
                },
                r#"{"signed":-9007199254740991,"unsigned":9007199254740991,"some":0,"none":null}"#,
            ),
            (
                Numbers {
                    signed: i64::MIN,
                    unsigned: u64::MAX,
                    some: Some(EXACT + 1),
                    none: Some(1),
                },
                r#"{"signed":"-9223372036854775808","unsigned":"18446744073709551615","some":"9007199254740992","none":1}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&numbers).expect("written"), json);
            let read: Numbers = serde_json::from_str(json).expect("read");
            assert_eq!(read, numbers);
        }
    }

    #[test]
    fn a_number_that_is_absent_or_none_of_the_type_is_refused() {
        let read = |json: &str| serde_json::from_str::<Numbers>(json);
        assert!(read(r#"{"signed":"5","unsigned":"6"}"#).is_ok());
        for json in [
            r#"{"signed":5}"#,
            r#"{"signed":5,"unsigned":null}"#,
            r#"{"signed":5,"unsigned":-1}"#,
            r#"{"signed":5,"unsigned":"-1"}"#,
            r#"{"signed":9223372036854775808,"unsigned":1}"#,
            r#"{"signed":"5 ns","unsigned":1}"#,
            r#"{"signed":5.5,"unsigned":1}"#,
        ] {
            assert!(read(json).is_err(), "{json}");
        }
    }
}
