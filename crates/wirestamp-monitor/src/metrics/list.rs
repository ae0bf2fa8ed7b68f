//! The list of metrics: name, unit, help, and where the values come from. The guide's page "monitor" explains each.

use super::families::{Families, Labels};
use crate::snapshot::{
    ClockState, NtpServerState, PathState, PeerState, PtpState, Reasons, Snapshot, TimestampCounts,
};
use prometheus_client::registry::Unit;
use std::collections::BTreeMap;
use std::fmt::Error;

/// The unit of differences of frequency: 1e-9 is one part per billion.
fn ratio() -> Option<&'static Unit> {
    static UNIT: Unit = Unit::Ratios;
    Some(&UNIT)
}

fn seconds() -> Option<&'static Unit> {
    static UNIT: Unit = Unit::Seconds;
    Some(&UNIT)
}

/// Nanoseconds in seconds.
fn of_ns(nanoseconds: Option<i64>) -> Option<f64> {
    nanoseconds.map(|nanoseconds| nanoseconds as f64 / 1e9)
}

fn truth(is_true: bool) -> Option<f64> {
    Some(f64::from(u8::from(is_true)))
}

/// A series for each reason.
fn by<'a>(
    labels: Labels<'a>,
    name: &'static str,
    reasons: &'a Reasons,
) -> impl Iterator<Item = (Labels<'a>, f64)> {
    reasons.iter().map(move |(reason, count)| {
        let mut labels = labels.clone();
        labels.push((name, reason));
        (labels, *count as f64)
    })
}

/// Writes all metrics.
pub(super) fn write(snapshot: &Snapshot, into: &mut Families<'_>) -> Result<(), Error> {
    into.info(
        "wirestamp_monitor",
        "Version and host of the monitor",
        [vec![
            ("version", env!("CARGO_PKG_VERSION")),
            ("host", snapshot.host.as_str()),
        ]],
    )?;
    into.gauge(
        "wirestamp_monitor_uptime",
        seconds(),
        "Time since the monitor started",
        [(vec![], of_ns(Some(snapshot.uptime_ns)))],
    )?;
    tasks(snapshot, into)?;
    clocks(&snapshot.clocks, into)?;
    if let Some(ntp) = &snapshot.ntp {
        into.gauge(
            "wirestamp_ntp_agreement",
            None,
            "1 if more than half of the NTP servers can be right together",
            [(vec![], truth(ntp.offset_ns.is_some()))],
        )?;
        ntp_servers(&ntp.servers, into)?;
    }
    ptp(&snapshot.ptp, into)?;
    peers(&snapshot.peers, into)?;
    reflector(snapshot, into)?;
    paths(&snapshot.paths, into)?;
    timestamps(snapshot, into)?;
    interfaces(snapshot, into)?;
    history(snapshot, into)?;
    own(snapshot, into)
}

fn tasks(snapshot: &Snapshot, into: &mut Families<'_>) -> Result<(), Error> {
    let labels = |kind, name| vec![("kind", kind), ("name", name)];
    let up = snapshot.tasks.iter().map(|task| {
        (
            labels(task.kind.as_str(), task.name.as_str()),
            truth(task.state == "running"),
        )
    });
    into.gauge(
        "wirestamp_task_up",
        None,
        "1 if the task runs, 0 if it starts or failed and is tried again",
        up,
    )
}

