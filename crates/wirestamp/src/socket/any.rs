//! Waiting for sockets of several transports at once.

use super::{Socket, UdpSocket};
use crate::deadline::Deadline;
use crate::ethernet::EthernetSocket;
use crate::host::Host;
use crate::inner::Inner;
use std::sync::Arc;
use wirestamp_core::backend::{self, Backend};
use wirestamp_core::{Error, ErrorKind, Result};

/// A [`UdpSocket`] or an [`EthernetSocket`], for programs that wait for both kinds in one thread.
///
/// ```
/// # #[cfg(feature = "sim")]
/// # fn main() -> wirestamp::Result<()> {
/// use std::time::Duration;
/// use wirestamp::Interface;
/// use wirestamp::ethernet::Ethertype;
/// use wirestamp::socket::AnySocket;
///
/// let nic = Interface::find("sim0")?;
/// let frames = nic.open_ethernet(Ethertype::PTP)?;
/// let datagrams = nic.bind(([0, 0, 0, 0], 319).into())?;
/// let mut ready = Vec::new();
/// let sockets = [AnySocket::from(&frames), AnySocket::from(&datagrams)];
/// AnySocket::wait_ready(&sockets, Duration::from_secs(1), &mut ready)?;
/// assert!(ready.is_empty(), "nothing came");
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "sim"))]
/// # fn main() {}
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum AnySocket<'a> {
    /// A UDP socket.
    Udp(&'a UdpSocket),
    /// A socket for Ethernet frames.
    Ethernet(&'a EthernetSocket),
}

impl<'a> From<&'a UdpSocket> for AnySocket<'a> {
    fn from(socket: &'a UdpSocket) -> Self {
        Self::Udp(socket)
    }
}

impl<'a> From<&'a EthernetSocket> for AnySocket<'a> {
    fn from(socket: &'a EthernetSocket) -> Self {
        Self::Ethernet(socket)
    }
}

impl AnySocket<'_> {
    /// Waits like [`UdpSocket::wait_any`].
    ///
    /// # Errors
    /// As [`UdpSocket::wait_any`].
    pub fn wait_any(sockets: &[Self], deadline: impl Into<Deadline>) -> Result<()> {
        Self::wait_ready(sockets, deadline, &mut Vec::new())
    }

    /// Waits like [`UdpSocket::wait_ready`].
    ///
    /// # Errors
    /// As [`UdpSocket::wait_any`].
    pub fn wait_ready(
        sockets: &[Self],
        deadline: impl Into<Deadline>,
        ready: &mut Vec<usize>,
    ) -> Result<()> {
        ready.clear();
        let Some(first) = sockets.first() else {
            return Ok(());
        };
        Self::check_same_system(sockets)?;
        let inner: Vec<_> = sockets.iter().map(Self::inner).collect();
        let host = first.host();
        let until = deadline.into().resolve(|| host.now());
        host.wait_any(&inner, until, ready)?;
        ready.sort_unstable();
        Ok(())
    }

    /// Returns an error unless all sockets are of the same system, whose time they share.
    pub(crate) fn check_same_system(sockets: &[Self]) -> Result<()> {
        let Some(first) = sockets.first() else {
            return Ok(());
        };
        if sockets
            .iter()
            .all(|socket| Arc::ptr_eq(socket.host(), first.host()))
        {
            return Ok(());
        }
        let shown = match first {
            Self::Udp(socket) => socket.shown(),
            Self::Ethernet(socket) => socket.shown(),
        };
        let cause = "the sockets are of different systems, whose times pass apart";
        let operation = "wait for several sockets";
        Err(Error::new(ErrorKind::InvalidInput, operation, shown, cause)
            .with_remedy("wait for the sockets of each simulation by themselves"))
    }

    fn host(&self) -> &Arc<Host> {
        let (Self::Udp(Socket { host, .. }) | Self::Ethernet(Socket { host, .. })) = self;
        host
    }

    fn inner(&self) -> backend::AnySocket<'_, Inner> {
        match self {
            Self::Udp(socket) => backend::AnySocket::Udp(&socket.socket),
            Self::Ethernet(socket) => backend::AnySocket::Ethernet(&socket.socket),
        }
    }
}
