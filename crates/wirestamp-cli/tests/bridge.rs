//! A bridge: `wirestamp doctor` on one, whose driver cannot promise the timestamps that the devices below it make, and what is
//! measured on its port. Needs root and `ip`; skipped without.
#![cfg(target_os = "linux")]

mod namespaces;

use namespaces::{Net, ip};
use serde_json::Value;
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_wirestamp");

/// Status and text of a check of the bridge.
fn check(told: &Value, name: &str) -> (String, String) {
    check_of(told, "br0", name)
}

fn check_of(told: &Value, interface: &str, name: &str) -> (String, String) {
    let checks = told["checks"].as_array().expect("checks");
    let found = checks
        .iter()
        .find(|check| check["interface"] == interface && check["name"] == name);
    let found = found.unwrap_or_else(|| panic!("no {name}: {told}"));
    let text = |key: &str| found[key].as_str().expect("text").to_owned();
    (text("status"), text("explanation"))
}

/// Runs `ip` in a namespace.
fn make(namespace: &str, commands: &[&str]) {
    for words in commands {
        let made = ip(&format!("-n {namespace} {words}"));
        assert!(made.status.success(), "{words}");
    }
}

/// Makes "sba" the port of a bridge, with an address of its own all the same.
const PORT: [&str; 4] = [
    "link add br0 type bridge",
    "link set sba master br0",
    "link set br0 up",
    "link set lo up",
];

#[test]
fn a_port_of_a_bridge_is_named_where_nothing_comes() {
    let Some(net) = Net::new("port") else {
        return;
    };
    let near = &net.0[0];
    make(near, &PORT);
    let said = |arguments: &[&str]| {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", near, PROGRAM, "--json"]);
        let output = command.args(arguments).output().expect("it runs");
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let why = "sba is a port of br0, which takes what arrives: name br0 instead";
    let ptp = said(&["ptp", "sba", "--for", "1s"]);
    assert!(ptp.contains(why) && ptp.contains("\"diverted\""), "{ptp}");
    let peer = said(&[
        "latency",
        "sba",
        "--peer",
        "10.78.1.2",
        "-c",
        "3",
        "--timeout",
        "100ms",
    ]);
    assert!(peer.contains(why), "{peer}");
    let echo = said(&["latency", "sba", "--echo", "10.78.1.2:7", "-c", "3"]);
    assert!(echo.contains(why), "{echo}");
}

#[test]
fn a_reflector_on_the_port_of_a_bridge_says_so_when_it_starts() {
    let Some(net) = Net::new("reflector") else {
        return;
    };
    let near = &net.0[0];
    make(near, &PORT);
    let said = |more: &[&str]| {
        let mut command = Command::new("ip");
        let own = ["netns", "exec", near, PROGRAM, "reflect", "--for", "100ms"];
        let output = command.args(own).args(more).output().expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let why = "sba is a port of br0, which takes what arrives: name br0 instead";
    let text = said(&["sba"]);
    assert!(text.contains(&format!("warning: {why}")), "{text}");
    let lines = said(&["sba", "--json"]);
    let first = lines.lines().next().expect("a line");
    let ready: Value = serde_json::from_str(first).expect("JSON");
    assert_eq!(ready["warnings"], serde_json::json!([why]));
    let all = said(&["--json"]);
    assert!(all.contains("\"warnings\":[]"), "{all}");
}

#[test]
fn timestamps_that_come_are_believed_and_those_that_do_not_are_only_not_promised() {
    let Some(net) = Net::new("bridge") else {
        return;
    };
    let near = &net.0[0];
    let bridge = [
        "link add br0 type bridge",
        "addr flush dev sba",
        "link set sba master br0",
        "addr add 10.78.1.1/24 dev br0",
        "link set br0 up",
        "link set lo up",
    ];
    make(near, &bridge);
    let doctor = |more: &[&str]| -> Value {
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", near, PROGRAM, "--json", "doctor", "br0"])
            .args(more);
        let output = command.output().expect("it runs");
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let told = doctor(&[]);
    let (status, text) = check(&told, "software");
    assert_eq!(status, "warn", "{text}");
    assert!(text.contains("promises no software timestamps"), "{text}");
    let (status, text) = check(&told, "ptp_verdict");
    assert!(status == "warn" && text.contains("promises"), "{text}");
    let told = doctor(&["--probe", "10.78.1.2"]);
    for name in ["software", "ptp_verdict"] {
        let (status, text) = check(&told, name);
        assert!(status == "ok" && text.contains("came"), "{name}: {text}");
    }
}

/// A tunnel's driver promises nothing either, and the kernel timestamps all the same.
#[test]
fn of_a_tunnel_it_is_believed_what_came() {
    let Some(net) = Net::new("tunnel") else {
        return;
    };
    for (namespace, port, own, other) in [(&net.0[0], "sba", 1, 2), (&net.0[1], "sbb", 2, 1)] {
        let link =
            format!("link add vx0 type vxlan id 7 remote 10.78.1.{other} dstport 4789 dev {port}");
        let address = format!("addr add 10.79.1.{own}/24 dev vx0");
        make(
            namespace,
            &[&link, &address, "link set vx0 up", "link set lo up"],
        );
    }
    let run = |arguments: &[&str]| {
        let mut command = Command::new("ip");
        let own = ["netns", "exec", &net.0[0], PROGRAM, "--json"];
        command.args(own).args(arguments).output().expect("it runs")
    };
    let doctor = |more: &[&str]| -> Value {
        let arguments = [&["doctor", "vx0"], more].concat();
        serde_json::from_slice(&run(&arguments).stdout).expect("JSON")
    };
    let found = |told: &Value, name: &str| check_of(told, "vx0", name);
    let told = doctor(&[]);
    for name in ["software", "ptp_verdict"] {
        let (status, text) = found(&told, name);
        assert!(
            status == "warn" && text.contains("promises"),
            "{name}: {text}"
        );
    }
    let told = doctor(&["--probe", "10.79.1.2"]);
    for name in ["software", "ptp_verdict"] {
        let (status, text) = found(&told, name);
        assert!(status == "ok" && text.contains("came"), "{name}: {text}");
    }
    // as who measures there finds out
    let echo = run(&["latency", "vx0", "-c", "3", "--echo", "10.79.1.2:7"]);
    let said: Value = serde_json::from_slice(&echo.stdout).expect("JSON");
    assert_eq!(said["error"]["kind"], "unreachable", "{said}");
}
