//! Clients that press as hard as they can: what they cost the measuring loop, by counting.

#[path = "../../tests/press/clients.rs"]
mod clients;

use super::Server;
use crate::snapshot::Snapshot;
use crate::{Configuration, Place, Service};
use clients::{CLIENTS, KINDS, pressed};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use wirestamp::Simulation;

/// The busiest machine needs no longer.
const LONG: Duration = Duration::from_secs(120);
const SESSIONS: usize = 8;
/// For how many turns of the loop each kind presses.
const TURNS: u64 = 200;
/// For how long they press at least, on the monitor's clock.
const PRESSED: i64 = 2_000_000_000;

struct Pressed {
    service: Service,
    server: Server,
    _folder: tempfile::TempDir,
}

/// Sessions to a reflector of the simulated host, a history, and a token.
fn start() -> Pressed {
    let simulation = Simulation::preset("i225", 3).expect("a preset");
    let sim1 = simulation.interface("sim1").expect("it has one");
    let peer = sim1.description().addresses[0].address;
    let folder = tempfile::tempdir().expect("a folder");
    let token = folder.path().join("token");
    std::fs::write(&token, "secret").expect("written");
    let mut text = format!(
        "[http]\nlisten = '127.0.0.1:0'\ntoken_file = '{}'\n[history]\ndirectory = '{}'\n[reflector]\nlisten = ['{peer}:862']\nrate = 1000000\n",
        token.display(),
        folder.path().join("history").display()
    );
    for number in 0..SESSIONS {
        text += &format!(
            "[[stamp]]\nname = 'peer{number}'\npeer = '{peer}'\ninterface = 'sim0'\nclocks = 'same'\ninterval = '100ms'\n"
        );
    }
    let configuration = Configuration::from_toml(&text).expect("it is right");
    let place = Place::Simulation(simulation);
    let service = Service::start(configuration.clone(), place).expect("it starts");
    let server = Server::start(&configuration, service.handle()).expect("it serves");
    Pressed {
        service,
        server,
        _folder: folder,
    }
}

fn snapshot(running: &Pressed) -> Arc<Snapshot> {
    running.service.handle().wait_snapshot().expect("it runs")
}

#[test]
fn no_request_costs_more_than_one_snapshot_a_turn_and_no_packet() {
    let running = start();
    let handle = running.service.handle();
    for (path, headers, asks) in KINDS {
        let before = (handle.turns(), handle.snapshots());
        let until = before.0 + TURNS;
        let answers = pressed(running.server.address(), path, headers, || {
            let begun = Instant::now();
            while handle.turns() < until {
                assert!(begun.elapsed() < LONG, "{path}: the loop turns");
                thread::sleep(Duration::from_millis(1));
            }
        });
        let (turns, snapshots) = (handle.turns() - before.0, handle.snapshots() - before.1);
        assert!(answers > CLIENTS as u64, "{path}: {answers} answers");
        match asks {
            true => assert!(
                (1..=turns).contains(&snapshots),
                "{path}: {snapshots} of {turns}"
            ),
            false => assert_eq!(snapshots, 0, "{path}"),
        }
    }
    let begun = Instant::now();
    let shown = loop {
        let shown = snapshot(&running);
        if shown.uptime_ns > PRESSED {
            break shown;
        }
        assert!(begun.elapsed() < LONG);
    };
    assert!(handle.health().is_measuring());
    assert_eq!(shown.peers.len(), SESSIONS);
    // the first packets go out later, one a session may be under way
    let due = shown.uptime_ns.unsigned_abs() / 100_000_000;
    for peer in &shown.peers {
        assert_eq!(peer.lost, 0, "{peer:?}");
        assert!(
            peer.sent + 5 >= due && peer.answered + peer.in_flight == peer.sent,
            "{peer:?}"
        );
    }
}
