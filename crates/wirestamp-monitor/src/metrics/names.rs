//! The names of the metrics: those that the program writes are those that the guide, the rules and the dashboard name.

use super::open_metrics;
use crate::snapshot::{
    ClockState, HistoryState, InterfaceState, NtpServerState, NtpState, OwnCost, PathState,
    PeerState, PtpState, Reasons, RecordingState, ReflectorState, Snapshot, TaskState,
    TimestampCounts,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wirestamp_measure::delays::Delays;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn reasons() -> Reasons {
    Reasons::from([("reason".to_owned(), 1)])
}

fn delays() -> BTreeMap<String, Delays> {
    BTreeMap::from([("path".to_owned(), Delays::default())])
}

/// A snapshot that has something of everything.
fn everything() -> Snapshot {
    let timestamps = made!(TimestampCounts { missing: reasons() });
    Snapshot {
        tasks: vec![TaskState::default()],
        interfaces: vec![made!(InterfaceState {
            transmit: Some(true),
            changes: reasons(),
        })],
        clocks: vec![made!(ClockState {
            utc_offset_ns: Some(1),
            utc_bound_ns: Some(1),
            tai_offset_ns: Some(1),
            frequency_ppb: Some(1.0),
            frequency_bound_ppb: Some(1.0),
            generation_changes: reasons(),
            age_ns: Some(1),
            cross_width_ns: Some(1),
        })],
        peers: vec![made!(PeerState {
            stamps: reasons(),
            rejected: reasons(),
            path_delay_ns: Some(1),
            path_delay_bound_ns: Some(1),
            age_ns: Some(1),
            stale_after_ns: Some(1),
            delays: delays(),
            timestamps: timestamps,
        })],
        reflector: Some(made!(ReflectorState {
            dropped: reasons(),
            missing: reasons(),
        })),
        ntp: Some(made!(NtpState {
            right_servers: Some(1),
            servers: vec![made!(NtpServerState {
                offset_ns: Some(1),
                bound_ns: Some(1),
                utc_bound_ns: Some(1),
                path_delay_ns: Some(1),
                age_ns: Some(1),
                stale_after_ns: Some(1),
                stratum: Some(1),
                root_delay_ns: Some(1),
                root_dispersion_ns: Some(1),
                rejected: reasons(),
                steps: reasons(),
            })],
        })),
        ptp: vec![made!(PtpState {
            offset_ns: Some(1),
            bound_ns: Some(1),
            system_offset_ns: Some(1),
            system_bound_ns: Some(1),
            path_delay_ns: Some(1),
            frequency_ppb: Some(1.0),
            age_ns: Some(1),
            stale_after_ns: Some(1),
            lost: reasons(),
            ignored: reasons(),
        })],
        paths: vec![made!(PathState { delays: delays() })],
        own: OwnCost {
            cpu_ns: Some(1),
            resident_bytes: Some(1),
            reloads: reasons(),
            pushes: reasons(),
            ..OwnCost::default()
        },
        history: Some(HistoryState::default()),
        recording: Some(RecordingState {
            rows: reasons(),
            lost: reasons(),
            ..RecordingState::default()
        }),
        ..Snapshot::default()
    }
}

/// The names of what is written: of samples, and of histograms as a whole.
fn written() -> BTreeSet<String> {
    let text = open_metrics(Arc::new(everything()), 100).expect("encoded");
    let mut names = BTreeSet::new();
    let mut histogram = None;
    for line in text.lines() {
        if let Some(described) = line.strip_prefix("# TYPE ") {
            histogram = described.strip_suffix(" histogram");
        } else if !line.starts_with('#') {
            let name = &line[..line.find(['{', ' ']).expect("a value")];
            names.insert(histogram.unwrap_or(name).to_owned());
        }
    }
    names
}

/// All words of a text that can be names of metrics.
fn named(text: &str) -> BTreeSet<String> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut found = BTreeSet::new();
    for (place, _) in text.match_indices("wirestamp_") {
        let rest = &text[place..];
        let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        // a part of another word, or a path of Rust's
        if !text[..place].ends_with(is_part) && !rest[end..].starts_with("::") {
            found.insert(rest[..end].to_owned());
        }
    }
    found
}

/// All files below, with this ending.
fn files(folder: &Path, ending: &str, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, ending, into);
        } else if path.to_string_lossy().ends_with(ending) {
            into.push(path);
        }
    }
}

