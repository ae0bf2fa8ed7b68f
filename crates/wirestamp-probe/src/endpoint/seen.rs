//! Reports the packets that pass a reflector's sockets, for programs that keep a record.

use crate::missing::Missing;
use crate::stamp::HostTimestamp;
use std::collections::HashMap;
use std::net::SocketAddr;
use wirestamp::TransmitId;

/// A request that a reflector answers or would answer if it had a timestamp, or a reply: who it was exchanged with, and when it passed.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Seen {
    /// The reflector's address and port. The address is unspecified for a request to a multicast address at a socket that is bound to all.
    pub local: SocketAddr,
    /// The other end's.
    pub remote: SocketAddr,
    /// The sequence number that the packet carries: a reply's is the reflector's own.
    pub sequence: u32,
    /// Which way it passed, and when.
    pub passed: Passed,
}

/// Which way a packet passed, and its timestamp.
#[derive(Debug, Clone, Copy)]
pub enum Passed {
    /// It came, and `None`: there is no timestamp.
    Received(Option<HostTimestamp>),
    /// It was sent, or why there is no timestamp.
    Sent(Result<HostTimestamp, Missing>),
}

/// Replies whose transmit timestamps are awaited. Each id ends once, so that there are no more of them than the sockets await.
pub(super) type Awaited = HashMap<TransmitId, Seen>;

/// The function that gets the reports, and the replies whose reports wait.
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

/// The sequence number that a packet begins with, in both modes and directions.
pub(super) fn sequence(packet: &[u8]) -> Option<u32> {
    packet.first_chunk().copied().map(u32::from_be_bytes)
}
