//! The page of one thing: every field that the monitor serves of it.

use super::columns::Cell;
use super::model::{Model, Taken};
use super::page::{table, wrapped};
use super::sections::{self, Kind, Section, Subject};
use super::series;
use super::style::{Palette, Tone};
use super::text;
use crate::output::quantity;
use ratatui::text::{Line, Span};
use serde_json::{Map, Value};
use std::time::Duration;
use wirestamp_monitor::Delays;
use wirestamp_monitor::snapshot::Snapshot;

/// These come first, the others by their names.
const FIRST: [&str; 16] = [
    "name",
    "interface",
    "address",
    "kind",
    "state",
    "error",
    "message",
    "utc_offset_ns",
    "offset_ns",
    "utc_bound_ns",
    "bound_ns",
    "tai_offset_ns",
    "path_delay_ns",
    "path_delay_bound_ns",
    "age_ns",
    "reference",
];
/// These have tables of their own.
const ELSEWHERE: [&str; 2] = ["delays", "servers"];

/// All of the subject, or that it is gone.
pub(super) fn lines(
    model: &Model,
    taken: &Taken,
    subject: &Subject,
    width: usize,
    now: Duration,
    palette: &Palette,
) -> Vec<Line<'static>> {
    let snapshot = &taken.snapshot;
    let Some(Value::Object(fields)) = found(snapshot, subject) else {
        let gone = format!("{} is no longer there", text::clean(&subject.name));
        return vec![Line::styled(gone, palette.of(Tone::Doubtful))];
    };
    let title = format!("{} {}", kind(subject.kind), text::clean(&subject.name));
    let mut lines = vec![Line::styled(title, palette.of(Tone::Heading))];
    write(&mut lines, &fields, 2, width, palette);
    trend(&mut lines, model, subject, width, palette);
    let mut more = |section: Section| {
        if !section.rows.is_empty() {
            lines.push(Line::default());
            lines.extend(table(&section, model, width, palette));
        }
    };
    if let Some(delays) = delays(snapshot, subject) {
        more(sections::delays(delays));
    }
    if !matches!(subject.kind, Kind::Event | Kind::Monitor | Kind::Missing) {
        more(sections::events_of(&snapshot.events, &subject.name));
    }
    if let (Kind::Clock | Kind::Ntp | Kind::Ptp | Kind::Peer, age) = (subject.kind, taken.age(now))
        && model.silence.is_some()
    {
        let note = format!("all of this was so {} ago", quantity::shown(age));
        lines.push(Line::styled(note, palette.of(Tone::Bad)));
    }
    lines
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Task => "task",
        Kind::Clock => "clock",
        Kind::Ntp => "NTP server",
        Kind::Ptp => "PTP on",
        Kind::Peer => "peer",
        Kind::Path => "path of",
        Kind::Reflector => "STAMP",
        Kind::Missing => "missing timestamps:",
        Kind::Interface => "interface",
        Kind::Event => "event",
        Kind::Monitor => "the",
    }
}

/// What the snapshot has of it.
fn found(snapshot: &Snapshot, subject: &Subject) -> Option<Value> {
    let name = subject.name.as_str();
    let json = |value: Result<Value, serde_json::Error>| value.ok();
    let is = |other: &str| other == name;
    match subject.kind {
        Kind::Task => {
            let mut tasks = snapshot.tasks.iter();
            let task = tasks.find(|task| is(&format!("{} {}", task.kind, task.name)))?;
            json(serde_json::to_value(task))
        }
        Kind::Clock => json(serde_json::to_value(
            snapshot.clocks.iter().find(|one| is(&one.name))?,
        )),
        Kind::Ntp => {
            let mut servers = snapshot.ntp.as_ref()?.servers.iter();
            json(serde_json::to_value(servers.find(|one| is(&one.name))?))
        }
        Kind::Ptp => json(serde_json::to_value(
            snapshot.ptp.iter().find(|one| is(&one.interface))?,
        )),
        Kind::Peer => json(serde_json::to_value(
            snapshot.peers.iter().find(|one| is(&one.name))?,
        )),
        Kind::Path => json(serde_json::to_value(
            snapshot.paths.iter().find(|one| is(&one.interface))?,
        )),
        Kind::Reflector => json(serde_json::to_value(snapshot.reflector.as_ref()?)),
        Kind::Interface => json(serde_json::to_value(
            snapshot.interfaces.iter().find(|one| is(&one.name))?,
        )),
        Kind::Event => {
            let event = snapshot.events.iter().find(|one| is(&one.id.to_string()))?;
            json(serde_json::to_value(event))
        }
        Kind::Monitor => {
            let mut own = json(serde_json::to_value(&snapshot.own))?;
            own["history"] = json(serde_json::to_value(&snapshot.history))?;
            own["recording"] = json(serde_json::to_value(&snapshot.recording))?;
            Some(own)
        }
        Kind::Missing => {
            let section = sections::missing(snapshot);
            let row = section.rows.into_iter().find(|row| is(&row.subject.name))?;
            let value = |place: usize| row.cells.get(place).map(|cell: &Cell| cell.text.clone());
            Some(serde_json::json!({"of": value(0), "packets": value(1), "reason": value(2)}))
        }
    }
}

