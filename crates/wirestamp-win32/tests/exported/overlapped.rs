//! Overlapped receives that wait: completion in order, abort by closing.

use crate::calls::{Room, bound, code, receive_message, send, start};
use std::ptr::null_mut;
use wirestamp_win32::abi::winsock::{Handle, Overlapped, SocketHandle};
use wirestamp_win32::system::exports::{CloseHandle, CreateEventA, WaitForSingleObject};
use wirestamp_win32::winsock::events::WSAGetOverlappedResult;
use wirestamp_win32::winsock::exports::closesocket;

const LONG: u32 = 60_000;

struct Operation {
    room: Room,
    overlapped: Box<Overlapped>,
}

impl Operation {
    fn new() -> Self {
        // SAFETY: takes numbers, and a name that is not read.
        let event: Handle = unsafe { CreateEventA(null_mut(), 1, 0, null_mut()) };
        let overlapped = Box::new(Overlapped {
            internal: 0,
            internal_high: 0,
            offset: 0,
            event,
        });
        Self {
            room: Room::new(8),
            overlapped,
        }
    }

    fn receive(&mut self, socket: SocketHandle) -> i32 {
        let function = receive_message(socket);
        let (message, overlapped) = (&raw mut *self.room.message, &raw mut *self.overlapped);
        // SAFETY: both stay where they are until the operation is complete.
        code(unsafe { function(socket, message, null_mut(), overlapped, None) })
    }

    fn wait(&self) -> u32 {
        // SAFETY: takes a handle.
        unsafe { WaitForSingleObject(self.overlapped.event, LONG) }
    }

    fn result(&mut self, socket: SocketHandle, wait: bool) -> Result<u32, i32> {
        let (mut bytes, mut flags) = (0, 0);
        let overlapped = &raw mut *self.overlapped;
        // SAFETY: all are here.
        let done = unsafe {
            WSAGetOverlappedResult(
                socket,
                overlapped,
                &raw mut bytes,
                wait.into(),
                &raw mut flags,
            )
        };
        if done == 1 { Ok(bytes) } else { Err(code(-1)) }
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        // SAFETY: takes a handle.
        unsafe { CloseHandle(self.overlapped.event) };
    }
}

#[test]
fn waiting_receives_complete_in_order() {
    start();
    let (socket, name) = bound([127, 0, 0, 1]);
    let mut operations = [Operation::new(), Operation::new(), Operation::new()];
    for operation in &mut operations {
        assert_eq!(operation.receive(socket), 997);
        assert_eq!(operation.result(socket, false), Err(996));
    }
    for (length, operation) in operations.iter_mut().enumerate() {
        assert_eq!(send(socket, &name, &b"abc"[..=length], None), 0);
        assert_eq!(operation.wait(), 0);
        assert_eq!(operation.result(socket, true), Ok(length as u32 + 1));
        assert_eq!(
            (
                operation.overlapped.internal,
                operation.overlapped.internal_high
            ),
            (0, length + 1)
        );
        assert_eq!(&operation.room.payload[..=length], &b"abc"[..=length]);
    }
    // A datagram that waits already is received at once.
    assert_eq!(send(socket, &name, b"now", None), 0);
    let mut at_once = Operation::new();
    let answer = at_once.receive(socket);
    assert!(answer == 0 || answer == 997, "{answer}"); // the thread of the others may still end
    assert_eq!((at_once.wait(), at_once.result(socket, true)), (0, Ok(3)));
    // SAFETY: takes a number.
    assert_eq!(unsafe { closesocket(socket) }, 0);
}

#[test]
fn closing_aborts_what_waits() {
    start();
    let (socket, _) = bound([127, 0, 0, 1]);
    let mut operations = [Operation::new(), Operation::new()];
    operations
        .iter_mut()
        .for_each(|operation| assert_eq!(operation.receive(socket), 997));
    // SAFETY: takes a number.
    assert_eq!(unsafe { closesocket(socket) }, 0);
    for operation in &operations {
        assert_eq!(operation.wait(), 0);
        assert_eq!(operation.overlapped.internal, 0xC000_0120);
        assert!(operation.room.is_untouched());
    }
}
