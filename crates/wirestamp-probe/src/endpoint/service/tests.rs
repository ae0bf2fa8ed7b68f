use super::*;
use crate::reflector::ReflectorConfiguration;
use std::net::Ipv4Addr;
use std::time::Duration;

/// An unauthenticated STAMP request (RFC 8762, section 4.2): its error estimate has the multiplier 1.
const REQUEST: [u8; 44] = {
    let mut request = [0; 44];
    request[13] = 1;
    request
};

/// Passes a request that was sent to `destination` to a service whose socket is bound to `local`;
/// returns whether it is answered.
fn is_answered(local: Ipv4Addr, destination: [u8; 4]) -> bool {
    let socket = UdpSocket::bind((local, 0)).expect("a socket");
    let reflector = Reflector::new(ReflectorConfiguration::default());
    let mut service =
        ReflectorService::new(reflector, vec![socket], Clock::software()).expect("a service");
    let port = &mut service.ports[0];
    let sender = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    let to = (Ipv4Addr::LOCALHOST, port.local.port());
    sender.send_to(&REQUEST, to).expect("sent");
    let mut buffer = [0; 100];
    let mut batch = [Incoming::new(&mut buffer)];
    UdpSocket::wait_any(&[&port.socket], Duration::from_secs(5)).expect("waits");
    let came = port.socket.try_receive_batch(&mut batch).expect("receives");
    assert_eq!(came, 1);
    let mut received = batch[0].received;
    received.destination = Some(destination.into());
    let mut at = Desk {
        reflector: &mut service.reflector,
        clock: &service.clock,
        records: &mut service.records,
        observer: Observer {
            tell: None,
            awaited: &mut service.awaited,
        },
    };
    assert!(port.answer(&REQUEST, &received, &mut at));
    let counters = service.counters();
    assert_eq!(
        counters.replies + counters.dropped_for(Dropped::NotUnicast),
        1
    );
    counters.replies == 1
}

/// On Windows, a socket that is bound to one address also receives broadcasts of its network.
#[test]
fn a_socket_of_one_address_answers_what_was_sent_to_that_address_alone() {
    let one = Ipv4Addr::LOCALHOST;
    assert!(is_answered(one, [127, 0, 0, 1]));
    assert!(!is_answered(one, [127, 255, 255, 255]));
    let all = Ipv4Addr::UNSPECIFIED;
    assert!(is_answered(all, [127, 0, 0, 2]), "each is an own address");
}
