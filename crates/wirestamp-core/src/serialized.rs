//! The serialised form of the public types, with feature `serde`.
//!
//! Field names contain the unit: `monotonic_ns`, `error_bound_ns`, `nominal_frequency_hz`. Enums
//! are written as their [`name`](crate::error::ErrorKind::name). Deserialising applies the checks
//! of the constructor: a cross timestamp with a zero, an interface index of zero, or a hardware
//! timestamp of zero ticks is an error.

use crate::configuration::ReceiveFilter;
use crate::correlate::{ClockGeneration, Estimate, FineEstimate};
use crate::cross::{CrossInvalid, CrossMethod, CrossTimestamp};
use crate::error::{Error, ErrorKind};
use crate::ethernet::{MacAddress, VlanTag};
use crate::interface::{InterfaceAddress, InterfaceIndex};
use crate::time::{
    Bounded, Clock, HardwareTicks, MonotonicTime, Span, Time, UtcCrossTimestamp, UtcTime,
};
use crate::timestamp::{HardwareTimestamp, SoftwareTimestamp};
use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use serde::de::{self, Unexpected};
use serde::ser;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Nanoseconds since the clock's start.
impl<C: Clock> Serialize for Time<C> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.nanoseconds())
    }
}

impl<'de, C: Clock> Deserialize<'de> for Time<C> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        i64::deserialize(deserializer).map(Self::from_nanoseconds)
    }
}

/// Nanoseconds. Serialising fails beyond ±292 years, which many formats cannot represent.
impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match i64::try_from(self.nanoseconds()) {
            Ok(nanoseconds) => serializer.serialize_i64(nanoseconds),
            Err(_) => Err(ser::Error::custom("a length of time beyond ±292 years")),
        }
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let nanoseconds = i64::deserialize(deserializer)?;
        Ok(Self::from_nanoseconds(nanoseconds.into()))
    }
}

impl Serialize for ReceiveFilter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for ReceiveFilter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let found = Self::ALL
            .iter()
            .copied()
            .find(|filter| filter.name() == name);
        found.ok_or_else(|| {
            de::Error::invalid_value(Unexpected::Str(&name), &"the name of a receive filter")
        })
    }
}

/// A [`CrossTimestamp`].
#[derive(Serialize, Deserialize)]
pub(crate) struct Reading {
    monotonic_before_ns: MonotonicTime,
    hardware_ticks: HardwareTicks,
    monotonic_after_ns: MonotonicTime,
    /// Derived from the others.
    #[serde(skip_deserializing)]
    bracket_ns: Option<Span>,
    method: CrossMethod,
}

impl From<CrossTimestamp> for Reading {
    fn from(reading: CrossTimestamp) -> Self {
        Self {
            monotonic_before_ns: reading.monotonic_before(),
            hardware_ticks: reading.hardware(),
            monotonic_after_ns: reading.monotonic_after(),
            bracket_ns: reading.bracket(),
            method: reading.method(),
        }
    }
}

impl TryFrom<Reading> for CrossTimestamp {
    type Error = CrossInvalid;

    fn try_from(read: Reading) -> Result<Self, CrossInvalid> {
        Self::new(
            read.monotonic_before_ns,
            read.hardware_ticks,
            read.monotonic_after_ns,
            read.method,
        )
    }
}

/// A [`UtcCrossTimestamp`].
#[derive(Serialize, Deserialize)]
pub(crate) struct UtcReading {
    monotonic_before_ns: MonotonicTime,
    utc_ns: UtcTime,
    monotonic_after_ns: MonotonicTime,
}

impl From<UtcCrossTimestamp> for UtcReading {
    fn from(reading: UtcCrossTimestamp) -> Self {
        Self {
            monotonic_before_ns: reading.before,
            utc_ns: reading.utc,
            monotonic_after_ns: reading.after,
        }
    }
}

impl TryFrom<UtcReading> for UtcCrossTimestamp {
    type Error = CrossInvalid;

    fn try_from(read: UtcReading) -> Result<Self, CrossInvalid> {
        if read.monotonic_after_ns < read.monotonic_before_ns {
            return Err(CrossInvalid::Backwards);
        }
        Ok(Self {
            before: read.monotonic_before_ns,
            utc: read.utc_ns,
            after: read.monotonic_after_ns,
        })
    }
}

/// A [`HardwareTimestamp`].
#[derive(Serialize, Deserialize)]
pub(crate) struct OfHardware {
    hardware_ticks: HardwareTicks,
    interface: Option<InterfaceIndex>,
    read_at_monotonic_ns: MonotonicTime,
}

