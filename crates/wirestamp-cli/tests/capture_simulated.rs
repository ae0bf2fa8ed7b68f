//! `wirestamp capture` on simulated interfaces and files made byte by byte: on any machine, without root, and with the truth known.

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

const PROGRAM: &str = env!("CARGO_BIN_EXE_wirestamp");
/// Bytes of headers before a UDP payload over IPv4.
const HEADERS: i64 = 14 + 20 + 8;

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).output().expect("run")
}

/// What it prints, which must be JSON; it must succeed.
fn json(arguments: &[&str]) -> Value {
    let output = run(&[&["--json"], arguments].concat());
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    let read = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    text.lines().map(read).collect()
}

fn number(value: &Value) -> i64 {
    let text = value.as_str().and_then(|text| text.parse().ok());
    value
        .as_i64()
        .or(text)
        .unwrap_or_else(|| panic!("a number: {value}"))
}

fn utf8(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn scenario(folder: &Path, toml: &str) -> PathBuf {
    let file = folder.join("scenario.toml");
    fs::write(&file, toml).expect("written");
    file
}

/// Captures into a file; returns its summary.
fn capture(sim: &str, seed: &str, more: &[&str], file: &Path) -> Value {
    let head = ["--sim", sim, "--seed", seed, "capture"];
    let arguments = [&head[..], more, &["-w", utf8(file)]].concat();
    json(&arguments)["summary"].clone()
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let folder = tempfile::tempdir().expect("made");
    let many = scenario(
        folder.path(),
        "preset = \"i225\"\n[[traffic]]\nflows = 30\ninterval = \"100us\"\nsize = 700\n",
    );
    let [a, b, other] = ["a", "b", "other"].map(|name| folder.path().join(name));
    for more in [
        &["sim0", "--for", "200ms"][..],
        &["sim0", "--for", "200ms", "--queues", "3"],
        &["sim0", "--for", "200ms", "--source", "hardware"],
        &["sim1", "--count", "50", "--snaplen", "60"],
    ] {
        let summary = capture(utf8(&many), "7", more, &a);
        capture(utf8(&many), "7", more, &b);
        capture(utf8(&many), "8", more, &other);
        let read = |file| fs::read(file).expect("written");
        assert!(read(&a) == read(&b), "{more:?}: the same seed");
        assert!(read(&a) != read(&other), "{more:?}: another seed");
        assert!(number(&summary["packets"]) >= 50, "{summary:#}");
        let piped = ["--sim", utf8(&many), "--seed", "7", "capture"];
        let piped = run(&[&piped[..], more, &["-w", "-"]].concat());
        assert!(piped.stdout == read(&a), "{more:?}: to standard output");
    }
}

/// When the time is over the kernel holds back packets of the last 20 ms, which it has counted.
#[test]
fn at_the_end_each_packet_that_was_counted_is_there() {
    let folder = tempfile::tempdir().expect("made");
    let file = folder.path().join("a.pcapng");
    for queues in ["1", "3"] {
        let more = ["sim0", "--for", "1s", "--queues", queues];
        let summary = capture("ideal", "1", &more, &file);
        let told = |name: &str| number(&summary[name]);
        assert_eq!((told("received"), told("dropped")), (199, 0), "{summary:#}");
        assert_eq!(told("packets"), 199, "{summary:#}");
        let read = json(&["capture", "answers", utf8(&file)]);
        assert_eq!(number(&read["packets"]), 199, "{read:#}");
    }
}

#[test]
fn without_a_scenario_sim1_asks_and_sim0_answers() {
    let folder = tempfile::tempdir().expect("made");
    let file = folder.path().join("a.pcapng");
    let summary = capture("ideal", "1", &["sim0", "--for", "1s"], &file);
    // the last request is not answered in time
    assert_eq!(number(&summary["packets"]), 199, "{summary:#}");
    // and what the kernel still holds is waited for
    let took = number(&summary["duration_ns"]);
    assert!((1_000_000_000..1_020_000_000).contains(&took), "{took}");
    assert_eq!(number(&summary["packets_bytes"]), 199 * (HEADERS + 64));
    let report = json(&["capture", "answers", utf8(&file)]);
    let [service] = &report["services"].as_array().expect("services")[..] else {
        panic!("one service: {report:#}");
    };
    assert_eq!(number(&service["port"]), 4_000, "{service:#}");
    let times = &service["answers"];
    assert_eq!(number(&times["count"]), 99, "{service:#}");
    // 200 us and 20 us on average, and what the host takes from the wire to the program
    assert!(number(&times["min_ns"]) >= 200_000, "{times}");
    assert!(
        (210_000..240_000).contains(&number(&times["mean_ns"])),
        "{times}"
    );
}

#[test]
fn captures_of_both_ends_give_the_paths_delays_and_losses_back() {
    let folder = tempfile::tempdir().expect("made");
    let path = scenario(
        folder.path(),
        "preset = \"ideal\"\n[link]\ndelay = \"3ms\"\nasymmetry = \"2ms\"\nlost = 0.05\n\
         [[traffic]]\nfrom = \"sim0\"\ninterval = \"1ms\"\n",
    );
    let files = ["sim0", "sim1"].map(|name| {
        let file = folder.path().join(name);
        capture(utf8(&path), "3", &[name, "--for", "2s"], &file);
        file
    });
    let [a, b] = [utf8(&files[0]), utf8(&files[1])];
    let report = json(&["capture", "compare", a, b, "--clock-bound", "0"]);
    let flows = report["flows"].as_array().expect("flows");
    assert_eq!(flows.len(), 2, "{report:#}");
    for (direction, delay) in [("a_to_b", 3_000_000), ("b_to_a", 5_000_000)] {
        let mut found = flows.iter().filter(|flow| flow["direction"] == direction);
        let flow = found.next().expect("both directions");
        assert!((20..200).contains(&number(&flow["lost"])), "{flow:#}");
        assert_eq!(
            (number(&flow["duplicated"]), number(&flow["extra"])),
            (0, 0)
        );
        let told = &flow["delay"];
        // at each end, the kernel's timestamp is 100 ns from the NIC's
        let delay = delay + 200;
        assert_eq!(number(&told["min_ns"]), delay, "{flow:#}");
        assert_eq!(number(&told["max_ns"]), delay, "{flow:#}");
        assert_eq!(number(&told["error_bound_ns"]), 2);
    }
}

#[test]
fn files_are_rotated_in_virtual_time_and_the_newest_are_kept() {
    let folder = tempfile::tempdir().expect("made");
    let file = folder.path().join("r.pcapng");
    let every = ["sim0", "--for", "1s", "--rotate-every", "250ms"];
    let summary = capture("ideal", "1", &every, &file);
    let files = summary["files"].as_array().expect("files");
    assert_eq!(files.len(), 4, "{summary:#}");
    let waiting = |file: &Value| {
        let name = file.as_str().expect("a name");
        number(&json(&["capture", "answers", name])["packets"])
    };
    let packets: i64 = files.iter().map(waiting).sum();
    assert_eq!(packets, number(&summary["packets"]));
    let kept = [&every[..], &["--files", "2", "--queues", "2"]].concat();
    let summary = capture("ideal", "1", &kept, &file);
    let names: Vec<_> = summary["files"].as_array().expect("files").clone();
    assert_eq!(names.len(), 2, "{summary:#}");
    let left = fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, 4 + 2, "the older ones of this run are gone");
    for first in files {
        assert!(!names.contains(first), "{first}: of the first run");
        waiting(first);
    }
    let large = scenario(
        folder.path(),
        "preset = \"ideal\"\n[[traffic]]\nsize = 1400\ninterval = \"100us\"\n",
    );
    let size = ["sim0", "--for", "100ms", "--rotate-size", "1048576"];
    let summary = capture(utf8(&large), "1", &size, &folder.path().join("s.pcapng"));
    let files = summary["files"].as_array().expect("files");
    assert!(files.len() >= 2, "{summary:#}");
}

