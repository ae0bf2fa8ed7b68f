//! What is known of each of the program's sockets, and its shadow. Calls no system.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use wirestamp_win32::abi::winsock::SocketHandle;

/// A socket of the program's.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// The socket that does the work, from when it is bound to a simulated address.
    pub(crate) shadow: Option<SocketHandle>,
    /// Options that were set before: level, name, value.
    pub(crate) options: Vec<(i32, i32, Vec<u8>)>,
    /// `SIO_UDP_CONNRESET` was switched to this before.
    pub(crate) connection_resets: Option<u32>,
    /// What `WSAEventSelect` was given before: the event, as a number, and which events set it.
    pub(crate) selected: (usize, i32),
    /// The program wants its calls to return at once.
    pub(crate) nonblocking: bool,
    /// A real socket was told to timestamp what it sends; nothing below it does.
    pub(crate) timestamps_sent: bool,
}

static KNOWN: Mutex<BTreeMap<SocketHandle, Known>> = Mutex::new(BTreeMap::new());

pub(crate) fn all() -> MutexGuard<'static, BTreeMap<SocketHandle, Known>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of a socket's shadow, if it has one.
pub(crate) fn of(socket: SocketHandle) -> Option<SocketHandle> {
    all().get(&socket).and_then(|known| known.shadow)
}

/// The number of a socket's shadow. If it has none, the result of `note`, which writes down what a shadow will have to
/// know: none is made meanwhile.
pub(crate) fn of_or<T>(
    socket: SocketHandle,
    note: impl FnOnce(&mut Known) -> T,
) -> Result<SocketHandle, T> {
    let mut all = all();
    let known = all.entry(socket).or_default();
    known.shadow.ok_or(()).map_err(|()| note(known))
}

/// The program's number of the socket that has this shadow.
pub(crate) fn owner(shadow: SocketHandle) -> Option<SocketHandle> {
    let known = all();
    let mut sockets = known.iter();
    sockets
        .find(|(_, known)| known.shadow == Some(shadow))
        .map(|(socket, _)| *socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    /// Another thread sends its first datagram to a simulated address while this one selects events.
    #[test]
    fn no_shadow_is_made_that_does_not_know_what_is_noted() {
        let (made, is_made) = mpsc::channel();
        let noted = of_or(4, |known| {
            let make = move || {
                let mut all = all();
                let known = all.entry(4).or_default();
                known.shadow = Some(8);
                made.send(known.selected).expect("it is waited for");
            };
            thread::spawn(make);
            let meanwhile = is_made.recv_timeout(Duration::from_millis(50));
            assert!(meanwhile.is_err(), "made without knowing: {meanwhile:?}");
            known.selected = (12, 1);
        });
        assert_eq!(noted, Err(()));
        assert_eq!(is_made.recv(), Ok((12, 1)));
        assert_eq!(of_or(4, |_| panic!("it has one")), Ok::<_, ()>(8));
    }
}
