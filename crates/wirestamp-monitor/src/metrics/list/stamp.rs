//! Metrics of STAMP sessions and the reflector.

use super::{by, of_ns, seconds, segments};
use crate::metrics::families::Families;
use crate::snapshot::{PeerState, Snapshot};
use std::fmt::Error;

pub(super) fn peers(peers: &[PeerState], into: &mut Families<'_>) -> Result<(), Error> {
    let each = |pick: fn(&PeerState) -> Option<f64>| {
        peers
            .iter()
            .map(move |peer| (vec![("peer", peer.name.as_str())], pick(peer)))
    };
    let count = |pick: fn(&PeerState) -> u64| {
        peers
            .iter()
            .map(move |peer| (vec![("peer", peer.name.as_str())], pick(peer) as f64))
    };
    into.counter(
        "wirestamp_stamp_sent",
        None,
        "STAMP packets sent",
        count(|peer| peer.sent),
    )?;
    into.counter(
        "wirestamp_stamp_answered",
        None,
        "STAMP packets answered in time",
        count(|peer| peer.answered),
    )?;
    into.counter(
        "wirestamp_stamp_lost",
        None,
        "STAMP packets not answered in time",
        count(|peer| peer.lost),
    )?;
    into.counter(
        "wirestamp_stamp_refused",
        None,
        "STAMP packets that the system failed to send; they also count as lost",
        count(|peer| peer.refused),
    )?;
    into.counter(
        "wirestamp_stamp_followed_up",
        None,
        "Replies whose transmit timestamp the reflector reported (Follow-Up Telemetry)",
        count(|peer| peer.followed_up),
    )?;
    let rejected = peers
        .iter()
        .flat_map(|peer| by(vec![("peer", peer.name.as_str())], "reason", &peer.rejected));
    into.counter(
        "wirestamp_stamp_rejected",
        None,
        "Received packets that are not valid replies of this session, by reason",
        rejected,
    )?;
    into.gauge(
        "wirestamp_stamp_in_flight",
        None,
        "STAMP packets that may still be answered",
        each(|peer| Some(peer.in_flight as f64)),
    )?;
    into.gauge(
        "wirestamp_stamp_age",
        seconds(),
        "Time since the last answered STAMP packet; it keeps growing while the task is down",
        each(|peer| of_ns(peer.age_ns)),
    )?;
    into.gauge(
        "wirestamp_stamp_stale_after",
        seconds(),
        "Age from which the session's values are stale: four intervals plus the timeout, at least 10 s",
        each(|peer| of_ns(peer.stale_after_ns)),
    )?;
    into.gauge(
        "wirestamp_stamp_path_delay",
        seconds(),
        "Last round trip without the time in the reflector",
        each(|peer| of_ns(peer.path_delay_ns)),
    )?;
    into.gauge(
        "wirestamp_stamp_path_delay_error_bound",
        seconds(),
        "Error bound of the last path delay",
        each(|peer| of_ns(peer.path_delay_bound_ns)),
    )?;
    into.info(
        "wirestamp_stamp_peer",
        "Address of the reflector, and the configured relation between its clock and this host's",
        peers.iter().map(|peer| {
            vec![
                ("peer", peer.name.as_str()),
                ("address", peer.address.as_str()),
                ("relation", peer.relation.as_str()),
            ]
        }),
    )?;
    let delays = peers
        .iter()
        .flat_map(|peer| segments("peer", &peer.name, &peer.delays));
    into.delays("wirestamp_stamp_delay", "Delays by segment, classic and native histogram: `round_trip`, `path` (both directions without the reflector), `forward`, `backward`, `residence`, `send_path`, `receive_path`", delays)
}

pub(super) fn reflector(snapshot: &Snapshot, into: &mut Families<'_>) -> Result<(), Error> {
    let Some(reflector) = &snapshot.reflector else {
        return Ok(());
    };
    into.counter(
        "wirestamp_reflector_replies",
        None,
        "STAMP packets answered",
        [(vec![], reflector.replies as f64)],
    )?;
    into.counter(
        "wirestamp_reflector_dropped",
        None,
        "STAMP packets not answered, by reason",
        by(vec![], "reason", &reflector.dropped),
    )?;
    into.counter(
        "wirestamp_reflector_not_sent",
        None,
        "Replies that the system refused to send",
        [(vec![], reflector.not_sent as f64)],
    )?;
    into.counter(
        "wirestamp_reflector_missing",
        None,
        "Replies without a transmit timestamp, by reason",
        by(vec![], "reason", &reflector.missing),
    )?;
    into.gauge(
        "wirestamp_reflector_warnings",
        None,
        "Settings of the reflector that work, but perhaps not as intended; the page and the log show them",
        [(vec![], Some(reflector.warnings.len() as f64))],
    )?;
    into.gauge(
        "wirestamp_reflector_sessions",
        None,
        "Sessions that the reflector keeps",
        [(vec![], Some(reflector.sessions as f64))],
    )
}