#[test]
fn packets_are_shown_in_every_form() {
    let head = ["--sim", "ideal", "capture", "sim0", "--count", "4"];
    let shown = run(&head);
    let text = String::from_utf8_lossy(&shown.stdout);
    assert!(
        text.contains("capturing on sim0 in virtual time; sim1 asks sim0"),
        "{text}"
    );
    let line = "±1ns  in  UDP 192.0.2.2:40000 > 192.0.2.1:4000 64 bytes";
    assert_eq!(text.matches(line).count(), 2, "{text}");
    let line = "±1ns  out UDP 192.0.2.1:4000 > 192.0.2.2:40000 64 bytes";
    assert_eq!(text.matches(line).count(), 2, "{text}");
    assert!(text.contains("captured 4 packets on sim0"), "{text}");
    let with = |form: &str| run(&[&["--format", form], &head[..]].concat());
    for form in ["json", "ndjson"] {
        let lines = lines(&with(form));
        assert_eq!(lines.len(), 5, "{lines:?}");
        for line in &lines[..4] {
            let packet = &line["packet"];
            assert_eq!(number(&packet["length_bytes"]), HEADERS + 64, "{packet}");
            assert_eq!(packet["clock"], "software");
            assert!(
                packet["time"]
                    .as_str()
                    .is_some_and(|time| time.starts_with("2025-06-15T"))
            );
        }
        assert_eq!(number(&lines[4]["summary"]["packets"]), 4);
    }
    let csv = with("csv");
    let csv = String::from_utf8_lossy(&csv.stdout);
    assert_eq!(csv.lines().count(), 5, "{csv}");
    assert!(
        csv.starts_with("time,error_bound_ns,clock,generation,"),
        "{csv}"
    );
}

#[test]
fn an_interface_that_goes_away_ends_the_capture_and_its_packets_are_kept() {
    let folder = tempfile::tempdir().expect("made");
    let vanishing = scenario(
        folder.path(),
        "preset = \"ideal\"\n[[event]]\nat = \"505ms\"\naction = \"remove\"\nnic = \"sim0\"\n",
    );
    for queues in ["1", "3"] {
        let file = folder.path().join(queues);
        let head = [
            "--json",
            "--sim",
            utf8(&vanishing),
            "capture",
            "sim0",
            "--for",
            "1s",
        ];
        let output = run(&[&head[..], &["--queues", queues, "-w", utf8(&file)]].concat());
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let [summary, error] = &lines(&output)[..] else {
            panic!("{output:?}");
        };
        assert_eq!(error["error"]["target"], "sim0", "{error}");
        let told = json(&["capture", "answers", utf8(&file)]);
        assert_eq!(number(&summary["summary"]["packets"]), 100, "{summary:#}");
        assert_eq!(number(&told["packets"]), 100, "{told:#}");
        // the last block was held back for 20 ms
        let took = number(&summary["summary"]["duration_ns"]);
        assert!((505_000_000..525_000_000).contains(&took), "{summary:#}");
    }
}

#[test]
fn a_step_of_the_clock_and_the_nics_timestamps_are_told_of_each_packet() {
    let folder = tempfile::tempdir().expect("made");
    let stepped = scenario(
        folder.path(),
        "preset = \"i225\"\n[[event]]\nat = \"505ms\"\naction = \"step_utc\"\nby = \"-10s\"\n",
    );
    let head = [
        "--format",
        "ndjson",
        "--sim",
        utf8(&stepped),
        "capture",
        "sim0",
        "--for",
        "1s",
    ];
    let output = run(&head);
    let generations: Vec<_> = lines(&output)
        .iter()
        .filter_map(|line| line["packet"]["generation"].as_i64())
        .collect();
    assert!(generations.is_sorted(), "{generations:?}");
    let of = |generation| {
        generations
            .iter()
            .filter(|seen| **seen == generation)
            .count()
    };
    assert_eq!((of(0), of(1)), (100, 99), "{generations:?}");
    let output = run(&[&head[..], &["--source", "hardware"]].concat());
    let packets = lines(&output);
    let packets: Vec<_> = packets
        .iter()
        .filter(|line| line["packet"].is_object())
        .collect();
    for line in &packets {
        let packet = &line["packet"];
        let expected = match packet["direction"].as_str() {
            Some("received") => "hardware",
            _ => "software", // NICs timestamp what they receive
        };
        assert_eq!(packet["clock"], expected, "{packet}");
    }
    let by_the_nic = packets
        .iter()
        .filter(|line| line["packet"]["clock"] == "hardware");
    let with_time = by_the_nic.filter(|line| line["packet"]["error_bound_ns"].is_number());
    assert!(with_time.count() > 50, "{packets:?}");
}

