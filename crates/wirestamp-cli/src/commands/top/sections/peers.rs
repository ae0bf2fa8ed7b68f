//! Packets: STAMP sessions, paths of this host, the reflector, timestamps that are missing.

use super::super::columns::Column;
use super::super::style::Tone;
use super::super::text;
use super::{Kind, Row, Section, fault, listed, name, picture, quiet, sum};
use std::collections::BTreeMap;
use wirestamp_monitor::Delays;
use wirestamp_monitor::snapshot::{PathState, PeerState, Snapshot, TimestampCounts};

const MEDIAN: f64 = 0.5;
const LATE: f64 = 0.99;

const PEERS: [Column; 11] = [
    Column::left("peer", 255),
    Column::right("path delay", 255),
    Column::right("lost", 255),
    Column::right("error bound", 7),
    Column::right("forward", 9),
    Column::right("backward", 8),
    Column::right("round trip p50", 4),
    Column::right("p99", 5),
    Column::right("missing", 6),
    Column::right("age", 3),
    Column::trend(2),
];

pub(super) fn peers(snapshot: &Snapshot, later: i64) -> Section {
    let note =
        "forward and backward: medians; p50, p99: half, 99 % of the round trips were shorter";
    Section {
        title: "peers",
        note: (!snapshot.peers.is_empty()).then(|| (note.to_owned(), Tone::Quiet)),
        columns: &PEERS,
        rows: snapshot.peers.iter().map(|one| peer(one, later)).collect(),
    }
}

fn peer(peer: &PeerState, later: i64) -> Row {
    let age = peer.age_ns.map(|age| age.saturating_add(later));
    let of = |segment: &str| peer.delays.get(segment);
    let mut row = Row::new(
        Kind::Peer,
        &peer.name,
        [
            name(&peer.name),
            text::delay(peer.path_delay_ns, peer.path_delay_bound_ns).into(),
            fault(text::loss(peer.lost, peer.answered), peer.lost),
            text::bound_of(
                peer.path_delay_bound_ns,
                peer.path_delay_ns,
                peer.path_delay_bound_ns,
            )
            .into(),
            text::quantile(of("forward"), MEDIAN).into(),
            text::quantile(of("backward"), MEDIAN).into(),
            text::quantile(of("round_trip"), MEDIAN).into(),
            text::quantile(of("round_trip"), LATE).into(),
            missing_of(&peer.timestamps),
            text::time(age).into(),
            picture(),
        ],
    )
    .with_trend(peer.path_delay_ns)
    .with_age(age)
    .with_lost(peer.lost);
    for more in [Some(&peer.address), peer.error.as_ref()]
        .into_iter()
        .flatten()
    {
        row.words.push_str(&text::clean(more).to_lowercase());
        row.words.push(' ');
    }
    row
}

/// How many timestamps are missing; none were asked for: not known.
fn missing_of(counts: &TimestampCounts) -> super::Cell {
    if counts.requested == 0 {
        return text::UNKNOWN.to_owned().into();
    }
    let missing = counts.missing_of_sent();
    fault(missing.to_string(), missing)
}

const PATHS: [Column; 8] = [
    Column::left("interface", 255),
    Column::right("send path", 255),
    Column::right("receive path", 255),
    Column::right("wire", 8),
    Column::right("send p99", 5),
    Column::right("receive p99", 4),
    Column::right("lost", 7),
    Column::right("missing", 6),
];

pub(super) fn paths(snapshot: &Snapshot) -> Section {
    Section {
        title: "paths of this host",
        note: None,
        columns: &PATHS,
        rows: snapshot.paths.iter().map(path).collect(),
    }
}

fn path(path: &PathState) -> Row {
    let of = |segment: &str| path.delays.get(segment);
    Row::new(
        Kind::Path,
        &path.interface,
        [
            name(&path.interface),
            text::quantile(of("send_path"), MEDIAN).into(),
            text::quantile(of("receive_path"), MEDIAN).into(),
            text::quantile(of("wire"), MEDIAN).into(),
            text::quantile(of("send_path"), LATE).into(),
            text::quantile(of("receive_path"), LATE).into(),
            fault(text::loss(path.lost, path.received), path.lost),
            missing_of(&path.timestamps),
        ],
    )
    .with_size(text::quantile_ns(of("receive_path"), MEDIAN))
    .with_lost(path.lost)
}

