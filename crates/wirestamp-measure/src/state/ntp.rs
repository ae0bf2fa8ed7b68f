//! NTP servers, compared.

use super::reasons::{Reasons, read_by_source};
use super::timestamps::TimestampCounts;
use serde::{Deserialize, Serialize};
use wirestamp::Span;
use wirestamp_ntp::{Interval, select};

/// NTP servers, compared.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct NtpState {
    /// Whether the servers can be right together: see `wirestamp ntp`.
    pub agreement: String,
    /// This host's real-time clock minus UTC, as those that can be right claim.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub offset_ns: Option<i64>,
    /// Error bound of `offset_ns`.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub bound_ns: Option<i64>,
    /// The bound holds if so many of the servers are right.
    #[serde(default)]
    pub right_servers: Option<u64>,
    /// The servers.
    pub servers: Vec<NtpServerState>,
}

/// An NTP server.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct NtpServerState {
    /// Its name in the configuration.
    pub name: String,
    /// Its address.
    pub address: String,
    /// Whether it cannot be right if `right_servers` are.
    pub falseticker: bool,
    /// This host's clock minus the server's.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub offset_ns: Option<i64>,
    /// Error bound against the server's clock.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub bound_ns: Option<i64>,
    /// Error bound against UTC, as the server claims.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub utc_bound_ns: Option<i64>,
    /// Least path delay, both directions together.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub path_delay_ns: Option<i64>,
    /// Time since the last sample.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub age_ns: Option<i64>,
    /// A greater age says that samples are missing: from the interval.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub stale_after_ns: Option<i64>,
    /// Stratum that the server states.
    pub stratum: Option<u8>,
    /// Requests sent.
    pub requests: u64,
    /// Valid responses.
    pub responses: u64,
    /// Samples that they gave.
    pub samples: u64,
    /// Requests without a response in time.
    pub unanswered: u64,
    /// Responses without a sample, and packets that were no responses, by reason.
    pub rejected: Reasons,
    /// Steps seen: of "local" and "server" clock; "drift": contradictions to what was learnt of the drift.
    pub steps: Reasons,
    /// Counts of its timestamps.
    pub timestamps: TimestampCounts,
    /// Why there is no measurement.
    pub error: Option<String>,
    /// "measured", "starting", or why there is no measurement in a word.
    #[serde(default)]
    pub status: String,
    /// Error bound of the server's clock against UTC, as it claims.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub root_bound_ns: Option<i64>,
    /// The time of the real-time clock that offset and error bounds are of, in nanoseconds since 1970.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub measured_at_ns: Option<i64>,
    /// Samples that offset and error bounds are made from: those since the last step of either clock.
    #[serde(default)]
    pub samples_since_step: u64,
    /// The server's reference: letters, an address or a hash.
    #[serde(default)]
    pub reference: Option<String>,
    /// Precision of the server's clock as it says, log2 of seconds.
    #[serde(default)]
    pub precision_log2_s: Option<i8>,
    /// Root delay that the server states.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub root_delay_ns: Option<i64>,
    /// Root dispersion that the server states.
    #[serde(default, with = "crate::exact")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub root_dispersion_ns: Option<i64>,
    /// A leap second that the server announces: "insert" or "delete".
    #[serde(default)]
    pub leap: Option<String>,
    /// The interface that requests leave by.
    #[serde(default)]
    pub interface: Option<String>,
    /// Whose timestamps count: "hardware" or "software".
    #[serde(default)]
    pub source: Option<String>,
    /// Timestamps of requests and responses that were used, by source.
    #[serde(default, deserialize_with = "read_by_source")]
    pub stamps: Reasons,
    /// Whether each response was authenticated (NTS).
    #[serde(default)]
    pub authenticated: bool,
    /// What its time looks like instead of UTC: another timescale, a smeared leap second.
    #[serde(default)]
    pub hint: Option<String>,
    /// Responses in interleaved mode.
    #[serde(default)]
    pub interleaved: u64,
}

impl NtpState {
    /// Says whether the servers can be right together, and what follows from that.
    pub(crate) fn compare(&mut self) {
        let held = |server: &NtpServerState| {
            let span = |nanoseconds: i64| Span::from_nanoseconds(nanoseconds.into());
            Some(Interval::around(
                span(server.offset_ns?),
                span(server.utc_bound_ns?),
            ))
        };
        let servers = self.servers.iter().enumerate();
        let (places, intervals): (Vec<_>, Vec<_>) = servers
            .filter_map(|(place, server)| Some((place, held(server)?)))
            .unzip();
        let selection = select(&intervals);
        for falseticker in &selection.falsetickers {
            self.servers[places[*falseticker]].falseticker = true;
        }
        self.agreement = selection.agreement.name().to_owned();
        let middle = selection.interval.map(|interval| interval.middle());
        self.offset_ns = middle.map(|offset| offset.value.saturating_nanoseconds());
        self.bound_ns = middle.map(|offset| offset.bound.saturating_nanoseconds());
        self.right_servers = middle.map(|_| selection.right as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(offset: i64, bound: i64) -> NtpServerState {
        NtpServerState {
            offset_ns: Some(offset),
            utc_bound_ns: Some(bound),
            ..NtpServerState::default()
        }
    }

    /// Two of three servers agree: the bound is a claim that these two are right, and no more.
    #[test]
    fn the_bound_is_stated_with_the_number_of_servers_that_have_to_be_right() {
        let compared = |servers: &[NtpServerState]| {
            let mut state = NtpState {
                servers: servers.to_vec(),
                ..NtpState::default()
            };
            state.compare();
            state
        };
        let (near, far, false_one) = (server(0, 100), server(50, 100), server(9_000, 100));
        let state = compared(&[near.clone(), false_one.clone(), far.clone()]);
        assert_eq!(state.right_servers, Some(2), "{state:?}");
        assert_eq!((state.offset_ns, state.bound_ns), (Some(25), Some(75)));
        assert!(state.servers[1].falseticker && !state.servers[0].falseticker);
        let state = compared(&[near.clone(), false_one]);
        assert_eq!((state.right_servers, state.offset_ns), (None, None));
        let state = compared(&[near, NtpServerState::default()]);
        assert_eq!(state.right_servers, Some(1), "{state:?}");
    }
}
