//! `wirestamp reflect` and `wirestamp latency --peer` between two hosts of the test network: what they say is what its router did.
//! Needs root, TUN devices and iproute2; skipped without.
#![cfg(target_os = "linux")]

use serde_json::Value;
use std::io::{self, BufRead, BufReader, Write};
use std::net::IpAddr;
use std::process::{Child, Output, Stdio};
use std::time::Duration;
use wirestamp_test_network::{Builder, Direction, Event, Fate, Network, missing};

const PROGRAM: &str = env!("CARGO_BIN_EXE_wirestamp");
const MS: Duration = Duration::from_millis(1);
const PORT: u16 = 862;

/// `None` where there can be none, which is said.
fn network(change: impl FnOnce(Builder) -> Builder) -> Option<Network> {
    if let Some(what) = missing() {
        assert!(
            std::env::var_os("WIRESTAMP_NO_SKIP").is_none(),
            "the test network {what}"
        );
        writeln!(io::stderr(), "skipped: STAMP between two hosts: {what}").expect("open");
        return None;
    }
    let builder = change(Network::builder().hosts(["a", "b"]).seed(5));
    Some(builder.build().expect("made"))
}

/// A reflector on host b, which ends with the test.
struct Reflecting(Child);

impl Reflecting {
    fn on(network: &Network, arguments: &[&str]) -> Self {
        let mut child = network
            .host("b")
            .command(PROGRAM)
            .args([
                "reflect",
                "net0",
                "--clock-bound",
                "none",
                "--json",
                "--for",
                "120s",
            ])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let ready = lines
            .by_ref()
            .map(|line| line.expect("read"))
            .find(|line| line.contains("listening"));
        ready.expect("it says where it listens");
        Self(child)
    }
}