impl From<HardwareTimestamp> for OfHardware {
    fn from(timestamp: HardwareTimestamp) -> Self {
        Self {
            hardware_ticks: timestamp.ticks,
            interface: timestamp.interface,
            read_at_monotonic_ns: timestamp.read_at,
        }
    }
}

impl TryFrom<OfHardware> for HardwareTimestamp {
    type Error = &'static str;

    fn try_from(read: OfHardware) -> Result<Self, &'static str> {
        if read.hardware_ticks.raw() == 0 {
            return Err("a hardware timestamp of zero ticks, which stands for none");
        }
        Ok(Self {
            ticks: read.hardware_ticks,
            interface: read.interface,
            read_at: read.read_at_monotonic_ns,
        })
    }
}

/// An instant, in the field named after its clock; the other two fields are absent.
#[derive(Default, Serialize, Deserialize)]
struct Instant {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    monotonic_ns: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    utc_ns: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ptp_ns: Option<i64>,
}

impl Instant {
    /// The field of clock `C`.
    fn field<C: Clock>(&mut self) -> &mut Option<i64> {
        match C::NAME {
            "monotonic" => &mut self.monotonic_ns,
            "UTC" => &mut self.utc_ns,
            _ => &mut self.ptp_ns,
        }
    }

    fn of<C: Clock>(at: Time<C>) -> Self {
        let mut instant = Self::default();
        *instant.field::<C>() = Some(at.nanoseconds());
        instant
    }

    fn on<C: Clock>(mut self) -> Result<Time<C>, String> {
        let at = self.field::<C>().take();
        at.map(Time::from_nanoseconds)
            .ok_or_else(|| alloc::format!("no instant of the {} clock", C::NAME))
    }
}

/// An [`Estimate`].
#[derive(Serialize, Deserialize)]
pub(crate) struct Converted {
    #[serde(flatten)]
    at: Instant,
    error_bound_ns: Span,
    generation: ClockGeneration,
}

impl<C: Clock> From<Estimate<C>> for Converted {
    fn from(estimate: Estimate<C>) -> Self {
        Self {
            at: Instant::of(estimate.at.value),
            error_bound_ns: estimate.at.bound,
            generation: estimate.generation,
        }
    }
}

impl<C: Clock> TryFrom<Converted> for Estimate<C> {
    type Error = String;

    fn try_from(read: Converted) -> Result<Self, String> {
        Ok(Self {
            at: bounded(read.at.on()?, read.error_bound_ns)?,
            generation: read.generation,
        })
    }
}

fn bounded<T>(value: T, bound: Span) -> Result<Bounded<T>, String> {
    if bound.is_negative() {
        return Err("a negative error bound".to_owned());
    }
    Ok(Bounded::new(value, bound))
}

/// A [`SoftwareTimestamp`].
#[derive(Serialize, Deserialize)]
pub(crate) struct OfSoftware {
    monotonic_ns: MonotonicTime,
    error_bound_ns: Span,
    utc_ns: Option<UtcTime>,
    clock_stepped: bool,
}

impl From<SoftwareTimestamp> for OfSoftware {
    fn from(timestamp: SoftwareTimestamp) -> Self {
        Self {
            monotonic_ns: timestamp.at.value,
            error_bound_ns: timestamp.at.bound,
            utc_ns: timestamp.utc,
            clock_stepped: timestamp.clock_stepped,
        }
    }
}

impl TryFrom<OfSoftware> for SoftwareTimestamp {
    type Error = String;

    fn try_from(read: OfSoftware) -> Result<Self, String> {
        let mut timestamp = Self::new(bounded(read.monotonic_ns, read.error_bound_ns)?);
        (timestamp.utc, timestamp.clock_stepped) = (read.utc_ns, read.clock_stepped);
        Ok(timestamp)
    }
}

/// A [`FineEstimate`].
#[derive(Serialize, Deserialize)]
pub(crate) struct ConvertedFine {
    #[serde(flatten)]
    at: Instant,
    picoseconds: u16,
    error_bound_ps: u64,
    generation: ClockGeneration,
}

impl<C: Clock> From<FineEstimate<C>> for ConvertedFine {
    fn from(estimate: FineEstimate<C>) -> Self {
        Self {
            at: Instant::of(estimate.at),
            picoseconds: estimate.picoseconds,
            error_bound_ps: estimate.bound_picoseconds,
            generation: estimate.generation,
        }
    }
}

impl<C: Clock> TryFrom<ConvertedFine> for FineEstimate<C> {
    type Error = String;

