//! The sockets of a system by their number, and whether one of them may have become ready.

use crate::socket::{SocketId, SocketState};
use std::collections::BTreeMap;
use std::ops::Deref;

/// Read like a map; what changes goes through here, so that who waits for thousands of sockets looks at them only after a change.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    by_number: BTreeMap<SocketId, SocketState>,
    changes: u64,
}

impl Sockets {
    /// Counts whatever may have made a socket ready.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Something else changed that sockets depend on, such as a NIC.
    pub(crate) fn touch(&mut self) {
        self.changes += 1;
    }

    pub(crate) fn get_mut(&mut self, id: &SocketId) -> Option<&mut SocketState> {
        self.changes += 1;
        self.by_number.get_mut(id)
    }

    pub(crate) fn insert(&mut self, id: SocketId, socket: SocketState) {
        self.changes += 1;
        self.by_number.insert(id, socket);
    }

    pub(crate) fn remove(&mut self, id: &SocketId) {
        self.changes += 1;
        self.by_number.remove(id);
    }
}

impl Deref for Sockets {
    type Target = BTreeMap<SocketId, SocketState>;

    fn deref(&self) -> &Self::Target {
        &self.by_number
    }
}
