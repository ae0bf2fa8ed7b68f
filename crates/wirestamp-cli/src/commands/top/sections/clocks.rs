//! Clocks, NTP servers and PTP clocks.

use super::super::columns::{Cell, Column};
use super::super::style::Tone;
use super::super::text;
use super::{Kind, Row, Section, fault, listed, name, picture, quiet, sum};
use wirestamp_monitor::snapshot::{ClockState, NtpServerState, PtpState, Snapshot};
use wirestamp_ptp::PortState;

const CLOCKS: [Column; 11] = [
    Column::left("clock", 255),
    Column::right("offset", 255),
    Column::right("error bound", 255),
    Column::left("against", 9),
    Column::left("state", 8),
    Column::right("frequency", 6),
    Column::right("age", 7),
    Column::left("generation changes", 5),
    Column::right("width", 3),
    Column::left("method", 2),
    Column::trend(4),
];

pub(super) fn clocks(snapshot: &Snapshot, later: i64) -> Section {
    Section {
        title: "clocks",
        note: None,
        columns: &CLOCKS,
        rows: snapshot
            .clocks
            .iter()
            .map(|one| clock(one, later))
            .collect(),
    }
}

fn clock(clock: &ClockState, later: i64) -> Row {
    let (offset, timescale) = nearest(clock);
    let age = clock.age_ns.map(|age| age.saturating_add(later));
    let against = match &clock.reference {
        Some(reference) => format!("{timescale} ({})", text::clean(reference)),
        None => timescale.to_owned(),
    };
    let changes = sum(&clock.generation_changes);
    Row::new(
        Kind::Clock,
        &clock.name,
        [
            name(&clock.name),
            text::offset(offset, clock.utc_bound_ns).into(),
            text::bound_of(clock.utc_bound_ns, offset, clock.utc_bound_ns).into(),
            quiet(against),
            state(clock).into(),
            text::frequency(clock.frequency_ppb).into(),
            text::time(age).into(),
            doubtful(listed(&clock.generation_changes, "none"), changes > 0),
            text::time(clock.cross_width_ns).into(),
            quiet(text::word(clock.cross_method.as_deref())),
            picture(),
        ],
    )
    .with_trend(offset)
    .with_age(age)
    .with_lost(clock.failures)
}

/// A PTP hardware clock may show TAI: the offset is the one against the timescale that it is nearer to.
fn nearest(clock: &ClockState) -> (Option<i64>, &'static str) {
    match (clock.utc_offset_ns, clock.tai_offset_ns) {
        (Some(utc), Some(tai))
            if clock.kind == "phc" && tai.unsigned_abs() < utc.unsigned_abs() =>
        {
            (Some(tai), "TAI")
        }
        (utc, _) => (utc, "UTC"),
    }
}

fn state(clock: &ClockState) -> (String, Tone) {
    if let Some(error) = &clock.error {
        return (text::clean(error), Tone::Bad);
    }
    match (clock.utc_offset_ns, clock.utc_bound_ns) {
        // against a clock of this host, an offset says nothing about UTC
        (Some(_), Some(_)) if clock.kind == "phc" => ("measured".to_owned(), Tone::Plain),
        (Some(offset), Some(bound)) if offset.unsigned_abs() > bound.unsigned_abs() => {
            ("is off".to_owned(), Tone::Bad)
        }
        (Some(_), Some(_)) => ("may be right".to_owned(), Tone::Good),
        (None, Some(_)) => ("bound alone".to_owned(), Tone::Plain),
        _ => ("not known".to_owned(), Tone::Doubtful),
    }
}

fn doubtful(text: String, is_doubtful: bool) -> Cell {
    let tone = if is_doubtful {
        Tone::Doubtful
    } else {
        Tone::Quiet
    };
    (text, tone).into()
}

const SERVERS: [Column; 9] = [
    Column::left("server", 255),
    Column::right("offset", 255),
    Column::right("error bound", 255),
    Column::left("state", 9),
    Column::right("bound to UTC", 6),
    Column::right("path delay", 5),
    Column::right("age", 7),
    Column::right("unanswered", 4),
    Column::trend(3),
];

