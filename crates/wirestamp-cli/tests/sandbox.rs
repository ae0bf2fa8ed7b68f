//! `wirestamp ptp` in its sandbox does all that it does outside: two clocks in network namespaces, asked for
//! their status, while an interface vanishes and returns. Needs root and `ip`; skipped without.
#![cfg(target_os = "linux")]

use serde_json::Value;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

mod namespaces;

use namespaces::{Net, ip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_wirestamp");
const OPTIONS: [&str; 9] = [
    "--announce",
    "125ms",
    "--sync",
    "125ms",
    "--delay",
    "125ms",
    "--source",
    "software",
    "--json",
];

impl Net {
    fn cut(&self) {
        assert!(
            ip(&format!("-n {} link del sba", self.0[0]))
                .status
                .success()
        );
    }

    fn start(&self, end: usize, arguments: &[&str], folder: &Path) -> Child {
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", &self.0[end], PROGRAM, "ptp"])
            .args(arguments);
        command
            .env("XDG_RUNTIME_DIR", folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().expect("ip runs")
    }
}

fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).expect("UTF-8");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// `None`: nobody answers, which is said in JSON, too.
fn status(folder: &Path) -> Option<Value> {
    let told = Command::new(PROGRAM)
        .args(["ptp", "status", "sbb", "--json"])
        .env("XDG_RUNTIME_DIR", folder)
        .output()
        .expect("runs");
    let answer = told.status.success().then_some(told.stdout)?;
    serde_json::from_slice(&answer).ok()
}

/// Whether it measures a timeTransmitter now.
fn measures(folder: &Path) -> bool {
    status(folder).is_some_and(|status| {
        let (port, estimate) = (&status["ports"][0], &status["ports"][0]["estimate"]);
        let is_fresh = estimate["age_ns"]
            .as_i64()
            .is_some_and(|age| age < 1_000_000_000);
        port["state"] == "timeReceiver" && estimate["holdover"] == false && is_fresh
    })
}

/// `ip netns exec` becomes the program: the child's number is the program's.
fn of_process(child: &Child, field: &str) -> String {
    let told = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("runs");
    let line = told
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
        .expect("there");
    line.trim().to_owned()
}

#[test]
fn a_clock_in_the_sandbox_works_as_one_outside() {
    let Some(net) = Net::new("works") else { return };
    let [folder, own, closed, anothers] = [(); 4].map(|()| tempfile::tempdir().expect("a folder"));
    // only a capability lets root write into these
    fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o555)).expect("its own");
    chown(anothers.path(), Some(65_534), Some(65_534)).expect("as root");
    let files = [&own, &closed, &anothers].map(|folder| folder.path().join("offset"));
    fs::write(&files[0], "an older one").expect("writes");
    let paths = files.each_ref().map(|file| file.to_str().expect("UTF-8"));
    let [plot, closed_plot, html] = paths;
    let transmits = [
        "sba",
        "--transmit",
        "--for",
        "120s",
        "--plot",
        closed_plot,
        "--html",
        html,
    ];
    let transmitter = net.start(0, &[&transmits[..], &OPTIONS].concat(), folder.path());
    let receives = ["sbb", "--for", "120s", "--plot", plot];
    let receiver = net.start(1, &[&receives[..], &OPTIONS].concat(), folder.path());
    until("it measures", || measures(folder.path()));
    // CAP_NET_BIND_SERVICE alone, for this process and all that it could become
    for field in ["CapEff", "CapPrm", "CapBnd"] {
        assert_eq!(
            of_process(&receiver, field).trim_start_matches('0'),
            "400",
            "{field}"
        );
    }
    assert_eq!(
        (
            of_process(&receiver, "Seccomp"),
            of_process(&receiver, "NoNewPrivs")
        ),
        ("2".into(), "1".into())
    );
    let before = fs::read_dir(format!("/proc/{}/task", receiver.id()))
        .expect("runs")
        .count();
    assert!(before > 1, "its watch has a thread");
    net.cut();
    until("it notices", || !measures(folder.path()));
    net.join(); // other interfaces, other numbers
    until("it measures again", || measures(folder.path()));
    for child in [&transmitter, &receiver] {
        assert!(
            Command::new("kill")
                .args(["-TERM", &child.id().to_string()])
                .status()
                .expect("runs")
                .success()
        );
    }
    let [transmitter, receiver] =
        [transmitter, receiver].map(|child| child.wait_with_output().expect("ended"));
    for output in [&transmitter, &receiver] {
        // 6: what was on its way when the cable was cut
        assert!(matches!(output.status.code(), Some(0 | 6)), "{output:?}");
        let told = lines(output);
        assert!(
            told.iter().all(|line| line["sandbox_warning"].is_null()),
            "{told:?}"
        );
        assert!(
            told.last().is_some_and(|line| line["summary"].is_object()),
            "{told:?}"
        );
    }
    let samples = lines(&receiver)
        .iter()
        .filter(|line| line["offset_ns"].is_i64())
        .count();
    assert!(samples >= 2, "{samples}");
    for (file, head) in files.iter().zip(["<svg", "<svg", "<!DOCTYPE html>"]) {
        let drawn = fs::read_to_string(file).expect("it took its place");
        assert!(drawn.starts_with(head), "{file:?}");
        let beside = fs::read_dir(file.parent().expect("a folder")).expect("there");
        assert_eq!(beside.count(), 1, "nothing is left beside it");
    }
    let left: Vec<_> = fs::read_dir(folder.path().join("wirestamp"))
        .expect("there")
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn without_the_sandbox_everything_is_kept_and_a_taken_port_is_told_with_its_owner_in_both() {
    let Some(net) = Net::new("kept") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let run = [&["sbb", "--for", "60s", "--no-sandbox"], &OPTIONS[..]].concat();
    let first = net.start(1, &run, folder.path());
    until("it answers", || status(folder.path()).is_some());
    assert_eq!(of_process(&first, "Seccomp"), "0");
    let second = net.start(
        1,
        &[&["sbb", "--for", "1s"], &OPTIONS[..]].concat(),
        folder.path(),
    );
    let second = second.wait_with_output().expect("ended");
    let error = &lines(&second)[0]["error"];
    assert_eq!(error["kind"], "busy");
    let owner = format!("wirestamp (process {})", first.id());
    assert!(
        error["remedy"]
            .as_str()
            .is_some_and(|remedy| remedy.contains(&owner)),
        "{error}"
    );
    assert!(
        Command::new("kill")
            .args(["-TERM", &first.id().to_string()])
            .status()
            .expect("runs")
            .success()
    );
    first.wait_with_output().expect("ended");
}
