//! Integers that may exceed 2^53, as JSON readers can take them: those that do are strings.

use serde::{Deserialize, Deserializer, Serializer};

/// The largest integer that every JSON reader keeps exactly.
const EXACT: i64 = (1 << 53) - 1;

/// Writes one.
///
/// # Errors
/// As the serializer.
pub fn serialize<S: Serializer>(value: &Option<i64>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) if (-EXACT..=EXACT).contains(value) => serializer.serialize_i64(*value),
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_none(),
    }
}

/// One of many, in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exact(pub Option<i64>);

impl serde::Serialize for Exact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(&self.0, serializer)
    }
}

/// Reads one.
///
/// # Errors
/// As the deserializer; also for text that is no integer.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Number(i64),
        Text(String),
    }
    match Option::<Either>::deserialize(deserializer)? {
        None => Ok(None),
        Some(Either::Number(number)) => Ok(Some(number)),
        Some(Either::Text(text)) => text.parse().map(Some).map_err(serde::de::Error::custom),
    }
}
