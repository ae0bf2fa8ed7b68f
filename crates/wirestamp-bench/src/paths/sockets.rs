//! Owns the sockets that the cases measure with, on loopback. Times nothing.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::rc::Rc;

/// A peer's runtime: one thread.
pub(crate) type Runtime = Rc<tokio::runtime::Runtime>;

/// Datagrams of 64 bytes.
pub(crate) const PAYLOAD: [u8; 64] = [0x42; 64];
/// As many as are sent and received at once.
pub(crate) const BATCH: usize = 64;
/// Datagrams that wait when they are received: they fit into a usual receive buffer.
pub(crate) const WAITING: usize = 128;

pub(crate) fn runtime() -> Result<Runtime, Box<dyn Error>> {
    Ok(Rc::new(tokio::runtime::Builder::new_current_thread().enable_all().build()?))
}

pub(crate) fn loopback() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// Sends to `to` without stamps.
pub(crate) fn sender(to: SocketAddr) -> std::io::Result<UdpSocket> {
    let sender = UdpSocket::bind(loopback())?;
    sender.connect(to)?;
    Ok(sender)
}

/// Receives without stamps, and never waits.
pub(crate) fn receiver() -> std::io::Result<UdpSocket> {
    let receiver = UdpSocket::bind(loopback())?;
    receiver.set_nonblocking(true)?;
    Ok(receiver)
}

/// Where datagrams are dropped: a socket that nobody reads, full already.
pub(crate) fn sink() -> std::io::Result<UdpSocket> {
    let sink = UdpSocket::bind(loopback())?;
    let filler = sender(sink.local_addr()?)?;
    for _ in 0..1_000 {
        filler.send(&PAYLOAD)?;
    }
    Ok(sink)
}
