//! Owns the kernel's cold start. The switch for software receive stamps is global and turns
//! asynchronously: for some milliseconds after the first socket asks, packets arrive without
//! a stamp (measured: 5 ms, 3,567 loopback packets).

use super::call;
use super::clock;
use super::socket::messages::ReceiveMessages;
use super::wire::address::{self, AddressBytes};
use super::wire::constants::{RX_SOFTWARE, SO_TIMESTAMPING_NEW, SOFTWARE};
use super::wire::control;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use wirestamp_core::backend::Incoming;
use wirestamp_core::time::Span;

/// Held open for the life of the process, so that the switch stays on.
static HELPER: Mutex<Option<OwnedFd>> = Mutex::new(None);

/// Returns once received packets are stamped, or after 50 ms.
///
/// Proves it with datagrams that a helper socket sends to itself over loopback; where there is
/// no loopback (a new network namespace), waits the 20 ms that the kernel's own tests wait.
pub(super) fn wait_until_stamping() {
    let mut helper = HELPER.lock().unwrap_or_else(PoisonError::into_inner);
    if helper.is_none() {
        match warm_up() {
            Ok(socket) => *helper = Some(socket),
            Err(_) => thread::sleep(Duration::from_millis(20)),
        }
    }
}

fn warm_up() -> io::Result<OwnedFd> {
    let socket = call::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_NONBLOCK, libc::IPPROTO_UDP)?;
    let fd = socket.as_fd();
    call::bind(fd, &AddressBytes::new(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), false))?;
    let own = address::read(&call::local_address(fd)?).ok_or(io::ErrorKind::AddrNotAvailable)?;
    call::connect(fd, &AddressBytes::new(own, false))?;
    call::set_option(fd, libc::SOL_SOCKET, SO_TIMESTAMPING_NEW, &(RX_SOFTWARE | SOFTWARE).to_ne_bytes())?;
    let until = clock::now() + Span::from_milliseconds(50);
    while clock::now() < until {
        if probe(&socket)? {
            return Ok(socket);
        }
        thread::sleep(Duration::from_micros(200));
    }
    Ok(socket)
}

/// Sends one byte to itself; returns whether it came back stamped.
fn probe(socket: &OwnedFd) -> io::Result<bool> {
    super::socket::messages::send_plain(socket.as_fd(), &[0], &AddressBytes::NONE)?;
    let mut buffer = [0; 1];
    let mut incoming = [Incoming::new(&mut buffer)];
    let mut messages = ReceiveMessages::<1>::new();
    let count = messages.receive(socket.as_fd(), &mut incoming)?;
    Ok(count == 1 && control::received(messages.control(0)).stamps.software.is_some())
}
