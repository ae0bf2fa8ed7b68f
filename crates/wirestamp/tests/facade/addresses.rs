//! Addresses in the forms that the standard library accepts: texts, pairs, and several to try in
//! order.

use std::net::{SocketAddr, UdpSocket as StdSocket};
use std::time::Duration;
use wirestamp::{ErrorKind, UdpSocket};

/// An address of TEST-NET-1, which no interface has.
const NOBODYS: SocketAddr = SocketAddr::new(
    std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)),
    0,
);

fn here() -> SocketAddr {
    "127.0.0.1:0".parse().expect("an address")
}

#[test]
fn a_socket_is_bound_to_the_first_address_that_can_be_had() {
    for several in [vec![here()], vec![NOBODYS, here(), NOBODYS]] {
        let bound = UdpSocket::bind(&several[..]).expect("one can be had");
        let local = bound.local_address().expect("bound");
        assert!(local.ip().is_loopback(), "{local}");
    }
    let refused = UdpSocket::bind(&[here(), NOBODYS][1..]).expect_err("nobody's");
    assert_eq!(refused.kind(), ErrorKind::NoSuchDevice, "{refused}");
}

#[test]
fn datagrams_go_where_a_text_or_a_pair_says() {
    let receiver = StdSocket::bind(here()).expect("a free port");
    receiver
        .set_read_timeout(Some(Duration::from_secs(30)))
        .expect("set");
    let port = receiver.local_addr().expect("bound").port();
    let sender = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let text = format!("127.0.0.1:{port}");
    sender.send_to(b"1", &text, None).expect("sent");
    sender
        .send_to(b"22", ("127.0.0.1", port), None)
        .expect("sent");
    sender.connect(text).expect("connected");
    sender.send(b"333", None).expect("sent");
    for length in 1..=3 {
        assert_eq!(receiver.recv(&mut [0; 8]).expect("it came"), length);
    }
}

#[test]
fn no_address_is_an_error_that_says_so() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let none: [SocketAddr; 0] = [];
    for error in [
        UdpSocket::bind(&none[..]).err(),
        UdpSocket::bind("no port").err(),
        socket.connect(&none[..]).err(),
        socket.send_to(b"x", &none[..], None).err(),
        socket.send_to(b"x", "no port", None).err(),
    ] {
        let error = error.expect("no address");
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(
            error.to_string().contains(": cannot look up an address: "),
            "{error}"
        );
    }
}
