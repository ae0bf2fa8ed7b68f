//! The tests of the program as a whole where the output is not the same on every
//! system: exit codes, errors, files, and real datagrams over the loopback.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::env::consts::OS;
use std::process::{Command, Output, Stdio};
use wirestamp::events::CONFIRMING_BATCHES;

fn wirestamp() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirestamp"));
    command.env_remove("WIRESTAMP_SIM").env_remove("NO_COLOR");
    command
}

fn run(arguments: &[&str]) -> Output {
    wirestamp()
        .args(arguments)
        .output()
        .expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// The object on standard output, the only thing there.
fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(&output.stdout)))
}

#[test]
fn an_unknown_interface_is_answered_with_the_nearest_names() {
    let told = run(&["latency", "sim9"]);
    assert_eq!(told.status.code(), Some(3));
    let message = text(&told.stderr);
    assert!(
        message.starts_with("error: sim9: cannot find the interface: "),
        "{message}"
    );
    assert!(message.contains("did you mean sim0 or sim1?"), "{message}");
    assert!(told.stdout.is_empty());

    let told = run(&["capabilities", "sim9", "--json"]);
    assert_eq!(told.status.code(), Some(3));
    assert!(told.stderr.is_empty());
    assert_eq!(json(&told)["error"]["kind"], "no_such_device");
    assert_eq!(json(&told)["error"]["target"], "sim9");
}

/// On Linux, whose kernel reports ICMP errors to a connected socket.
#[cfg(target_os = "linux")]
#[test]
fn a_peer_where_nobody_listens_has_refused_the_connection() {
    let free = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let peer = free.local_addr().expect("an address").to_string();
    drop(free);
    let told = run(&[
        "latency",
        "--peer",
        &peer,
        "--count",
        "5",
        "--timeout",
        "1",
        "--json",
    ]);
    assert_eq!(told.status.code(), Some(1));
    let error = &json(&told)["error"];
    assert_eq!(error["kind"], "unreachable");
    let cause = error["cause"].as_str().expect("a cause");
    assert!(cause.contains("refused"), "{cause}");
}

/// Each takes 190 bytes until its time is over.
#[test]
fn no_more_packets_are_sent_to_a_silent_peer_than_may_be_in_flight() {
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let peer = silent.local_addr().expect("an address").to_string();
    let asked = ["latency", "--peer", &peer, "--json", "--timeout", "1"];
    let asked = |count| {
        let told = run(&[&asked[..], &["--max-in-flight", "10", "--count", count]].concat());
        let error = json(&told)["error"].clone();
        (error["kind"].clone(), error["cause"].to_string())
    };
    let (kind, cause) = asked("20");
    assert_eq!(kind, "invalid_input");
    assert!(cause.contains("20 packets can be in flight"), "{cause}");
    silent.set_nonblocking(true).expect("it can be");
    assert!(silent.recv(&mut [0; 100]).is_err(), "a packet was sent");
    // as many as there are at all: then it is asked, where there are timestamps
    assert_ne!(asked("10").0, "invalid_input");
}

#[test]
fn a_missing_simulation_file_is_named() {
    let told = run(&["--sim", "no-such-file.toml", "--json", "latency"]);
    assert_eq!(told.status.code(), Some(2));
    let error = &json(&told)["error"];
    assert_eq!(
        (&error["kind"], &error["target"]),
        (
            &Value::from("invalid_input"),
            &Value::from("no-such-file.toml")
        )
    );
    assert!(
        error["remedy"]
            .as_str()
            .is_some_and(|remedy| remedy.contains("wirestamp presets")),
        "{error}"
    );
}