/// Whether the clock is stepped while packets are under way, or between a request and its answer, to either side.
#[test]
fn nothing_is_measured_across_a_step_of_the_clock() {
    let folder = tempfile::tempdir().expect("made");
    for at in ["2000005us", "2000100us", "2000300us"] {
        for by in ["-5s", "5s", "-20ms"] {
            let stepped = scenario(
                folder.path(),
                &format!(
                    "preset = \"ideal\"\n[link]\ndelay = \"30us\"\n[[event]]\nat = \"{at}\"\naction = \"step_utc\"\nby = \"{by}\"\n"
                ),
            );
            let files = ["sim0", "sim1"].map(|name| {
                let file = folder.path().join(format!("{name}{at}{by}.pcapng"));
                capture(utf8(&stepped), "1", &[name, "--for", "5s"], &file);
                file
            });
            let [a, b] = [utf8(&files[0]), utf8(&files[1])];
            let report = json(&["capture", "answers", a]);
            let service = &report["services"][0];
            let told = &service["answers"];
            assert!(
                number_of(told, "min_ns") > 100_000,
                "{at} {by}: {service:#}"
            );
            assert!(
                number_of(told, "max_ns") < 1_000_000,
                "{at} {by}: {service:#}"
            );
            let timed = number_of(told, "count")
                + number_of(service, "across_step")
                + number_of(service, "without_time");
            assert!(timed >= 498, "{at} {by}: {service:#}");
            assert!(
                number_of(service, "unanswered") <= 1,
                "{at} {by}: {service:#}"
            );
            let report = json(&["capture", "compare", a, b, "--clock-bound", "0"]);
            for flow in report["flows"].as_array().expect("flows") {
                let ports = number(&flow["flow"]["source_port"]);
                let expected = if ports == 4_000 { "a_to_b" } else { "b_to_a" };
                assert_eq!(flow["direction"], expected, "{at} {by}: {flow:#}");
                assert!(number_of(flow, "matched") >= 498, "{at} {by}: {flow:#}");
                assert!(
                    number_of(flow, "lost") + number_of(flow, "extra") <= 1,
                    "{at} {by}: {flow:#}"
                );
                let delay = &flow["delay"];
                assert!(number_of(delay, "min_ns") >= 30_000, "{at} {by}: {flow:#}");
                assert!(number_of(delay, "max_ns") < 100_000, "{at} {by}: {flow:#}");
            }
        }
    }
}

/// The NIC's timestamps name the generation of the NIC's clock, and that of the real-time clock behind it.
#[test]
fn nothing_is_measured_across_a_step_by_the_nics_timestamps_either() {
    let folder = tempfile::tempdir().expect("made");
    let file = folder.path().join("a.pcapng");
    for by in ["-5s", "5s"] {
        let stepped = scenario(
            folder.path(),
            &format!(
                "preset = \"i225\"\n[[event]]\nat = \"2000100us\"\naction = \"step_utc\"\nby = \"{by}\"\n"
            ),
        );
        let more = ["sim0", "--for", "5s", "--source", "hardware"];
        capture(utf8(&stepped), "1", &more, &file);
        let bytes = fs::read(&file).expect("written");
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains("UTC generation 1"), "the run after the step");
        let report = json(&["capture", "answers", utf8(&file)]);
        let service = &report["services"][0];
        let told = &service["answers"];
        let bound = number_of(told, "error_bound_ns");
        assert!(number_of(told, "min_ns") + bound > 0, "{by}: {service:#}");
        assert!(
            number_of(told, "max_ns") - bound < 10_000_000,
            "{by}: {service:#}"
        );
        let others = number_of(service, "across_step") + number_of(service, "without_time");
        assert!(
            number_of(told, "count") > 300 && others > 0,
            "{by}: {service:#}"
        );
        assert!(number_of(&report, "clock_steps") == 1, "{by}: {report:#}");
    }
}

fn number_of(value: &Value, name: &str) -> i64 {
    number(&value[name])
}

#[test]
fn what_makes_no_sense_in_a_simulation_is_told_with_a_remedy() {
    for (arguments, code, told) in [
        (
            &["sim0"][..],
            2,
            "say how long with --for, or how many packets with --count",
        ),
        (&["sim0", "--for", "1s", "udp"], 5, "filter the file"),
        (&["sim7", "--count", "1"], 3, "sim0"),
        (&["sim0", "--for", "1s", "--queues", "2"], 2, "--write"),
    ] {
        let output = run(&[&["--sim", "i225", "capture"], arguments].concat());
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{text}");
        assert!(text.contains(told), "{text}");
    }
    let output = run(&["--sim", "windows-modern", "capture", "sim0", "--count", "1"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{text}");
    assert!(text.contains("AF_PACKET"), "{text}");
    // more packets than ever come: it ends all the same
    let folder = tempfile::tempdir().expect("made");
    let two = scenario(
        folder.path(),
        "preset = \"ideal\"\n[[traffic]]\ncount = 1\n",
    );
    let summary = capture(
        utf8(&two),
        "1",
        &["sim0", "--count", "3"],
        &folder.path().join("a"),
    );
    assert_eq!(number(&summary["packets"]), 2, "{summary:#}");
}

#[test]
fn packets_that_are_wanted_are_waited_for_as_long_as_some_come() {
    let folder = tempfile::tempdir().expect("made");
    let rare = scenario(
        folder.path(),
        "preset = \"ideal\"\n[[traffic]]\ninterval = \"50min\"\n",
    );
    for queues in ["1", "2"] {
        let more = ["sim0", "--count", "6", "--queues", queues];
        let summary = capture(utf8(&rare), "1", &more, &folder.path().join(queues));
        assert_eq!(number(&summary["packets"]), 6, "{summary:#}");
    }
}

#[test]
fn a_folder_is_no_file_to_write_and_an_empty_one_has_no_capture() {
    let folder = tempfile::tempdir().expect("made");
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).expect("made");
    for (arguments, expected) in [
        (
            &["--sim", "ideal", "capture", "sim0", "--count", "3", "-w"][..],
            "is a folder; name a file in it",
        ),
        (&["capture", "answers"], "is a folder without a capture"),
    ] {
        let output = run(&[arguments, &[utf8(&inner)]].concat());
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(expected), "{text}");
    }
    let left = fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, 1, "nothing was written");
}

