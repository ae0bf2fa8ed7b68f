//! Conversion of errors to those of the standard library: kind and number are those that `std::net`
//! returns for the same call.

use std::error::Error as _;
use std::io;
use std::net::{self, Ipv4Addr, SocketAddr};
use wirestamp::{Error, UdpSocket};

fn numbered(error: &Error) -> Option<i32> {
    let source = error.source()?.downcast_ref::<io::Error>()?;
    source.raw_os_error()
}

fn assert_as_stds<T>(ours: wirestamp::Result<T>, stds: io::Result<net::UdpSocket>) {
    let (ours, stds) = (ours.err().expect("refused"), stds.expect_err("refused"));
    assert_eq!(numbered(&ours), stds.raw_os_error());
    let (kind, message) = (stds.kind(), ours.to_string());
    let converted = io::Error::from(ours);
    assert_eq!(converted.kind(), kind);
    assert_eq!(converted.to_string(), message);
}

#[test]
fn a_refused_bind_has_the_kind_and_the_number_that_std_has() {
    let taken = net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let taken = taken.local_addr().map(|at| (taken, at)).expect("bound");
    let nobodys = SocketAddr::from((Ipv4Addr::new(192, 0, 2, 1), 0));
    for (at, expected) in [
        (taken.1, io::ErrorKind::AddrInUse),
        (nobodys, io::ErrorKind::AddrNotAvailable),
    ] {
        let stds = net::UdpSocket::bind(at);
        assert_eq!(stds.as_ref().expect_err("refused").kind(), expected);
        assert_as_stds(UdpSocket::bind(at), stds);
    }
}

#[test]
fn a_datagram_that_nobody_takes_is_a_refused_connection() {
    let nobody = net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let to = nobody.local_addr().expect("bound");
    drop(nobody);
    let socket = UdpSocket::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).expect("a free port");
    socket.connect(to).expect("connected");
    // a later send reports the ICMP error of an earlier one
    let mut sends = std::iter::repeat_with(|| socket.send(b"x", None)).take(1_000);
    let refused = sends.find_map(Result::err).expect("a refusal");
    assert_eq!(
        io::Error::from(refused).kind(),
        io::ErrorKind::ConnectionRefused
    );
}