#[test]
fn malformed_simulations_are_told_with_file_line_and_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    for (content, line, reason) in [
        ("preset = \"igb\"\n[nic\n", "line 2", ""),
        (
            "preset = \"igb\"\n\n[nic]\ncolour = \"red\"\n",
            "line 4",
            "colour",
        ),
        ("[nic.faults]\nlost = 1.5\n", "line 2", "1.5"),
    ] {
        let file = folder.path().join("Prüfstand 装置.toml");
        std::fs::write(&file, content).expect("writes");
        let file = file.to_str().expect("UTF-8");
        let told = run(&["--sim", file, "capabilities", "sim0"]);
        assert_eq!(told.status.code(), Some(2), "{content}");
        let message = text(&told.stderr);
        assert!(
            [file, line, reason]
                .iter()
                .all(|part| message.contains(part)),
            "{content}: {message}"
        );
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn the_environment_chooses_the_nic_and_no_default() {
    let seen = wirestamp()
        .env("WIRESTAMP_SIM", "software-only")
        .args(["cross", "sim0"])
        .output()
        .expect("runs");
    assert_eq!(seen.status.code(), Some(5), "{}", text(&seen.stderr));
    let seen = wirestamp()
        .env("WIRESTAMP_SIM", "nonsense")
        .args(["cross", "sim0"])
        .output()
        .expect("runs");
    assert_eq!(seen.status.code(), Some(2), "{}", text(&seen.stderr));
    let seen = wirestamp()
        .env("WIRESTAMP_SIM", "nonsense")
        .args(["presets"])
        .output()
        .expect("runs");
    assert_eq!(
        seen.status.code(),
        Some(0),
        "who does not ask for it is not bothered"
    );
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        let seen = wirestamp()
            .env("WIRESTAMP_SIM", std::ffi::OsStr::from_bytes(b"igb\xff"))
            .args(["cross", "sim0"])
            .output()
            .expect("runs");
        assert_eq!(seen.status.code(), Some(2), "{}", text(&seen.stderr));
        assert!(text(&seen.stderr).contains("UTF-8"));
    }
}

#[test]
fn a_file_is_a_simulation_too_and_the_seed_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("rig.toml");
    std::fs::write(&file, "preset = \"igb\"\n").expect("writes");
    let file = file.to_str().expect("UTF-8");
    let with = |sim, seed| {
        text(
            &run(&[
                "--sim", sim, "--seed", seed, "cross", "sim0", "--count", "3",
            ])
            .stdout,
        )
    };
    assert_eq!(with(file, "7"), with("igb", "7"));
    assert_ne!(with("igb", "7"), with("igb", "8"));
}

#[test]
fn colours_come_only_when_they_are_wanted() {
    let escapes = |output: Output| text(&output.stdout).contains('\u{1b}');
    assert!(
        !escapes(run(&["--sim", "ideal", "doctor", "sim0"])),
        "a pipe is no terminal"
    );
    assert!(escapes(run(&[
        "--sim", "ideal", "doctor", "sim0", "--color", "always"
    ])));
    let quiet = wirestamp()
        .env("NO_COLOR", "1")
        .args(["--sim", "ideal", "doctor", "sim0"])
        .output()
        .expect("runs");
    assert!(!escapes(quiet));
}

#[test]
fn ascii_is_ascii() {
    for command in [
        &["latency", "--count", "50"][..],
        &["cross", "sim0", "--count", "30"],
        &["doctor", "sim0"],
    ] {
        let arguments = [&["--sim", "noisy-cross", "--ascii"], command].concat();
        let shown = text(&run(&arguments).stdout);
        assert!(
            !shown.is_empty() && shown.is_ascii(),
            "{command:?}: {shown}"
        );
    }
}

