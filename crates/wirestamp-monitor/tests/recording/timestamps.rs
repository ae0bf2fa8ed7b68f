//! The rows of `timestamps`: each packet of a session at both of its ends, with the times that the simulation knows.

use crate::remote::run_until;
use crate::rows::{self, Timestamp};
use crate::{configuration, kept};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use wirestamp::sim::Ends;
use wirestamp::{Simulation, Span};
use wirestamp_monitor::{Monitor, Place};
#[cfg(target_os = "linux")]
use {
    std::thread,
    std::time::{Duration, Instant},
    wirestamp_monitor::Service,
};

const TABLES: &str = "tables = [\"timestamps\"]";

/// `a` probes `b` for so many seconds; both record in one folder. Returns where `b` reflects.
fn probed(simulation: &Simulation, folder: &Path, seconds: i64) -> SocketAddr {
    let interface = simulation.interface("sim1").expect("it has one");
    let own = interface.description().addresses[0].address;
    let at = SocketAddr::new(own, 862);
    let monitor = |host, after: &str| {
        let configuration = configuration(host, folder, TABLES, after);
        Monitor::new(configuration, Place::Simulation(simulation.clone())).expect("it starts")
    };
    let mut reflecting = monitor("b", &format!("[reflector]\nlisten = [\"{at}\"]\n"));
    let session = format!("[[stamp]]\npeer_name = \"b\"\npeer = \"{at}\"\ninterface = \"sim0\"\n");
    let mut probing = monitor("a", &session);
    // the last one is answered
    let until = probing.now() + Span::from_seconds(seconds) + Span::from_milliseconds(70);
    run_until(&mut probing, until, || {
        let now = reflecting.now();
        reflecting.wait(now).expect("it looks at its socket");
        reflecting.serve()
    });
    at
}

/// One way of a datagram: when it left and when it came first, by the real-time clock.
struct Passed {
    is_request: bool,
    left: i64,
    came: Option<i64>,
}

fn truth(simulation: &Simulation, reflector: SocketAddr) -> Vec<Passed> {
    let truth = simulation.world().truth();
    let offset = truth.utc().nanoseconds() - truth.now().nanoseconds();
    let mut passed = Vec::new();
    for number in 0..truth.datagrams() {
        let datagram = truth.datagram(number).expect("it is remembered");
        let Ends::Internet {
            source,
            destination,
        } = datagram.ends
        else {
            continue;
        };
        assert!(source == reflector || destination == reflector);
        let came = datagram.receive_software_at;
        passed.push(Passed {
            is_request: destination == reflector,
            left: datagram.transmit_software_at.nanoseconds() + offset,
            came: came.map(|at| at.nanoseconds() + offset),
        });
    }
    passed
}

/// The datagram that a row is of: the only one that passed there within the error bound. `None`: no timestamp, or the second of two that the network
/// made of one.
fn datagram(row: &Timestamp, passed: &[Passed]) -> Option<usize> {
    let (utc, bound) = row.utc.clone().ok()?;
    let is_request = (row.host == "a") == row.is_sent;
    let is_it = |one: &Passed| {
        let at = if row.is_sent {
            Some(one.left)
        } else {
            one.came
        };
        one.is_request == is_request && at.is_some_and(|at| (at - utc).abs() <= bound)
    };
    let mut found = (0..).zip(passed).filter(|(_, one)| is_it(one));
    let place = found.next().map(|(place, _)| place);
    assert!(found.next().is_none(), "two datagrams: {row:?}");
    assert!(place.is_some() || !row.is_sent, "no datagram: {row:?}");
    place
}

/// Datagrams by host, direction and number.
type Found = BTreeMap<(String, bool, i64), Vec<usize>>;

fn check(preset: &str, seconds: i64) -> (Vec<Timestamp>, Vec<Passed>, Found) {
    let made = tempfile::tempdir().expect("made");
    let folder = kept(preset).unwrap_or_else(|| made.path().to_owned());
    let simulation = Simulation::preset(preset, 5).expect("a preset");
    let reflector = probed(&simulation, &folder, seconds);
    let (rows, passed) = (rows::timestamps(&folder), truth(&simulation, reflector));
    let mut found = Found::new();
    let now = simulation.world().truth();
    let offset = now.utc().nanoseconds() - now.now().nanoseconds();
    for row in &rows {
        if let Ok((utc, bound)) = row.utc {
            let ticks = row.ticks.expect("converted");
            assert!((utc - ticks - offset).abs() <= bound, "{row:?}");
        }
        assert_eq!(row.flow, rows[0].flow, "both hosts find the same number");
        let interface = if row.host == "a" { "sim0" } else { "any" };
        assert_eq!(row.interface, interface);
        let key = (row.host.clone(), row.is_sent, row.sequence);
        found.entry(key).or_default().extend(datagram(row, &passed));
    }
    (rows, passed, found)
}

#[test]
fn each_packet_has_a_row_at_both_ends_and_their_join_is_the_one_way_delay() {
    let (rows, passed, found) = check("igc", 20);
    let requests = passed.iter().filter(|one| one.is_request).count();
    assert!((198..=202).contains(&requests), "{requests}");
    assert_eq!(rows.len(), 2 * passed.len());
    for ((host, is_sent, sequence), datagrams) in &found {
        let [datagram] = datagrams[..] else {
            panic!("{host} {sequence}: {datagrams:?}")
        };
        // what `wirestamp-fleet latency` joins
        let other = if host == "a" { "b" } else { "a" };
        let there = &found[&(other.to_owned(), !is_sent, *sequence)];
        assert_eq!(*there, [datagram]);
    }
}

