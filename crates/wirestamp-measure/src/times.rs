//! Reads and writes times such as "100ms" in configurations.

use serde::{Deserialize, Deserializer, Serializer};
use std::time::Duration;

/// What humantime reads: `scripts/guide/schemas.py` compares.
#[cfg(feature = "schema")]
const PATTERN: &str = concat!(
    r"^(0|\s*([0-9][0-9\s]*(\.\s*[0-9][0-9\s]*)?",
    "(nanos|nsec|ns|usec|us|\u{b5}s|millis|msec|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h",
    r"|days?|d|weeks?|wks?|w|months?|M|years?|yrs?|y)\s*)+)$",
);

/// Describes such a time in a JSON Schema.
#[cfg(feature = "schema")]
#[derive(Debug)]
pub enum Text {}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Text {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "duration".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A time with its unit: \"100ms\", \"1.5s\", \"1h 30m\"; or \"0\"",
            "type": "string",
            "pattern": PATTERN,
        })
    }
}

/// Times as "100ms".
pub mod duration {
    use super::{Deserialize, Deserializer, Duration, Serializer};

    /// Writes one.
    ///
    /// # Errors
    /// As the serializer.
    pub fn serialize<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&humantime::format_duration(*value))
    }

    /// Reads one.
    ///
    /// # Errors
    /// As the deserializer; also for text that is no time.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let text = String::deserialize(deserializer)?;
        humantime::parse_duration(&text).map_err(serde::de::Error::custom)
    }
}

/// The same, if there is one.
pub mod some_duration {
    use super::{Deserializer, Duration, Serializer, duration};

    /// Writes one.
    ///
    /// # Errors
    /// As the serializer.
    pub fn serialize<S: Serializer>(
        value: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => duration::serialize(value, serializer),
            None => serializer.serialize_none(),
        }
    }

    /// Reads one.
    ///
    /// # Errors
    /// As the deserializer; also for text that is no time.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        duration::deserialize(deserializer).map(Some)
    }
}