// Windows has no driver below its loopback interface that could timestamp.
#[cfg(not(windows))]
#[test]
fn the_default_is_real_datagrams_over_the_loopback() {
    let output = run(&["latency", "--count", "2000", "--json"]);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    let report = json(&output);
    assert_eq!(
        (&report["simulated"], &report["source"]),
        (&Value::from(false), &Value::from("software"))
    );
    assert_eq!(report["packets"], 2000);
    let lost = &report["lost"];
    assert_eq!(
        [
            &lost["packets"],
            &lost["transmit_timestamps"],
            &lost["receive_timestamps"]
        ],
        [0, 0, 0],
        "{lost}"
    );
    for path in ["send_path_ns", "wire_ns", "receive_path_ns"] {
        let figures =
            ["min", "p50", "p90", "p99", "p99_9", "max"].map(|name| report[path][name].as_i64());
        assert!(
            figures[0].is_some() && figures.is_sorted(),
            "{path}: {figures:?}"
        );
        assert_eq!(report[path]["count"], 2000);
    }
}

/// On a host where nobody asked for a simulation there are no interfaces that this host does not have.
#[test]
fn simulated_interfaces_are_listed_where_somebody_asked_for_them() {
    let listed = |arguments: &[&str], environment: Option<&str>| {
        let mut command = wirestamp();
        command.args(["interfaces", "--json"]).args(arguments);
        command.envs(environment.map(|preset| ("WIRESTAMP_SIM", preset)));
        let listed = json(&command.output().expect("the program runs"));
        let interfaces = listed["interfaces"].as_array().expect("an array");
        let simulated = |interface: &&Value| interface["simulated"] == true;
        let found = interfaces.iter().filter(simulated).count();
        (found, interfaces.len() - found)
    };
    let (none, own) = listed(&[], None);
    assert_eq!(none, 0);
    assert!(own > 0);
    assert_eq!(listed(&["--sim", "igb"], None), (2, own));
    assert_eq!(listed(&[], Some("igb")), (2, own));
    assert_eq!(listed(&[], Some("")), (0, own), "as if it were unset");
    assert_eq!(listed(&["--simulated"], None), (2, 0));
    let named = run(&["capabilities", "sim0", "--json"]);
    assert!(named.status.success(), "a name is a request: {named:?}");
}

#[test]
fn the_loopback_is_listed_and_healthy() {
    let listed = json(&run(&["interfaces", "--json"]));
    let interfaces = listed["interfaces"].as_array().expect("an array");
    assert!(
        interfaces
            .iter()
            .any(|interface| interface["loopback"] == true && interface["simulated"] == false)
    );
    let loopback = interfaces
        .iter()
        .find(|interface| interface["loopback"] == true)
        .expect("found above");
    let name = loopback["name"].as_str().expect("a name");
    if OS == "windows" {
        return; // nothing timestamps there
    }
    let checked = run(&["doctor", name, "--json"]);
    assert_eq!(checked.status.code(), Some(0), "{}", text(&checked.stdout));
    assert_eq!(json(&checked)["summary"]["fail"], 0);
    let seen = json(&run(&["capabilities", name, "--json"]));
    assert_eq!(
        (
            &seen["observed"]["software_receive"],
            &seen["observed"]["software_transmit"]
        ),
        (&Value::from(true), &Value::from(true))
    );
}

#[test]
fn other_nics_need_somebody_who_answers() {
    let listed = json(&run(&["interfaces", "--json"]));
    let other = listed["interfaces"]
        .as_array()
        .expect("an array")
        .iter()
        .find(|interface| interface["loopback"] == false && interface["simulated"] == false);
    // a system may have none
    let Some(name) = other.and_then(|other| other["name"].as_str()) else {
        return;
    };
    let told = run(&["latency", name, "--count", "1"]);
    assert_eq!(told.status.code(), Some(2), "{}", text(&told.stderr));
    assert!(text(&told.stderr).contains("--peer"));
}

