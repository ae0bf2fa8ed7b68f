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

#[test]
fn the_guide_has_a_row_for_each_metric() {
    let page = read(&root().join("guide/monitor-metrics.md"));
    let rows: Vec<_> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `wirestamp_"))
        .map(|rest| {
            format!(
                "wirestamp_{}",
                &rest[..rest.find(['{', '`']).expect("a name")]
            )
        })
        .collect();
    let once: BTreeSet<_> = rows.iter().cloned().collect();
    assert_eq!(once.len(), rows.len(), "a row is there twice");
    assert_eq!(once, written());
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
