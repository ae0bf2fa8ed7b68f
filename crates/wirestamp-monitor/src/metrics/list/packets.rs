//! Metrics of packets and timestamps of all tasks, and of the paths within this host.

use super::{by, segments};
use crate::metrics::families::Families;
use crate::snapshot::{PathState, Snapshot, TimestampCounts};
use std::fmt::Error;

pub(super) fn paths(paths: &[PathState], into: &mut Families<'_>) -> Result<(), Error> {
    let count = |pick: fn(&PathState) -> u64| {
        paths.iter().map(move |path| {
            (
                vec![("interface", path.interface.as_str())],
                pick(path) as f64,
            )
        })
    };
    into.counter(
        "wirestamp_path_sent",
        None,
        "Packets that this host sent to itself",
        count(|path| path.sent),
    )?;
    into.counter(
        "wirestamp_path_received",
        None,
        "Packets of this host to itself that arrived before the timeout",
        count(|path| path.received),
    )?;
    into.counter(
        "wirestamp_path_lost",
        None,
        "Packets of this host to itself that did not arrive before the timeout",
        count(|path| path.lost),
    )?;
    let delays = paths
        .iter()
        .flat_map(|path| segments("interface", &path.interface, &path.delays));
    into.delays(
        "wirestamp_path_delay",
        "Delays within this host by segment, classic and native histogram: `send_path`, `wire`, `receive_path`",
        delays,
    )
}

/// Timestamps that were used, of all tasks, by who made them.
pub(super) fn used(snapshot: &Snapshot, into: &mut Families<'_>) -> Result<(), Error> {
    let peers = snapshot.peers.iter();
    let peers = peers.map(|peer| ("stamp", peer.name.as_str(), &peer.stamps));
    let servers = snapshot.ntp.iter().flat_map(|ntp| &ntp.servers);
    let servers = servers.map(|server| ("ntp", server.name.as_str(), &server.stamps));
    let ports = snapshot.ptp.iter();
    let ports = ports.map(|port| ("ptp", port.interface.as_str(), &port.stamps));
    let paths = snapshot.paths.iter();
    let paths = paths.map(|path| ("path", path.interface.as_str(), &path.stamps));
    let reflector = snapshot.reflector.iter();
    let reflector = reflector.map(|reflector| ("reflector", "reflector", &reflector.stamps));
    let all = peers.chain(servers).chain(ports).chain(paths);
    into.counter(
        "wirestamp_timestamps_used",
        None,
        "Transmit and receive timestamps that a measurement used, by `source` (`hardware` or `software`); `kind` can also be `ptp` or `reflector`",
        all.chain(reflector).flat_map(|(kind, name, stamps)| {
            by(vec![("kind", kind), ("name", name)], "source", stamps)
        }),
    )
}

/// Timestamps of all tasks: which task, of what kind.
pub(super) fn timestamps(snapshot: &Snapshot, into: &mut Families<'_>) -> Result<(), Error> {
    let peers = snapshot
        .peers
        .iter()
        .map(|peer| ("stamp", peer.name.as_str(), &peer.timestamps));
    let servers = snapshot
        .ntp
        .iter()
        .flat_map(|ntp| &ntp.servers)
        .map(|server| ("ntp", server.name.as_str(), &server.timestamps));
    let paths = snapshot
        .paths
        .iter()
        .map(|path| ("path", path.interface.as_str(), &path.timestamps));
    let all: Vec<_> = peers.chain(servers).chain(paths).collect();
    let labels = |kind, name| vec![("kind", kind), ("name", name)];
    let count = |pick: fn(&TimestampCounts) -> u64| {
        all.iter()
            .map(move |(kind, name, counts)| (labels(*kind, *name), pick(counts) as f64))
    };
    into.counter(
        "wirestamp_transmit_timestamps_requested",
        None,
        "Packets sent with a request for a transmit timestamp",
        count(|counts| counts.requested),
    )?;
    into.counter(
        "wirestamp_transmit_timestamps",
        None,
        "Transmit timestamps that arrived",
        count(|counts| counts.transmitted),
    )?;
    into.gauge(
        "wirestamp_transmit_timestamps_pending",
        None,
        "Transmit timestamps that may still arrive",
        all.iter()
            .map(|(kind, name, counts)| (labels(kind, name), Some(counts.pending as f64))),
    )?;
    let missing = all
        .iter()
        .flat_map(|(kind, name, counts)| by(labels(kind, name), "reason", &counts.missing));
    into.counter(
        "wirestamp_transmit_timestamps_missing",
        None,
        "Missing transmit timestamps, by reason; `not_sent`: the packet did not leave (before Linux 5.0 not known of sessions with an interface, and of NTP with hardware timestamps: another reason counts)",
        missing,
    )?;
    into.counter(
        "wirestamp_received_packets",
        None,
        "Packets received",
        count(|counts| counts.received),
    )?;
    into.counter(
        "wirestamp_receive_timestamps",
        None,
        "Packets received with a timestamp",
        count(|counts| counts.received_timestamped),
    )?;
    into.counter(
        "wirestamp_queue_overflows",
        None,
        "Packets that the system dropped because a socket's queue was full",
        count(|counts| counts.queue_overflows),
    )
}