    fn try_from(read: ConvertedFine) -> Result<Self, String> {
        if read.picoseconds > 999 {
            return Err("a nanosecond or more in picoseconds".to_owned());
        }
        Ok(Self {
            at: read.at.on()?,
            picoseconds: read.picoseconds,
            bound_picoseconds: read.error_bound_ps,
            generation: read.generation,
        })
    }
}

impl Serialize for InterfaceAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for InterfaceAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl Serialize for MacAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MacAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// The parts of a [`VlanTag`].
#[derive(Serialize)]
struct Tag {
    vlan: u16,
    priority: u8,
    drop_eligible: bool,
}

impl Serialize for VlanTag {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let tag = Tag {
            vlan: self.vlan(),
            priority: self.priority(),
            drop_eligible: self.is_drop_eligible(),
        };
        tag.serialize(serializer)
    }
}

/// An [`Error`]. Its message follows from the other fields.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Failure {
    /// Which kind: a stable word.
    kind: ErrorKind,
    /// The operation that failed.
    operation: String,
    /// The target of the operation.
    target: String,
    /// Why, in the system's words.
    cause: String,
    /// The system's error number.
    code: Option<i32>,
    /// The remedy.
    remedy: Option<String>,
    /// All of it in one sentence.
    #[serde(skip_deserializing)]
    message: String,
}

impl Serialize for Error {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let failure = Failure {
            kind: self.kind(),
            operation: self.operation().to_owned(),
            target: self.target().to_owned(),
            cause: self.cause().to_owned(),
            code: self.code(),
            remedy: Some(self.remedy().to_owned()).filter(|remedy| !remedy.is_empty()),
            message: self.to_string(),
        };
        failure.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Error {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = Failure::deserialize(deserializer)?;
        let mut error = Self::new(read.kind, read.operation, read.target, read.cause);
        if let Some(code) = read.code {
            error = error.with_code(code);
        }
        if let Some(remedy) = read.remedy {
            error = error.with_remedy(remedy);
        }
        Ok(error)
    }
}

/// A [`Duration`](core::time::Duration) as nanoseconds, for fields whose name ends in `_ns`:
/// `#[serde(with = "…")]`.
pub mod nanoseconds {
    use core::time::Duration;
    use serde::{Deserialize, Deserializer, Serializer, ser};

    /// Serialises nanoseconds.
    ///
    /// # Errors
    /// The format's errors; a duration of 584 years or more.
    pub fn serialize<S: Serializer>(length: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        match u64::try_from(length.as_nanos()) {
            Ok(nanoseconds) => serializer.serialize_u64(nanoseconds),
            Err(_) => Err(ser::Error::custom("a length of time of 584 years or more")),
        }
    }

    /// Deserialises nanoseconds.
    ///
    /// # Errors
    /// The format's errors.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_nanos)
    }
}

/// As [`nanoseconds`], for an optional duration.
pub mod nanoseconds_or_none {
    use super::nanoseconds;
    use core::time::Duration;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Serialises nanoseconds, or nothing.
    ///
    /// # Errors
    /// As [`nanoseconds::serialize`].
    pub fn serialize<S: Serializer>(
        length: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match length {
            Some(length) => nanoseconds::serialize(length, serializer),
            None => serializer.serialize_none(),
        }
    }

    /// Deserialises nanoseconds, or nothing.
    ///
    /// # Errors
    /// The format's errors.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let nanoseconds = Option::<u64>::deserialize(deserializer)?;
        Ok(nanoseconds.map(Duration::from_nanos))
    }
}

/// Counts by reason, in fields named after the reasons.
pub(crate) mod by_reason {
    use crate::timestamp::MissingReason;
    use alloc::collections::BTreeMap;
    use alloc::string::String;
    use serde::de::{self, Unexpected};
    use serde::ser::SerializeMap;
    use serde::{Deserialize, Deserializer, Serializer};

    type Counts = [u64; MissingReason::ALL.len()];

    pub(crate) fn serialize<S: Serializer>(
        counts: &Counts,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(counts.len()))?;
        for &reason in MissingReason::ALL {
            map.serialize_entry(reason.name(), &counts[reason as usize])?;
        }
        map.end()
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Counts, D::Error> {
        let mut counts = Counts::default();
        for (name, count) in BTreeMap::<String, u64>::deserialize(deserializer)? {
            let found = MissingReason::ALL
                .iter()
                .find(|reason| reason.name() == name);
            let reason = found.ok_or_else(|| {
                de::Error::invalid_value(Unexpected::Str(&name), &"the name of a missing reason")
            })?;
            counts[*reason as usize] = count;
        }
        Ok(counts)
    }
}

#[cfg(feature = "schema")]
mod schema;
#[cfg(test)]
mod tests;
