//! The printed row of one server.

use crate::output::json;
use serde::Serialize;
use std::collections::BTreeMap;
use wirestamp::{Error, ErrorKind};
use wirestamp_measure::goal::{AUTHENTICATE, FIND};
use wirestamp_measure::state::NtpServerState;

/// The row of one server.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Row {
    /// The server, as the command line names it.
    pub(super) host: String,
    /// Address and port of the server; `None`: the name was not resolved.
    pub(super) address: Option<String>,
    /// measured, or why not in a word.
    pub(super) status: String,
    /// Why there is no measurement, in a sentence; `None`: measured.
    pub(super) reason: Option<String>,
    /// What the server's time looks like instead of UTC: another timescale (TAI, GPS time), or a leap second that it
    /// smears; `None`: nothing of that kind.
    pub(super) hint: Option<String>,
    /// Whether it cannot be right if `right_servers` are.
    pub(super) falseticker: bool,
    /// This clock minus the server's; positive: this clock is ahead; `None`: not measured.
    pub(super) offset_ns: Option<i64>,
    /// Error bound of `offset_ns`, relative to the server's clock.
    pub(super) error_bound_ns: Option<i64>,
    /// Error bound of the server's clock against UTC, as the server claims.
    pub(super) root_bound_ns: Option<i64>,
    /// Error bound of `offset_ns` relative to UTC, if the server's claim is right.
    pub(super) utc_bound_ns: Option<i64>,
    /// Least path delay, both directions together.
    pub(super) path_delay_ns: Option<i64>,
    /// Time of the offset, UTC by this clock.
    #[serde(serialize_with = "json::some_time")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Utc>"))]
    pub(super) time: Option<i64>,
    /// Exchanges that gave an offset since the last step of a clock.
    pub(super) samples: u64,
    /// Stratum of the server.
    pub(super) stratum: Option<u8>,
    /// Clock that the server follows.
    pub(super) reference: Option<String>,
    /// Precision of the server's clock: a power of two of a second.
    pub(super) precision_log2_s: Option<i8>,
    /// Round-trip delay from the server to its reference clock, as it claims.
    pub(super) root_delay_ns: Option<i64>,
    /// Dispersion of the server's clock against its reference clock, as it claims.
    pub(super) root_dispersion_ns: Option<i64>,
    /// A leap second that the server announces; `None`: none.
    pub(super) leap: Option<String>,
    /// Name of the interface.
    pub(super) interface: Option<String>,
    /// Which clock timestamps: hardware (the NIC's) or software (the system's).
    pub(super) source: Option<String>,
    /// Timestamps of that source, of requests and responses.
    pub(super) stamps: u64,
    /// Whether every response was authenticated (NTS).
    pub(super) authenticated: bool,
    /// Requests sent.
    pub(super) requests: u64,
    /// Responses received.
    pub(super) responses: u64,
    /// Responses in interleaved mode.
    pub(super) interleaved: u64,
    /// Requests without a response.
    pub(super) unanswered: u64,
    /// Responses without a sample, and packets that were no responses, by reason; without those that are 0.
    pub(super) lost: BTreeMap<String, u64>,
    /// How often this clock was seen to be stepped.
    pub(super) local_steps: u64,
    /// How often the server's clock was seen to be stepped.
    pub(super) server_steps: u64,
    /// How often a sample contradicted the learnt drift.
    #[serde(skip)]
    pub(super) drift_changes: u64,
}

