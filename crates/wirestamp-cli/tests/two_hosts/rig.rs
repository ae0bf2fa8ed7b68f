//! The two hosts, the program on each, and what the router says that it did.

use serde_json::Value;
use std::io::{self, BufRead, BufReader, Write};
use std::net::IpAddr;
use std::process::{Child, Output, Stdio};
use std::time::Duration;
use wirestamp_test_network::{Builder, Event, Network, missing};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_wirestamp");
pub(crate) const MS: Duration = Duration::from_millis(1);
pub(crate) const PORT: u16 = 862;

/// `None` where there can be none, which is said.
pub(crate) fn network(change: impl FnOnce(Builder) -> Builder) -> Option<Network> {
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
pub(crate) struct Reflecting(pub(crate) Child);

impl Reflecting {
    pub(crate) fn on(network: &Network, arguments: &[&str]) -> Self {
        Self::start(network, "none", &[&["net0"], arguments].concat())
    }

    /// One that answers on all addresses that the host has, now or later.
    pub(crate) fn everywhere(network: &Network) -> Self {
        Self::start(network, "none", &[])
    }

    /// One whose clock follows UTC within this bound, by its own account.
    pub(crate) fn synchronised(network: &Network, bound: &str) -> Self {
        Self::start(network, bound, &["net0"])
    }

    fn start(network: &Network, clock_bound: &str, arguments: &[&str]) -> Self {
        let mut child = network
            .host("b")
            .command(PROGRAM)
            .args([
                "reflect",
                "--clock-bound",
                clock_bound,
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

pub(crate) fn ask(network: &Network, peer: IpAddr, arguments: &[&str]) -> Output {
    let mut command = network.host("a").command(PROGRAM);
    command
        .args(["latency", "--json", "--peer", &peer.to_string()])
        .args(arguments);
    command.output().expect("run")
}

pub(crate) fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

pub(crate) fn number(value: &Value) -> i64 {
    value
        .as_i64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

/// The requests (or replies) of a run, but for those that only close it.
pub(crate) fn of_run(events: &[Event], is_request: bool, count: u32) -> Vec<&Event> {
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
pub(crate) fn times(events: &[&Event]) -> (i64, i64) {
    let time = |event: &&Event| event.left_ns.map(|left| left - event.arrived_ns);
    let mut times: Vec<_> = events.iter().filter_map(time).collect();
    times.sort_unstable();
    (times[0], times[times.len() / 2])
}

/// A direction's delays lie at the router's times or above, by what the kernel and a busy machine take.
pub(crate) fn holds(name: &str, figures: &Value, events: &[&Event]) {
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

/// Packets of a run, as `--packets` writes them.
pub(crate) fn rows(path: &std::path::Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("written");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("an object a line"))
        .collect()
}