fn clocks(clocks: &[ClockState], into: &mut Families<'_>) -> Result<(), Error> {
    let label = |clock: &'_ ClockState| -> String { clock.name.clone() };
    let names: Vec<String> = clocks.iter().map(label).collect();
    let each = |pick: fn(&ClockState) -> Option<f64>| {
        clocks
            .iter()
            .zip(&names)
            .map(move |(clock, name)| (vec![("clock", name.as_str())], pick(clock)))
            .collect::<Vec<_>>()
    };
    let offsets = |pick: fn(&ClockState) -> Option<i64>, scale: &'static str| {
        clocks
            .iter()
            .map(move |clock| {
                (
                    vec![("clock", clock.name.as_str()), ("reference", scale)],
                    of_ns(pick(clock)),
                )
            })
            .collect::<Vec<_>>()
    };
    let mut both = offsets(|clock| clock.utc_offset_ns, "utc");
    both.extend(offsets(|clock| clock.tai_offset_ns, "tai"));
    into.gauge("wirestamp_clock_offset", seconds(), "Offset of the clock, local minus reference (positive: the local clock is ahead); of a PTP hardware clock against the real-time clock", both)?;
    into.gauge("wirestamp_clock_error_bound", seconds(), "The true offset is within this distance of wirestamp_clock_offset_seconds, evaluated at the scrape", each(|clock| of_ns(clock.utc_bound_ns)))?;
    into.gauge("wirestamp_clock_frequency_offset", ratio(), "Frequency offset against the monotonic clock (positive: the clock runs fast); 1e-9 is 1 ppb", each(|clock| clock.frequency_ppb.map(|ppb| ppb / 1e9)))?;
    into.gauge(
        "wirestamp_clock_frequency_error_bound",
        ratio(),
        "Error bound of the frequency offset",
        each(|clock| clock.frequency_bound_ppb.map(|ppb| ppb / 1e9)),
    )?;
    into.gauge("wirestamp_clock_age", seconds(), "Time since the last successful reading of the clock or exchange with its reference, at most", each(|clock| of_ns(clock.age_ns)))?;
    into.gauge(
        "wirestamp_clock_cross_timestamp_width",
        seconds(),
        "How long the narrowest of the last cross timestamps took",
        each(|clock| of_ns(clock.cross_width_ns)),
    )?;
    let info = clocks.iter().map(|clock| {
        let (reference, method) = (
            clock.reference.as_deref().unwrap_or("none"),
            clock.cross_method.as_deref().unwrap_or("none"),
        );
        vec![
            ("clock", clock.name.as_str()),
            ("kind", clock.kind.as_str()),
            ("reference", reference),
            ("method", method),
        ]
    });
    into.info(
        "wirestamp_clock",
        "Kind of the clock, where its offset comes from, and how it is read",
        info,
    )?;
    let changes = clocks.iter().flat_map(|clock| {
        by(
            vec![("clock", clock.name.as_str())],
            "cause",
            &clock.generation_changes,
        )
    });
    into.counter(
        "wirestamp_clock_generation_changes",
        None,
        "Changes of the clock generation, by cause: resets and steps",
        changes,
    )?;
    let counts = |pick: fn(&ClockState) -> u64| {
        clocks
            .iter()
            .map(move |clock| (vec![("clock", clock.name.as_str())], pick(clock) as f64))
    };
    into.counter(
        "wirestamp_clock_readings",
        None,
        "Cross timestamps taken",
        counts(|clock| clock.readings),
    )?;
    into.counter(
        "wirestamp_clock_reading_failures",
        None,
        "Attempts to read the clock that failed",
        counts(|clock| clock.failures),
    )
}

