//! Reports of the packets that pass a reflector's sockets, for programs that record them.

use crate::missing::Missing;
use crate::stamp::HostTimestamp;
use std::collections::HashMap;
use std::net::SocketAddr;
use wirestamp::TransmitId;

/// A request that a reflector answers (or would answer if it had a timestamp), or a reply, with its
/// addresses and its timestamp.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Seen {
    /// The reflector's address and port. The address is unspecified for a request to a multicast
    /// address at a socket that is bound to all addresses.
    pub local: SocketAddr,
    /// The address and port of the other end.
    pub remote: SocketAddr,
    /// The packet's sequence number; that of a reply is the reflector's own.
    pub sequence: u32,
    /// The direction of the packet, and its timestamp.
    pub passed: Passed,
}

/// The direction of a packet, and its timestamp.
#[derive(Debug, Clone, Copy)]
pub enum Passed {
    /// The packet was received; `None` if it has no timestamp.
    Received(Option<HostTimestamp>),
    /// The packet was sent; an error if it has no timestamp.
    Sent(Result<HostTimestamp, Missing>),
}

/// Replies whose transmit timestamps are awaited. Each ID resolves once, so there are never more
/// than the sockets have unresolved IDs.
pub(super) type Awaited = HashMap<TransmitId, Seen>;

/// The callback for reports, and the replies that wait for their report.
pub(super) struct Observer<'a, 'b> {
    pub(super) tell: Option<&'a mut dyn FnMut(&Seen)>,
    pub(super) awaited: &'b mut Awaited,
}

impl Observer<'_, '_> {
    pub(super) fn is_there(&self) -> bool {
        self.tell.is_some()
    }

    pub(super) fn tell(&mut self, seen: &Seen) {
        if let Some(tell) = &mut self.tell {
            tell(seen);
        }
    }

    /// Notes a reply, which is reported once its transmit timestamp has come.
    pub(super) fn awaits(
        &mut self,
        id: TransmitId,
        [local, remote]: [SocketAddr; 2],
        reply: &[u8],
    ) {
        let (true, Some(sequence)) = (self.is_there(), sequence(reply)) else {
            return;
        };
        let passed = Passed::Sent(Err(Missing::Awaited));
        let seen = Seen {
            local,
            remote,
            sequence,
            passed,
        };
        self.awaited.insert(id, seen);
    }

    pub(super) fn ended(&mut self, id: TransmitId, sent: Result<HostTimestamp, Missing>) {
        if let Some(seen) = self.awaited.remove(&id) {
            let passed = Passed::Sent(sent);
            self.tell(&Seen { passed, ..seen });
        }
    }
}

/// The sequence number, with which packets of both modes and directions begin.
pub(super) fn sequence(packet: &[u8]) -> Option<u32> {
    packet.first_chunk().copied().map(u32::from_be_bytes)
}
