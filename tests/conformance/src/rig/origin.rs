//! Sockets that somebody else made, for the library to adopt.

use crate::Outcome;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{self, SocketAddr};
#[cfg(unix)]
use std::os::fd::OwnedFd as Handle;
#[cfg(windows)]
use std::os::windows::io::OwnedSocket as Handle;
use tokio::runtime::{Builder, Runtime};
use wirestamp::UdpSocket;
use wirestamp::tokio::AsyncUdpSocket;

/// Who made a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// The standard library: its calls wait.
    Std,
    /// `socket2`, so that other sockets can have the same port.
    Socket2,
    /// tokio, whose runtime had it registered.
    Tokio,
    /// Nobody knows: it is a descriptor.
    Descriptor,
}

impl Origin {
    /// What tests on it are called.
    pub const fn rig(self) -> &'static str {
        match self {
            Self::Std => "adopted-std",
            Self::Socket2 => "adopted-socket2",
            Self::Tokio => "adopted-tokio",
            Self::Descriptor => "adopted-descriptor",
        }
    }

    /// Makes a socket, and has it adopted.
    pub(crate) fn adopted(self, local: SocketAddr) -> Outcome<UdpSocket> {
        let made = |error: io::Error| format!("no {} socket: {error}", self.rig());
        Ok(match self {
            Self::Std => UdpSocket::try_from(net::UdpSocket::bind(local).map_err(made)?)?,
            Self::Socket2 => UdpSocket::adopt(sharing(local).map_err(made)?)?,
            Self::Tokio => {
                let runtime = runtime().map_err(made)?;
                runtime.block_on(async {
                    let socket = tokio::net::UdpSocket::bind(local).await.map_err(made)?;
                    Outcome::Ok(AsyncUdpSocket::adopt(socket)?.into_inner())
                })?
            }
            Self::Descriptor => {
                let socket = net::UdpSocket::bind(local).map_err(made)?;
                socket.set_nonblocking(true).map_err(made)?;
                UdpSocket::try_from(Handle::from(socket))?
            }
        })
    }
}

/// A socket whose port others can have too.
pub(crate) fn sharing(local: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(local), Type::DGRAM, Some(Protocol::UDP))?;
    #[cfg(unix)]
    socket.set_reuse_port(true)?;
    socket.bind(&local.into())?;
    Ok(socket)
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}
