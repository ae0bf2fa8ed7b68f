//! Sockets that the program has already: adopting them, giving them back, and lending them out.

#[cfg(all(any(target_os = "linux", windows), not(wirestamp_unsupported)))]
use super::Socket;
use super::UdpSocket;
use crate::host::Host;
use crate::inner;
#[cfg(all(any(target_os = "linux", windows), not(wirestamp_unsupported)))]
use crate::inner::Supported;
#[cfg(unix)]
use std::os::fd::OwnedFd as Handle;
#[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
#[cfg(windows)]
use std::os::windows::io::OwnedSocket as Handle;
#[cfg(all(windows, not(wirestamp_unsupported)))]
use std::os::windows::io::{AsRawSocket, AsSocket, BorrowedSocket, RawSocket};
#[cfg(feature = "sim")]
use wirestamp_core::ErrorKind;
use wirestamp_core::backend::{Backend, DatagramSocket};
use wirestamp_core::{Error, Result};

impl UdpSocket {
    /// Adopts a UDP socket that exists: a [`std::net::UdpSocket`], a `socket2::Socket`, or any owned
    /// descriptor (Unix: `OwnedFd`; Windows: `OwnedSocket`). For one of tokio's, see
    /// `AsyncUdpSocket::adopt`.
    ///
    /// It may be bound or not, connected or not, IPv4, IPv6 or both, blocking or not, and share its port.
    /// Options that its owner has set stay, and so does what waits to be received, except that from now on:
    ///
    /// * Its timestamping is off until [`configure`](Self::configure), and `SO_TIMESTAMP` and
    ///   `SO_TIMESTAMPNS` are off for good: with them Linux makes timestamps up.
    /// * `UDP_GRO` is off, so that each datagram received is one datagram.
    /// * Transmit timestamps that wait in its error queue are discarded: they are of datagrams that were
    ///   sent before.
    ///
    /// If timestamping was on, timestamps of the owner's datagrams can come later still, under
    /// numbers that are ids of yours as well. For the first four seconds datagrams are therefore sent without a
    /// transmit timestamp, and their ids end as lost by reset. A socket that never had timestamping on
    /// has timestamps at once. (Linux. An owner that sends timestamped datagrams and switches timestamping off
    /// just before is not noticed. On Windows use other ids than the owner did: whether the system forgets its
    /// timestamps is not documented.)
    ///
    /// Other descriptors of the same socket (`try_clone`) share all of its options and its error queue: set no
    /// timestamping option through them, and don't read the error queue there.
    ///
    /// A socket of another network namespace than the calling thread's sends and receives with
    /// timestamps, but knows no interface numbers: those of received datagrams are `None`, multicast groups
    /// can't be joined, and hardware timestamps can't be converted. Adopt it on a thread that has
    /// entered its namespace instead (Linux; before 5.14 a socket that is not bound counts as of another).
    ///
    /// Software timestamps of datagrams that waited already are placed by what the clocks show now: if UTC was
    /// stepped while they waited, they are wrong by the step.
    ///
    /// # Errors
    /// `InvalidInput` for anything but a UDP socket: the message says what it is (on Windows also for a socket
    /// that is not bound). `Busy` if the process has too many descriptors. `NotSupported` where wirestamp has no
    /// backend. The socket is then closed: adopt a `try_clone` to keep it.
    ///
    /// ```
    /// use wirestamp::{Timestamping, UdpSocket};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let theirs = std::net::UdpSocket::bind("127.0.0.1:0")?;
    /// # #[cfg(target_os = "linux")] {
    /// let ours = UdpSocket::adopt(theirs)?;
    /// ours.configure(Timestamping::new().receive())?;
    /// let theirs = ours.into_std()?;
    /// # let _ = theirs;
    /// # }
    /// # Ok(())
    /// # }
    /// ```
    pub fn adopt(socket: impl Into<Handle>) -> Result<Self> {
        let (socket, tracker) = wirestamp_sys::Socket::adopt(socket.into())?;
        let host = Host::native();
        let leaves_by = match socket.interface() {
            None if socket.is_local() && socket.local_address()?.ip().is_loopback() => {
                host.loopback()?
            }
            other => other,
        };
        Ok(Self::around(
            host,
            inner::Socket::Native(socket),
            tracker,
            leaves_by,
        ))
    }