/// What `record` writes, `convert` understands: through a file, and through a pipe.
#[test]
fn a_recording_is_converted_and_drawn() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (events, plot) = (path("events.csv"), path("plot.svg"));
    let recording = [
        "--sim",
        "i225",
        "record",
        "sim0",
        "--for",
        "30s",
        "--interval",
        "1s",
        "--timestamps",
        "4",
    ];
    let told = run(&[&recording[..], &["--output", &events, "--json"]].concat());
    assert_eq!(told.status.code(), Some(0), "{}", text(&told.stderr));
    assert_eq!(
        (
            json(&told)["batches"].as_u64(),
            json(&told)["timestamps"].as_u64()
        ),
        // three more at the end: what the last timestamps wait for
        (Some(30 + u64::from(CONFIRMING_BATCHES)), Some(120))
    );

    let converted = run(&["convert", &events, "--plot", &plot]);
    let rows = text(&converted.stdout);
    assert_eq!(
        (converted.status.code(), rows.lines().count()),
        (Some(0), 121),
        "{}",
        text(&converted.stderr)
    );
    // the clock is 12.345 ppm fast, and showed 1.7e18 when the system clock showed 1e12
    for row in rows.lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let [hardware, at, bound, "0", ""] = fields[..] else {
            panic!("{row}")
        };
        let since = hardware.parse::<u64>().expect("ticks") - 1_700_000_000_000_000_000;
        let (whole, picoseconds) = at.split_once('.').expect("decimals");
        let at = whole.parse::<i64>().expect("ns") - 1_000_000_000_000;
        let error = at as f64 + picoseconds.parse::<f64>().expect("ps") / 1e3
            - (since as f64 + 0.5) / 1.000_012_345;
        let bound = bound.parse::<f64>().expect("ns");
        // its wander of 0.1 ppb in a second is left out of that truth
        assert!(error.abs() <= bound + 50.0, "{row}: {error}");
    }
    let picture = std::fs::read_to_string(&plot).expect("a picture");
    assert!(
        picture.starts_with("<svg")
            && picture.contains("<circle")
            && picture.trim_end().ends_with("</svg>")
    );

    let recorded = run(&recording);
    assert_eq!(
        recorded.status.code(),
        Some(0),
        "{}",
        text(&recorded.stderr)
    );
    let mut piped = wirestamp();
    let mut child = piped
        .args(["convert", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), &recorded.stdout)
        .expect("read");
    let output = child.wait_with_output().expect("ends");
    assert_eq!(
        text(&output.stdout),
        rows,
        "the same scenario and seed, the same bytes"
    );
}

/// At the end of a recording batches follow each other closely. The clock is busy for every second one, and the last timestamps
/// have their three all the same.
#[test]
fn a_busy_clock_leaves_no_timestamp_of_a_recording_unconfirmed() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (scenario, events) = (path("scenario.toml"), path("events.csv"));
    let busy = "preset = \"ideal\"\n[nic.cross]\ninterval = \"4ms\"\n";
    std::fs::write(&scenario, busy).expect("written");
    let recording = ["--sim", &scenario, "record", "sim0", "--for", "240ms"];
    let options = ["--interval", "12ms", "--timestamps", "200", "--json"];
    let recorded = run(&[&recording[..], &options, &["--output", &events]].concat());
    // failures are reported
    assert_eq!(
        recorded.status.code(),
        Some(6),
        "{}",
        text(&recorded.stderr)
    );
    let report = json(&recorded);
    let counted = ["batches", "failures"].map(|name| report[name].as_u64());
    let batches = 240 / 12 + u64::from(CONFIRMING_BATCHES);
    assert_eq!(counted, [Some(batches), Some(2)], "{report:#}");

    let converted = run(&["convert", &events]);
    let rows = text(&converted.stdout);
    assert!(rows.lines().count() > 40, "{rows}");
    assert!(!rows.contains("unconfirmed"), "{rows}");
}