/// Of one end's received packets: rows, those that have their datagram, and datagrams that came.
fn received(
    host: &str,
    (rows, passed, found): &(Vec<Timestamp>, Vec<Passed>, Found),
) -> [usize; 3] {
    let is_request = host == "b";
    let came = passed
        .iter()
        .filter(|one| one.is_request == is_request && one.came.is_some());
    let matched = found
        .iter()
        .filter(|((one, is_sent, _), _)| one == host && !is_sent);
    let rows = rows.iter().filter(|row| row.host == host && !row.is_sent);
    [
        rows.count(),
        matched.map(|(_, datagrams)| datagrams.len()).sum(),
        came.count(),
    ]
}

#[test]
fn lost_and_doubled_packets_have_as_many_rows_as_they_passed() {
    let all = check("lossy-link", 120);
    let (rows, passed, found) = &all;
    let sent: Vec<_> = rows.iter().filter(|row| row.is_sent).collect();
    assert!(sent.len() == passed.len() && sent.iter().all(|row| row.utc.is_ok()));
    for host in ["a", "b"] {
        let [rows, matched, came] = received(host, &all);
        let numbers = found
            .keys()
            .filter(|(one, is_sent, _)| one == host && !is_sent);
        let sent = passed.iter().filter(|one| one.is_request == (host == "b"));
        assert!(came < sent.count(), "{host}: some are lost");
        assert!(rows > numbers.count(), "{host}: some came twice");
        // a few have no timestamp
        assert!(
            rows >= came && came >= matched && matched * 10 > came * 9,
            "{host}: {rows} {matched} {came}"
        );
    }
}

#[test]
fn a_packet_without_a_timestamp_has_a_row_and_the_reason() {
    let all = check("control-truncated", 20);
    for host in ["a", "b"] {
        let [rows, matched, came] = received(host, &all);
        assert!(
            rows == came && matched > came / 4 && matched < came - came / 4,
            "{host}: {rows} {matched} {came}"
        );
    }
    for row in all.0.iter().filter(|row| row.utc.is_err()) {
        assert_eq!((row.is_sent, row.ticks), (false, None), "{row:?}");
        assert_eq!(row.utc, Err("no_timestamp".to_owned()));
    }
}

/// A reflector whose socket is bound to all addresses of both families, as systemd passes it.
#[cfg(target_os = "linux")]
#[test]
fn on_a_real_system_both_ends_know_the_flow_by_the_address_that_was_asked() {
    let folder = tempfile::tempdir().expect("made");
    let free = std::net::UdpSocket::bind("[::]:0").expect("a free port");
    let port = free.local_addr().expect("it has one").port();
    drop(free);
    let start = |host, after: &str| {
        let configuration = configuration(host, folder.path(), TABLES, after);
        Service::start(configuration, Place::System).expect("it starts")
    };
    let reflecting = start("b", &format!("[reflector]\nlisten = [\"[::]:{port}\"]\n"));
    let session = |peer: &str| {
        format!(
            "[[stamp]]\npeer_name = \"{peer}\"\npeer = \"{peer}:{port}\"\ninterval = \"20ms\"\ntimeout = \"1s\"\n"
        )
    };
    let probing = start("a", &(session("127.0.0.1") + &session("127.0.0.2")));
    let begun = Instant::now();
    let is_enough = || {
        let shown = probing.handle().wait_snapshot().expect("it runs");
        shown.peers.len() == 2 && shown.peers.iter().all(|peer| peer.answered >= 20)
    };
    while !is_enough() {
        assert!(begun.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(20));
    }
    drop(probing);
    drop(reflecting);
    let rows = rows::timestamps(folder.path());
    let mut joined = BTreeMap::<i64, u64>::new();
    for sent in rows.iter().filter(|row| row.is_sent) {
        let there = rows.iter().find(|row| {
            !row.is_sent
                && row.host != sent.host
                && (row.flow, row.sequence) == (sent.flow, sent.sequence)
        });
        let (Some(there), Ok((sent, bound))) = (there, &sent.utc) else {
            continue;
        };
        let (came, more) = there.utc.clone().expect("the kernel has timestamps");
        assert!(came - sent > -(bound + more), "before it was sent");
        *joined.entry(there.flow).or_default() += 1;
    }
    // two flows, both ways of at least twenty each
    assert!(
        joined.len() == 2 && joined.values().all(|count| *count >= 39),
        "{joined:?}"
    );
}

#[test]
fn without_being_asked_for_there_are_none() {
    let folder = tempfile::tempdir().expect("made");
    let simulation = Simulation::preset("igc", 5).expect("a preset");
    let mut monitor = crate::monitor(&simulation, folder.path(), "", "");
    let until = monitor.now() + Span::from_seconds(15);
    monitor.run_until(until).expect("it runs");
    assert!(
        monitor
            .snapshot()
            .recording
            .is_some_and(|recording| !recording.rows.contains_key("timestamps"))
    );
    drop(monitor);
    assert!(rows::timestamps(folder.path()).is_empty());
    assert!(!rows::estimates(folder.path()).is_empty());
}
