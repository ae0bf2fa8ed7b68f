//! Each value that measurements know is a metric and on the page, or is named here among those that are not: who adds one is led
//! to the files that show it.

use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use wirestamp_monitor::snapshot::{
    ClockState, NtpServerState, PathState, PeerState, PtpState, ReflectorState,
};

/// Where values are shown, and the ending of the files there.
const METRICS: (&str, &str) = ("src/metrics/list", "rs");
const PAGE: (&str, &str) = ("src/http/page", "js");

fn fields<T: Serialize + Default>() -> BTreeSet<String> {
    let shown = serde_json::to_value(T::default()).expect("serialised");
    let fields = shown.as_object().expect("an object");
    fields.keys().cloned().collect()
}

fn text(folder: &str, ending: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = fs::read_dir(folder).expect("a folder");
    let paths = files.map(|entry| entry.expect("an entry").path());
    let ours = paths.filter(|path| path.extension().is_some_and(|found| found == ending));
    let library = |path: &Path| path.to_string_lossy().contains("uPlot");
    ours.filter(|path| !library(path))
        .map(|path| fs::read_to_string(path).expect("text"))
        .collect()
}

/// Whether the text has `variable.field`, and the name ends there.
fn has(text: &str, variable: &str, field: &str) -> bool {
    let wanted = format!("{variable}.{field}");
    text.match_indices(&wanted).any(|(place, _)| {
        let before = text[..place].chars().next_back();
        let after = text[place + wanted.len()..].chars().next();
        let is_part =
            |letter: Option<char>| letter.is_some_and(|one| one.is_alphanumeric() || one == '_');
        !is_part(before) && !is_part(after)
    })
}

/// The fields of `T` in the files of one place, where a value of it is called `variable`; all but these.
#[track_caller]
fn check<T: Serialize + Default>(variable: &str, (folder, ending): (&str, &str), but: &[&str]) {
    let (fields, text) = (fields::<T>(), text(folder, ending));
    let not_there = |field: &&String| !has(&text, variable, field);
    let missing: BTreeSet<_> = fields
        .iter()
        .filter(not_there)
        .map(String::as_str)
        .collect();
    let named: BTreeSet<_> = but.iter().copied().collect();
    let (new, old) = (&missing - &named, &named - &missing);
    assert!(
        new.is_empty() && old.is_empty(),
        "no file in {folder} has {new:?} of {} as `{variable}.FIELD`: show them there, or name them in {}; one has {old:?}: name them here no more",
        std::any::type_name::<T>(),
        file!()
    );
}

#[test]
fn every_value_is_a_metric() {
    let clock = &["error", "generation", "right_servers"];
    check::<ClockState>("clock", METRICS, clock);
    let peer = &["error", "interface", "path_delay_age_ns", "source"];
    check::<PeerState>("peer", METRICS, peer);
    check::<PathState>("path", METRICS, &["error", "in_flight", "source"]);
    let server = &[
        "authenticated",
        "error",
        "hint",
        "interface",
        "interleaved",
        "leap",
        "measured_at_ns",
        "precision_log2_s",
        "reference",
        "root_bound_ns",
        "samples_since_step",
        "source",
        "status",
    ];
    check::<NtpServerState>("server", METRICS, server);
    check::<PtpState>("port", METRICS, &[]);
    let reflector = &["listening", "source"];
    check::<ReflectorState>("reflector", METRICS, reflector);
}

#[test]
fn every_value_is_on_the_page() {
    check::<ClockState>("clock", PAGE, &["readings"]);
    let peer = &[
        "followed_up",
        "interface",
        "relation",
        "source",
        "stale_after_ns",
    ];
    check::<PeerState>("peer", PAGE, peer);
    check::<PathState>("path", PAGE, &["source"]);
    let server = &[
        "interface",
        "measured_at_ns",
        "precision_log2_s",
        "root_bound_ns",
        "samples_since_step",
        "source",
        "stale_after_ns",
        "status",
        "steps",
    ];
    check::<NtpServerState>("server", PAGE, server);
    check::<PtpState>("port", PAGE, &[]);
    check::<ReflectorState>("reflector", PAGE, &["source"]);
}