pub(super) fn ntp(snapshot: &Snapshot, later: i64) -> Section {
    let ntp = snapshot.ntp.as_ref();
    let servers = ntp.map_or(&[][..], |ntp| &ntp.servers);
    let note = ntp.map(|ntp| {
        let agreement = text::word(Some(&ntp.agreement)).replace('_', " ");
        let text = match (ntp.offset_ns, ntp.bound_ns) {
            (Some(offset), Some(bound)) => format!(
                "{agreement}: this clock {} {}",
                text::offset(Some(offset), Some(bound)),
                text::bound_of(Some(bound), Some(offset), Some(bound))
            ),
            _ => agreement,
        };
        (text, Tone::Quiet)
    });
    Section {
        title: "NTP servers",
        note,
        columns: &SERVERS,
        rows: servers.iter().map(|one| server(one, later)).collect(),
    }
}

fn server(server: &NtpServerState, later: i64) -> Row {
    let age = server.age_ns.map(|age| age.saturating_add(later));
    let state = match (&server.error, &server.hint, server.stratum) {
        _ if server.falseticker => ("falseticker".to_owned(), Tone::Bad),
        (Some(error), ..) => (text::clean(error), Tone::Bad),
        (None, Some(hint), _) => (text::clean(hint), Tone::Doubtful),
        (None, None, Some(stratum)) => (format!("stratum {stratum}"), Tone::Plain),
        (None, None, None) => ("not known".to_owned(), Tone::Doubtful),
    };
    Row::new(
        Kind::Ntp,
        &server.name,
        [
            name(&server.name),
            text::offset(server.offset_ns, server.bound_ns).into(),
            text::bound_of(server.bound_ns, server.offset_ns, server.bound_ns).into(),
            state.into(),
            text::bound_of(server.utc_bound_ns, server.offset_ns, server.bound_ns).into(),
            text::time(server.path_delay_ns).into(),
            text::time(age).into(),
            fault(
                text::loss(server.unanswered, server.responses),
                server.unanswered,
            ),
            picture(),
        ],
    )
    .with_trend(server.offset_ns)
    .with_age(age)
    .with_lost(server.unanswered)
}

const PORTS: [Column; 10] = [
    Column::left("PTP on", 255),
    Column::right("offset", 255),
    Column::right("error bound", 255),
    Column::left("state", 9),
    Column::right("path delay", 6),
    Column::left("timestamps", 4),
    Column::right("age", 7),
    Column::left("timeTransmitter", 3),
    Column::right("lost", 5),
    Column::trend(2),
];

pub(super) fn ptp(snapshot: &Snapshot, later: i64) -> Section {
    Section {
        title: "PTP",
        note: None,
        columns: &PORTS,
        rows: snapshot.ptp.iter().map(|one| port(one, later)).collect(),
    }
}

fn port(port: &PtpState, later: i64) -> Row {
    let age = port.age_ns.map(|age| age.saturating_add(later));
    let state = text::word(Some(&port.state));
    let problem = port.error.as_ref().or_else(|| port.warnings.first());
    let state = match problem {
        _ if port.holdover => (format!("{state}, holdover"), Tone::Bad),
        Some(problem) => (format!("{state}: {}", text::clean(problem)), Tone::Bad),
        None if port.state == PortState::Faulty.name() => (state, Tone::Bad),
        None => (state, Tone::Plain),
    };
    let lost = sum(&port.lost);
    Row::new(
        Kind::Ptp,
        &port.interface,
        [
            name(&port.interface),
            text::offset(port.offset_ns, port.bound_ns).into(),
            text::bound_of(port.bound_ns, port.offset_ns, port.bound_ns).into(),
            state.into(),
            text::time(port.path_delay_ns).into(),
            quiet(text::word(Some(&port.source))),
            text::time(age).into(),
            quiet(text::word(port.time_transmitter.as_deref())),
            fault(text::loss(lost, port.samples), lost),
            picture(),
        ],
    )
    .with_trend(port.offset_ns)
    .with_age(age)
    .with_lost(lost)
}
