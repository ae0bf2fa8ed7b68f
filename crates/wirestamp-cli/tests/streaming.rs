//! `convert` reads recordings of any length: its memory does not grow with them, and what is no text line
//! is refused and not collected.

#![cfg(target_os = "linux")]
#![expect(
    clippy::print_stderr,
    reason = "the figures of a long recording are wanted"
)]

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Instant;

const HEADER: &str = "#wirestamp-events 1 system_hz=1000000000 hardware_hz=1000000000\n";
/// What it may take whatever the length: `VmHWM` in KiB.
const MOST_MEMORY: u64 = 64 << 10;
/// What it may take more for the second half of a recording.
const MOST_GROWTH: u64 = 2 << 10;

fn convert(arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirestamp"));
    command
        .arg("convert")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().expect("starts")
}

/// The most memory that the program has had until now, in KiB.
fn high_water(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("Linux tells");
    line.trim_end_matches("kB")
        .trim()
        .parse()
        .expect("a number")
}

/// Feeds it `pieces`, each made by `piece`, and looks at its memory when it has read half and all of them.
fn fed(arguments: &[&str], pieces: u64, piece: impl Fn(u64) -> String) -> Output {
    let mut child = convert(arguments);
    let (pid, mut input, begun) = (
        child.id(),
        child.stdin.take().expect("a pipe"),
        Instant::now(),
    );
    let output = thread::spawn(move || child.wait_with_output().expect("ends"));
    input.write_all(HEADER.as_bytes()).expect("it reads");
    let [half, all] = [0..pieces / 2, pieces / 2..pieces].map(|numbers| {
        numbers.for_each(|number| input.write_all(piece(number).as_bytes()).expect("it reads"));
        // more than a pipe holds: when this is written, what stands before is read
        input
            .write_all("#\n".repeat(1 << 16).as_bytes())
            .expect("it reads");
        high_water(pid)
    });
    drop(input);
    eprintln!(
        "convert {}: {all} KiB at most, {:.0} s",
        arguments.join(" "),
        begun.elapsed().as_secs_f64()
    );
    assert!(
        all < MOST_MEMORY && all - half < MOST_GROWTH,
        "{arguments:?}: {half} KiB, then {all} KiB"
    );
    output.join().expect("no panic")
}

/// A reading and then 49 timestamps, each 20 ms.
fn second_of_events(number: u64) -> String {
    let mut text = String::new();
    for reading in 50 * number..50 * (number + 1) {
        let at = 1_000_000_000 + reading * 20_000_000;
        let _ = writeln!(text, "cross,{at},{},{},extended", at + 300, at + 600);
        for timestamp in 1..50 {
            let _ = writeln!(text, "timestamp,{}", at + timestamp * 1_000);
        }
    }
    text
}

/// Readings and timestamps of a piece.
const EVENTS: u64 = 2_500;

/// So many events as `CONVERT_EVENTS` says, with the summaries alone: they are made as they are read.
#[test]
fn memory_does_not_grow_with_a_long_recording() {
    let events = std::env::var("CONVERT_EVENTS")
        .map_or(250_000, |events| events.parse::<u64>().expect("a number"));
    for arguments in [&["-", "--json"][..], &["-", "--later", "--json"]] {
        let output = fed(arguments, events / EVENTS, second_of_events);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(summary["timestamps"], events / EVENTS * 50 * 49);
    }
}

#[test]
fn memory_does_not_grow_with_the_recording() {
    const PIECES: u64 = 120;
    let folder = tempfile::tempdir().expect("a folder");
    let plot = folder.path().join("plot.svg");
    let plot = plot.to_str().expect("Unicode");
    for arguments in [&["-"][..], &["-", "--later", "--json", "--plot", plot]] {
        let output = fed(arguments, PIECES, second_of_events);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        if arguments.contains(&"--json") {
            let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
            assert_eq!(summary["timestamps"], PIECES * 50 * 49);
        } else {
            assert_eq!(
                output.stdout.iter().filter(|byte| **byte == b'\n').count() as u64,
                PIECES * 50 * 49 + 1
            );
        }
    }
}

#[test]
fn neither_timestamps_without_readings_nor_generations_without_end_are_collected() {
    let timestamps = |number: u64| {
        (0..5_000)
            .map(|timestamp| format!("timestamp,{}\n", number * 5_000 + timestamp + 1))
            .collect()
    };
    let output = fed(&["-", "--later", "--json"], 160, timestamps);
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        (&summary["timestamps"], &summary["conversion_errors"]),
        (&800_000.into(), &800_000.into())
    );

    let generation = |number: u64| {
        let reading = |at: u64| format!("notify\ncross,{at},{},{},extended\n", at + 300, at + 600);
        (0..1_000)
            .map(|generation| reading(1_000_000_000 * (1_000 * number + generation + 1)))
            .collect()
    };
    let output = fed(&["-", "--json"], 80, generation);
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let listed = summary["generations"].as_array().expect("an array");
    assert_eq!(
        (listed.len(), summary["generations_left_out"].as_u64()),
        (10_000, Some(70_000))
    );
    assert_eq!(listed.last().expect("the newest")["generation"], 79_999);
}

#[test]
fn what_has_no_lines_is_refused_at_once() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirestamp"));
    let output = command
        .args(["convert", "/dev/zero"])
        .output()
        .expect("runs");
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(
        told,
        "error: line 1 of /dev/zero: cannot read events: the line is longer than 65536 bytes\n"
    );

    let mut child = convert(&["-"]);
    let mut input = child.stdin.take().expect("a pipe");
    let feeding = thread::spawn(move || {
        let mut zero = File::open("/dev/zero").expect("every Linux has it");
        input
            .write_all(format!("{HEADER}timestamp,1\n").as_bytes())
            .expect("it reads");
        let _ = std::io::copy(&mut zero, &mut input); // until it reads no more
    });
    let output = child.wait_with_output().expect("ends");
    feeding.join().expect("no panic");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("line 3 of standard input"));
    let rows = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(
        rows, "hardware,monotonic_ns,error_bound_ns,generation,error\n1,,,,not_ready\n",
        "what stands before it is right"
    );
}