    /// Gives the socket back to the standard library. Timestamping is off, and the options that wirestamp
    /// changes for itself are as they were before: packet information, reports of ICMP errors and drops,
    /// `UDP_GRO`, whether calls wait. What stays: the larger receive buffer that transmit timestamps
    /// asked for; `SO_TIMESTAMPING` and `SO_TIMESTAMP` are off even if a former owner had them on; a socket that
    /// [`bind`](Self::bind) made does not block, and is in no multicast group that it did not
    /// join; on Windows no socket blocks.
    ///
    /// Fetch transmit timestamps before: those that wait are discarded, and those that come later
    /// stay in the error queue. With [`Engine::Ring`](crate::socket::Engine::Ring) receive until nothing waits: datagrams that
    /// the ring has taken from the socket are lost.
    ///
    /// # Errors
    /// `NotSupported` for a simulated socket.
    pub fn into_std(self) -> Result<std::net::UdpSocket> {
        #[cfg(feature = "sim")]
        let shown = self.shown();
        match self.socket {
            inner::Socket::Native(socket) => Ok(socket.into_handle().into()),
            #[cfg(feature = "sim")]
            inner::Socket::Simulated(_) => {
                let cause = "it is simulated, and no socket of this system";
                Err(
                    Error::new(ErrorKind::NotSupported, "give a socket back", shown, cause)
                        .with_remedy("keep it, and send and receive through it"),
                )
            }
        }
    }
}

#[cfg(all(any(target_os = "linux", windows), not(wirestamp_unsupported)))]
impl<T: Supported> Socket<T> {
    /// The system's socket.
    #[track_caller]
    fn of_the_system(&self) -> &T::Native {
        match self.socket.native() {
            Some(socket) => socket,
            None => panic!("{} is simulated and has no descriptor", self.shown()),
        }
    }
}

#[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
impl<T: Supported> Socket<T> {
    /// Returns the socket's descriptor, for options of the system's that wirestamp does not know. `None` for a
    /// simulated socket. Timestamping options that are set behind its back are not noticed.
    ///
    /// Populated on: Linux.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.socket.native().map(AsFd::as_fd)
    }
}

/// Adopts it: see [`UdpSocket::adopt`].
impl TryFrom<std::net::UdpSocket> for UdpSocket {
    type Error = Error;

    fn try_from(socket: std::net::UdpSocket) -> Result<Self> {
        Self::adopt(socket)
    }
}

/// Adopts it: see [`UdpSocket::adopt`].
impl TryFrom<Handle> for UdpSocket {
    type Error = Error;

    fn try_from(socket: Handle) -> Result<Self> {
        Self::adopt(socket)
    }
}

/// Lends the descriptor out, for options that wirestamp does not know: `socket2::SockRef::from(&socket)`.
/// Timestamping options that are set behind its back are not noticed. Panics for a simulated socket.
#[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
impl<T: Supported> AsFd for Socket<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.of_the_system().as_fd()
    }
}

/// Panics for a simulated socket.
#[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
impl<T: Supported> AsRawFd for Socket<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

/// Lends the socket out, for options that wirestamp does not know: `socket2::SockRef::from(&socket)`.
/// Timestamping options that are set behind its back are not noticed. Panics for a simulated socket.
#[cfg(all(windows, not(wirestamp_unsupported)))]
impl<T: Supported<Native: AsSocket>> AsSocket for Socket<T> {
    fn as_socket(&self) -> BorrowedSocket<'_> {
        self.of_the_system().as_socket()
    }
}

/// Panics for a simulated socket.
#[cfg(all(windows, not(wirestamp_unsupported)))]
impl<T: Supported<Native: AsSocket>> AsRawSocket for Socket<T> {
    fn as_raw_socket(&self) -> RawSocket {
        self.as_socket().as_raw_socket()
    }
}