#[test]
fn the_snapshot_of_this_test_has_every_metric_of_the_source() {
    let (names, mut sources) = (written(), Vec::new());
    files(
        &root().join("crates/wirestamp-monitor/src/metrics"),
        ".rs",
        &mut sources,
    );
    let mut count = 0;
    for source in sources {
        if ["names.rs", "tests.rs"]
            .iter()
            .any(|name| source.ends_with(name))
        {
            continue;
        }
        let text = read(&source);
        for literal in text
            .split('"')
            .filter(|part| part.starts_with("wirestamp_") && !part.contains(' '))
        {
            assert!(
                names.iter().any(|name| name.starts_with(literal)),
                "{literal} of {}",
                source.display()
            );
            count += 1;
        }
    }
    assert_eq!(count, names.len(), "{names:?}");
}

/// The metrics in their order: name with labels, and help, as the rows of the guide have them.
fn described() -> Vec<(String, String)> {
    let text = open_metrics(Arc::new(everything()), 100).expect("encoded");
    let (mut rows, mut help): (Vec<(String, String)>, _) = (Vec::new(), "");
    for line in text.lines() {
        if let Some(described) = line.strip_prefix("# HELP ") {
            help = described.split_once(' ').expect("a sentence").1;
        } else if !line.starts_with('#') {
            let place = line.find(['{', ' ']).expect("a value");
            let whole = |name: &str| {
                let parts = ["_bucket", "_sum", "_count"];
                let part = parts.iter().find_map(|part| name.strip_suffix(part));
                part.unwrap_or(name).to_owned()
            };
            let labels = line[place..]
                .split_once('}')
                .map_or("", |(labels, _)| labels);
            let names = labels
                .split(['{', ','])
                .filter_map(|one| one.split_once("=\""));
            let names: Vec<_> = names
                .map(|(name, _)| name)
                .filter(|name| *name != "le")
                .collect();
            let labels = match names.is_empty() {
                true => String::new(),
                false => format!("{{{}}}", names.join(",")),
            };
            let name = format!("{}{labels}", whole(&line[..place]));
            if rows.last().is_none_or(|(last, _)| *last != name) {
                rows.push((name, in_a_cell(help)));
            }
        }
    }
    rows
}

/// A sentence within a table, which begins with a small letter unless its first word is a name.
fn in_a_cell(help: &str) -> String {
    let mut letters = help.chars();
    let first = letters.next().expect("a sentence");
    let is_word = letters
        .next()
        .is_none_or(|second| !second.is_uppercase() && second != 'y');
    match is_word {
        true => format!("{}{}", first.to_lowercase(), &help[first.len_utf8()..]),
        false => help.to_owned(),
    }
}

/// Names and meanings are those that are served; alerts are the guide's own. `TRYCMD=overwrite` renews the former.
#[test]
fn the_guide_has_a_row_for_each_metric() {
    let file = root().join("guide/monitor-metrics.md");
    let page = read(&file);
    let known = described();
    let row_of = |line: &str| -> Option<String> {
        let name = line.strip_prefix("| `")?.split(['{', '`']).next()?;
        let (_, alert) = line.strip_suffix('|')?.rsplit_once(" |")?;
        let is_it = |(full, _): &&(String, String)| full.split('{').next() == Some(name);
        let (full, meaning) = known.iter().find(is_it)?;
        Some(format!("| `{full}` | {meaning} |{alert}|"))
    };
    let (mut rows, mut made) = (Vec::new(), String::new());
    for line in page.lines() {
        let row = line.starts_with("| `wirestamp_").then(|| row_of(line));
        let row =
            row.map(|row| row.unwrap_or_else(|| panic!("nothing is served of this row: {line}")));
        made += row.as_deref().unwrap_or(line);
        made.push('\n');
        rows.extend(row);
    }
    if std::env::var_os("TRYCMD").is_some_and(|value| value == "overwrite") {
        std::fs::write(&file, &made).expect("it can be written");
    }
    assert_eq!(page, made, "TRYCMD=overwrite renews the guide");
    let missing = known
        .iter()
        .filter(|(name, _)| !made.contains(&format!("| `{name}` |")));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&(String, String)>::new());
    assert_eq!(rows.len(), known.len(), "a row is there twice");
}

#[test]
fn rules_dashboards_and_pages_name_no_other_metric() {
    let known = written();
    let mut sources = Vec::new();
    files(&root().join("packaging/prometheus"), ".yml", &mut sources);
    files(&root().join("packaging/grafana"), ".json", &mut sources);
    let mut pages = Vec::new();
    files(&root().join("guide"), ".md", &mut pages);
    pages.retain(|page| {
        page.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("monitor"))
    });
    sources.extend(pages);
    let mut count = 0;
    for source in sources {
        for name in named(&read(&source)) {
            let part = |ending| name.strip_suffix(ending);
            let whole = part("_bucket").or(part("_sum")).or(part("_count"));
            assert!(
                known.contains(whole.unwrap_or(&name)),
                "{name} in {}",
                source.display()
            );
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}
