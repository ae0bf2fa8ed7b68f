//! The exported functions for the network events of a socket: `WSAEventSelect` and `WSAEnumNetworkEvents`.

use crate::abi::codes::{WSAEFAULT, WSAEINVAL, WSAENOTSOCK};
use crate::abi::winsock::{Handle, SocketHandle};
use crate::memory::{self, Plain};
use crate::system::object;
use crate::winsock::messages::told;
use crate::winsock::startup;

/// `FD_MAX_EVENTS` bits.
const EVENTS: i32 = (1 << 10) - 1;

/// `WSANETWORKEVENTS`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct NetworkEvents {
    events: i32,
    errors: [i32; 10],
}
// SAFETY: integers.
unsafe impl Plain for NetworkEvents {}

export! {
    /// Has an event set when a datagram comes, and makes the socket non-blocking; events 0 undoes it.
    ///
    /// # Safety
    /// None needed.
    fn WSAEventSelect(socket: SocketHandle, event: Handle, events: i32) -> i32 {
        told(startup::find(socket).and_then(|socket| {
            socket.check_datagram()?;
            let needs_one = events != 0; // otherwise the event is not looked at
            if events & !EVENTS != 0 || needs_one && !object::is_event(event) {
                return Err(WSAEINVAL); // it would be waited for in vain
            }
            socket.select_events(event, events)
        }))
    }

    /// Gives the events that came since it was last asked, and resets `event` if one is given.
    ///
    /// # Safety
    /// `events` is null or writable.
    fn WSAEnumNetworkEvents(socket: SocketHandle, event: Handle, events: *mut NetworkEvents) -> i32 {
        told(startup::find(socket).and_then(|socket| {
            if events.is_null() {
                return Err(WSAEFAULT);
            }
            if !event.is_null() && !object::is_event(event) {
                return Err(WSAENOTSOCK); // as Windows calls a wrong handle
            }
            let found = NetworkEvents { events: socket.selection.take(event), ..NetworkEvents::default() };
            // SAFETY: the caller's promise; not null.
            unsafe { memory::write(events, found) }.ok_or(WSAEFAULT)
        }))
    }
}
