//! The reports of a running clock: samples and status.

use crate::engine::PortState;
use crate::lost::Counts;
use crate::message::PortIdentity;
use crate::timestamping::Made;
use crate::trust::Agreement;
use serde::Serialize;
use serde::ser::Serializer;
use wirestamp::time::UtcCrossTimestamp;
use wirestamp::{Bounded, MonotonicTime, Span, TimestampSource, UtcTime};

/// The measurement of one Sync: an offset with its error bound.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Sample {
    /// The time on the real-time clock.
    #[serde(serialize_with = "utc")]
    pub time: UtcTime,
    /// The same time on the monotonic clock, which is never stepped.
    #[serde(skip)]
    pub at: MonotonicTime,
    /// The reading of both clocks that `time` and `at` are of.
    #[serde(skip)]
    pub reading: UtcCrossTimestamp,
    /// The arrival of the Sync.
    #[serde(skip)]
    pub(crate) came: MonotonicTime,
    /// The name of the interface.
    pub interface: String,
    /// The number of the port in this clock, from 1.
    pub port: u16,
    /// The state of the port.
    #[serde(serialize_with = "state")]
    pub state: PortState,
    /// The timestamping clock's time at the arrival of the Sync, on the timeTransmitter's
    /// timescale, in nanoseconds.
    pub local_ns: i64,
    /// The offset: timestamping clock minus timeTransmitter (positive: the local clock is ahead).
    /// The error bound includes the resolution of the timestamps, the possible drift since the last
    /// exchange, and half of the unexplained path delay.
    #[serde(flatten, serialize_with = "offset")]
    pub offset: Bounded<Span>,
    /// The offset of the system's real-time clock from the timeTransmitter's UTC. With the NIC's
    /// timestamps it includes the conversion from the NIC's clock; with the system's it equals
    /// `offset`. `None` while the two clocks cannot be related.
    #[serde(flatten, serialize_with = "system_offset")]
    pub system_offset: Option<Bounded<Span>>,
    /// The mean path delay in nanoseconds.
    pub mean_path_delay_ns: i64,
    /// The frequency offset of the timestamping clock in ppb (positive: it runs fast); `None` until
    /// known.
    pub frequency_ppb: Option<f64>,
    /// The source of the timestamps.
    #[serde(serialize_with = "source")]
    pub source: TimestampSource,
    /// The timeTransmitter.
    #[serde(serialize_with = "identity")]
    pub time_transmitter: PortIdentity,
    /// The counts of this clock since the start, among them exchanges without a sample by reason.
    #[serde(flatten)]
    pub counts: Counts,
    /// The timestamp of the Sync, if it is still provisional.
    #[serde(skip)]
    pub(crate) made: Option<Made>,
}

/// The state of a port.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PortStatus {
    /// The name of the interface.
    pub interface: String,
    /// The number of the port in this clock, from 1.
    pub port: u16,
    /// The protocol state.
    #[serde(serialize_with = "state")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub state: PortState,
    /// The source of the timestamps.
    #[serde(serialize_with = "source")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub source: TimestampSource,
    /// The offset; `None` if it is not measured yet, or the timestamping clock was stepped since.
    pub estimate: Option<Held>,
    /// The counts of exchanges without a sample and of ignored messages.
    #[serde(flatten)]
    pub counts: Counts,
}

/// The offset some time after the last measurement.
///
/// It is the offset of the last [`Sample`], at the time of its Sync. If no Sync has given a sample
/// for some seconds, it is the offset now: the error bound grows by the possible drift, and
/// includes the largest undetectable step of the timestamping clock. A clock that this program
/// steers is assumed not to be stepped by other programs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Held {
    /// The offset, as in [`Sample`].
    #[serde(flatten, serialize_with = "offset")]
    #[cfg_attr(feature = "schema", schemars(with = "Offset"))]
    pub offset: Bounded<Span>,
    /// The mean of the path delays of both directions.
    pub mean_path_delay_ns: i64,
    /// The frequency offset of the timestamping clock (positive: it runs fast); `None` until known.
    pub frequency_ppb: Option<f64>,
    /// The time since the last Sync that gave a sample, in nanoseconds.
    pub age_ns: i64,
    /// Whether the clock is in holdover: the timeTransmitter is no longer followed, and the error
    /// bound grows until another one is.
    pub holdover: bool,
}

/// The state of a clock.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Status {
    /// The time on the real-time clock.
    #[serde(serialize_with = "utc")]
    #[cfg_attr(feature = "schema", schemars(with = "String", extend("format" = "date-time")))]
    pub time: UtcTime,
    /// The clock's own identity.
    #[serde(serialize_with = "identity")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub identity: PortIdentity,
    /// The followed timeTransmitter; `None` if it follows none.
    #[serde(serialize_with = "some_identity")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub time_transmitter: Option<PortIdentity>,
    /// The grandmaster.
    #[serde(serialize_with = "identity")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub grandmaster: PortIdentity,
    /// The number of clocks between this one and the grandmaster.
    pub steps_removed: u16,
    /// The ports of the clock.
    pub ports: Vec<PortStatus>,
    /// Whether the configured sources agree.
    #[serde(serialize_with = "agreement")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub agreement: Agreement,
    /// The compared sources that were heard recently.
    pub sources: Vec<SourceStatus>,
}

/// The measurement of one of several configured sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SourceStatus {
    /// The timeTransmitter's identity; port 0 if its clock is pinned without a port.
    #[serde(serialize_with = "identity")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub identity: PortIdentity,
    /// The domain that it was heard in.
    pub domain: u8,
    /// The number of the port in this clock, from 1.
    pub port: u16,
    /// The offset as in [`Sample`], at its last Sync.
    #[serde(flatten, serialize_with = "offset")]
    #[cfg_attr(feature = "schema", schemars(with = "Offset"))]
    pub offset: Bounded<Span>,
}

/// An offset as it is written.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Offset {
    /// The offset: timestamping clock minus timeTransmitter; positive: the local clock is ahead.
    offset_ns: i64,
    /// The error bound of `offset_ns`.
    error_bound_ns: i64,
}

fn offset<S: Serializer>(offset: &Bounded<Span>, serializer: S) -> Result<S::Ok, S::Error> {
    let Bounded { value, bound } = offset;
    let written = Offset {
        offset_ns: value.saturating_nanoseconds(),
        error_bound_ns: bound.saturating_nanoseconds(),
    };
    written.serialize(serializer)
}

fn system_offset<S: Serializer>(
    offset: &Option<Bounded<Span>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Written {
        system_offset_ns: Option<i64>,
        system_error_bound_ns: Option<i64>,
    }
    let written = Written {
        system_offset_ns: offset.map(|offset| offset.value.saturating_nanoseconds()),
        system_error_bound_ns: offset.map(|offset| offset.bound.saturating_nanoseconds()),
    };
    written.serialize(serializer)
}

fn agreement<S: Serializer>(agreement: &Agreement, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(agreement.name())
}

fn utc<S: Serializer>(time: &UtcTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&time.rfc3339())
}

fn state<S: Serializer>(state: &PortState, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(state.name())
}

fn source<S: Serializer>(source: &TimestampSource, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(source.name())
}

fn identity<S: Serializer>(identity: &PortIdentity, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(identity)
}

fn some_identity<S: Serializer>(
    identity: &Option<PortIdentity>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match identity {
        Some(identity) => serializer.collect_str(identity),
        None => serializer.serialize_none(),
    }
}
