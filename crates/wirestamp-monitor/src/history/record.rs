//! The records of the history.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use wirestamp::Bounded;
use wirestamp_measure::state::{ClockState, NtpServerState};
use wirestamp_measure::{Kind, Sample, Segment};

/// A measurement or an event. Times are RFC 3339 on the real-time clock, spans nanoseconds with their error bounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Record {
    /// A packet of a STAMP session that was answered: each delay with its error bound.
    Stamp {
        /// When it was judged.
        time: String,
        /// Name of the session.
        peer: String,
        /// Number of the packet.
        sequence: u32,
        /// Delays by segment: value and error bound.
        delays: Vec<(Cow<'static, str>, i64, i64)>,
    },
    /// The offset to an NTP server, once a second, as it is shown at that time.
    Ntp {
        /// When its offset was evaluated.
        time: String,
        /// The server.
        server: String,
        /// Local minus server.
        offset_ns: i64,
        /// Error bound of that.
        bound_ns: i64,
        /// Both directions together.
        path_delay_ns: i64,
    },
    /// The offset to a PTP timeTransmitter.
    Ptp {
        /// When the Sync came.
        time: String,
        /// Name of the interface.
        interface: String,
        /// Local minus timeTransmitter.
        offset_ns: i64,
        /// Error bound of that.
        bound_ns: i64,
        /// Mean of both directions.
        path_delay_ns: i64,
    },
    /// A clock of this host against UTC, once a second.
    Clock {
        /// When its offset was evaluated.
        time: String,
        /// Name of the interface, or "realtime".
        clock: String,
        /// Clock minus UTC; of a PTP hardware clock: minus UTC as the real-time clock shows it. `None`: only the bound is known.
        offset_ns: Option<i64>,
        /// Error bound of that.
        bound_ns: i64,
        /// If the offset comes from NTP servers: how many of them must be right for offset and bound to hold.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        right_servers: Option<u64>,
    },
    /// A packet of a path of this host that arrived: each delay with its error bound.
    Path {
        /// When it was judged.
        time: String,
        /// Name of the interface.
        interface: String,
        /// Delays by segment: value and error bound.
        delays: Vec<(Cow<'static, str>, i64, i64)>,
    },
    /// An event.
    Event(crate::snapshot::Event),
}

impl Record {
    /// Returns the record of a sample, or `None` if its packet was lost.
    pub(crate) fn of(sample: &Sample<'_>) -> Option<Self> {
        if !sample.has_arrived {
            return None;
        }
        let time = sample.utc.rfc3339().to_string();
        let name = sample.subject.name.to_owned();
        let delays = || {
            sample
                .delays()
                .map(|(name, value, bound)| (name.into(), value, bound))
        };
        Some(match sample.subject.kind {
            Kind::Stamp => Self::Stamp {
                time,
                peer: name,
                sequence: sample.sequence,
                delays: delays().collect(),
            },
            Kind::Path => Self::Path {
                time,
                interface: name,
                delays: delays().collect(),
            },
            Kind::Ptp => {
                let (offset_ns, bound_ns, path_delay_ns) = offset(sample)?;
                Self::Ptp {
                    time,
                    interface: name,
                    offset_ns,
                    bound_ns,
                    path_delay_ns,
                }
            }
            _ => return None,
        })
    }

    /// Returns the record of an NTP server's offset at a time, or `None` if it is not known.
    pub(crate) fn of_server(time: String, server: NtpServerState) -> Option<Self> {
        Some(Self::Ntp {
            time,
            offset_ns: server.offset_ns?,
            bound_ns: server.bound_ns?,
            path_delay_ns: server.path_delay_ns?,
            server: server.name,
        })
    }

    /// Returns the record of a clock at a time, or `None` if neither its offset nor a bound is known.
    pub(crate) fn of_clock(time: String, clock: ClockState) -> Option<Self> {
        Some(Self::Clock {
            time,
            offset_ns: clock.utc_offset_ns,
            bound_ns: clock.utc_bound_ns?,
            right_servers: clock.right_servers,
            clock: clock.name,
        })
    }

    /// Returns its time.
    pub(super) fn time(&self) -> &str {
        match self {
            Self::Stamp { time, .. }
            | Self::Ntp { time, .. }
            | Self::Ptp { time, .. }
            | Self::Clock { time, .. }
            | Self::Path { time, .. } => time,
            Self::Event(event) => &event.time,
        }
    }

    /// Returns its name in JSON.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Stamp { .. } => "stamp",
            Self::Ntp { .. } => "ntp",
            Self::Ptp { .. } => "ptp",
            Self::Clock { .. } => "clock",
            Self::Path { .. } => "path",
            Self::Event(_) => "event",
        }
    }
}

/// An offset, its error bound, and the path delay.
fn offset(sample: &Sample<'_>) -> Option<(i64, i64, i64)> {
    let Bounded { value, bound } = sample.value(Segment::Offset)?;
    let path = sample.value(Segment::Path)?.value;
    Some((
        value.saturating_nanoseconds(),
        bound.saturating_nanoseconds(),
        path.saturating_nanoseconds(),
    ))
}