fn ntp_servers(servers: &[NtpServerState], into: &mut Families<'_>) -> Result<(), Error> {
    let label = |server: &'_ NtpServerState| -> String { server.name.clone() };
    let names: Vec<String> = servers.iter().map(label).collect();
    let each = |pick: fn(&NtpServerState) -> Option<f64>| {
        servers
            .iter()
            .zip(&names)
            .map(move |(server, name)| (vec![("server", name.as_str())], pick(server)))
            .collect::<Vec<_>>()
    };
    let count = |pick: fn(&NtpServerState) -> u64| {
        servers
            .iter()
            .zip(&names)
            .map(move |(server, name)| (vec![("server", name.as_str())], pick(server) as f64))
            .collect::<Vec<_>>()
    };
    into.gauge(
        "wirestamp_ntp_offset",
        seconds(),
        "Offset of the real-time clock to the server's, local minus server",
        each(|server| of_ns(server.offset_ns)),
    )?;
    into.gauge(
        "wirestamp_ntp_error_bound",
        seconds(),
        "Error bound of the offset against the server's clock, evaluated at the scrape",
        each(|server| of_ns(server.bound_ns)),
    )?;
    into.gauge(
        "wirestamp_ntp_utc_error_bound",
        seconds(),
        "Error bound against UTC: with the root distance that the server claims",
        each(|server| of_ns(server.utc_bound_ns)),
    )?;
    into.gauge(
        "wirestamp_ntp_path_delay",
        seconds(),
        "Least path delay, both directions together",
        each(|server| of_ns(server.path_delay_ns)),
    )?;
    into.gauge(
        "wirestamp_ntp_age",
        seconds(),
        "Time since the last sample",
        each(|server| of_ns(server.age_ns)),
    )?;
    into.gauge(
        "wirestamp_ntp_stratum",
        None,
        "Stratum, as the server says",
        each(|server| server.stratum.map(f64::from)),
    )?;
    into.gauge(
        "wirestamp_ntp_falseticker",
        None,
        "1 if the server cannot be right if most of the others are",
        each(|server| truth(server.falseticker)),
    )?;
    into.info(
        "wirestamp_ntp_server",
        "Address of the server",
        servers.iter().map(|server| {
            vec![
                ("server", server.name.as_str()),
                ("address", server.address.as_str()),
            ]
        }),
    )?;
    into.counter(
        "wirestamp_ntp_requests",
        None,
        "Requests sent",
        count(|server| server.requests),
    )?;
    into.counter(
        "wirestamp_ntp_responses",
        None,
        "Valid responses",
        count(|server| server.responses),
    )?;
    into.counter(
        "wirestamp_ntp_samples",
        None,
        "Samples: responses with four timestamps",
        count(|server| server.samples),
    )?;
    into.counter(
        "wirestamp_ntp_unanswered",
        None,
        "Requests without a response in time",
        count(|server| server.unanswered),
    )?;
    let rejected = servers.iter().flat_map(|server| {
        by(
            vec![("server", server.name.as_str())],
            "reason",
            &server.rejected,
        )
    });
    into.counter(
        "wirestamp_ntp_rejected",
        None,
        "Responses without a sample and packets that were no responses, by reason",
        rejected,
    )?;
    let steps = servers.iter().flat_map(|server| {
        by(
            vec![("server", server.name.as_str())],
            "clock",
            &server.steps,
        )
    });
    into.counter(
        "wirestamp_ntp_steps",
        None,
        "Steps seen in the exchanges, of the local or the server's clock",
        steps,
    )
}

fn ptp(ports: &[PtpState], into: &mut Families<'_>) -> Result<(), Error> {
    let each = |pick: fn(&PtpState) -> Option<f64>| {
        ports
            .iter()
            .map(move |port| (vec![("interface", port.interface.as_str())], pick(port)))
    };
    into.gauge(
        "wirestamp_ptp_offset",
        seconds(),
        "Offset of the clock that timestamps to the timeTransmitter's, local minus timeTransmitter",
        each(|port| of_ns(port.offset_ns)),
    )?;
    into.gauge(
        "wirestamp_ptp_error_bound",
        seconds(),
        "Error bound of the offset, evaluated at the scrape",
        each(|port| of_ns(port.bound_ns)),
    )?;
    into.gauge(
        "wirestamp_ptp_path_delay",
        seconds(),
        "Mean path delay of both directions",
        each(|port| of_ns(port.path_delay_ns)),
    )?;
    into.gauge(
        "wirestamp_ptp_frequency_offset",
        ratio(),
        "Frequency offset to the timeTransmitter's clock (positive: the local clock runs fast)",
        each(|port| port.frequency_ppb.map(|ppb| ppb / 1e9)),
    )?;
    into.gauge(
        "wirestamp_ptp_age",
        seconds(),
        "Time since the last Sync that told something",
        each(|port| of_ns(port.age_ns)),
    )?;
    into.gauge(
        "wirestamp_ptp_holdover",
        None,
        "1 if the timeTransmitter is followed no more",
        each(|port| truth(port.holdover)),
    )?;
    into.gauge(
        "wirestamp_ptp_steps_removed",
        None,
        "Clocks between this one and the grandmaster",
        each(|port| Some(f64::from(port.steps_removed))),
    )?;
    let info = ports.iter().map(|port| {
        let transmitter = port.time_transmitter.as_deref().unwrap_or("none");
        vec![
            ("interface", port.interface.as_str()),
            ("state", port.state.as_str()),
            ("grandmaster", port.grandmaster.as_str()),
            ("time_transmitter", transmitter),
            ("source", port.source.as_str()),
        ]
    });
    into.info(
        "wirestamp_ptp_port",
        "State of the port, whom it follows, and whose timestamps it uses",
        info,
    )?;
    into.counter(
        "wirestamp_ptp_samples",
        None,
        "Syncs that told something",
        ports.iter().map(|port| {
            (
                vec![("interface", port.interface.as_str())],
                port.samples as f64,
            )
        }),
    )?;
    let lost = ports.iter().flat_map(|port| {
        by(
            vec![("interface", port.interface.as_str())],
            "reason",
            &port.lost,
        )
    });
    into.counter(
        "wirestamp_ptp_lost",
        None,
        "Exchanges that told nothing, by reason",
        lost,
    )?;
    let ignored = ports.iter().flat_map(|port| {
        by(
            vec![("interface", port.interface.as_str())],
            "reason",
            &port.ignored,
        )
    });
    into.counter(
        "wirestamp_ptp_ignored",
        None,
        "Messages that are no concern of this clock, by reason",
        ignored,
    )
}

