//! Real signals to the real program: each ends a run with its summary and removes what it made, a second
//! one ends the program as soon as it has done so.

#![cfg(target_os = "linux")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

use serde_json::Value;
use std::fs::File;
use std::io::{BufRead as _, BufReader, PipeWriter, Read, Write, pipe};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// By name and number.
const SIGNALS: [(&str, i32); 3] = [("INT", 2), ("TERM", 15), ("HUP", 1)];
/// Longer than the time in which two signals count as one request.
const LATER: Duration = Duration::from_millis(400);
/// How long a program may take to start.
const PATIENCE: Duration = Duration::from_secs(30);

/// Starts `program` with the default reaction to signals, whatever the tests were started with: `nohup` ignores SIGHUP, and a shell without job
/// control has its background jobs ignore SIGINT.
fn undisturbed(program: &str) -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=INT,TERM,HUP", program]);
    command
}

fn start(arguments: &[&str], change: impl FnOnce(&mut Command)) -> Child {
    let mut command = undisturbed(env!("CARGO_BIN_EXE_wirestamp"));
    command
        .env_remove("WIRESTAMP_SIM")
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    change(&mut command);
    command.spawn().expect("starts")
}

/// Waits until the program handles SIGTERM and then SIGHUP, unless that is ignored, and `ready` says to go on.
fn wait_for(child: &mut Child, ready: impl Fn() -> bool) {
    let (pid, begun) = (child.id(), Instant::now());
    let handles = |signal| has_in_mask(pid, "SigCgt:", signal);
    while !(handles(15) && (handles(1) || has_in_mask(pid, "SigIgn:", 1)) && ready()) {
        assert_eq!(child.try_wait().expect("asked"), None, "ended early");
        if begun.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("not ready after {PATIENCE:?}");
        }
        thread::yield_now();
    }
}

fn has_in_mask(pid: u32, mask: &str, signal: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix(mask))
        .expect("a mask");
    u64::from_str_radix(mask.trim(), 16).expect("hexadecimal") & 1 << (signal - 1) != 0
}

fn send(name: &str, child: &Child) {
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &child.id().to_string()])
        .status();
    assert!(sent.expect("kill runs").success());
}

fn interrupt(name: &str, arguments: &[&str]) -> Output {
    let mut child = start(arguments, |_| {});
    wait_for(&mut child, || true);
    send(name, &child);
    child.wait_with_output().expect("ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

#[test]
fn a_measurement_reports_what_it_has() {
    for (name, _) in SIGNALS {
        let output = interrupt(
            name,
            &["latency", "--count", "1000000", "--rate", "1000", "--json"],
        );
        assert_eq!(
            output.status.code(),
            Some(0),
            "{name}: {}",
            text(&output.stderr)
        );
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(report["interrupted"], true, "{name}");
        assert!(
            report["packets"]
                .as_u64()
                .is_some_and(|packets| packets < 1_000_000),
            "{name}: {report}"
        );
        assert_eq!(report["send_path_ns"]["count"], report["packets"], "{name}");
    }
}

#[test]
fn a_watch_ends_with_its_summary() {
    for (name, _) in SIGNALS {
        let output = interrupt(name, &["watch", "--for", "1h"]);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{name}: {}",
            text(&output.stderr)
        );
        assert!(
            text(&output.stdout).contains(" in "),
            "{name}: {}",
            text(&output.stdout)
        );
    }
}

/// Its system calls are filtered by then.
#[test]
fn a_reflector_ends_with_its_summary() {
    for (name, _) in SIGNALS {
        let arguments = [
            "reflect",
            "--listen",
            "127.0.0.1:0",
            "--port",
            "20862",
            "--json",
        ];
        let mut child = start(&arguments, |_| {});
        wait_for(&mut child, || true);
        let pid = child.id();
        let is_confined = || std::fs::read_to_string(format!("/proc/{pid}/status"));
        while !is_confined().expect("it runs").contains("Seccomp:\t2") {
            thread::yield_now();
        }
        send(name, &child);
        let output = child.wait_with_output().expect("ends");
        let told = text(&output.stdout);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{name}: {}",
            text(&output.stderr)
        );
        let last: Value = serde_json::from_str(told.lines().last().expect("a line")).expect("JSON");
        assert_eq!(last["replies"], 0, "{name}: {told}");
    }
}

