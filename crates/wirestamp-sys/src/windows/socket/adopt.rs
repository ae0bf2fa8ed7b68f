//! Takes over sockets that somebody else made, and gives sockets back.

use super::{Socket, lock, options};
use crate::native::call;
use crate::native::error::system_error;
use crate::native::wire::socket_address::canonical;
use socket2::{SockRef, Type};
use std::io;
use std::os::windows::io::{AsRawSocket, AsSocket, OwnedSocket};
use windows_sys::Win32::Networking::WinSock as ws;
use wirestamp_core::backend::DatagramSocket;
use wirestamp_core::configuration::Timestamping;
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::timestamp::TransmitTracker;
use wirestamp_core::{Error, ErrorKind, Result};

const ADOPT: &str = "adopt a socket";

impl Socket {
    /// Takes over a UDP socket that is bound, connected or not. Its timestamping is then off, and it does
    /// not block.
    ///
    /// # Errors
    /// `InvalidInput` if it is no UDP socket, or not bound. The socket is then closed.
    pub fn adopt(socket: OwnedSocket) -> Result<(Self, TransmitTracker)> {
        let shown = format!("socket {}", socket.as_raw_socket());
        let failed = |error: io::Error| system_error(ADOPT, &shown, &error);
        let refused = |what: &str, remedy: &'static str| {
            Error::new(ErrorKind::InvalidInput, ADOPT, &shown, what.to_owned()).with_remedy(remedy)
        };
        let udp = "adopt a UDP socket: timestamps are those of UDP datagrams";
        let kind = SockRef::from(&socket).r#type().map_err(failed)?;
        if kind != Type::DGRAM {
            let what = match kind {
                Type::STREAM => "it is a stream socket (TCP or Unix-domain)",
                Type::RAW => "it is a raw socket",
                _ => "it is not a datagram socket",
            };
            return Err(refused(what, udp));
        }
        let local = match SockRef::from(&socket).local_addr() {
            Err(error) if error.raw_os_error() == Some(ws::WSAEINVAL) => {
                return Err(refused("it is not bound", "bind it to an address first"));
            }
            local => local.map_err(failed)?,
        };
        let Some(local) = local.as_socket() else {
            return Err(refused("it has no Internet address", udp));
        };
        let name = format!("the adopted socket bound to {}", canonical(local));
        let peer = SockRef::from(&socket).peer_addr().ok();
        let peer = peer.and_then(|peer| peer.as_socket()).map(canonical);
        options::report_refusals(socket.as_socket(), peer.is_some());
        let adopted = Self::around(socket, local, None, name).map_err(failed)?;
        lock(&adopted.timestamping).peer = peer;
        let mut tracker = adopted.tracker();
        // Refused where the system has no timestamps: then they are off.
        let _ = adopted.configure(&Timestamping::OFF, &mut tracker);
        Ok((adopted, tracker))
    }

    /// Gives the socket up: timestamping is off, and it does not block.
    pub fn into_handle(self) -> OwnedSocket {
        // Each is refused only where there is nothing to switch off.
        let _ = self.configure(&Timestamping::OFF, &mut self.tracker());
        let _ = call::select_event(self.as_socket(), None);
        self.socket
    }

    /// The interface that its packets leave by, where there can be only one.
    pub fn interface(&self) -> Option<InterfaceIndex> {
        self.leaves_by
    }

    /// Windows has one network.
    pub fn is_local(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, UdpSocket};
    use wirestamp_core::backend::{Incoming, Outgoing};

    #[test]
    fn a_socket_of_std_is_adopted_and_given_back() {
        let theirs = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let to = theirs.local_addr().expect("an address");
        let (socket, _) = Socket::adopt(theirs.into()).expect("adopted");
        assert_eq!(socket.local_address().expect("an address"), to);
        let outgoing = Outgoing::new(b"to itself").to(to);
        assert_eq!(socket.send(&[outgoing]).expect("sent"), 1);
        let mut buffer = [0; 16];
        let mut incoming = [Incoming::new(&mut buffer)];
        while socket.receive(&mut incoming).expect("received") == 0 {}
        assert_eq!(incoming[0].payload(), b"to itself");

        let theirs = UdpSocket::from(socket.into_handle());
        theirs.set_nonblocking(false).expect("it may block again");
        theirs.send_to(b"again", to).expect("sent");
        assert_eq!(theirs.recv(&mut [0; 16]).expect("received"), 5);
    }

    #[test]
    fn what_is_no_bound_udp_socket_is_refused_by_name() {
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a TCP socket");
        let error = Socket::adopt(tcp.into()).expect_err("no UDP socket");
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("a stream socket"), "{error}");
        let unbound = socket2::Socket::new(socket2::Domain::IPV4, Type::DGRAM, None);
        let unbound = unbound.expect("a socket");
        let error = Socket::adopt(unbound.into()).expect_err("not bound");
        assert!(error.to_string().contains("it is not bound"), "{error}");
    }
}