fn peers(peers: &[PeerState], into: &mut Families<'_>) -> Result<(), Error> {
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
        "STAMP packets that the system refused to send; they count as lost as well",
        count(|peer| peer.refused),
    )?;
    into.counter(
        "wirestamp_stamp_followed_up",
        None,
        "Replies with the reflector's own transmit timestamp",
        count(|peer| peer.followed_up),
    )?;
    let rejected = peers
        .iter()
        .flat_map(|peer| by(vec![("peer", peer.name.as_str())], "reason", &peer.rejected));
    into.counter(
        "wirestamp_stamp_rejected",
        None,
        "Packets that are no reply to the session, by reason",
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
        "Time since the last answered packet",
        each(|peer| of_ns(peer.age_ns)),
    )?;
    into.gauge(
        "wirestamp_stamp_path_delay",
        seconds(),
        "The last round trip without the time in the reflector",
        each(|peer| of_ns(peer.path_delay_ns)),
    )?;
    into.gauge(
        "wirestamp_stamp_path_delay_error_bound",
        seconds(),
        "Error bound of that",
        each(|peer| of_ns(peer.path_delay_bound_ns)),
    )?;
    into.info(
        "wirestamp_stamp_peer",
        "Address of the reflector, and how its clock and this host's are related",
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
    into.delays("wirestamp_stamp_delay", "Delays by segment: round_trip, path (both directions without the reflector), forward, backward, residence, send_path, receive_path", delays)
}

/// A series for each segment.
fn segments<'a>(
    label: &'static str,
    name: &'a str,
    delays: &'a BTreeMap<String, crate::Delays>,
) -> impl Iterator<Item = (Labels<'a>, &'a crate::Delays)> {
    delays
        .iter()
        .map(move |(segment, delays)| (vec![(label, name), ("segment", segment.as_str())], delays))
}

fn reflector(snapshot: &Snapshot, into: &mut Families<'_>) -> Result<(), Error> {
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
    into.gauge(
        "wirestamp_reflector_sessions",
        None,
        "Sessions that the reflector keeps",
        [(vec![], Some(reflector.sessions as f64))],
    )
}

fn paths(paths: &[PathState], into: &mut Families<'_>) -> Result<(), Error> {
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
        "Those that arrived in time",
        count(|path| path.received),
    )?;
    into.counter(
        "wirestamp_path_lost",
        None,
        "Those that did not",
        count(|path| path.lost),
    )?;
    let delays = paths
        .iter()
        .flat_map(|path| segments("interface", &path.interface, &path.delays));
    into.delays(
        "wirestamp_path_delay",
        "Delays within this host by segment: send_path, wire, receive_path",
        delays,
    )
}

