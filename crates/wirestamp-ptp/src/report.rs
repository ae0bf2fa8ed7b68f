//! What a running clock reports: samples and its status.

use crate::engine::PortState;
use crate::lost::Counts;
use crate::message::PortIdentity;
use crate::timestamping::Made;
use crate::trust::Agreement;
use serde::Serialize;
use serde::ser::Serializer;
use wirestamp::{Bounded, MonotonicTime, Span, TimestampSource, UtcTime};

/// The measurement of one Sync: an offset with its error bound.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Sample {
    /// When, on the real-time clock, in nanoseconds since 1970.
    #[serde(serialize_with = "utc")]
    pub time: UtcTime,
    /// The same on the monotonic clock, which nobody steps.
    #[serde(skip)]
    pub at: MonotonicTime,
    /// When the Sync came.
    #[serde(skip)]
    pub(crate) came: MonotonicTime,
    /// Name of the interface.
    pub interface: String,
    /// Number of the port in this clock, from 1.
    pub port: u16,
    /// Of the port.
    #[serde(serialize_with = "state")]
    pub state: PortState,
    /// What the clock that timestamps showed when the Sync came, on the timeTransmitter's timescale, in
    /// nanoseconds.
    pub local_ns: i64,
    /// The clock that timestamps minus the timeTransmitter's. Its error bound contains the timestamps' resolution, what the
    /// clocks may have done since the last exchange, and half the path delay that is not explained.
    #[serde(flatten, serialize_with = "offset")]
    pub offset: Bounded<Span>,
    /// The system's real-time clock minus the timeTransmitter's UTC. With the NIC's
    /// timestamps it goes over the relation of the NIC's clock to the system's; with the system's
    /// it is the offset. `None` while the two clocks can't be related.
    #[serde(flatten, serialize_with = "system_offset")]
    pub system_offset: Option<Bounded<Span>>,
    /// Mean of both ways, in nanoseconds.
    pub mean_path_delay_ns: i64,
    /// How much faster the clock that timestamps runs, in thousand-millionths; `None` until known.
    pub frequency_ppb: Option<f64>,
    /// Whose timestamps.
    #[serde(serialize_with = "source")]
    pub source: TimestampSource,
    /// Who transmits.
    #[serde(serialize_with = "identity")]
    pub time_transmitter: PortIdentity,
    /// Exchanges of this clock without a sample, by reason, since the start.
    #[serde(flatten)]
    pub counts: Counts,
    /// The timestamp of the Sync, if what is said of it may still be withdrawn.
    #[serde(skip)]
    pub(crate) made: Option<Made>,
}

/// The state of a port.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PortStatus {
    /// Name of the interface.
    pub interface: String,
    /// Its number in this clock, from 1.
    pub port: u16,
    /// Of the protocol.
    #[serde(serialize_with = "state")]
    pub state: PortState,
    /// Whose timestamps.
    #[serde(serialize_with = "source")]
    pub source: TimestampSource,
    /// The offset as far as it is known; `None`: not measured yet, or the clock that timestamps was stepped since.
    pub estimate: Option<Held>,
    /// Counts of exchanges without a sample, and of ignored messages.
    #[serde(flatten)]
    pub counts: Counts,
}

/// An offset some time after it was measured.
///
/// It is that of the last [`Sample`], at the time of its Sync. Once no Sync has given a sample for some seconds, it is the
/// offset now: the error bound grows with what the clocks may have drifted, and contains the largest step of the clock
/// that timestamps that a reading of it does not show. A clock that this program steers is assumed to be stepped by nobody
/// else.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Held {
    /// As in [`Sample`].
    #[serde(flatten, serialize_with = "offset")]
    pub offset: Bounded<Span>,
    /// As in [`Sample`].
    pub mean_path_delay_ns: i64,
    /// As in [`Sample`].
    pub frequency_ppb: Option<f64>,
    /// Since the last Sync that gave a sample.
    pub age_ns: i64,
    /// Whether its timeTransmitter is followed no more: the bound grows until another one is.
    pub holdover: bool,
}

/// The state of a clock.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Status {
    /// When, on the real-time clock, in nanoseconds since 1970.
    #[serde(serialize_with = "utc")]
    pub time: UtcTime,
    /// Its own identity.
    #[serde(serialize_with = "identity")]
    pub identity: PortIdentity,
    /// Whom it follows; `None`: nobody.
    #[serde(serialize_with = "some_identity")]
    pub time_transmitter: Option<PortIdentity>,
    /// Where the time comes from in the end.
    #[serde(serialize_with = "identity")]
    pub grandmaster: PortIdentity,
    /// Clocks between.
    pub steps_removed: u16,
    /// Its ports.
    pub ports: Vec<PortStatus>,
    /// Whether the configured sources agree.
    #[serde(serialize_with = "agreement")]
    pub agreement: Agreement,
    /// The sources that are compared and were heard lately.
    pub sources: Vec<SourceStatus>,
}

/// The measurement of one of several configured sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SourceStatus {
    /// Of the timeTransmitter; port 0 if its clock is pinned without a port.
    #[serde(serialize_with = "identity")]
    pub identity: PortIdentity,
    /// The domain that it was heard in.
    pub domain: u8,
    /// Number of the port in this clock, from 1.
    pub port: u16,
    /// As in [`Sample`], by its last Sync.
    #[serde(flatten, serialize_with = "offset")]
    pub offset: Bounded<Span>,
}

fn offset<S: Serializer>(offset: &Bounded<Span>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Written {
        offset_ns: i64,
        error_bound_ns: i64,
    }
    let Bounded { value, bound } = offset;
    let written = Written {
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
    serializer.serialize_i64(time.nanoseconds())
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