impl Row {
    /// Of a server that was asked, or of one that could not be, for this reason.
    pub(super) fn of(
        host: String,
        server: Option<&NtpServerState>,
        error: Option<&Error>,
        falseticker: bool,
    ) -> Self {
        let blank = NtpServerState::default();
        let is_asked = server.is_some();
        let server = server.unwrap_or(&blank);
        let (status, reason) = reason(server, error);
        let counted = server.rejected.iter().filter(|(_, count)| **count > 0);
        let steps = |whose: &str| server.steps.get(whose).copied().unwrap_or(0);
        Self {
            host,
            address: is_asked.then(|| server.address.clone()),
            status,
            reason,
            hint: server.hint.clone(),
            falseticker,
            offset_ns: server.offset_ns,
            error_bound_ns: server.bound_ns,
            root_bound_ns: server.root_bound_ns,
            utc_bound_ns: server.utc_bound_ns,
            path_delay_ns: server.path_delay_ns,
            time: server.measured_at_ns,
            samples: server.samples_since_step,
            stratum: server.stratum,
            reference: server.reference.clone(),
            precision_log2_s: server.precision_log2_s,
            root_delay_ns: server.root_delay_ns,
            root_dispersion_ns: server.root_dispersion_ns,
            leap: server.leap.clone(),
            interface: server.interface.clone(),
            source: server.source.clone(),
            stamps: server.stamps.values().sum(),
            authenticated: server.authenticated,
            requests: server.requests,
            responses: server.responses,
            interleaved: server.interleaved,
            unanswered: server.unanswered,
            lost: counted
                .map(|(reason, count)| (reason.clone(), *count))
                .collect(),
            local_steps: steps("local"),
            server_steps: steps("server"),
            drift_changes: steps("drift"),
        }
    }

    /// Whether it was measured with a NIC's clock, which somebody may change.
    pub(super) fn is_by_hardware(&self) -> bool {
        self.offset_ns.is_some() && self.source.as_deref() == Some("hardware")
    }

    /// Whether anything is missing that was asked for.
    pub(super) fn is_lossy(&self) -> bool {
        let is_measured = self.offset_ns.is_some();
        !is_measured || self.unanswered > 0 || self.lost.contains_key("without_timestamp")
    }
}

/// In a word and, if there is no measurement, in a sentence.
fn reason(server: &NtpServerState, error: Option<&Error>) -> (String, Option<String>) {
    let Some(error) = error else {
        let reason = server.error.clone().filter(|_| server.offset_ns.is_none());
        return match (reason, server.status.as_str()) {
            (reason, "starting") if server.requests == 0 => ("starting".to_owned(), reason),
            // a run that ended before anything came
            (reason, "" | "starting") => (
                "no_answer".to_owned(),
                reason.or(Some("no answer".to_owned())),
            ),
            (reason, status) => (status.to_owned(), reason),
        };
    };
    let status = match error.operation() {
        FIND => "unresolved",
        AUTHENTICATE => "not_authenticated",
        _ if error.kind() == ErrorKind::Unreachable => "unreachable",
        _ => "failed",
    };
    let reason = match status {
        "unreachable" | "failed" => error.to_string(),
        _ => error.cause().to_owned(),
    };
    (status.to_owned(), Some(reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(operation: &'static str, kind: ErrorKind) -> (String, Option<String>) {
        let error = Error::new(kind, operation, "eth0", "why");
        let row = Row::of("a".to_owned(), None, Some(&error), false);
        (row.status, row.reason)
    }

    #[test]
    fn a_failure_is_of_the_search_the_keys_the_server_or_this_host() {
        let named = |status: (String, Option<String>)| (status.0, status.1.expect("it says why"));
        let [found, authentic] =
            [FIND, AUTHENTICATE].map(|operation| named(status(operation, ErrorKind::Io)));
        assert_eq!(found, ("unresolved".to_owned(), "why".to_owned()));
        assert_eq!(
            authentic,
            ("not_authenticated".to_owned(), "why".to_owned())
        );
        let (there, why) = named(status("connect", ErrorKind::Unreachable));
        assert_eq!(there, "unreachable");
        assert!(why.contains("eth0"), "{why}");
        let (here, why) = named(status("timestamp packets", ErrorKind::NotSupported));
        assert_eq!(here, "failed");
        assert!(why.contains("eth0"), "{why}");
    }
}