/// Timestamps of all tasks: which task, of what kind.
fn timestamps(snapshot: &Snapshot, into: &mut Families<'_>) -> Result<(), Error> {
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
        "Packets sent whose transmit timestamp was asked for",
        count(|counts| counts.requested),
    )?;
    into.counter(
        "wirestamp_transmit_timestamps",
        None,
        "Transmit timestamps that came",
        count(|counts| counts.transmitted),
    )?;
    into.gauge(
        "wirestamp_transmit_timestamps_pending",
        None,
        "Transmit timestamps that may still come",
        all.iter()
            .map(|(kind, name, counts)| (labels(kind, name), Some(counts.pending as f64))),
    )?;
    let missing = all
        .iter()
        .flat_map(|(kind, name, counts)| by(labels(kind, name), "reason", &counts.missing));
    into.counter(
        "wirestamp_transmit_timestamps_missing",
        None,
        "Missing transmit timestamps, by reason",
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

fn interfaces(snapshot: &Snapshot, into: &mut Families<'_>) -> Result<(), Error> {
    let all = &snapshot.interfaces;
    let each = |pick: fn(&crate::snapshot::InterfaceState) -> Option<f64>| {
        all.iter()
            .map(move |one| (vec![("interface", one.name.as_str())], pick(one)))
    };
    into.gauge(
        "wirestamp_interface_up",
        None,
        "1 if packets can pass",
        each(|one| truth(one.state == "up")),
    )?;
    into.gauge(
        "wirestamp_interface_hardware_transmit",
        None,
        "1 if the hardware timestamps transmitted packets now",
        each(|one| one.transmit.and_then(truth)),
    )?;
    let changes = all.iter().flat_map(|one| {
        by(
            vec![("interface", one.name.as_str())],
            "change",
            &one.changes,
        )
    });
    into.counter(
        "wirestamp_interface_changes",
        None,
        "Changes that the system reported, by what changed",
        changes,
    )
}

fn history(snapshot: &Snapshot, into: &mut Families<'_>) -> Result<(), Error> {
    let Some(history) = &snapshot.history else {
        return Ok(());
    };
    into.gauge(
        "wirestamp_history_recording",
        None,
        "1 if history is written to disk, 0 if the monitor is live only",
        [(vec![], truth(history.state == "recording"))],
    )?;
    into.gauge(
        "wirestamp_history_size",
        Some(&Unit::Bytes),
        "History on disk",
        [(vec![], Some(history.bytes as f64))],
    )?;
    into.counter(
        "wirestamp_history_records",
        None,
        "Records written",
        [(vec![], history.records as f64)],
    )?;
    into.counter(
        "wirestamp_history_records_lost",
        None,
        "Records that could not be written",
        [(vec![], history.lost as f64)],
    )
}

fn own(snapshot: &Snapshot, into: &mut Families<'_>) -> Result<(), Error> {
    let own = &snapshot.own;
    if let Some(cpu) = own.cpu_ns {
        into.counter(
            "wirestamp_monitor_cpu",
            seconds(),
            "Processor time of the monitor",
            [(vec![], cpu as f64 / 1e9)],
        )?;
    }
    into.gauge(
        "wirestamp_monitor_resident_memory",
        Some(&Unit::Bytes),
        "Resident memory of the monitor",
        [(vec![], own.resident_bytes.map(|bytes| bytes as f64))],
    )?;
    into.counter(
        "wirestamp_monitor_turns",
        None,
        "Turns of the measuring loop",
        [(vec![], own.turns as f64)],
    )?;
    into.counter(
        "wirestamp_monitor_missed_deadlines",
        None,
        "Turns of the measuring loop that began more than 5 ms late",
        [(vec![], own.missed_deadlines as f64)],
    )?;
    into.gauge(
        "wirestamp_monitor_latest_turn",
        seconds(),
        "The latest that a turn began after it should",
        [(vec![], of_ns(Some(own.latest_ns)))],
    )?;
    into.counter(
        "wirestamp_monitor_reloads",
        None,
        "Reloads of the configuration, by result",
        by(vec![], "result", &own.reloads),
    )?;
    let left_out = into.left_out() as f64;
    into.gauge(
        "wirestamp_monitor_series_left_out",
        None,
        "Series that the limit on label sets kept out of this exposition",
        [(vec![], Some(left_out))],
    )
}