impl Drop for Reflecting {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn ask(network: &Network, peer: IpAddr, arguments: &[&str]) -> Output {
    let mut command = network.host("a").command(PROGRAM);
    command
        .args(["latency", "--json", "--peer", &peer.to_string()])
        .args(arguments);
    command.output().expect("run")
}

fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn number(value: &Value) -> i64 {
    value
        .as_i64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

/// The requests (or replies) of a run, but for those that only close it.
fn of_run(events: &[Event], is_request: bool, count: u32) -> Vec<&Event> {
    let is_of_run = |event: &&Event| {
        let Some((source, destination)) = event.udp_ports else {
            return false;
        };
        // a reply carries the request's number too far back for the log
        let sequence = event
            .payload
            .first_chunk()
            .map(|first| u32::from_be_bytes(*first));
        if is_request {
            destination == PORT && sequence.is_some_and(|sequence| sequence < count)
        } else {
            source == PORT
        }
    };
    events.iter().filter(is_of_run).collect()
}

/// The least and the median time in the router, in nanoseconds.
fn times(events: &[&Event]) -> (i64, i64) {
    let time = |event: &&Event| event.left_ns.map(|left| left - event.arrived_ns);
    let mut times: Vec<_> = events.iter().filter_map(time).collect();
    times.sort_unstable();
    (times[0], times[times.len() / 2])
}

/// A direction's delays lie at the router's times or above, by what the kernel and a busy machine take.
fn holds(name: &str, figures: &Value, events: &[&Event]) {
    let bound = number(&figures["error_bound"]);
    let (least, median) = times(events);
    for (what, told, truth) in [
        ("least", &figures["min"], least),
        ("median", &figures["p50"], median),
    ] {
        let (told, slack) = (number(told), truth / 256 + bound);
        assert!(
            told + slack >= truth,
            "{what} {name}: {told} ns, in the router {truth} ns"
        );
        assert!(
            told <= truth + 1_000_000 + slack,
            "{what} {name}: {told} ns, in the router {truth} ns"
        );
    }
    assert!(bound < 20_000, "{name}: bound {bound} ns");
}

#[test]
fn three_milliseconds_forth_seven_back_and_two_percent_lost_are_told() {
    let Some(network) = network(|builder| {
        builder
            .direction("a", "b", Direction::new().delay(3 * MS).loss(0.02))
            .direction("b", "a", Direction::new().delay(7 * MS))
    }) else {
        return;
    };
    let _reflector = Reflecting::on(&network, &[]);
    for peer in [
        network.host("b").ipv4().into(),
        IpAddr::from(network.host("b").ipv6()),
    ] {
        let _ = network.take_log();
        let output = ask(
            &network,
            peer,
            &["--clocks", "same", "--count", "1000", "--rate", "500"],
        );
        let (told, events) = (report(&output), network.take_log());
        let (requests, replies) = (of_run(&events, true, 1_000), of_run(&events, false, 1_000));
        assert_eq!(requests.len(), 1_000);
        holds("forward", &told["forward_ns"], &requests);
        holds("backward", &told["backward_ns"], &replies);
        let lost = requests
            .iter()
            .filter(|event| event.fate == Fate::Lost)
            .count() as i64;
        assert!(lost > 5, "{lost}");
        assert_eq!(number(&told["lost"]["forward"]), lost, "{}", told["lost"]);
        assert_eq!(number(&told["lost"]["backward"]), 0);
        assert_eq!(number(&told["lost"]["packets"]), lost);
        assert_eq!(output.status.code(), Some(6), "packets were lost");
        assert_eq!(told["unknown_offset"], Value::Null);
        assert_eq!(number(&told["hops"]["forward"]), 1);
        assert_eq!(number(&told["hops"]["backward"]), 1);
        let round_trip = number(&told["round_trip_ns"]["min"]);
        assert!(round_trip >= 10_000_000 - 40_000, "{round_trip}");
    }
}

#[test]
fn what_the_network_does_to_packets_is_told_by_direction() {
    let Some(network) = network(|builder| {
        builder
            .direction("a", "b", Direction::new().delay(MS).duplicate(0.05).dscp(0))
            .direction(
                "b",
                "a",
                Direction::new().delay(MS).loss(0.05).reorder(0.05, 8 * MS),
            )
    }) else {
        return;
    };
    let _reflector = Reflecting::on(&network, &["--grant-dscp"]);
    let peer = network.host("b").ipv4().into();
    let output = ask(
        &network,
        peer,
        &["--count", "1000", "--rate", "500", "--dscp", "46"],
    );
    let (told, events) = (report(&output), network.take_log());
    let (requests, replies) = (of_run(&events, true, 1_000), of_run(&events, false, 1_000));
    let lost = replies
        .iter()
        .filter(|event| event.fate == Fate::Lost)
        .count() as i64;
    let copies = requests.iter().filter(|event| event.is_copy).count() as i64;
    assert_eq!(told["unknown_offset"], "nothing relates the two clocks");
    assert_eq!(told["forward_ns"]["count"], 0);
    let [low, high] = [0, 1].map(|end| number(&told["offset_ns"][end]));
    assert!(low <= 0 && 0 <= high, "the clocks are one: {low} to {high}");
    // of a copied packet one reply may be lost without the packet being lost; and replies that close the session may be
    let [forward, backward] = ["forward", "backward"].map(|way| number(&told["lost"][way]));
    let seen = number(&told["duplicated"]["forward"]);
    assert!(
        copies > 10 && seen <= copies && seen >= copies * 8 / 10,
        "{seen} of {copies}"
    );
    assert!(lost > 10, "{lost}");
    let excess = lost - backward - (copies - seen);
    assert!(
        forward == 0 && (0..=5).contains(&excess),
        "{} of {lost}, {seen} of {copies}",
        told["lost"]
    );
    let answered = number(&told["answered"]);
    // those that close the session have it too
    let changed = number(&told["dscp_changed"]["forward"]);
    assert!(
        changed > answered && changed <= answered + 5,
        "{changed} of {answered}"
    );
    assert_eq!(number(&told["dscp_changed"]["backward"]), 0);
    assert!(
        number(&told["reordered"]["backward"]) > 5,
        "{}",
        told["reordered"]
    );
}

#[test]
fn with_a_key_both_ends_measure_and_a_wrong_one_is_told() {
    let Some(network) = network(|builder| builder.direction("a", "b", Direction::new().delay(MS)))
    else {
        return;
    };
    let folder = tempfile::tempdir().expect("made");
    let file = |name: &str, key: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, key).expect("written");
        path.to_str().expect("plain").to_owned()
    };
    let right = file("right", "00112233445566778899aabbccddeeff\n");
    let wrong = file("wrong", "ffeeddccbbaa99887766554433221100\n");
    let _reflector = Reflecting::on(&network, &["--key-file", &right]);
    let peer = network.host("b").ipv4().into();
    let few = [
        "--count",
        "100",
        "--rate",
        "500",
        "--timeout",
        "300ms",
        "--clocks",
        "same",
    ];
    let asked = |key: &str| ask(&network, peer, &[&few[..], &["--key-file", key]].concat());
    let told = report(&asked(&right));
    assert_eq!(
        (number(&told["answered"]), &told["authenticated"]),
        (100, &Value::Bool(true))
    );
    assert!(number(&told["forward_ns"]["min"]) >= 1_000_000 - 10_000);
    for output in [asked(&wrong), ask(&network, peer, &few)] {
        assert_eq!(output.status.code(), Some(1));
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            text.contains("with") && text.contains("key") && text.contains("silent"),
            "{text}"
        );
        assert!(!text.contains("ffeeddcc"), "a key is never shown");
    }
}