/// A reflector on a free port of the loopback interface.
fn reflector() -> (Child, String) {
    let free = std::net::UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let address = free.local_addr().expect("bound").to_string();
    drop(free);
    let arguments = ["reflect", "--listen", &address, "--json"];
    let mut child = start(&arguments, |_| {});
    let mut ready = String::new();
    let stdout = child.stdout.as_mut().expect("piped");
    BufReader::new(stdout).read_line(&mut ready).expect("text");
    assert!(ready.contains(&address), "{ready}");
    (child, address)
}

/// `--for ever` to a peer: a line each second, and the report when it is ended.
#[test]
fn a_session_without_an_end_writes_a_line_each_second_and_its_rows_as_they_become_final() {
    let (mut reflector, peer) = reflector();
    let ever = ["latency", "--peer", &peer, "--rate", "100", "-d", "ever"];
    let mut child = start(&ever, |_| {});
    let mut written = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut next = || written.next().expect("a line").expect("text");
    let lines = [next(), next()];
    // once the time of the first packets is over
    let seconds = lines.each_ref().map(|line| {
        assert!(line.contains(" came, 0 lost; round trip: p50 "), "{line}");
        let second = line.split_whitespace().next().expect("a number");
        second.parse::<u32>().expect("a number")
    });
    assert!(seconds[0] < seconds[1], "{lines:?}");
    send("INT", &child);
    // packets in flight count as lost
    let code = child.wait().expect("ends").code();
    assert!(matches!(code, Some(0 | 6)), "{code:?}");
    let rest: Vec<_> = written.map(|line| line.expect("text")).collect();
    let rest = rest.join("\n");
    assert!(
        rest.contains("latency to ") && rest.contains(&peer),
        "{rest}"
    );

    let mut child = start(&[&ever[..], &["--format", "ndjson"]].concat(), |_| {});
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    for number in 0..50 {
        let line = lines.next().expect("a line").expect("text");
        let row: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(row["sequence"], number, "{line}");
    }
    send("INT", &child);
    let rest: Vec<_> = lines.map(|line| line.expect("text")).collect();
    // packets in flight count as lost
    let code = child.wait().expect("ends").code();
    assert!(matches!(code, Some(0 | 6)), "{code:?}");
    let is_row = |line: &String| serde_json::from_str::<Value>(line).is_ok();
    assert!(rest.iter().all(is_row), "{rest:?}");
    send("INT", &reflector);
    reflector.wait().expect("ends");
}

/// `--for ever`: a line each second, and the summary when it is ended.
#[test]
fn a_run_without_an_end_writes_a_line_each_second() {
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let server = silent.local_addr().expect("bound").to_string();
    for (arguments, line, summary) in [
        (
            &["latency", "lo", "--rate", "100", "--for", "ever"][..],
            "came, 0 lost; wire: p50",
            "latency on lo",
        ),
        (&["ntp", &server, "-d", "ever"], &server, "0/"),
    ] {
        let mut child = start(arguments, |_| {});
        let mut reader = BufReader::new(child.stdout.take().expect("piped"));
        let mut next = || {
            let mut text = String::new();
            reader.read_line(&mut text).expect("text");
            text
        };
        let (first, second) = (next(), next());
        assert!(
            first.starts_with("    1 s") && first.contains(line),
            "{first}"
        );
        assert!(second.starts_with("    2 s"), "{second}");
        send("INT", &child);
        let mut rest = String::new();
        reader.read_to_string(&mut rest).expect("text");
        child.wait().expect("ends");
        assert!(rest.contains(summary), "{rest}");
    }
}