fn delays<'a>(
    snapshot: &'a Snapshot,
    subject: &Subject,
) -> Option<&'a std::collections::BTreeMap<String, Delays>> {
    match subject.kind {
        Kind::Peer => {
            let mut peers = snapshot.peers.iter();
            peers
                .find(|one| one.name == subject.name)
                .map(|one| &one.delays)
        }
        Kind::Path => {
            let mut paths = snapshot.paths.iter();
            paths
                .find(|one| one.interface == subject.name)
                .map(|one| &one.delays)
        }
        _ => None,
    }
}

fn write(
    lines: &mut Vec<Line<'static>>,
    fields: &Map<String, Value>,
    indent: usize,
    width: usize,
    palette: &Palette,
) {
    let mut names: Vec<&String> = fields
        .keys()
        .filter(|name| !ELSEWHERE.contains(&name.as_str()))
        .collect();
    let rank = |name: &String| {
        FIRST
            .iter()
            .position(|first| first == name)
            .unwrap_or(FIRST.len())
    };
    names.sort_by(|a, b| rank(a).cmp(&rank(b)).then(a.cmp(b)));
    let widest = names
        .iter()
        .map(|name| label(name).len())
        .max()
        .unwrap_or(0);
    // where names and values do not fit side by side, less is left between them
    let widest = widest.min(width / 2);
    for name in names {
        let value = &fields[name];
        let label = label(name);
        if let Value::Object(inner) = value
            && !inner.values().all(Value::is_number)
        {
            lines.push(field(indent, widest, &label, String::new(), palette));
            write(lines, inner, indent + 2, width, palette);
            continue;
        }
        let room = width.saturating_sub(indent + widest + 2);
        let text = shown(name, value);
        for (place, part) in wrapped(&text, room).into_iter().enumerate() {
            let label = if place == 0 { label.as_str() } else { "" };
            lines.push(field(indent, widest, label, part, palette));
        }
    }
}

fn field(
    indent: usize,
    widest: usize,
    label: &str,
    value: String,
    palette: &Palette,
) -> Line<'static> {
    Line::from(vec![
        Span::raw(" ".repeat(indent)),
        Span::styled(format!("{label:widest$}"), palette.of(Tone::Quiet)),
        Span::raw("  "),
        Span::raw(value),
    ])
}

/// The name of a field without its unit, in words.
fn label(name: &str) -> String {
    let bare = ["_ns", "_ppb", "_bytes"]
        .iter()
        .find_map(|unit| name.strip_suffix(unit));
    let words = text::clean(bare.unwrap_or(name)).replace('_', " ");
    let word = |word: &str| match word {
        "utc" => "UTC".to_owned(),
        "tai" => "TAI".to_owned(),
        "bound" => "error bound".to_owned(),
        "cpu" => "processor".to_owned(),
        word => word.to_owned(),
    };
    words.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// A value in the unit that its name ends in.
fn shown(name: &str, value: &Value) -> String {
    let nanoseconds = || match value {
        Value::String(digits) => digits.parse().ok(),
        other => other.as_i64(),
    };
    match value {
        Value::Null => text::UNKNOWN.to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        _ if name.ends_with("_ns") => match nanoseconds() {
            Some(ns) if name.contains("offset") => exactly(text::offset(Some(ns), None), ns),
            Some(ns) if name.contains("bound") => exactly(text::bound(Some(ns)), ns),
            Some(ns) => exactly(text::time(Some(ns)), ns),
            None => text::UNKNOWN.to_owned(),
        },
        Value::Number(number) if name.ends_with("bound_ppb") => number.as_f64().map_or_else(
            || number.to_string(),
            |ppb| format!("± {:.1} ppb", (ppb * 10.0).ceil() / 10.0),
        ),
        Value::Number(number) if name.ends_with("_ppb") => text::frequency(number.as_f64()),
        Value::Number(number) if name.ends_with("bytes") => number
            .as_u64()
            .map_or_else(|| number.to_string(), text::bytes),
        Value::Number(number) => number.to_string(),
        Value::String(words) => text::word(Some(words)),
        Value::Array(parts) if parts.is_empty() => "none".to_owned(),
        Value::Array(parts) => {
            let parts: Vec<_> = parts.iter().map(|part| shown("", part)).collect();
            parts.join(", ")
        }
        Value::Object(reasons) => {
            let parts: Vec<_> = reasons
                .iter()
                .filter(|(_, count)| count.as_u64() != Some(0))
                .map(|(reason, count)| format!("{} {count}", text::clean(reason).replace('_', " ")))
                .collect();
            if parts.is_empty() {
                "none".to_owned()
            } else {
                parts.join(", ")
            }
        }
    }
}

/// With all its digits, where there are more than are shown.
fn exactly(text: String, nanoseconds: i64) -> String {
    if nanoseconds.unsigned_abs() < 1_000 {
        text
    } else {
        format!("{text} ({nanoseconds} ns)")
    }
}

fn trend(
    lines: &mut Vec<Line<'static>>,
    model: &Model,
    subject: &Subject,
    width: usize,
    palette: &Palette,
) {
    let values = model.series.of(subject);
    let known = || values.iter().flatten().copied();
    let (Some(least), Some(most)) = (known().min(), known().max()) else {
        return;
    };
    let what = format!(
        "  the last {} values: lowest {}, highest {}",
        values.len(),
        quantity::signed(least, most.saturating_sub(least)),
        quantity::signed(most, most.saturating_sub(least))
    );
    lines.push(Line::default());
    lines.push(Line::styled(what, palette.of(Tone::Quiet)));
    let room = width.saturating_sub(2);
    lines.push(Line::raw(format!(
        "  {}",
        series::drawn(values, room, palette.ascii)
    )));
}