#[test]
fn the_files_of_a_capture_are_read_as_one() {
    let folder = tempfile::tempdir().expect("made");
    let (whole, ring) = (folder.path().join("whole"), folder.path().join("ring"));
    fs::create_dir(&ring).expect("made");
    capture("i225", "3", &["sim0", "--for", "2s"], &whole);
    let rotated = ["sim0", "--for", "2s", "--rotate-every", "300ms"];
    capture("i225", "3", &rotated, &ring.join("r.pcapng"));
    // names in another order, hidden ones, and a file that was just begun
    let names = |number| ring.join(format!("r-0000{number}.pcapng"));
    let count = fs::read_dir(&ring).expect("a folder").count();
    assert!(count > 3, "{count}");
    fs::rename(names(1), ring.join("z")).expect("renamed");
    fs::rename(names(3), ring.join("a")).expect("renamed");
    fs::write(ring.join(".index"), "no capture").expect("written");
    fs::write(ring.join("begun"), "").expect("written");
    let compare = ["capture", "compare", utf8(&whole), utf8(&ring)];
    let report = json(&[&compare[..], &["--clock-bound", "0"]].concat());
    assert_eq!(report["a"]["packets"], report["b"]["packets"], "{report:#}");
    assert_eq!(report["b"]["clock_steps"], 0);
    for flow in report["flows"].as_array().expect("flows") {
        assert_eq!(flow["matched"], flow["in_a"], "{flow:#}");
        assert_eq!(number(&flow["delay"]["max_ns"]), 0, "{flow:#}");
    }
    let mut answers = [&whole, &ring].map(|file| json(&["capture", "answers", utf8(file)]));
    for report in &mut answers {
        report["file"] = Value::Null;
    }
    assert_eq!(answers[0], answers[1]);
    for (name, contents, expected) in [
        ("notes", &b"no capture"[..], "move it out of the folder"),
        (
            "again",
            &fs::read(names(2)).expect("read"),
            "they are of two captures",
        ),
    ] {
        fs::write(ring.join(name), contents).expect("written");
        let output = run(&["capture", "answers", utf8(&ring)]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(expected) && text.contains(name), "{text}");
        fs::remove_file(ring.join(name)).expect("removed");
    }
}

/// A capture without the packets in it would be a shorter one.
#[cfg(unix)]
#[test]
fn what_is_no_file_in_a_folder_of_files_is_an_error() {
    let folder = tempfile::tempdir().expect("made");
    let ring = folder.path().join("ring");
    fs::create_dir(&ring).expect("made");
    capture("i225", "3", &["sim0", "--count", "9"], &ring.join("a"));
    fs::create_dir(ring.join("inner")).expect("made");
    let answers = || run(&["capture", "answers", utf8(&ring)]);
    assert!(answers().status.success());
    let strange = ring.join("strange");
    for (what, expected) in [
        ("fifo", "neither a file nor a folder"),
        ("socket", "neither a file nor a folder"),
        ("link", "a link to a file that does not exist"),
    ] {
        match what {
            "fifo" => {
                let made = Command::new("mkfifo").arg(&strange).status();
                assert!(made.expect("run").success());
            }
            "socket" => drop(std::os::unix::net::UnixListener::bind(&strange).expect("bound")),
            _ => std::os::unix::fs::symlink("nowhere", &strange).expect("made"),
        }
        let output = answers();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{what}: {text}");
        assert!(text.contains(expected), "{what}: {text}");
        assert!(text.contains(utf8(&strange)), "{what}: {text}");
        fs::remove_file(&strange).expect("removed");
    }
}

