//! Adoption of existing sockets, their return to the standard library, and access to their
//! descriptors.

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
    /// Adopts an existing UDP socket: a [`std::net::UdpSocket`], a `socket2::Socket`, or any owned
    /// descriptor (Unix: `OwnedFd`; Windows: `OwnedSocket`). For a tokio socket see
    /// `AsyncUdpSocket::adopt`.
    ///
    /// It may be bound or not, connected or not, IPv4, IPv6 or both, blocking or not, and may share
    /// its port. Its options and its received datagrams are kept, with these exceptions:
    ///
    /// * Timestamping is off until [`configure`](Self::configure). `SO_TIMESTAMP` and
    ///   `SO_TIMESTAMPNS` are off permanently, because with them Linux makes timestamps up.
    /// * `UDP_GRO` is off, so that datagrams are received one by one.
    /// * Transmit timestamps in its error queue are discarded: they belong to datagrams that were
    ///   sent before.
    ///
    /// If timestamping was on, timestamps of earlier datagrams can still arrive, with numbers that
    /// collide with new IDs. On Linux, datagrams of the first four seconds therefore get no
    /// transmit timestamp, and their IDs resolve to `Missing(Reset)`. A socket that never had
    /// timestamping on gets timestamps at once. Not detected: an owner that sent timestamped
    /// datagrams and switched timestamping off just before. On Windows use other IDs than the
    /// previous owner: whether the system discards its timestamps is not documented.
    ///
    /// Other descriptors of the same socket (`try_clone`) share its options and its error queue: do
    /// not set timestamping options or read the error queue through them.
    ///
    /// On Linux, a socket of another network namespace than the calling thread's sends and receives
    /// with timestamps, but has no interface indexes: received datagrams report `None`, multicast
    /// groups cannot be joined, and hardware timestamps cannot be converted. Adopt it on a thread
    /// that has entered its namespace. Before Linux 5.14 this also applies to an unbound socket of
    /// the thread's own namespace.
    ///
    /// Software timestamps of datagrams that were received before the adoption are converted by the
    /// clocks' current relation: if the real-time clock was stepped since, they are wrong by the
    /// step.
    ///
    /// # Errors
    /// `InvalidInput` for anything but a UDP socket (the message names its type), on Windows also
    /// for an unbound one; `Busy` if the process has too many descriptors; `NotSupported` on
    /// systems without a backend. On an error the socket is closed: adopt a `try_clone` to keep it.
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

    /// Converts the socket to one of the standard library. Timestamping is off, and the other
    /// options that wirestamp changed are restored: packet information, reports of ICMP errors and
    /// drops, `UDP_GRO`, blocking mode. These changes remain: the receive buffer is larger if
    /// transmit timestamps required it; `SO_TIMESTAMPING` and `SO_TIMESTAMP` are off even if a
    /// previous owner had them on; a socket from [`bind`](Self::bind), and on Windows every socket,
    /// is non-blocking; a socket from [`bind`](Self::bind) receives multicast only of groups that
    /// it joined.
    ///
    /// Fetch transmit timestamps first: those not fetched are discarded, and later ones stay in the
    /// error queue. With [`Engine::Ring`](crate::socket::Engine::Ring), first receive until nothing
    /// is left: datagrams that io_uring has already taken are lost.
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
    /// Returns the system's socket.
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
    /// Returns the socket's descriptor, for socket options that wirestamp does not cover; `None`
    /// for a simulated socket. Do not set timestamping options through it: the change is not
    /// detected.
    ///
    /// Available on Linux only.
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

/// Lends the descriptor, for socket options that wirestamp does not cover:
/// `socket2::SockRef::from(&socket)`. Do not set timestamping options through it: the change is not
/// detected. Panics for a simulated socket.
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

/// Lends the socket, for socket options that wirestamp does not cover:
/// `socket2::SockRef::from(&socket)`. Do not set timestamping options through it: the change is not
/// detected. Panics for a simulated socket.
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
