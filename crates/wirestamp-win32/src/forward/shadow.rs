//! What is known of each of the program's sockets, and its shadow. Calls no system.

use crate::abi::winsock::SocketHandle;
use crate::winsock::socket::Socket;
use crate::winsock::startup;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A socket of the program's.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The socket that does the work, from when it is bound to a simulated address.
    pub(super) shadow: Option<SocketHandle>,
    /// Options that were set before: level, name, value.
    pub(super) options: Vec<(i32, i32, Vec<u8>)>,
    /// `SIO_UDP_CONNRESET` was switched to this before.
    pub(super) connection_resets: Option<u32>,
    /// The event that is set when something can be received, as a number.
    pub(super) event: usize,
    /// A real socket was told to timestamp what it sends; nothing below it does.
    pub(super) timestamps_sent: bool,
}

static KNOWN: Mutex<BTreeMap<SocketHandle, Known>> = Mutex::new(BTreeMap::new());

pub(super) fn all() -> MutexGuard<'static, BTreeMap<SocketHandle, Known>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of a socket's shadow, if it has one.
pub(super) fn of(socket: SocketHandle) -> Option<SocketHandle> {
    all().get(&socket).and_then(|known| known.shadow)
}

/// A socket's shadow itself.
pub(super) fn find(socket: SocketHandle) -> Option<Arc<Socket>> {
    startup::find(of(socket)?).ok()
}
