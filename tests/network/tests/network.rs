//! The test network does what it is told to, as seen by sockets at both ends. Needs root, TUN devices and iproute2;
//! skipped without.
#![cfg(target_os = "linux")]

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};
use wirestamp_test_network::{Builder, Direction, Event, Fate, Network, missing};

const MS: Duration = Duration::from_millis(1);

/// `None` where there can be none, which is said.
fn network(change: impl FnOnce(Builder) -> Builder) -> Option<Network> {
    if let Some(what) = missing() {
        assert!(
            std::env::var_os("WIRESTAMP_NO_SKIP").is_none(),
            "the test network {what}"
        );
        // past the harness, which would keep it to itself
        writeln!(io::stderr(), "skipped: test network: {what}").expect("open");
        return None;
    }
    let builder = change(Network::builder().hosts(["a", "b"]).seed(3));
    Some(builder.build().expect("made"))
}

/// A socket of the host, which gives up after a second.
fn socket(network: &Network, host: &str, ipv6: bool) -> (UdpSocket, SocketAddr) {
    let host = network.host(host);
    let address = if ipv6 {
        IpAddr::from(host.ipv6())
    } else {
        host.ipv4().into()
    };
    let bind = || UdpSocket::bind((address, 0));
    let socket = host.run(bind).expect("entered").expect("bound");
    socket.set_read_timeout(Some(1_000 * MS)).expect("set");
    let address = socket.local_addr().expect("bound");
    (socket, address)
}

/// The UDP datagrams among the events: hosts say other things of their own.
fn datagrams(network: &Network) -> Vec<Event> {
    let mut events = network.take_log();
    events.retain(|event| event.udp_ports.is_some());
    events
}

/// Numbers of the datagrams that arrive until none comes for a while.
fn numbers(socket: &UdpSocket) -> Vec<u8> {
    socket.set_read_timeout(Some(200 * MS)).expect("set");
    let mut buffer = [0; 2_000];
    std::iter::from_fn(|| socket.recv(&mut buffer).ok().map(|_| buffer[0])).collect()
}

#[test]
fn each_direction_has_its_own_delay_on_both_families() {
    let Some(network) = network(|builder| {
        let forward = Direction::new().delay(3 * MS);
        builder
            .direction("a", "b", forward)
            .direction("b", "a", Direction::new().delay(7 * MS))
    }) else {
        return;
    };
    for ipv6 in [false, true] {
        let (a, at_a) = socket(&network, "a", ipv6);
        let (b, at_b) = socket(&network, "b", ipv6);
        for _ in 0..5 {
            let sent = Instant::now();
            a.send_to(b"there", at_b).expect("sent");
            assert_eq!(b.recv_from(&mut [0; 9]).expect("arrived"), (5, at_a));
            let there = sent.elapsed();
            b.send_to(b"back", at_a).expect("sent");
            assert_eq!(a.recv_from(&mut [0; 9]).expect("arrived"), (4, at_b));
            assert!(there >= 3 * MS && sent.elapsed() >= 10 * MS, "{there:?}");
        }
        let events = datagrams(&network);
        assert_eq!(events.len(), 10, "{events:?}");
        for event in events {
            let delay = event.left_ns.expect("forwarded") - event.arrived_ns;
            let least = if event.from == "a" {
                3_000_000
            } else {
                7_000_000
            };
            // how much more it is, the machine decides; the next packet was sent after that one
            assert!(delay >= least - 1_000, "{event:?}");
            assert_eq!(
                event.payload,
                if event.from == "a" {
                    &b"there"[..]
                } else {
                    b"back"
                }
            );
        }
    }
}

#[test]
fn the_log_says_which_packets_were_lost_duplicated_and_overtaken() {
    let Some(network) = network(|builder| {
        let forward = Direction::new()
            .loss(0.2)
            .duplicate(0.2)
            .reorder(0.2, 20 * MS);
        builder.direction("a", "b", forward)
    }) else {
        return;
    };
    let (a, _) = socket(&network, "a", false);
    let (b, at_b) = socket(&network, "b", false);
    for number in 0..100 {
        a.send_to(&[number], at_b).expect("sent");
        std::thread::sleep(MS);
    }
    let arrived = numbers(&b);
    let events = datagrams(&network);
    let forwarded: Vec<_> = events
        .iter()
        .filter(|event| event.fate == Fate::Forwarded)
        .map(|event| event.payload[0])
        .collect();
    assert_eq!(arrived, forwarded, "in the order of the log");
    assert!(!arrived.is_sorted(), "some were overtaken");
    let lost = events
        .iter()
        .filter(|event| event.fate == Fate::Lost)
        .count();
    let copies = events.iter().filter(|event| event.is_copy).count();
    assert!(lost > 5 && copies > 5, "{lost} {copies}");
    assert_eq!(arrived.len(), 100 - lost + copies);
    assert_eq!(events.len(), 100 + copies, "each packet is told of");
}

#[test]
fn marks_are_set_large_packets_lost_and_settings_change_meanwhile() {
    let Some(network) =
        network(|builder| builder.direction("a", "b", Direction::new().dscp(46).ecn(1).mtu(1_000)))
    else {
        return;
    };
    let (a, _) = socket(&network, "a", false);
    let (b, at_b) = socket(&network, "b", false);
    a.send_to(&[1; 900], at_b).expect("sent");
    a.send_to(&[2; 1_200], at_b).expect("sent");
    assert_eq!(numbers(&b), [1]);
    let set = network.set_direction("a", "b", Direction::new().loss(1.0));
    set.expect("known");
    a.send_to(&[3], at_b).expect("sent");
    assert!(numbers(&b).is_empty());
    let told: Vec<_> = datagrams(&network)
        .iter()
        .map(|event| (event.fate, event.traffic_class, event.traffic_class_left))
        .collect();
    let marked = 46 << 2 | 1;
    let wanted = [
        (Fate::TooLarge, 0, 0),
        (Fate::Forwarded, 0, marked),
        (Fate::Lost, 0, 0),
    ];
    assert!(wanted.iter().all(|one| told.contains(one)), "{told:?}");
    assert!(network.set_direction("a", "c", Direction::new()).is_err());
}

#[test]
fn nothing_of_it_stays() {
    let Some(network) = network(|builder| builder) else {
        return;
    };
    let path = std::path::Path::new("/run/netns").join(network.host("a").namespace());
    assert!(path.exists());
    drop(network);
    assert!(!path.exists());
}
