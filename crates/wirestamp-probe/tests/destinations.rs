//! The reflector's service on a socket that is bound to the unspecified address. Only on Linux,
//! because a Windows without timestamps, such as Wine, cannot serve.
#![cfg(target_os = "linux")]

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;
use wirestamp_probe::endpoint::{Clock, ReflectorService};
use wirestamp_probe::reflector::{Dropped, Reflector, ReflectorConfiguration};

/// An unauthenticated STAMP request (RFC 8762, section 4.2): its error estimate has the multiplier 1.
const REQUEST: [u8; 44] = {
    let mut request = [0; 44];
    request[13] = 1;
    request
};

/// Requests of one sender to two addresses of this host are two sessions (RFC 8762, section 4.3).
#[test]
fn each_address_that_is_asked_has_sessions_of_its_own() {
    let any = (Ipv4Addr::UNSPECIFIED, 0);
    let socket = wirestamp::UdpSocket::bind(any).expect("a socket");
    let port = socket.local_address().expect("an address").port();
    let reflector = Reflector::new(ReflectorConfiguration::default());
    let mut service =
        ReflectorService::new(reflector, vec![socket], Clock::software()).expect("a service");
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    for (address, sessions) in [
        ([127, 0, 0, 1], 1),
        ([127, 0, 0, 2], 2),
        ([127, 0, 0, 1], 2),
    ] {
        let to = SocketAddr::from((address, port));
        sender.send_to(&REQUEST, to).expect("sent");
        service.serve(Duration::from_secs(5)).expect("served");
        assert_eq!(service.sessions(), sessions, "after {to}");
    }
}

fn listening(address: SocketAddr) -> (ReflectorService, SocketAddr) {
    let socket = wirestamp::UdpSocket::bind(address).expect("a socket");
    let local = socket.local_address().expect("an address");
    let reflector = Reflector::new(ReflectorConfiguration::default());
    let service = ReflectorService::new(reflector, vec![socket], Clock::software());
    (service.expect("a service"), local)
}

/// One forged broadcast would make all hosts of a network answer. The loopback interface has a
/// broadcast address, too.
#[test]
fn what_is_sent_to_all_hosts_of_a_network_is_not_answered() {
    let (mut service, local) = listening((Ipv4Addr::UNSPECIFIED, 0).into());
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    sender.set_broadcast(true).expect("set");
    sender.set_nonblocking(true).expect("set");
    let mut answered = |to: [u8; 4]| {
        let to = SocketAddr::from((to, local.port()));
        sender.send_to(&REQUEST, to).expect("sent");
        service.serve(Duration::from_secs(5)).expect("served");
        sender.recv(&mut [0; 100]).is_ok()
    };
    assert!(!answered([127, 255, 255, 255]));
    assert!(answered([127, 0, 0, 1]), "it is alive");
    let counters = service.counters();
    assert_eq!(counters.replies - counters.not_sent, 1, "{counters:?}");
}

/// Puts a packet into the queue of `to` and returns its source address, whose port is then free for
/// others.
fn forge(to: SocketAddr) -> SocketAddr {
    let forger = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    forger.send_to(&REQUEST, to).expect("sent");
    forger.local_addr().expect("bound")
}

#[test]
fn two_reflectors_do_not_answer_each_other() {
    let (mut first, address) = listening((Ipv4Addr::LOCALHOST, 0).into());
    let (mut second, _) = listening(forge(address));
    let patience = Duration::from_secs(5);
    first.serve(patience).expect("served");
    second.serve(patience).expect("served");
    for _ in 0..20 {
        first.serve(Duration::ZERO).expect("served");
        second.serve(Duration::ZERO).expect("served");
    }
    assert_eq!(first.counters().replies, 1, "to the forged packet");
    assert_eq!(second.counters().replies, 0);
    assert_eq!(second.counters().dropped_for(Dropped::Loop), 1);
}

#[test]
fn a_reflector_and_an_echo_do_not_answer_each_other() {
    let (mut service, address) = listening((Ipv4Addr::LOCALHOST, 0).into());
    let echo = UdpSocket::bind(forge(address)).expect("a socket");
    let patience = Duration::from_secs(5);
    echo.set_read_timeout(Some(patience)).expect("set");
    service.serve(patience).expect("served");
    let mut buffer = [0; 100];
    let (length, from) = echo.recv_from(&mut buffer).expect("the reply");
    echo.send_to(&buffer[..length], from).expect("sent");
    service.serve(patience).expect("served");
    echo.set_nonblocking(true).expect("set");
    assert!(echo.recv_from(&mut buffer).is_err(), "another reply");
    assert_eq!(service.counters().replies, 1);
    assert_eq!(service.counters().dropped_for(Dropped::Loop), 1);
}