/// Who reads rows does not have to wait for the end either, which has the last ones below the same heading.
#[test]
fn a_run_without_an_end_writes_the_rows_of_servers_each_second() {
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let server = silent.local_addr().expect("bound").to_string();
    let arguments = ["ntp", &server, "-d", "ever", "--format", "csv"];
    let mut child = start(&arguments, |_| {});
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut next = || lines.next().expect("a line").expect("text");
    let (heading, first, second) = (next(), next(), next());
    assert!(heading.starts_with("host,address,status"), "{heading}");
    for row in [first, second] {
        assert!(row.starts_with(&format!("{server},")), "{row}");
    }
    send("INT", &child);
    child.wait().expect("ends");
    let rest: Vec<_> = lines.map(|line| line.expect("text")).collect();
    assert!(rest.iter().all(|row| row.starts_with(&server)), "{rest:?}");
    assert!(!rest.is_empty());
}

/// Nobody would see that it goes on.
#[test]
fn a_run_without_an_end_ends_once_its_lines_cannot_be_written() {
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let server = silent.local_addr().expect("bound").to_string();
    let own = ["latency", "lo", "--rate", "100", "-d", "ever"];
    let peer = [
        "latency",
        "--peer",
        &server,
        "--timeout",
        "50ms",
        "-d",
        "ever",
    ];
    let ntp = ["ntp", &server, "-d", "ever"];
    for arguments in [&own[..], &peer, &ntp] {
        let full = File::options().write(true).open("/dev/full");
        let mut child = start(arguments, |command| {
            command.stdout(full.expect("it is there"));
        });
        let begun = Instant::now();
        let code = loop {
            match child.try_wait().expect("asked") {
                Some(status) => break status.code(),
                None if begun.elapsed() > PATIENCE => {
                    let _ = child.kill();
                    panic!("{arguments:?} goes on");
                }
                None => thread::sleep(Duration::from_millis(20)),
            }
        };
        assert_eq!(code, Some(1), "{arguments:?}");
    }
}

/// Starts a PTP clock in a network namespace of its own, and waits until it runs. Needs root, for the
/// ports 319 and 320. `None`: not possible here.
fn clock_in_namespace(runtime: &Path, stdout: impl Into<Stdio>) -> Option<(Child, PathBuf)> {
    if !unshare(&["--net"]) {
        assert!(
            std::env::var_os("WIRESTAMP_NO_SKIP").is_none(),
            "skipped, but nothing may be missing here"
        );
        eprintln!("skipped: needs root and unshare(1)");
        return None;
    }
    let socket = runtime.join("wirestamp/ptp-lo.sock");
    let script = "ip link set lo up && exec \"$0\" ptp lo --transmit --domain 77 --json";
    let mut child = undisturbed("unshare")
        .args(["--net", "sh", "-c", script, env!("CARGO_BIN_EXE_wirestamp")])
        .env("XDG_RUNTIME_DIR", runtime)
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    wait_for(&mut child, || socket.exists());
    Some((child, socket))
}

#[test]
fn a_ptp_clock_prints_its_summary_and_removes_its_socket() {
    for (name, _) in SIGNALS {
        let runtime = tempfile::tempdir().expect("a folder");
        let Some((child, socket)) = clock_in_namespace(runtime.path(), Stdio::piped()) else {
            return;
        };
        send(name, &child);
        let output = child.wait_with_output().expect("ends");
        assert_eq!(
            output.status.code(),
            Some(0),
            "{name}: {}",
            text(&output.stderr)
        );
        let told = text(&output.stdout);
        let last: Value = serde_json::from_str(told.lines().last().expect("a line")).expect("JSON");
        assert!(
            last["summary"]["duration_ns"].as_i64().is_some(),
            "{name}: {told}"
        );
        assert!(!socket.exists(), "{name}");
        assert!(
            files_in(socket.parent().expect("a folder")).is_empty(),
            "{name}"
        );
    }
}

/// Its reader pauses, as a terminal after Ctrl-S: the clock is served and restored all the same.
#[test]
fn a_ptp_clock_that_nobody_reads_is_served_and_cleans_up_before_a_second_signal_ends_it() {
    let runtime = tempfile::tempdir().expect("a folder");
    let (_reader, writer) = full_pipe();
    let Some((mut child, socket)) = clock_in_namespace(runtime.path(), writer) else {
        return;
    };
    for _ in 0..3 {
        thread::sleep(LATER);
        let mut answer = String::new();
        let asked = UnixStream::connect(&socket).and_then(|mut stream| {
            stream.set_read_timeout(Some(Duration::from_secs(10)))?;
            stream.read_to_string(&mut answer)
        });
        assert!(
            asked.is_ok() && answer.contains("ports"),
            "{asked:?}: {answer}"
        );
    }
    send("INT", &child);
    assert!(is_gone(&socket), "the status socket is removed");
    thread::sleep(LATER);
    assert_eq!(
        child.try_wait().expect("asked"),
        None,
        "it waits for its reader"
    );
    assert_eq!(interrupt_until_it_ends(&mut child), Some(130));
}

