//! Completion ports: the system's, which knows nothing of the sockets here. None is associated with one.

/// What a completion port is given when an operation is complete.
#[derive(Debug, Clone, Copy)]
#[allow(dead_code, reason = "there are no ports to give it to")]
pub(crate) struct Packet {
    pub(crate) key: usize,
    /// The address of the caller's `OVERLAPPED`.
    pub(crate) overlapped: usize,
    /// NTSTATUS.
    pub(crate) status: usize,
    pub(crate) bytes: u32,
}

/// There is none.
#[derive(Debug)]
pub(crate) enum Association {}

impl Association {
    pub(crate) fn key(&self) -> usize {
        match *self {}
    }

    pub(crate) fn post(&self, _: Packet) {
        match *self {}
    }
}