const REFLECTOR: [Column; 4] = [
    Column::right("replies", 255),
    Column::left("not answered", 255),
    Column::right("sessions", 8),
    Column::rest("on", 5),
];

pub(super) fn reflector(snapshot: &Snapshot) -> Section {
    let row = |reflector: &wirestamp_monitor::snapshot::ReflectorState| {
        let dropped = sum(&reflector.dropped);
        let listening = text::clean(&reflector.listening.join(" "));
        let listening = match &reflector.warnings[..] {
            [] => quiet(listening),
            warnings => fault(text::clean(&warnings.join("; ")), 1),
        };
        Row::new(
            Kind::Reflector,
            "reflector",
            [
                reflector.replies.to_string().into(),
                fault(listed(&reflector.dropped, "none"), dropped),
                reflector.sessions.to_string().into(),
                listening,
            ],
        )
        .with_lost(dropped)
    };
    Section {
        title: "STAMP reflector",
        note: None,
        columns: &REFLECTOR,
        rows: snapshot.reflector.iter().map(row).collect(),
    }
}

const MISSING: [Column; 3] = [
    Column::left("of", 255),
    Column::right("packets", 255),
    Column::rest("reason", 255),
];

/// Timestamps that did not come, and packets that the system dropped, each by reason.
pub(in super::super) fn missing(snapshot: &Snapshot) -> Section {
    let mut rows = Vec::new();
    let mut asked_for = 0u64;
    for (kind, of, counts) in counted(snapshot) {
        asked_for = asked_for.saturating_add(counts.requested);
        let received = counts.received.saturating_sub(counts.received_timestamped);
        let mut reasons: BTreeMap<String, u64> = counts.missing.clone();
        reasons.remove(TimestampCounts::NOT_SENT);
        reasons.insert("received without a timestamp".to_owned(), received);
        reasons.insert("receive queue overflow".to_owned(), counts.queue_overflows);
        for (reason, count) in reasons.into_iter().filter(|(_, count)| *count > 0) {
            let cells = [
                format!("{kind} {}", text::clean(of)).into(),
                fault(count.to_string(), count),
                text::clean(&reason).replace('_', " ").into(),
            ];
            let name = format!("{kind} {of} {reason}");
            rows.push(Row::new(Kind::Missing, &name, cells).with_lost(count));
        }
    }
    let note = if !rows.is_empty() {
        None
    } else if asked_for > 0 {
        Some((
            format!("none of {asked_for} transmit timestamps"),
            Tone::Quiet,
        ))
    } else {
        Some((
            "no transmit timestamp was asked for".to_owned(),
            Tone::Quiet,
        ))
    };
    Section {
        title: "missing timestamps",
        note,
        columns: &MISSING,
        rows,
    }
}

fn counted(snapshot: &Snapshot) -> Vec<(&'static str, &str, &TimestampCounts)> {
    let mut all = Vec::new();
    for peer in &snapshot.peers {
        all.push(("peer", peer.name.as_str(), &peer.timestamps));
    }
    for path in &snapshot.paths {
        all.push(("path", path.interface.as_str(), &path.timestamps));
    }
    for server in snapshot.ntp.iter().flat_map(|ntp| &ntp.servers) {
        all.push(("NTP", server.name.as_str(), &server.timestamps));
    }
    all
}

/// The delays of a peer or path, a row each, for the page of one of them.
const DELAYS: [Column; 7] = [
    Column::left("delay", 255),
    Column::right("p50", 255),
    Column::right("p99", 255),
    Column::right("largest", 8),
    Column::right("smallest", 5),
    Column::right("largest bound", 4),
    Column::right("packets", 6),
];

pub(in super::super) fn delays(delays: &BTreeMap<String, Delays>) -> Section {
    let of_u64 = |value: Option<u64>| value.map(|ns| i64::try_from(ns).unwrap_or(i64::MAX));
    let row = |(name, delays): (&String, &Delays)| {
        let cells = [
            text::clean(name).replace('_', " ").into(),
            text::quantile(Some(delays), MEDIAN).into(),
            text::quantile(Some(delays), LATE).into(),
            text::time(of_u64(delays.max_ns)).into(),
            text::time(of_u64(delays.min_ns)).into(),
            text::bound(of_u64(delays.bound_ns)).into(),
            delays.count.to_string().into(),
        ];
        Row::new(Kind::Path, name, cells)
    };
    Section {
        title: "delays",
        note: None,
        columns: &DELAYS,
        rows: delays.iter().map(row).collect(),
    }
}