#[test]
fn a_reader_of_the_file_who_leaves_ends_the_capture_and_is_no_failure() {
    for queues in ["1", "2"] {
        let mut command = Command::new(PROGRAM);
        command.args(["--sim", "ideal", "capture", "sim0", "--for", "1h"]);
        command.args(["--queues", queues, "-w", "-"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = command.spawn().expect("run");
        let mut some = [0; 100];
        let mut reader = running.stdout.take().expect("piped");
        reader.read_exact(&mut some).expect("a header");
        drop(reader);
        let output = running.wait_with_output().expect("ended");
        assert!(output.status.success(), "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
    }
}

#[test]
fn what_a_file_lacks_is_told() {
    let folder = tempfile::tempdir().expect("made");
    let file = folder.path().join("a");
    let tagged = scenario(
        folder.path(),
        "preset = \"ideal\"\n[[traffic]]\nsize = 1400\n",
    );
    let more = ["sim0", "--count", "9", "--snaplen", "20"];
    capture(utf8(&tagged), "1", &more, &file);
    let bytes = fs::read(&file).expect("written");
    // the statistics are behind the last packet
    fs::write(&file, &bytes[..bytes.len() - 150]).expect("written");
    let text = |arguments: &[&str]| {
        let output = run(arguments);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let told = text(&["capture", "answers", utf8(&file)]);
    assert!(told.contains("ends within a packet"), "{told}");
    assert!(
        told.contains("cut off: capture more of each packet"),
        "{told}"
    );
}

/// Receive-only NICs refuse a filter that comes with transmit timestamps: a capture asks for none.
#[test]
fn a_nic_that_timestamps_received_packets_alone_is_enough() {
    let head = ["--format", "ndjson", "--sim", "ena", "capture", "sim0"];
    let output = run(&[&head[..], &["--for", "1s", "--source", "hardware"]].concat());
    assert!(output.status.success(), "{output:?}");
    let seen = lines(&output);
    let by = |direction: &str| {
        let packets = seen.iter().map(|line| &line["packet"]);
        let of = packets.filter(move |packet| packet["direction"] == direction);
        of.map(|packet| &packet["clock"]).collect::<Vec<_>>()
    };
    let (received, sent) = (by("received"), by("sent"));
    assert!(received.len() > 50 && sent.len() > 50, "{seen:?}");
    assert!(received.iter().all(|clock| **clock == "hardware"));
    assert!(sent.iter().all(|clock| **clock == "software"));
}

/// A pcapng file in nanoseconds.
struct Made(Vec<u8>);

impl Made {
    fn new(link_type: u16) -> Self {
        let mut file = Self(Vec::new());
        let section = [&[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0][..], &[0xff; 8]];
        file.block(0x0a0d_0d0a, &section.concat());
        let resolution = [9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0];
        let head = [&link_type.to_le_bytes()[..], &[0; 6]].concat();
        file.block(1, &[&head[..], &resolution].concat());
        file
    }

    fn block(&mut self, kind: u32, body: &[u8]) {
        let body = padded(body);
        let total = (12 + body.len() as u32).to_le_bytes();
        let block = [&kind.to_le_bytes()[..], &total, &body, &total];
        self.0.extend(block.concat());
    }

    /// `at`: in microseconds. `length`: on the wire.
    fn packet(&mut self, at: u64, data: &[u8], length: usize, comment: &str) {
        let at = 1_790_000_000_000_000_000 + at * 1_000;
        let words = [0, (at >> 32) as u32, at as u32, data.len() as u32];
        let mut body = words.map(u32::to_le_bytes).concat();
        body.extend((length as u32).to_le_bytes());
        body.extend(padded(data));
        if !comment.is_empty() {
            body.extend([1, 0, comment.len() as u8, 0]);
            body.extend(padded(comment.as_bytes()));
            body.extend([0; 4]);
        }
        self.block(6, &body);
    }

    fn written(&self, file: PathBuf) -> PathBuf {
        fs::write(&file, &self.0).expect("written");
        file
    }
}

fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// An IPv4 packet from 10.0.0.1 to 10.0.0.2.
fn ipv4(number: u16, protocol: u8, behind: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend((20 + behind.len() as u16).to_be_bytes());
    packet.extend(number.to_be_bytes());
    packet.extend([0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    [&packet, behind].concat()
}

fn udp(number: u16) -> Vec<u8> {
    let head = [5_u16, 6, 8 + 100, 0].map(u16::to_be_bytes).concat();
    ipv4(number, 17, &[&head[..], &[number as u8; 100]].concat())
}

fn tcp(sequence: u32, flags: u8, length: usize) -> Vec<u8> {
    let mut segment = [5_001_u16, 80].map(u16::to_be_bytes).concat();
    segment.extend(sequence.to_be_bytes());
    segment.extend([0, 0, 0, 7, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    segment.extend((0..length).map(|place| (sequence as usize + place) as u8));
    ipv4(sequence as u16, 6, &segment)
}

/// A stream of 40 segments of 1,000 bytes, of which so many are one packet.
fn stream(joined: u32, later: u64) -> Made {
    const SYN: u8 = 2;
    const ACK: u8 = 16;
    let mut file = Made::new(101);
    let mut add = |at, data: &[u8]| file.packet(at + later, data, data.len(), "");
    add(0, &tcp(999, SYN, 0));
    for first in (0..40).step_by(joined as usize) {
        let segment = tcp(1_000 + first * 1_000, ACK, joined as usize * 1_000);
        add(10_000 + u64::from(first) * 10, &segment);
    }
    add(20_000, &tcp(41_000, ACK, 0));
    file
}

/// What `capture compare` prints of two files.
fn compared(files: [&Path; 2]) -> String {
    let output = run(&["capture", "compare", utf8(files[0]), utf8(files[1])]);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn where_segments_are_joined_or_not_split_yet_the_side_and_its_switch_are_named() {
    const GRO: &str = "joined by GRO or LRO: for a delay of each packet, \
                       capture after ethtool -K IFACE gro off lro off";
    const TSO: &str = "not split by the NIC yet (TSO): for a delay of each packet, \
                       capture after ethtool -K IFACE tso off gso off";
    let folder = tempfile::tempdir().expect("made");
    // of how many segments a packet is at the sender and, 3 ms later, at the receiver
    for (sent, arrived, side, how) in [
        (1, 10, 1, Some(GRO)),
        (10, 1, 0, Some(TSO)),
        (2, 20, 1, Some(GRO)),
        (1, 1, 0, None),
    ] {
        let sent = stream(sent, 0).written(folder.path().join("sent"));
        let arrived_at = stream(arrived, 3_000).written(folder.path().join("arrived"));
        for (files, side) in [
            ([&sent, &arrived_at], side),
            ([&arrived_at, &sent], 1 - side),
        ] {
            let told = compared(files.map(PathBuf::as_path));
            let bytes = if arrived == 20 { "20,000" } else { "10,000" };
            let line = |how| {
                let side = ["A", "B"][side];
                format!("{side}: TCP segments of up to {bytes} bytes, {how}")
            };
            let said: Vec<_> = told.lines().filter(|one| one.contains("ethtool")).collect();
            let expected: Vec<_> = how.map(line).into_iter().collect();
            assert_eq!(said, expected, "{told}");
            assert!(told.contains("\n  lost               0\n"), "{told}");
        }
    }
}

#[test]
fn packets_that_can_not_be_compared_are_told_of_each_file_by_reason() {
    let folder = tempfile::tempdir().expect("made");
    let (mut a, mut b) = (Made::new(1), Made::new(1));
    let frame = |kind: u16, data: &[u8]| [&[2; 12], &kind.to_be_bytes()[..], data].concat();
    for number in 0..30 {
        let at = u64::from(number) * 1_000;
        let whole = frame(0x0800, &udp(number));
        a.packet(at, &whole, whole.len(), "");
        let (data, why) = match number {
            10..12 => (frame(0x9000, &[0; 28]), ""),
            12..15 => (frame(0x894f, &udp(number)), ""),
            15..19 => (whole[..60].to_vec(), ""),
            19..24 => (
                whole.clone(),
                "wirestamp: hardware clock, no UTC: not_ready",
            ),
            _ => (whole.clone(), ""),
        };
        // too short to be compared by its bytes
        let is_other = (10..12).contains(&number);
        let length = if is_other { data.len() } else { whole.len() };
        b.packet(at + 300, &data, length, why);
    }
    a.packet(29_100, &frame(0x9000, &[0; 28]), 42, "");
    (0..6).for_each(|_| b.block(0x0bad_beef, &[0; 16]));
    let files = [
        a.written(folder.path().join("a")),
        b.written(folder.path().join("b")),
    ];
    let told = compared([&files[0], &files[1]]);
    let said: Vec<_> = told
        .lines()
        .filter(|line| ["A: ", "B: "].iter().any(|side| line.starts_with(side)))
        .skip(2) // the files
        .collect();
    let reasons = [
        "A: 1 packet: not IP",
        "B: 2 packets: not IP",
        "B: 3 packets: behind headers that wirestamp does not read",
        "B: 4 packets: cut off: capture more of each packet (--snaplen)",
        "B: 5 packets: without a time: compared, but without a delay",
        "B: 6 blocks: of an unknown type, skipped",
    ];
    assert_eq!(said, reasons, "{told}");
    assert!(told.contains("\n  lost               0\n"), "{told}");
    let report = json(&["capture", "compare", utf8(&files[0]), utf8(&files[1])]);
    let count = |side: &str, why: &str| number(&report[side]["unusable"][why]);
    assert_eq!((count("a", "not_ip"), count("a", "cut_off")), (1, 0));
    assert_eq!((count("b", "not_ip"), count("b", "cut_off")), (2, 4));
    // nobody can say what a packet of an unknown link is
    let mut unknown = Made::new(147);
    unknown.packet(0, &[0; 60], 60, "");
    let unknown = unknown.written(folder.path().join("unknown"));
    let output = run(&["capture", "compare", utf8(&files[0]), utf8(&unknown)]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{output:?}");
    assert!(said.contains("147") && said.contains("unknown"), "{said}");
}

/// A NIC that timestamps PTP messages alone, and nothing that is sent: each packet says whose timestamp it has.
#[test]
fn what_the_nic_does_not_timestamp_has_the_kernels_timestamp() {
    let folder = tempfile::tempdir().expect("made");
    let with = |filters: &str| {
        let nic = format!("preset = \"igc\"\n[nic]\nreceive_filters = [{filters}]\n");
        scenario(folder.path(), &nic)
    };
    let run_on = |sim: &Path, more: &[&str]| {
        let head = ["--sim", utf8(sim), "--seed", "7"];
        let rest = ["capture", "sim0", "--count", "4", "--source", "hardware"];
        run(&[&head[..], more, &rest].concat())
    };
    let ptp_only = with(r#""none", "ptpv2_udp""#);
    let output = run_on(&ptp_only, &[]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("PTP messages only"), "{text}");
    let packets = lines(&run_on(&ptp_only, &["--json"]));
    let clocks: Vec<_> = packets
        .iter()
        .filter_map(|line| line["packet"]["clock"].as_str())
        .collect();
    assert_eq!(clocks, ["software"; 4], "{packets:?}");
    let summary = &packets.last().expect("a summary")["summary"];
    let warning = summary["warnings"][0].as_str().unwrap_or_default();
    assert!(warning.contains("PTP messages only"), "{summary}");
    let sends_only = with(r#""none""#);
    let refused = run_on(&sends_only, &[]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && said.contains("--source software"),
        "{said}"
    );
    // what the library knows of this NIC stands before it
    assert!(said.contains("timestamps sent packets alone"), "{said}");
}

/// Runs it with these bytes as standard input, which come three at a time.
fn piped(arguments: &[&str], bytes: &[u8]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn().expect("run");
    let mut input = running.stdin.take().expect("piped");
    let bytes = bytes.to_vec();
    // a program that refuses its input closes it
    let writer = thread::spawn(move || bytes.chunks(3).all(|part| input.write_all(part).is_ok()));
    let output = running.wait_with_output().expect("ended");
    writer.join().expect("written");
    output
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("room");
    encoder.finish().expect("room")
}

/// 30 packets a millisecond apart, from 10.0.0.1 to 10.0.0.2, without those that `is_there` refuses.
fn thirty(later: u64, is_there: impl Fn(u16) -> bool) -> Made {
    let mut file = Made::new(101);
    for number in (0..30).filter(|number| is_there(*number)) {
        let data = udp(number);
        file.packet(u64::from(number) * 1_000 + later, &data, data.len(), "");
    }
    file
}

/// What it prints of a capture, without the file's name.
fn answers_of(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    let mut value: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    value["file"] = Value::Null;
    value
}

#[test]
fn captures_are_read_from_pipes_and_compressed_files() {
    let folder = tempfile::tempdir().expect("made");
    let plain = thirty(0, |_| true).0;
    let (first, second) = plain.split_at(plain.len() / 2);
    let members = [gzipped(first), gzipped(second)].concat();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("written");
        path
    };
    let answers = |path: &Path| run(&["--json", "capture", "answers", utf8(path)]);
    let expected = answers_of(&answers(&write("plain", &plain)));
    assert_eq!(number(&expected["packets"]), 30, "{expected:#}");
    let compressed = [
        write("a.pcapng.gz", &gzipped(&plain)),
        write("members", &members),
    ];
    for path in &compressed {
        assert_eq!(answers_of(&answers(path)), expected, "{path:?}");
    }
    let words = ["--json", "capture", "answers", "-"];
    for bytes in [&plain, &members] {
        assert_eq!(answers_of(&piped(&words, bytes)), expected);
    }
    // one of two captures from standard input
    let compared = piped(&["capture", "compare", "-", utf8(&compressed[0])], &plain);
    let text = String::from_utf8_lossy(&compared.stdout);
    assert!(text.contains("30 in A, 30 in B, 30 in both"), "{text}");
    let both = piped(&["capture", "compare", "-", "-"], &plain);
    let text = String::from_utf8_lossy(&both.stderr);
    assert_eq!(both.status.code(), Some(2), "{text}");
    assert!(
        text.contains("name a file or a FIFO for one of them"),
        "{text}"
    );
    #[cfg(unix)]
    {
        let fifo = folder.path().join("fifo");
        let made = Command::new("mkfifo").arg(&fifo).status().expect("run");
        assert!(made.success());
        let (to, bytes) = (fifo.clone(), plain.clone());
        let writer = thread::spawn(move || fs::write(to, bytes));
        assert_eq!(answers_of(&answers(&fifo)), expected);
        writer.join().expect("no panic").expect("written");
    }
    #[cfg(all(feature = "parquet", not(windows)))]
    {
        let path = write("a.zst", &zstd::encode_all(&plain[..], 1).expect("room"));
        assert_eq!(answers_of(&answers(&path)), expected);
    }
}

#[test]
fn a_compressed_capture_that_is_damaged_is_no_shorter_one() {
    let folder = tempfile::tempdir().expect("made");
    let path = folder.path().join("a.gz");
    let whole = gzipped(&thirty(0, |_| true).0);
    // of the checksum behind the last packet, too
    let mut other = whole.clone();
    let place = other.len() - 8;
    other[place] ^= 1;
    for damaged in [&whole[..whole.len() / 2], &whole[..whole.len() - 4], &other] {
        fs::write(&path, damaged).expect("written");
        let output = run(&["capture", "answers", utf8(&path)]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains("can't be read"), "{text}");
    }
    // a block that is larger when it is decompressed than any may be
    let head = Made::new(101).0;
    let block = [0x0bad_beef, 1_u32 << 30].map(u32::to_le_bytes).concat();
    let bomb = gzipped(&[&head[..], &block, &vec![0; 20 << 20]].concat());
    fs::write(&path, bomb).expect("written");
    let output = run(&["capture", "answers", utf8(&path)]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("has a block of more than 16 MiB"), "{text}");
}

#[test]
fn limits_of_a_comparison_are_kept_or_exit_code_8() {
    let folder = tempfile::tempdir().expect("made");
    let a = thirty(0, |_| true).written(folder.path().join("a"));
    // 3 of 30 are lost, and each other one takes 300 µs
    let b = thirty(300, |number| number % 10 != 5).written(folder.path().join("b"));
    let none = Made::new(101).written(folder.path().join("none"));
    let mut cut = thirty(300, |number| number % 10 != 5);
    for number in [5_u16, 15, 25] {
        let data = udp(number);
        cut.packet(u64::from(number) * 1_000 + 300, &data[..30], data.len(), "");
    }
    let cut = cut.written(folder.path().join("cut"));
    let lost = "lost or undecided packets 10 %, at most";
    for (other, limit, expected, said) in [
        (
            &b,
            ["--max-loss", "10%"],
            0,
            format!("limit kept: {lost} 10 %"),
        ),
        (
            &b,
            ["--max-loss", "9.9"],
            8,
            format!("limit exceeded: {lost} 9.9 %"),
        ),
        (
            &cut,
            ["--max-loss", "9"],
            8,
            format!("limit exceeded: {lost} 9 %"),
        ),
        (
            &cut,
            ["--max-loss", "10"],
            0,
            format!("limit kept: {lost} 10 %"),
        ),
        (
            &b,
            ["--max-p99", "300us"],
            0,
            "limit kept: delay p99 300 µs, at most 300 µs".to_owned(),
        ),
        (
            &b,
            ["--max-p99", "299us"],
            8,
            "limit exceeded: delay p99 300 µs, at most 299 µs".to_owned(),
        ),
        (
            &none,
            ["--max-p99", "1s"],
            8,
            "limit exceeded: delay p99 not measured, at most 1.00 s".to_owned(),
        ),
    ] {
        let arguments = ["capture", "compare", utf8(&a), utf8(other)];
        let arguments = [&arguments[..], &limit].concat();
        let output = run(&arguments);
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(expected), "{limit:?}: {text}");
        assert!(text.contains(&said), "{limit:?}: {said}: {text}");
        // of rows, the verdict is on standard error
        let rows = run(&[&["--format", "ndjson"], &arguments[..]].concat());
        assert_eq!(rows.status.code(), Some(expected), "{rows:?}");
        let text = String::from_utf8_lossy(&rows.stderr);
        assert_eq!(text.contains(&said), expected == 8, "{said}: {text}");
    }
    let report = run(&[
        "--json",
        "capture",
        "compare",
        utf8(&a),
        utf8(&b),
        "--max-loss",
        "9",
    ]);
    let report: Value = serde_json::from_slice(&report.stdout).expect("JSON");
    assert_eq!(report["limits"][0]["kept"], false, "{report:#}");
    assert_eq!(report["limits"][0]["figure"], "lost_or_undecided_percent");
}

/// A switch between both captures sends and receives LLDP itself: none of it is forwarded, and none lost.
#[test]
fn frames_that_are_never_forwarded_exceed_no_limit() {
    let folder = tempfile::tempdir().expect("made");
    let made = |later: u64, station: u8| {
        let mut file = Made::new(1);
        for number in 0..30_u16 {
            let at = u64::from(number) * 1_000 + later;
            let packet = [&[2; 12][..], &[8, 0], &udp(number)].concat();
            file.packet(at, &packet, packet.len(), "");
            let head = [1, 0x80, 0xc2, 0, 0, 0xe, 2, 0, 0, 0, 0, station, 0x88, 0xcc];
            let lldp = [&head[..], &[number as u8; 100]].concat();
            file.packet(at + 100, &lldp, lldp.len(), "");
        }
        file.written(folder.path().join(format!("of {station}")))
    };
    let (a, b) = (made(0, 1), made(300, 2));
    let arguments = ["capture", "compare", utf8(&a), utf8(&b), "--max-loss", "0"];
    let output = run(&arguments);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("undecided          29 in A"), "{text}");
    let kept = "limit kept: lost or undecided packets 0 %, at most 0 %";
    assert!(output.status.success() && text.contains(kept), "{text}");
}

#[test]
fn what_a_mirror_port_sent_twice_is_said_to_count_once() {
    let folder = tempfile::tempdir().expect("made");
    let mut twice = Made::new(101);
    for number in 1..31_u16 {
        let at = u64::from(number) * 1_000;
        for at in [at, at + 3] {
            twice.packet(at, &udp(number), 128, "");
        }
    }
    let twice = twice.written(folder.path().join("twice"));
    let said = "30 packets again within 10 ms, with the same IPv4 identification:";
    let compare = ["capture", "compare", utf8(&twice), utf8(&twice)];
    let answers = ["capture", "answers", utf8(&twice)];
    for arguments in [&compare[..], &answers] {
        for (more, expected) in [
            (
                &[][..],
                "if a mirror port sends each twice, --copies counts it once",
            ),
            (&["--copies"], "each counts once"),
        ] {
            let output = run(&[arguments, more].concat());
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(text.contains(&format!("{said} {expected}")), "{text}");
            assert!(!text.contains("from another interface"), "{text}");
        }
    }
    let report = json(&[&compare[..], &["--copies"]].concat());
    assert_eq!(number(&report["a"]["copies"]), 0, "{report:#}");
    assert_eq!(number(&report["a"]["mirrored"]), 30, "{report:#}");
}

/// pcap with microseconds beside pcapng with nanoseconds: the delay of 523 ns is no more than about a microsecond.
#[test]
fn no_digit_is_printed_that_a_file_does_not_have() {
    let folder = tempfile::tempdir().expect("made");
    let words = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 262_144, 101];
    let mut coarse = words.map(u32::to_le_bytes).concat();
    for number in 0..30 {
        let data = udp(number);
        let length = data.len() as u32;
        let head = [0, u32::from(number) * 1_000, length, length];
        coarse.extend(head.map(u32::to_le_bytes).concat());
        coarse.extend(data);
    }
    let coarse = Made(coarse).written(folder.path().join("coarse"));
    let fine = thirty(0, |_| true).written(folder.path().join("fine"));
    let text = compared([&coarse, &coarse]);
    assert!(
        text.contains("min 0 µs, p50 0 µs, p99 0 µs, max 0 µs"),
        "{text}"
    );
    assert!(
        text.contains("times to 1 µs: that is the unit of A and B"),
        "{text}"
    );
    let text = compared([&fine, &fine]);
    assert!(
        text.contains("min 0 ns") && !text.contains("that is the unit"),
        "{text}"
    );
    let limit = ["--max-p99", "1us", "--clock-bound", "0"];
    let output = run(&[
        &["capture", "compare", utf8(&coarse), utf8(&coarse)],
        &limit[..],
    ]
    .concat());
    let text = String::from_utf8_lossy(&output.stdout);
    let said = "limit kept: delay p99 0 µs, at most 1.00 µs";
    assert!(text.contains(said), "{text}");
    let report = json(&["capture", "answers", utf8(&coarse)]);
    assert_eq!(number(&report["unit_ns"]), 1_000, "{report:#}");
}

#[test]
fn captures_without_a_packet_in_common_say_how_far_they_are_apart() {
    let folder = tempfile::tempdir().expect("made");
    let a = thirty(0, |_| true).written(folder.path().join("a"));
    let no_overlap = "the captures do not overlap: A ends";
    for (later, said) in [
        (
            37_000_000,
            format!("{no_overlap} 36.9 s before the other begins; 37 s is TAI minus UTC\n"),
        ),
        (
            5_000_000,
            format!("{no_overlap} 4.97 s before the other begins\n"),
        ),
        (
            3_600_000_000,
            format!("{no_overlap} 3599 s before the other begins; is one in local time?\n"),
        ),
    ] {
        let b = thirty(later, |_| true).written(folder.path().join("b"));
        let output = run(&["capture", "compare", utf8(&a), utf8(&b), "--window", "1s"]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{output:?}");
        assert!(text.contains(&said), "{said}: {text}");
    }
    let text = compared([&a, &a]);
    assert!(!text.contains("overlap"), "{text}");
    // segments that were joined are in both, too
    let segments = |each: usize, later: u64| {
        let mut file = Made::new(101);
        for (number, start) in (0..3_000).step_by(each).enumerate() {
            let data = tcp(start as u32, 16, each);
            let at = number as u64 * 1_000 + later;
            file.packet(at, &data, data.len(), "");
        }
        file.written(folder.path().join(format!("{each}")))
    };
    let text = compared([&segments(1_000, 0), &segments(1_500, 10)]);
    assert!(text.contains("resegmented        3 in A, 2 in B"), "{text}");
    assert!(!text.contains("no packet was found"), "{text}");
}
