//! NTP servers, compared.

use super::reasons::Reasons;
use super::timestamps::TimestampCounts;
use serde::{Deserialize, Serialize};
use wirestamp::Span;
use wirestamp_ntp::{Interval, select};

/// NTP servers, compared.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NtpState {
    /// Whether the servers can be right together: see `wirestamp ntp`.
    pub agreement: String,
    /// Of those that can: this host's real-time clock minus UTC as they claim.
    pub offset_ns: Option<i64>,
    /// Error bound of that.
    pub bound_ns: Option<i64>,
    /// The bound holds if so many of the servers are right.
    #[serde(default)]
    pub right_servers: Option<u64>,
    /// Each of them.
    pub servers: Vec<NtpServerState>,
}

/// An NTP server.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NtpServerState {
    /// Its name in the configuration.
    pub name: String,
    /// Its address.
    pub address: String,
    /// Whether it cannot be right if `right_servers` are.
    pub falseticker: bool,
    /// This host's clock minus the server's.
    pub offset_ns: Option<i64>,
    /// Error bound against the server's clock.
    pub bound_ns: Option<i64>,
    /// Error bound against UTC, as the server claims.
    pub utc_bound_ns: Option<i64>,
    /// Least path delay, both directions together.
    pub path_delay_ns: Option<i64>,
    /// Time since the last sample.
    pub age_ns: Option<i64>,
    /// A greater age says that samples are missing: from the interval.
    #[serde(default)]
    pub stale_after_ns: Option<i64>,
    /// As the server says.
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
    /// Steps seen: of "local" and "server" clock.
    pub steps: Reasons,
    /// What became of timestamps.
    pub timestamps: TimestampCounts,
    /// Why there is no measurement.
    pub error: Option<String>,
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
        self.offset_ns = middle.map(|(offset, _)| offset.saturating_nanoseconds());
        self.bound_ns = middle.map(|(_, bound)| bound.saturating_nanoseconds());
        self.right_servers = middle.map(|_| selection.right as u64);
    }
}