/// Sends SIGINT until the program ends, and returns its exit code. A busy machine may take two for one.
fn interrupt_until_it_ends(child: &mut Child) -> Option<i32> {
    loop {
        if let Some(ended) = child.try_wait().expect("asked") {
            return ended.code();
        }
        send("INT", child);
        thread::sleep(LATER);
    }
}

/// Another program keeps it from cleaning up when the second signal comes.
#[test]
fn a_second_signal_waits_for_what_is_to_be_restored_and_later_ones_do_not() {
    for waits in [true, false] {
        let runtime = tempfile::tempdir().expect("a folder");
        let (_reader, writer) = full_pipe();
        let Some((mut child, socket)) = clock_in_namespace(runtime.path(), writer) else {
            return;
        };
        let folder = File::open(socket.parent().expect("a folder")).expect("readable");
        folder.lock().expect("nobody else holds it");
        if waits {
            for _ in 0..2 {
                send("INT", &child);
                thread::sleep(LATER);
            }
            drop(folder);
            assert!(is_gone(&socket), "it cleans up first");
        }
        assert_eq!(interrupt_until_it_ends(&mut child), Some(130));
        assert_eq!(socket.exists(), !waits);
    }
}

fn is_gone(path: &Path) -> bool {
    let begun = Instant::now();
    while path.exists() && begun.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(5));
    }
    !path.exists()
}

fn unshare(options: &[&str]) -> bool {
    Command::new("unshare")
        .args(options)
        .arg("true")
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|ended| ended.success())
}

fn files_in(folder: &Path) -> Vec<std::path::PathBuf> {
    std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

/// A pipe that takes nothing more: whoever writes to it waits.
fn full_pipe() -> (std::io::PipeReader, PipeWriter) {
    const CAPACITY: usize = 1 << 16; // pipe(7)
    let (reader, mut writer) = pipe().expect("a pipe");
    writer.write_all(&[0; CAPACITY]).expect("fits");
    (reader, writer)
}

#[test]
fn a_second_signal_ends_a_program_that_cannot_print_its_summary() {
    for (name, number) in SIGNALS {
        let (_reader, writer) = full_pipe();
        let mut child = start(
            &["latency", "--count", "1000000", "--rate", "1000"],
            |command| {
                command.stdout(writer);
            },
        );
        wait_for(&mut child, || true);
        send(name, &child);
        thread::sleep(LATER);
        assert_eq!(
            child.try_wait().expect("asked"),
            None,
            "{name}: it waits for its reader"
        );
        send(name, &child);
        assert_eq!(
            child.wait().expect("ends").code(),
            Some(128 + number),
            "{name}"
        );
    }
}

/// `timeout` signals the program and then its process group, so the program hears it twice.
#[test]
fn two_signals_at_once_are_one_request() {
    let mut child = start(&["watch", "--for", "1h"], |_| {});
    wait_for(&mut child, || true);
    send("TERM", &child);
    send("TERM", &child);
    let output = child.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains(" in "));
}

/// As `nohup` starts it: a logout does not end it.
#[test]
fn an_ignored_hangup_stays_ignored() {
    let program = env!("CARGO_BIN_EXE_wirestamp");
    let mut child = Command::new("sh")
        .args(["-c", "trap '' HUP; exec \"$0\" watch --for 1h", program])
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    wait_for(&mut child, || true);
    assert!(has_in_mask(child.id(), "SigIgn:", 1));
    send("HUP", &child);
    thread::sleep(LATER);
    assert_eq!(child.try_wait().expect("asked"), None);
    send("TERM", &child);
    assert_eq!(
        child.wait_with_output().expect("ends").status.code(),
        Some(0)
    );
}