/// A clock that cannot be read any more is not waited for.
#[test]
fn a_recording_ends_although_the_clock_is_gone() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (scenario, events) = (path("scenario.toml"), path("events.csv"));
    let busy = "preset = \"ideal\"\n[nic.cross]\ninterval = \"10s\"\n";
    std::fs::write(&scenario, busy).expect("written");
    let recording = ["--sim", &scenario, "record", "sim0", "--for", "50ms"];
    let options = ["--interval", "1s", "--timestamps", "100", "--json"];
    let recorded = run(&[&recording[..], &options, &["--output", &events]].concat());
    let report = json(&recorded);
    let counted = ["batches", "failures"].map(|name| report[name].as_u64());
    assert_eq!(counted, [Some(1), Some(5)], "{report:#}");
    let converted = run(&["convert", &events]);
    let rows = text(&converted.stdout);
    assert!(
        rows.lines().skip(1).all(|row| !row.ends_with(',')),
        "{rows}"
    );
}

#[test]
fn histograms_are_written_as_a_log_that_others_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("latency.hlog");
    let name = file.to_str().expect("Unicode");
    let output = run(&[
        "latency",
        "sim0",
        "--count",
        "300",
        "--json",
        "--histogram",
        name,
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let (report, log) = (json(&output), std::fs::read(&file).expect("it was written"));
    let histograms = histograms(&log);
    for (tag, histogram) in &histograms {
        let figures = &report[format!("{tag}_ns")];
        assert_eq!(figures["count"], histogram.len());
        let (theirs, ours) = (
            histogram.value_at_quantile(0.5) as f64,
            figures["p50"].as_f64().expect("measured"),
        );
        assert!(
            (theirs - ours).abs() <= ours / 64.0 + 1.0,
            "{tag}: {theirs} and {ours}"
        );
    }
    assert_eq!(
        histograms.keys().collect::<Vec<_>>(),
        ["receive_path", "send_path", "wire"]
    );

    let nowhere = run(&[
        "latency",
        "sim0",
        "--json",
        "--histogram",
        "no such folder/latency.hlog",
    ]);
    assert_eq!(nowhere.status.code(), Some(1));
    assert_eq!(
        json(&nowhere)["error"]["target"],
        "no such folder/latency.hlog"
    );
}

/// What a path of this host has, a session with another one has, too.
#[test]
fn a_session_with_a_peer_has_histograms_pictures_limits_and_a_comparison() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| {
        folder
            .path()
            .join(name)
            .to_str()
            .expect("Unicode")
            .to_owned()
    };
    let session = |seed: &str, clocks: &str, log: &str| {
        let [plot, html] = ["peer.svg", "peer.html"].map(file);
        let output = run(&[
            "latency",
            "--sim",
            "igc",
            "--seed",
            seed,
            "--peer",
            "sim1",
            "--count",
            "2000",
            "--clocks",
            clocks,
            "--json",
            "--histogram",
            log,
            "--plot",
            &plot,
            "--html",
            &html,
            "--max-p999",
            "round_trip=1us",
        ]);
        assert_eq!(output.status.code(), Some(8), "{}", text(&output.stderr));
        let [plot, html] = [plot, html].map(|name| std::fs::read_to_string(name).expect("written"));
        (json(&output), plot, html)
    };
    let [related, unrelated] = ["related.hlog", "unrelated.hlog"].map(file);
    let (report, plot, html) = session("1", "same", &related);
    let logged = histograms(&std::fs::read(&related).expect("it was written"));
    for tag in [
        "send_path",
        "forward",
        "backward",
        "residence",
        "round_trip",
        "path_delay",
    ] {
        let (figures, histogram) = (&report[format!("{tag}_ns")], &logged[tag]);
        assert_eq!(
            (figures["count"].as_u64(), histogram.len()),
            (Some(2_000), 2_000)
        );
        let (theirs, ours) = (
            histogram.value_at_quantile(0.999) as f64,
            figures["p99_9"].as_f64(),
        );
        let ours = ours.expect("measured");
        assert!(
            (theirs - ours).abs() <= ours / 64.0 + 1.0,
            "{tag}: {theirs} and {ours}"
        );
        assert_eq!(report["histogram_offset_ns"][tag], 0);
    }
    for picture in [&plot, &html] {
        assert!(
            ["Latency to 192.0.2.2:862", "forward", "round trip"]
                .iter()
                .all(|part| picture.contains(part))
        );
    }
    assert!(html.contains("the send time of all 2,000 replies"));
    assert_eq!(report["limits"][0]["kept"], false);

    let (_, plot, _) = session("2", "unrelated", &unrelated);
    assert!(plot.contains("path, both ways") && !plot.contains("forward"));
    let compared = run(&["latency", "compare", &related, &unrelated, "--json"]);
    assert_eq!(
        compared.status.code(),
        Some(0),
        "{}",
        text(&compared.stderr)
    );
    let paths = json(&compared)["differences"].clone();
    let paths = paths.as_array().expect("a list").iter();
    let paths: BTreeSet<_> = paths.filter_map(|one| one["path"].as_str()).collect();
    assert_eq!(
        paths,
        BTreeSet::from(["path_delay", "receive_path", "round_trip", "send_path"])
    );
}

