//! The monitor on this system: kernel timestamps on the loopback interface.
#![cfg(target_os = "linux")]

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use wirestamp_monitor::snapshot::Snapshot;
use wirestamp_monitor::{Configuration, Place, Service};

/// The busiest machine needs no longer.
const LONG: Duration = Duration::from_secs(60);

/// A server of stratum 1 whose clock is this machine's (RFC 5905, section 7.3).
fn ntp_server() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("bound");
    let address = socket.local_addr().expect("it has one");
    let now = || {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("after 1970");
        let fraction = (u128::from(since.subsec_nanos()) << 32) / 1_000_000_000;
        ((since.as_secs() + 2_208_988_800) << 32) | fraction as u64
    };
    std::thread::spawn(move || {
        let mut request = [0; 2_048];
        while let Ok((length, client)) = socket.recv_from(&mut request) {
            if length < 48 {
                continue;
            }
            let received = now();
            let mut response = [0; 48];
            response[..4].copy_from_slice(&[0x24, 1, request[2], 0xec]);
            response[12..16].copy_from_slice(b"TEST");
            response[16..24].copy_from_slice(&received.to_be_bytes());
            response[24..32].copy_from_slice(&request[40..48]);
            response[32..40].copy_from_slice(&received.to_be_bytes());
            response[40..48].copy_from_slice(&now().to_be_bytes());
            let _ = socket.send_to(&response, client);
        }
    });
    address
}

/// A port that nobody has now.
fn free_port() -> u16 {
    UdpSocket::bind("127.0.0.1:0")
        .expect("bound")
        .local_addr()
        .expect("it has one")
        .port()
}

fn until(service: &Service, is_enough: impl Fn(&Snapshot) -> bool) -> Arc<Snapshot> {
    let begun = Instant::now();
    loop {
        let snapshot = service.handle().wait_snapshot().expect("it runs");
        if is_enough(&snapshot) {
            return snapshot;
        }
        assert!(begun.elapsed() < LONG, "{snapshot:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn it_measures_the_loopback_interface_a_reflector_and_a_server() {
    let (ntp, port) = (ntp_server(), free_port());
    let text = format!(
        "[http]\nenabled = false\n[[path]]\ninterface = \"lo\"\ninterval = \"20ms\"\n[reflector]\nlisten = [\"127.0.0.1:{port}\"]\n\
         [[stamp]]\npeer = \"127.0.0.1:{port}\"\nclocks = \"same\"\ninterval = \"20ms\"\ntimeout = \"500ms\"\n[[ntp]]\nserver = \"{ntp}\"\n"
    );
    let configuration = Configuration::from_toml(&text).expect("it is right");
    let service = Service::start(configuration, Place::System).expect("it starts");
    let snapshot = until(&service, |snapshot| {
        snapshot
            .peers
            .first()
            .is_some_and(|peer| peer.answered >= 20)
            && snapshot
                .paths
                .first()
                .is_some_and(|path| path.received >= 20)
            && snapshot
                .ntp
                .as_ref()
                .is_some_and(|ntp| ntp.offset_ns.is_some())
    });
    assert!(
        snapshot.tasks.iter().all(|task| task.state == "running"),
        "{:?}",
        snapshot.tasks
    );
    let peer = &snapshot.peers[0];
    assert_eq!(
        peer.sent,
        peer.answered + peer.lost + peer.in_flight,
        "{peer:?}"
    );
    assert!(
        peer.delays["path"].count > 0 && peer.delays["forward"].count > 0,
        "{peer:?}"
    );
    let path = &snapshot.paths[0];
    assert_eq!(
        path.sent,
        path.received + path.lost + path.in_flight,
        "{path:?}"
    );
    let counts = &path.timestamps;
    assert_eq!(
        counts.requested,
        counts.transmitted + counts.pending + counts.missing.values().sum::<u64>(),
        "{counts:?}"
    );
    // the server's clock is ours
    let ntp = snapshot.ntp.as_ref().expect("there is one");
    let (offset, bound) = (ntp.offset_ns.expect("known"), ntp.bound_ns.expect("known"));
    assert!(offset.abs() <= bound, "{ntp:?}");
    let realtime = snapshot
        .clocks
        .iter()
        .find(|clock| clock.kind == "realtime")
        .expect("there is one");
    assert_eq!(realtime.reference.as_deref(), Some("ntp"));
    assert!(
        snapshot.own.cpu_ns.is_some()
            && snapshot
                .interfaces
                .iter()
                .any(|interface| interface.name == "lo")
    );
}

#[test]
fn a_bound_grows_until_it_is_asked_for() {
    let ntp = ntp_server();
    let text = format!("[http]\nenabled = false\n[[ntp]]\nserver = \"{ntp}\"\ninterval = \"1h\"\n");
    let service = Service::start(
        Configuration::from_toml(&text).expect("it is right"),
        Place::System,
    )
    .expect("it starts");
    let server = |snapshot: &Snapshot| snapshot.ntp.as_ref().map(|ntp| ntp.servers[0].clone());
    // a few requests at the start, then none for an hour
    let first = until(&service, |snapshot| {
        server(snapshot).is_some_and(|server| server.samples >= 4)
    });
    std::thread::sleep(Duration::from_millis(400));
    let second = service.handle().wait_snapshot().expect("it runs");
    let (first, second) = (
        server(&first).expect("there"),
        server(&second).expect("there"),
    );
    assert_eq!(first.samples, second.samples);
    let grown = second.bound_ns.expect("known") - first.bound_ns.expect("known");
    let aged = second.age_ns.expect("known") - first.age_ns.expect("known");
    // 500 ppm of drift
    assert!(
        grown >= aged * 490 / 1_000_000 && grown > 0,
        "{grown} ns after {aged} ns"
    );
}

/// A refusal is an error that the socket has until somebody reads it, and ends each wait until then.
#[test]
fn a_peer_that_refuses_does_not_keep_the_loop_busy() {
    let port = free_port();
    let text = format!(
        "[http]\nenabled = false\n[[stamp]]\npeer = \"127.0.0.1:{port}\"\ninterval = \"20ms\"\ntimeout = \"500ms\"\n"
    );
    let configuration = Configuration::from_toml(&text).expect("it is right");
    let service = Service::start(configuration, Place::System).expect("it starts");
    let snapshot = until(&service, |snapshot| {
        let peer = snapshot.peers.first();
        peer.is_some_and(|peer| peer.lost >= 20)
    });
    let (peer, own) = (&snapshot.peers[0], &snapshot.own);
    let error = peer.error.as_deref().unwrap_or_default();
    assert!(error.contains("refused"), "{peer:?}");
    assert_eq!(peer.timestamps.missing.values().sum::<u64>(), 0, "{peer:?}");
    // one to send, one or two for what comes back, and those of the snapshots that are asked for
    assert!(own.turns < 20 * peer.sent, "{own:?} for {peer:?}");
}
