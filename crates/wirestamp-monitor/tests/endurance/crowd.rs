//! Thousands of peers for a long time: little memory for each, and no more after a week than after an hour.

use crate::servers::address;
use crate::{adds_up, alone, held_by, number_from};
use wirestamp::{Simulation, Span};
use wirestamp_monitor::{Configuration, Monitor, Place};

/// Bytes of the heap for each peer, at most: nearly all is what 4096 fetched timestamps are recognised by, asked for when a socket is configured and untouched
/// before.
const FOR_EACH: i64 = 192 * 1_024;

/// Seconds between two packets to a peer.
fn interval() -> u64 {
    number_from("WIRESTAMP_CROWD_SECONDS", 300.0) as u64
}

fn monitor(peers: usize) -> (Monitor, Simulation) {
    let simulation = Simulation::preset("i225", 3).expect("a preset");
    let peer = address(&simulation, "sim1");
    let mut text =
        format!("[reflector]\nlisten = [\"{peer}:862\"]\nrate = 1000000\nsessions = 20000\n");
    for number in 0..peers {
        text += &format!(
            "[[stamp]]\nname = \"peer{number}\"\npeer = \"{peer}\"\ninterface = \"sim0\"\nclocks = \"same\"\ninterval = \"{}s\"\n",
            interval()
        );
    }
    let configuration = Configuration::from_toml(&text).expect("it is right");
    let place = Place::Simulation(simulation.clone());
    (
        Monitor::new(configuration, place).expect("it starts"),
        simulation,
    )
}

/// Bytes that a monitor holds after so long, with its sockets. The simulation outlives it: its truth, which remembers 2^18 packets, is nobody's peer.
fn held_after(peers: usize, hours: f64) -> i64 {
    let (mut monitor, _simulation) = monitor(peers);
    let until = monitor.now() + Span::from_seconds((hours * 3_600.0) as i64);
    monitor.run_until(until).expect("it runs");
    let snapshot = monitor.snapshot();
    adds_up::check(&snapshot);
    // the last may be under way, and the first comes later for some
    let packets = (hours * 3_600.0) as u64 / interval();
    for peer in &snapshot.peers {
        assert!(peer.answered + 1 >= packets && peer.lost == 0, "{peer:?}");
    }
    let resident = snapshot.own.resident_bytes;
    drop(snapshot);
    let held = held_by(monitor);
    crate::say(&format!(
        "{peers} peers, {hours} h: {held} bytes, {resident:?} resident"
    ));
    held
}

/// Bytes for each peer: what more peers need than one.
fn for_each(peers: usize, hours: f64) -> i64 {
    let each = (held_after(peers, hours) - held_after(1, hours)) / (peers as i64 - 1);
    crate::say(&format!("{each} bytes for each peer"));
    each
}

#[test]
fn many_peers_need_little_memory_and_no_more_with_time() {
    let _alone = alone();
    let peers = number_from("WIRESTAMP_CROWD_PEERS", 50.0) as usize;
    let hours = number_from("WIRESTAMP_CROWD_HOURS", 0.5);
    let (short, long) = (for_each(peers, hours / 8.0), for_each(peers, hours));
    assert!(long < FOR_EACH, "{long} bytes for each peer");
    assert!(long < short + short / 10, "{short} bytes, then {long}");
}
