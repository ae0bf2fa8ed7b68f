//! A reader who leaves early, as `| head -1` does: the program ends without a complaint of it, and with
//! the exit code of what it found.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Output, Stdio};

fn wirestamp(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirestamp"));
    command
        .env_remove("WIRESTAMP_SIM")
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Nobody reads even one line.
fn unread(arguments: &[&str]) -> Output {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    wirestamp(arguments)
        .stdout(writer)
        .spawn()
        .expect("starts")
        .wait_with_output()
        .expect("ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

#[test]
fn a_failed_check_keeps_its_exit_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let wrong = folder.path().join("wrong.csv");
    let header = "#wirestamp-events 1 system_hz=1000000000 hardware_hz=125000000\n";
    // more rows than a pipe holds, and then a line that is none
    std::fs::write(
        &wrong,
        format!("{header}{}nonsense\n", "timestamp,1\n".repeat(100_000)),
    )
    .expect("writes");
    let wrong = wrong.to_str().expect("Unicode");
    let cases: [(i32, &[&str]); 8] = [
        (1, &["--sim", "unprivileged", "doctor", "sim0"]),
        (
            6,
            &["--sim", "tx-never", "latency", "sim0", "--count", "50"],
        ),
        (
            6,
            &["--sim", "noisy-cross", "cross", "sim0", "--count", "200"],
        ),
        (1, &["ptp", "sim0", "--for", "5s"]),
        (2, &["convert", wrong]),
        (2, &["convert", wrong, "--later"]),
        (3, &["capabilities", "sim9"]),
        (5, &["--sim", "software-only", "enable", "sim0"]),
    ];
    for (code, arguments) in cases {
        let json = [arguments, &["--json"]].concat();
        for arguments in [arguments, &json] {
            let read = wirestamp(arguments).output().expect("runs");
            assert_eq!(
                read.status.code(),
                Some(code),
                "{arguments:?}: {}",
                text(&read.stderr)
            );
            let unread = unread(arguments);
            assert_eq!(
                unread.status.code(),
                Some(code),
                "{arguments:?} | head -1: {}",
                text(&unread.stderr)
            );
        }
    }
}

/// It is written as it comes: what failed while somebody read has failed.
#[test]
fn a_recording_that_is_read_in_part_has_the_exit_code_of_that_part() {
    let recording = ["--sim", "noisy-cross", "record", "sim0", "--for", "300s"];
    let arguments = [&recording[..], &["--interval", "100ms"]].concat();
    let all = wirestamp(&arguments).output().expect("runs");
    assert_eq!(all.status.code(), Some(6), "{}", text(&all.stderr));
    for (lines, code) in [(2_000, Some(6)), (0, Some(0))] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let child = wirestamp(&arguments).stdout(writer).spawn();
        let read = BufReader::new(reader).lines().take(lines);
        assert_eq!(read.map_while(Result::ok).count(), lines);
        let output = child.expect("starts").wait_with_output().expect("ends");
        assert_eq!(output.status.code(), code, "{lines} lines");
        assert_eq!(text(&output.stderr), "");
    }
}

#[test]
fn a_reader_who_leaves_early_is_no_failure() {
    let endless: &[&str] = &["watch", "lo"];
    let cases: [&[&str]; 6] = [
        &["presets"],
        &["--help"],
        &["doctor", "sim0"],
        &["latency", "sim0", "--count", "50"],
        &["ptp", "--simulate", "quiet"],
        endless,
    ];
    for arguments in cases {
        if cfg!(windows) && arguments == endless {
            continue;
        }
        let output = unread(arguments);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{arguments:?}: {}",
            text(&output.stderr)
        );
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
    }
}
