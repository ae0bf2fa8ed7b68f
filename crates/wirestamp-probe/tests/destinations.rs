//! The reflector's service on a socket of any address. On Linux: a Windows without timestamps, such as Wine, refuses the service.
#![cfg(target_os = "linux")]

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;
use wirestamp_probe::endpoint::{Clock, ReflectorService};
use wirestamp_probe::reflector::{Reflector, ReflectorConfiguration};

/// An unauthenticated STAMP request (RFC 8762, section 4.2): its error estimate has the multiplier 1.
const REQUEST: [u8; 44] = {
    let mut request = [0; 44];
    request[13] = 1;
    request
};

/// Two addresses of this host that one sender asks are two sessions (RFC 8762, section 4.3).
#[test]
fn each_address_that_is_asked_has_sessions_of_its_own() {
    let any = (Ipv4Addr::UNSPECIFIED, 0).into();
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