#[test]
fn histograms_of_negative_latencies_say_by_how_much_they_are_shifted() {
    let folder = tempfile::tempdir().expect("a folder");
    let (scenario, file) = (
        folder.path().join("lopsided.toml"),
        folder.path().join("latency.hlog"),
    );
    // the clocks of the two ends are read as late, and as early, as their brackets allow: one way has
    // wires of less than nothing
    let text = "preset = \"i225\"\n[sim0.cross]\nforward = \"3us\"\nback = \"50ns\"\n\
                [sim1.cross]\nforward = \"50ns\"\nback = \"3us\"\n";
    std::fs::write(&scenario, text).expect("written");
    let mut shifted = 0;
    for interface in ["sim0", "sim1"] {
        let simulation = [
            "--sim",
            scenario.to_str().expect("Unicode"),
            "latency",
            interface,
            "--count",
            "300",
        ];
        let rest = [
            "--source",
            "hardware",
            "--json",
            "--histogram",
            file.to_str().expect("Unicode"),
        ];
        let output = run(&[&simulation[..], &rest[..]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text_of(&output));
        let (report, log) = (json(&output), std::fs::read(&file).expect("it was written"));
        let offset = report["histogram_offset_ns"]["wire"]
            .as_i64()
            .expect("a number");
        assert_eq!(
            offset > 0,
            report["wire_ns"]["min"].as_i64().expect("measured") < 0
        );
        shifted += u32::from(offset > 0);
        let tag = if offset > 0 {
            format!("wire+{offset}ns")
        } else {
            "wire".to_owned()
        };
        let wire = histograms(&log).remove(&tag).expect("tagged");
        assert_eq!(report["wire_ns"]["count"], wire.len());
        let (theirs, ours) = (
            wire.value_at_quantile(0.5).cast_signed() - offset,
            report["wire_ns"]["p50"].as_i64(),
        );
        let ours = ours.expect("measured");
        assert!(
            (theirs - ours).abs() <= ours.abs() / 64 + 1,
            "{interface}: {theirs} and {ours}"
        );
    }
    assert_eq!(shifted, 1, "one way");
}

fn text_of(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

/// The histograms of a log, by their tags.
fn histograms(log: &[u8]) -> BTreeMap<String, Histogram<u64>> {
    let mut found = BTreeMap::new();
    for entry in IntervalLogIterator::new(log) {
        let LogEntry::Interval(interval) = entry.expect("well formed") else {
            continue;
        };
        let encoded = BASE64.decode(interval.encoded_histogram()).expect("base64");
        let histogram = Deserializer::new()
            .deserialize(&mut encoded.as_slice())
            .expect("a histogram");
        found.insert(
            interval.tag().expect("named").as_str().to_owned(),
            histogram,
        );
    }
    found
}
