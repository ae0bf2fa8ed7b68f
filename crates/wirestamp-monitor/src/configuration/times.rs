//! Times as "100ms", and those that are defaults.

use serde::{Deserialize, Deserializer, Serializer};
use std::time::Duration;

pub(super) fn tenth() -> Duration {
    Duration::from_millis(100)
}
pub(super) fn one_second() -> Duration {
    Duration::from_secs(1)
}
pub(super) fn five_seconds() -> Duration {
    Duration::from_secs(5)
}
pub(super) fn fifteen_seconds() -> Duration {
    Duration::from_secs(15)
}
pub(super) fn two_seconds() -> Duration {
    Duration::from_secs(2)
}
pub(super) fn ten_seconds() -> Duration {
    Duration::from_secs(10)
}
pub(super) fn ten_minutes() -> Duration {
    Duration::from_secs(600)
}
pub(super) fn fortnight() -> Duration {
    Duration::from_secs(14 * 86_400)
}
pub(super) fn sixteen_seconds() -> Duration {
    Duration::from_secs(16)
}

/// Times as "100ms".
pub(super) mod duration {
    use super::{Deserialize, Deserializer, Duration, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        value: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&humantime::format_duration(*value))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        let text = String::deserialize(deserializer)?;
        humantime::parse_duration(&text).map_err(serde::de::Error::custom)
    }
}

/// The same, if there is one.
pub(super) mod some_duration {
    use super::{Deserializer, Duration, Serializer, duration};

    pub(in super::super) fn serialize<S: Serializer>(
        value: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => duration::serialize(value, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        duration::deserialize(deserializer).map(Some)
    }
}
