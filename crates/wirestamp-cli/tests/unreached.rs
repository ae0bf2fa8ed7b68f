//! Addresses that nobody has, and link-local ones, in two network namespaces with a cable between. Needs root and `ip`; skipped without.
#![cfg(target_os = "linux")]

mod namespaces;

use namespaces::{Net, ip};
use serde_json::Value;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_wirestamp");
/// Nobody has it.
const NOBODY: &str = "10.78.1.77";

fn inside(namespace: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace, PROGRAM]);
    command.args(arguments).env_remove("WIRESTAMP_SIM");
    command
}

fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr]
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        .concat()
}

/// One line, whatever the width of the terminal.
fn words(output: &Output) -> String {
    text(output)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// Whoever measures says the same. That the packets have no timestamp is no fault of the timestamps.
#[test]
fn packets_that_do_not_leave_are_said_to_have_no_neighbour() {
    let Some(net) = Net::new("nobody") else {
        return;
    };
    let near = &net.0[0];
    // by which ICMP of this host comes
    assert!(ip(&format!("-n {near} link set lo up")).status.success());
    let why = "packets did not leave: no neighbour has the address of the peer";
    let few = ["latency", "--peer", NOBODY, "-c", "3"];
    let soon = ["latency", "--peer", NOBODY, "-c", "3", "--timeout", "50ms"];
    // ICMP of this host does not come to a socket that is bound to an interface
    let bound = ["latency", "sba", "--peer", NOBODY, "-c", "3"];
    // it would be over long before ICMP says so
    let ntp = ["ntp", NOBODY, "-c", "1"];
    for arguments in [&few[..], &soon, &bound, &ntp] {
        let output = inside(near, arguments).output().expect("it runs");
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(words(&output).contains(why), "{}", words(&output));
    }
}

/// Packets from a secondary address: this host's ICMP comes from the primary one. Where a router says so, packets have left.
#[test]
fn a_router_that_has_no_way_is_no_missing_neighbour() {
    let Some(net) = Net::new("router") else {
        return;
    };
    let [near, far] = &net.0;
    for command in [
        format!("-n {near} link set lo up"),
        format!("-n {near} addr add 10.78.1.3/24 dev sba"),
        format!("-n {near} route add 10.78.8.0/24 via {NOBODY} src 10.78.1.3"),
        format!("-n {near} route add 10.78.9.0/24 via 10.78.1.2"),
        format!("netns exec {far} sysctl -qw net.ipv4.ip_forward=1 net.ipv4.icmp_ratelimit=0"),
        format!("-n {far} route add unreachable 10.78.9.0/24"),
    ] {
        assert!(ip(&command).status.success(), "{command}");
    }
    let why = "packets did not leave: no neighbour has the address";
    for (peer, is_neighbour) in [("10.78.8.8", true), ("10.78.9.9", false)] {
        for arguments in [
            &["latency", "--peer", peer, "-c", "3", "--timeout", "1s"][..],
            &[
                "latency",
                "sba",
                "--peer",
                peer,
                "-c",
                "3",
                "--timeout",
                "1s",
            ],
            &["ntp", peer, "-c", "1"],
        ] {
            let output = inside(near, arguments).output().expect("it runs");
            assert_eq!(output.status.code(), Some(1), "{output:?}");
            let words = words(&output);
            assert_eq!(words.contains(why), is_neighbour, "{words}");
            assert!(
                is_neighbour || words.contains("no route to host"),
                "{words}"
            );
        }
    }
}

#[cfg(feature = "monitor")]
#[test]
fn a_monitor_says_of_packets_that_do_not_leave_what_commands_say() {
    let Some(net) = Net::new("unsent") else {
        return;
    };
    let near = &net.0[0];
    assert!(ip(&format!("-n {near} link set lo up")).status.success());
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("m.toml");
    let asked = format!(
        "[[stamp]]\npeer = \"{NOBODY}\"\ninterval = \"200ms\"\n[[ntp]]\nserver = \"{NOBODY}\"\ninterval = \"1s\"\n"
    );
    std::fs::write(&file, asked).expect("written");
    let file = file.to_str().expect("Unicode");
    let top = ["top", "--self", "--once", "--for", "12s", "--config", file];
    let shown = |more: &[&str]| {
        let output = inside(near, &top).args(more).output().expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        output
    };
    let said: Value = serde_json::from_slice(&shown(&["--json"]).stdout).expect("JSON");
    let why = "packets did not leave: no neighbour has the address of the peer";
    let (peer, server) = (&said["peers"][0], &said["ntp"]["servers"][0]);
    for one in [peer, server] {
        let error = one["error"].as_str().unwrap_or_default();
        assert!(error.contains(why), "{one}");
        let missing = one["timestamps"]["missing"].as_object().expect("by reason");
        for (reason, count) in missing {
            assert_eq!(reason == "not_sent", *count != 0, "{one}");
        }
    }
    let page = words(&shown(&[]));
    assert!(
        !page.contains("never generated") && page.contains("missing timestamps none of"),
        "{page}"
    );
}

/// ICMP of this host comes by its loopback interface, which is down here: the kernel's table is asked.
#[test]
fn ntp_learns_of_a_missing_neighbour_without_icmp() {
    let Some(net) = Net::new("table") else {
        return;
    };
    let ntp = ["ntp", NOBODY, "-c", "1"];
    let output = inside(&net.0[0], &ntp).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let why = "packets did not leave: no neighbour has the address of the peer";
    assert!(words(&output).contains(why), "{}", words(&output));
}

/// Waits until what a monitor in this namespace shows of its two peers and its server is as `wanted` says.
#[cfg(feature = "monitor")]
fn wait_until(near: &str, wanted: impl Fn(&Value) -> bool) {
    let begun = Instant::now();
    loop {
        let top = ["top", "127.0.0.1", "--once", "--json"];
        let output = inside(near, &top).output().expect("it runs");
        let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let [peers, ntp] = [&said["peers"], &said["ntp"]["servers"]];
        let all = [&peers[0], &peers[1], &ntp[0]];
        if all.into_iter().all(&wanted) {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(90), "{all:?}");
        thread::sleep(Duration::from_millis(200));
    }
}

/// The far end takes the packets and does not answer them. That they have left is known by their timestamps, and to those
/// of an interface, which ask the kernel's table, by the entry in it as well. ICMP comes to the second session.
#[cfg(feature = "monitor")]
#[test]
fn a_neighbour_that_is_back_is_missing_no_longer() {
    let Some(net) = Net::new("back") else {
        return;
    };
    let near = &net.0[0];
    // by which the monitor is asked
    assert!(ip(&format!("-n {near} link set lo up")).status.success());
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("m.toml");
    let asked = format!(
        "[[stamp]]\npeer = \"{NOBODY}\"\ninterface = \"sba\"\ninterval = \"200ms\"\n[[stamp]]\nname = \"two\"\npeer = \"{NOBODY}\"\ninterval = \"200ms\"\n[[ntp]]\nserver = \"{NOBODY}\"\ninterval = \"1s\"\n"
    );
    std::fs::write(&file, asked).expect("written");
    let file = file.to_str().expect("Unicode");
    let mut monitor = inside(near, &["monitor", "--for", "200s", "--config", file]);
    let monitor = monitor.stdout(Stdio::null()).stderr(Stdio::null());
    let _monitor = Running(monitor.spawn().expect("it starts"));
    let is_missing = |one: &Value| {
        let error = one["error"].as_str().unwrap_or_default();
        error.contains("packets did not leave: no neighbour has the address")
    };
    let not_sent = |one: &Value| one["timestamps"]["missing"]["not_sent"].as_u64();
    wait_until(near, |one| {
        is_missing(one) && not_sent(one).is_some_and(|count| count > 0)
    });
    let entry = format!("-n {near} neigh replace {NOBODY} lladdr 02:00:00:00:00:77 nud permanent");
    assert!(ip(&format!("{entry} dev sba")).status.success());
    wait_until(near, |one| one.is_object() && !is_missing(one));
}

/// A program that is ended with its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The link-local address of an interface, once it is known to be unique.
fn link_local(namespace: &str, interface: &str) -> String {
    let begun = Instant::now();
    loop {
        let shown = ip(&format!(
            "-n {namespace} -6 -o addr show dev {interface} scope link"
        ));
        let shown = String::from_utf8(shown.stdout).expect("UTF-8");
        let found = shown
            .split_whitespace()
            .find(|word| word.starts_with("fe80:"));
        if let Some(found) = found.filter(|_| !shown.contains("tentative")) {
            return found.split('/').next().expect("an address").to_owned();
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{shown}");
        thread::sleep(Duration::from_millis(50));
    }
}

fn number(namespace: &str, interface: &str) -> String {
    let shown = ip(&format!("-n {namespace} -o link show dev {interface}"));
    let shown = String::from_utf8(shown.stdout).expect("UTF-8");
    shown.split(':').next().expect("a number").to_owned()
}

/// The zone by name and by number, with a port and without, wherever a host or an address is named.
#[test]
fn link_local_addresses_are_read_alike_everywhere() {
    let Some(net) = Net::new("zone") else {
        return;
    };
    let [near, far] = &net.0;
    // nothing leaves from an address that is not yet known to be unique
    link_local(near, "sba");
    let peer = link_local(far, "sbb");
    let listen = [
        format!("[{peer}%sbb]:862"),
        format!("[{peer}%{}]:8620", number(far, "sbb")),
    ];
    let arguments = [
        "reflect", "--listen", &listen[0], "--listen", &listen[1], "--json",
    ];
    let mut reflector = inside(far, &arguments);
    let mut reflector = Running(reflector.stdout(Stdio::piped()).spawn().expect("starts"));
    let mut ready = String::new();
    let stdout = reflector.0.stdout.take().expect("piped");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut ready).expect("a line");
    assert!(ready.contains("8620"), "{ready}");
    let index = number(near, "sba");
    for host in [
        format!("{peer}%sba"),
        format!("[{peer}%sba]"),
        format!("[{peer}%sba]:8620"),
        format!("{peer}%{index}"),
        format!("[{peer}%{index}]:8620"),
    ] {
        let arguments = ["latency", "--peer", &host, "-c", "5"];
        let output = inside(near, &arguments).output().expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{host}: {}", text(&output));
    }
    // the interface that is named beside it is its zone
    let beside = ["latency", "sba", "--peer", &peer, "-c", "5"];
    let output = inside(near, &beside).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    // nobody answers there, and the port says so at once
    for host in [format!("[{peer}%sba]:123"), format!("{peer}%{index}")] {
        let arguments = ["ntp", &host, "-c", "1"];
        let output = inside(near, &arguments).output().expect("it runs");
        assert!(
            words(&output).contains("refused"),
            "{host}: {}",
            text(&output)
        );
    }
    let probed = [
        "doctor",
        "sba",
        "--json",
        "--probe",
        &format!("[{peer}%sba]:9"),
    ];
    let output = inside(near, &probed).output().expect("it runs");
    assert_ne!(output.status.code(), Some(2), "{}", text(&output));
    for arguments in [
        &["latency", "--peer", &peer, "-c", "5"][..],
        &["ntp", &peer, "-c", "1"],
        &["reflect", "--listen", &peer, "--for", "1s"],
    ] {
        let output = inside(near, arguments).output().expect("it runs");
        assert_ne!(output.status.code(), Some(0), "{}", text(&output));
        let remedy = format!("name it behind the address: {peer}%eth0");
        assert!(words(&output).contains(&remedy), "{}", text(&output));
    }
    let unknown = ["latency", "--peer", &format!("{peer}%eth7"), "-c", "5"];
    let output = inside(near, &unknown).output().expect("it runs");
    assert!(
        words(&output).contains("'eth7' is no interface of this host"),
        "{}",
        text(&output)
    );
}
