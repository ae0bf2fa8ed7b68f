//! A socket of a port, of either transport, and what arrives at it.

use std::net::IpAddr;
use wirestamp::ethernet::{EthernetSocket, FrameDestination};
use wirestamp::socket::{AnySocket, Socket, Supported};
use wirestamp::time::{Adjusted, RealTimeClock, UtcCrossTimestamp};
use wirestamp::{Incoming, MonotonicTime, Received, Result, Timestamps, TransmitRecord, UdpSocket};

/// The size of a receive buffer: longer messages are truncated, and therefore rejected.
pub(crate) const ROOM: usize = 1_500;
/// The number of messages that are received at a time.
pub(crate) const BATCH: usize = 8;

/// A socket of a port. Boxed, because the sizes are far apart where there are no Ethernet sockets.
#[derive(Debug)]
pub(crate) enum PortSocket {
    Udp(Box<UdpSocket>),
    Ethernet(Box<EthernetSocket>),
}

/// A received message; its octets are in the buffer of the same number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrived {
    pub(crate) length: usize,
    /// The sender's address; `None` over Ethernet.
    pub(crate) from: Option<IpAddr>,
    pub(crate) truncated: bool,
    /// Whether a frame has the tag of a VLAN.
    pub(crate) of_vlan: bool,
    pub(crate) timestamps: Timestamps,
}

impl Arrived {
    pub(crate) const EMPTY: Self = Self {
        length: 0,
        from: None,
        truncated: false,
        of_vlan: false,
        timestamps: Timestamps::NONE,
    };

    fn new<T: Supported>(received: &Received<T>, from: Option<IpAddr>) -> Self {
        Self {
            length: received.length.min(ROOM),
            from,
            truncated: received.truncated,
            of_vlan: false,
            timestamps: received.timestamps,
        }
    }
}

impl From<UdpSocket> for PortSocket {
    fn from(socket: UdpSocket) -> Self {
        Self::Udp(Box::new(socket))
    }
}

impl From<EthernetSocket> for PortSocket {
    fn from(socket: EthernetSocket) -> Self {
        Self::Ethernet(Box::new(socket))
    }
}

macro_rules! either {
    ($this:ident, $socket:ident => $call:expr) => {
        match $this {
            Self::Udp($socket) => $call,
            Self::Ethernet($socket) => $call,
        }
    };
}

impl PortSocket {
    pub(crate) fn now(&self) -> MonotonicTime {
        either!(self, socket => socket.now())
    }

    pub(crate) fn utc_cross_timestamp(&self) -> UtcCrossTimestamp {
        either!(self, socket => socket.utc_cross_timestamp())
    }

    pub(crate) fn real_time_clock(&self) -> RealTimeClock {
        either!(self, socket => socket.real_time_clock())
    }

    /// Reads how far the system clock was adjusted.
    pub(crate) fn adjusted(&self) -> Adjusted {
        either!(self, socket => socket.adjusted())
    }

    /// Sleeps until `until`, in a simulation in virtual time.
    pub(crate) fn sleep_until(&self, until: MonotonicTime) {
        either!(self, socket => socket.sleep_until(until));
    }

    pub(crate) fn transmit_timestamps(&self, records: &mut [TransmitRecord]) -> Result<usize> {
        either!(self, socket => socket.transmit_timestamps(records))
    }

    /// Returns the number of messages that the system has dropped for lack of room; over UDP also of
    /// those that a filter has dropped.
    pub(super) fn dropped(&self) -> u64 {
        either!(self, socket => socket.receive_counters().dropped)
    }

    /// Returns this socket for a wait.
    pub(crate) fn any(&self) -> AnySocket<'_> {
        either!(self, socket => (&**socket).into())
    }

    /// Receives messages into the buffers of `ROOM` octets that `room` consists of, without waiting.
    /// Returns their number.
    pub(crate) fn receive(&self, room: &mut [u8], into: &mut [Arrived; BATCH]) -> Result<usize> {
        match self {
            Self::Udp(socket) => receive(socket, room, into, |received| {
                let from = received.source.map(|source| source.ip().to_canonical());
                Arrived::new(received, from)
            }),
            Self::Ethernet(socket) => receive(socket, room, into, |received| Arrived {
                of_vlan: received.destination.is_some_and(is_of_vlan),
                ..Arrived::new(received, None)
            }),
        }
    }
}

/// Whether a frame is of a VLAN: number 0 only gives a priority.
fn is_of_vlan(destination: FrameDestination) -> bool {
    destination.vlan.is_some_and(|tag| tag.vlan() != 0)
}

fn receive<T: Supported>(
    socket: &Socket<T>,
    room: &mut [u8],
    into: &mut [Arrived; BATCH],
    arrived: impl Fn(&Received<T>) -> Arrived,
) -> Result<usize> {
    let mut buffers = room.chunks_exact_mut(ROOM);
    let mut batch: [Incoming<'_, T>; BATCH] =
        std::array::from_fn(|_| Incoming::new(buffers.next().unwrap_or_default()));
    let count = socket.try_receive_batch(&mut batch)?;
    for (into, incoming) in into.iter_mut().zip(&batch[..count]) {
        *into = arrived(&incoming.received);
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirestamp::ethernet::{MacAddress, VlanTag};

    #[test]
    fn a_priority_alone_is_no_vlan() {
        let is_of_vlan = |tag| is_of_vlan(FrameDestination::new(MacAddress::PTP_PRIMARY, tag));
        assert!(!is_of_vlan(None));
        assert!(!is_of_vlan(VlanTag::new(0, 7)));
        assert!(is_of_vlan(VlanTag::new(10, 0)));
    }
}
