//! The state of STAMP sessions.

use super::reasons::{Reasons, read_by_source};
use super::timestamps::TimestampCounts;
use crate::delays::Delays;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A STAMP session. `sent` = `answered` + `lost` + `in_flight`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PeerState {
    /// Its name in the configuration.
    pub name: String,
    /// Address of the reflector.
    pub address: String,
    /// The interface that packets leave by, if the configuration names one.
    pub interface: Option<String>,
    /// "same", "utc" or "unrelated": how the clocks of both ends are related.
    pub relation: String,
    /// Whose timestamps count: `hardware` or `software`. A packet that has none of these has none.
    #[serde(default)]
    pub source: String,
    /// Timestamps of packets and replies that were used, by source.
    #[serde(default, deserialize_with = "read_by_source")]
    pub stamps: Reasons,
    /// Packets sent since the start.
    pub sent: u64,
    /// Packets whose reply came in time.
    pub answered: u64,
    /// Packets whose reply did not come in time.
    pub lost: u64,
    /// Packets that may still be answered.
    pub in_flight: u64,
    /// Packets that the system refused to send; they are lost as well.
    pub refused: u64,
    /// Packets that came and are no reply, by reason.
    pub rejected: Reasons,
    /// Replies with the reflector's transmit timestamp.
    pub followed_up: u64,
    /// The last round trip without the time in the reflector.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub path_delay_ns: Option<i64>,
    /// Error bound of `path_delay_ns`.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub path_delay_bound_ns: Option<i64>,
    /// Time since that packet: it is not always the last that was answered.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub path_delay_age_ns: Option<i64>,
    /// Time since the last answered packet.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub age_ns: Option<i64>,
    /// A greater age says that answers are missing: from interval and timeout.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub stale_after_ns: Option<i64>,
    /// Delays by name: "round_trip", "path" (both ways without the reflector), "forward", "backward", "residence", "send_path", "receive_path".
    pub delays: BTreeMap<String, Delays>,
    /// Counts of its transmit and receive timestamps.
    pub timestamps: TimestampCounts,
    /// The last error of ICMP or the system.
    pub error: Option<String>,
}
