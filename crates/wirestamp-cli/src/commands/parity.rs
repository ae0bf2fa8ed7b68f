//! Commands have what the monitor has: each option of a measurement is one of its command, each value of it is printed. Exceptions
//! are named here: who adds an option or a value is led to the files that lack it.

use serde::Serialize;
use std::collections::BTreeSet;
use wirestamp_measure::state::{NtpServerState, ReflectorState};
use wirestamp_measure::{Ntp, Reflector, Stamp};
use wirestamp_probe::session::SessionReport;
use wirestamp_ptp::Configuration;

/// A source, by its name in `src`.
macro_rules! source {
    ($name:literal) => {
        ($name, include_str!(concat!("../", $name)))
    };
}

type Source = (&'static str, &'static str);

/// The keys of what is serialised.
fn keys<T: Serialize>(value: &T) -> BTreeSet<String> {
    let value = serde_json::to_value(value).expect("serialised");
    let keys = value.as_object().expect("an object").keys();
    keys.cloned().collect()
}

/// The fields of a structure, as `{:#?}` indents them.
fn fields(shown: &str) -> BTreeSet<String> {
    let lines = shown.lines().filter_map(|line| line.strip_prefix("    "));
    let named = lines.filter_map(|line| line.split_once(": "));
    let names = named.map(|(name, _)| name.to_owned());
    names.filter(|name| !name.starts_with(' ')).collect()
}

/// The fields of a structure, as its source has them.
fn declared(text: &str, structure: &str) -> BTreeSet<String> {
    let (_, rest) = text
        .split_once(&format!("struct {structure} {{\n"))
        .expect("it is there");
    let (body, _) = rest.split_once("\n}").expect("it ends");
    let lines = body
        .lines()
        .filter_map(|line| line.strip_prefix("    pub(super) "));
    let named = lines.filter_map(|line| line.split_once(':'));
    named.map(|(name, _)| name.to_owned()).collect()
}

/// Whether the text has `variable.field`, and the name ends there; perhaps on two lines.
fn has(text: &str, variable: &str, field: &str) -> bool {
    text.match_indices(&format!(".{field}"))
        .any(|(place, found)| {
            let after = text[place + found.len()..].chars().next();
            let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
            !after.is_some_and(is_part) && text[..place].trim_end().ends_with(variable)
        })
}

/// Each of the fields is in the source, as `variable.field`: all but these.
#[track_caller]
fn check(fields: &BTreeSet<String>, variable: &str, (name, text): Source, but: &[&str]) {
    assert!(fields.len() > 5, "they were not understood: {fields:?}");
    let not_there = |field: &&String| !has(text, variable, field);
    let missing = fields.iter().filter(not_there).map(String::as_str);
    let missing: BTreeSet<_> = missing.collect();
    let named: BTreeSet<_> = but.iter().copied().collect();
    let (new, old) = (&missing - &named, &named - &missing);
    assert!(
        new.is_empty() && old.is_empty(),
        "src/{name} does not have {new:?} as `{variable}.FIELD`: use them there, or name them in {}; it has {old:?}: name them here no more",
        file!()
    );
}

#[test]
fn each_option_of_the_configuration_is_one_of_its_command() {
    let run = source!("commands/latency/peer/run.rs");
    // they are arguments of the constructor, or of recordings alone
    let stamp = &["name", "peer", "peer_name"];
    check(&keys(&Stamp::with("a")), "asked", run, stamp);
    let ntp = source!("commands/ntp/mod.rs");
    // of a run that lasts
    let lasting = &["jump_ppb", "server", "wander_ppb"];
    check(&keys(&Ntp::of("a")), "ntp", ntp, lasting);
    let reflect = source!("commands/reflect.rs");
    check(&keys(&Reflector::default()), "wanted", reflect, &[]);
    let ptp = source!("arguments/ptp.rs");
    let in_its_file = &[
        "clock_accuracy",
        "clock_class",
        "delay_asymmetry_ns",
        "hops",
        "identity",
        "max_drift_ppm",
        "minor_version",
        "transmitter_resolution_ns",
        "transports", // of `--transport IFACE=TRANSPORT`, which may be wrong: commands/ptp/mod.rs
        "wander_ppb",
    ];
    let options = keys(&Configuration::default());
    check(&options, "configuration", ptp, in_its_file);
}

#[test]
fn each_value_of_a_measurement_is_in_the_report_of_its_command() {
    let report = fields(&format!("{:#?}", SessionReport::default()));
    let measurement = source!("commands/latency/peer/measurement.rs");
    check(&report, "report", measurement, &["rejected", "unusable"]);
    let row = source!("commands/ntp/row.rs");
    let server = keys(&NtpServerState::default());
    check(
        &server,
        "server",
        row,
        &[
            "age_ns",
            "falseticker",
            "name",
            "samples",
            "stale_after_ns",
            "timestamps",
        ],
    );
    let summary = source!("commands/reflect.rs");
    let state = keys(&ReflectorState::default());
    // at the start
    check(&state, "state", summary, &["source", "warnings"]);
}

#[test]
fn each_value_of_a_report_is_in_its_text() {
    let measurement = source!("commands/latency/peer/measurement.rs");
    let text = source!("commands/latency/peer/text.rs");
    let values = declared(measurement.1, "Measurement");
    let in_json = &[
        "answered",
        "clocks",
        "contradictions",
        "hops",
        "interface",
        "limits",
        "missing_transmit_timestamps",
        "stamps",
        "timeout_ns",
    ];
    check(&values, "", text, in_json);
    let row = source!("commands/ntp/row.rs");
    let text = source!("commands/ntp/text.rs");
    let in_json = &[
        "precision_log2_s",
        "root_bound_ns",
        "root_delay_ns",
        "root_dispersion_ns",
        "samples",
        "status",
        "time",
    ];
    check(&declared(row.1, "Row"), "", text, in_json);
}
