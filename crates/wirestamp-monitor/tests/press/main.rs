//! Clients that press while sessions run on this system: no packet is dropped, and the loop goes on turning. Here for seconds; `scripts/slow press`
//! runs the whole, on an idle machine.
//!
//! `WIRESTAMP_PRESS_SECONDS` and `WIRESTAMP_PRESS_SESSIONS`: for how long, and how many sessions at 10 Hz. `WIRESTAMP_PRESS_GAP_MS`: the longest
//! time between two turns that is still good.
#![cfg(target_os = "linux")]

mod clients;

use clients::{KINDS, pressed};
use std::io::Write as _;
use std::net::UdpSocket;
use std::thread;
use std::time::{Duration, Instant};
use wirestamp_monitor::http::Server;
use wirestamp_monitor::{Configuration, Handle, Place, Service};

fn number_from(variable: &str, otherwise: u64) -> u64 {
    let set = std::env::var(variable).ok();
    set.and_then(|set| set.parse().ok()).unwrap_or(otherwise)
}

/// Looks at the loop until then; returns the longest time for which it was not seen to turn.
fn longest_gap(handle: &Handle, until: Instant) -> Duration {
    let (mut turns, mut turned, mut longest) = (handle.turns(), Instant::now(), Duration::ZERO);
    while Instant::now() < until {
        thread::sleep(Duration::from_millis(1));
        let now = handle.turns();
        if now != turns {
            longest = longest.max(turned.elapsed());
            (turns, turned) = (now, Instant::now());
        }
    }
    longest.max(turned.elapsed())
}

fn configuration(folder: &std::path::Path, sessions: u64) -> Configuration {
    let free = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let reflector = free.local_addr().expect("an address");
    let token = folder.join("token");
    std::fs::write(&token, "secret").expect("written");
    let mut text = format!(
        "[http]\nlisten = '127.0.0.1:0'\ntoken_file = '{}'\n[history]\ndirectory = '{}'\n[reflector]\nlisten = ['{reflector}']\nrate = 1000000\n",
        token.display(),
        folder.join("history").display()
    );
    for number in 0..sessions {
        text += &format!(
            "[[stamp]]\nname = 'peer{number}'\npeer = '{reflector}'\nclocks = 'same'\ninterval = '100ms'\ntimeout = '10s'\n"
        );
    }
    Configuration::from_toml(&text).expect("it is right")
}

#[test]
fn clients_that_press_cost_no_packet() {
    let seconds = number_from("WIRESTAMP_PRESS_SECONDS", 5);
    let sessions = number_from("WIRESTAMP_PRESS_SESSIONS", 20);
    let folder = tempfile::tempdir().expect("a folder");
    let configuration = configuration(folder.path(), sessions);
    let service = Service::start(configuration.clone(), Place::System).expect("it starts");
    let server = Server::start(&configuration, service.handle()).expect("it serves");
    let handle = service.handle();
    // all sessions have opened their sockets
    let all_run = || {
        let shown = handle.wait_snapshot().expect("it runs");
        shown.peers.iter().filter(|peer| peer.answered > 5).count() as u64 == sessions
    };
    let begun = Instant::now();
    while !all_run() {
        assert!(begun.elapsed() < Duration::from_secs(60), "they run");
    }
    let each = Duration::from_secs(seconds) / KINDS.len() as u32;
    let mut worst = Duration::ZERO;
    for (path, headers, _) in KINDS {
        let (before, mut gap) = (handle.turns(), Duration::ZERO);
        let answers = pressed(server.address(), path, headers, || {
            gap = longest_gap(&handle, Instant::now() + each);
        });
        let (turns, bears) = (handle.turns() - before, !headers.is_empty());
        let _ = writeln!(
            std::io::stderr(),
            "{path} (token: {bears}): {answers} answers, {turns} turns, at most {gap:?} between two"
        );
        worst = worst.max(gap);
    }
    assert!(handle.health().is_measuring());
    let shown = handle.wait_snapshot().expect("it runs");
    for peer in &shown.peers {
        let all_known = peer.answered + peer.in_flight == peer.sent;
        assert!(peer.lost == 0 && all_known, "{peer:?}");
    }
    let most = number_from("WIRESTAMP_PRESS_GAP_MS", u64::MAX);
    assert!(
        worst.as_millis() <= u128::from(most),
        "{worst:?} between two turns"
    );
}
