//! The exported functions that timestamping needs: `WSAIoctl`, `WSASendMsg`, `WSARecvMsg`.
//! Reads their arguments, and hands over.

use crate::abi::codes::{
    NO_ERROR, WSA_IO_PENDING, WSA_OPERATION_ABORTED, WSAEFAULT, WSAEINVAL, WSAEMSGSIZE, WSAENOBUFS,
    WSAEOPNOTSUPP, WSAEWOULDBLOCK,
};
use crate::abi::winsock::{CompletionRoutine, Overlapped, SOCKET_ERROR, SocketHandle, WsaMessage};
use crate::memory;
use crate::system::last_error;
use crate::winsock::ioctl::{self, Input, Output};
use crate::winsock::message::{self, Room};
use crate::winsock::overlapped::Operation;
use crate::winsock::pending::Waiting;
use crate::winsock::receive::Manner;
use crate::winsock::socket::Socket;
use crate::winsock::startup;
use std::ffi::c_void;
use std::sync::Arc;

/// 0, or `SOCKET_ERROR` with the last error set.
pub(super) fn told(result: Result<(), i32>) -> i32 {
    match result {
        Ok(()) => {
            last_error::set(NO_ERROR); // as Windows leaves it
            NO_ERROR as i32
        }
        Err(code) => {
            last_error::set(code.unsigned_abs());
            SOCKET_ERROR
        }
    }
}

/// The socket of a call that can be overlapped, and its operation.
///
/// # Safety
/// `overlapped` is null or the caller's.
pub(super) unsafe fn begin(
    socket: SocketHandle,
    bytes: *mut u32,
    overlapped: *mut Overlapped,
    routine: CompletionRoutine,
) -> Result<(Arc<Socket>, Option<Operation>), i32> {
    let socket = startup::find(socket)?;
    if routine.is_some() {
        return Err(WSAEINVAL);
    }
    // SAFETY: the caller's promise.
    let operation = unsafe { Operation::new(overlapped) }?;
    if operation.is_none() && bytes.is_null() {
        return Err(WSAEFAULT);
    }
    operation.as_ref().map_or(Ok(()), Operation::check_event)?;
    let operation = operation.map(|operation| operation.through(&socket.port));
    Ok((socket, operation))
}

/// Ends a call that was answered at once.
///
/// # Safety
/// `bytes` is null or writable.
pub(super) unsafe fn end(
    operation: Option<Operation>,
    bytes: *mut u32,
    result: Result<usize, i32>,
) -> Result<(), i32> {
    let count = *result.as_ref().unwrap_or(&0);
    // SAFETY: the caller's promise; null is allowed where the call is overlapped.
    let _not_wanted = unsafe { memory::write(bytes, count as u32) };
    match (operation, &result) {
        (Some(operation), Ok(_)) => operation.complete(0, count),
        (Some(operation), Err(code)) => operation.fail(*code),
        (None, _) => {}
    }
    result.map(drop)
}

/// # Safety
/// As [`WSAIoctl`].
unsafe fn read_input(input: *const c_void, length: u32) -> Input {
    let length = length as usize;
    let mut bytes = [0; 16];
    let used = length.min(bytes.len());
    // SAFETY: the caller's promise; not more than he said.
    let given = unsafe { memory::bytes(input.cast(), used) }.filter(|_| !input.is_null());
    let copied = given.map(|given| {
        bytes[..used].copy_from_slice(given);
        bytes
    });
    Input {
        bytes: copied,
        length,
    }
}

/// # Safety
/// `to` is null or has room for what is written.
unsafe fn write_output(to: *mut c_void, output: Output) -> Result<usize, i32> {
    let (written, bytes) = match output {
        Output::Nothing => return Ok(0),
        // SAFETY: the caller's promise.
        Output::Number(value) => (unsafe { memory::write(to.cast(), value) }, 4),
        // SAFETY: the caller's promise.
        Output::Timestamp(value) => (unsafe { memory::write(to.cast(), value) }, 8),
        // SAFETY: the caller's promise.
        Output::Function(value) => (
            unsafe { memory::write(to.cast(), value) },
            size_of::<usize>(),
        ),
    };
    written.map(|()| bytes).ok_or(WSAEFAULT)
}

export! {
    /// Configures a socket's timestamping, takes a transmit timestamp, gives function pointers.
    ///
    /// # Safety
    /// Each pointer is null or points to memory of the length given with it.
    fn WSAIoctl(
        socket: SocketHandle,
        number: u32,
        input: *const c_void,
        input_length: u32,
        output: *mut c_void,
        output_length: u32,
        bytes: *mut u32,
        overlapped: *mut Overlapped,
        routine: CompletionRoutine,
    ) -> i32 {
        // SAFETY: the caller's promise.
        let begun = unsafe { begin(socket, bytes, overlapped, routine) };
        told(begun.and_then(|(socket, operation)| {
            // SAFETY: the caller's promise.
            let input = unsafe { read_input(input, input_length) };
            // Null has room for nothing: no timestamp may be taken that can't be given.
            let room = if output.is_null() { 0 } else { output_length as usize };
            let done = ioctl::perform(&socket, number, &input, room);
            // SAFETY: the caller's promise; `perform` saw that there is room.
            let written = done.and_then(|done| unsafe { write_output(output, done) });
            // SAFETY: the caller's promise.
            unsafe { end(operation, bytes, written) }
        }))
    }

    /// Sends a datagram; a `SO_TIMESTAMP_ID` control message asks for its timestamp.
    ///
    /// # Safety
    /// Each pointer is null or points to what its type says, as long as the lengths in it say.
    fn WSASendMsg(
        socket: SocketHandle,
        message: *const WsaMessage,
        flags: u32,
        bytes: *mut u32,
        overlapped: *mut Overlapped,
        routine: CompletionRoutine,
    ) -> i32 {
        // SAFETY: the caller's promise.
        let begun = unsafe { begin(socket, bytes, overlapped, routine) };
        told(begun.and_then(|(socket, operation)| {
            // SAFETY: the caller's promise.
            let send = || unsafe { message::send(&socket, message) };
            let sent = if flags == 0 { send() } else { Err(WSAEOPNOTSUPP) };
            // SAFETY: the caller's promise.
            unsafe { end(operation, bytes, sent) }
        }))
    }
}

/// `WSARecvMsg`, which is had by pointer only: receives a datagram with its control messages.
///
/// # Safety
/// Each pointer is null or points to what its type says, as long as the lengths in it say; with
/// `OVERLAPPED`, until the operation is complete.
pub unsafe extern "system" fn receive_message(
    socket: SocketHandle,
    message: *mut WsaMessage,
    bytes: *mut u32,
    overlapped: *mut Overlapped,
    routine: CompletionRoutine,
) -> i32 {
    let found = startup::find(socket);
    if routine.is_some() {
        return told(found.and(Err(WSAEINVAL)));
    }
    // SAFETY: the caller's promise.
    let operation = unsafe { Operation::new(overlapped) };
    let both = found.and_then(|socket| operation.map(|operation| (socket, operation)));
    told(both.and_then(|(socket, operation)| {
        operation.as_ref().map_or(Ok(()), Operation::check_event)?;
        let operation = operation.map(|operation| operation.through(&socket.port));
        socket.check_datagram()?;
        // SAFETY: the caller's promise.
        let room = unsafe { Room::read(message, socket.ipv6) }?;
        // SAFETY: the caller's promise.
        unsafe { receive_into(&socket, room, bytes, operation) }
    }))
}

/// # Safety
/// As [`receive_message`].
pub(super) unsafe fn receive_into(
    socket: &Arc<Socket>,
    room: Room,
    bytes: *mut u32,
    operation: Option<Operation>,
) -> Result<(), i32> {
    match operation {
        // SAFETY: the caller's promise.
        None => unsafe { receive_now(socket, room, bytes) },
        // SAFETY: the caller's promise.
        Some(operation) => unsafe { receive_overlapped(socket, room, bytes, &operation) },
    }
}

/// # Safety
/// As [`receive_message`].
unsafe fn receive_now(socket: &Socket, mut room: Room, bytes: *mut u32) -> Result<(), i32> {
    // SAFETY: the caller's promise.
    let (count, cut) = unsafe { room.receive(socket, Manner::default()) }?;
    // SAFETY: the caller's promise; he need not want to know.
    let _not_wanted = unsafe { memory::write(bytes, count as u32) };
    if cut { Err(WSAEMSGSIZE) } else { Ok(()) }
}

/// # Safety
/// As [`receive_message`].
unsafe fn receive_overlapped(
    socket: &Arc<Socket>,
    mut room: Room,
    bytes: *mut u32,
    operation: &Operation,
) -> Result<(), i32> {
    operation.begin();
    let at_once = Manner {
        at_once: true,
        ..Manner::default()
    };
    let first = match socket.pending.is_any() {
        true => Err(WSAEWOULDBLOCK),
        // SAFETY: the caller's promise.
        false => unsafe { room.receive(socket, at_once) },
    };
    match first {
        Ok((count, cut)) => {
            // SAFETY: the caller's promise; null is allowed.
            let _not_wanted = unsafe { memory::write(bytes, count as u32) };
            operation.complete(if cut { WSAEMSGSIZE } else { 0 }, count);
            return if cut { Err(WSAEMSGSIZE) } else { Ok(()) };
        }
        Err(WSAEWOULDBLOCK) => {}
        Err(code) => {
            operation.fail(code);
            return Err(code);
        }
    }
    room.let_flags_go();
    // SAFETY: the caller lends this memory until the operation is complete.
    unsafe { wait_overlapped(socket, room, operation) }
}

/// Leaves a receive to the thread that serves those of this socket.
///
/// # Safety
/// As [`receive_message`].
unsafe fn wait_overlapped(
    socket: &Arc<Socket>,
    mut room: Room,
    operation: &Operation,
) -> Result<(), i32> {
    let owner = Arc::clone(socket);
    let receive = move || {
        let at_once = Manner {
            at_once: true,
            ..Manner::default()
        };
        // SAFETY: the caller lends this memory until the operation is complete.
        match unsafe { room.receive(&owner, at_once) } {
            Ok((count, cut)) => (if cut { WSAEMSGSIZE } else { 0 }, count),
            Err(_) if owner.is_closed() => (WSA_OPERATION_ABORTED, 0),
            Err(code) => (code, 0),
        }
    };
    let added = socket.pending.add(Waiting::new(operation.clone(), receive));
    let Ok(must_serve) = added else {
        operation.fail(WSA_OPERATION_ABORTED);
        return Err(WSA_OPERATION_ABORTED);
    };
    if must_serve {
        let server = Arc::clone(socket);
        let thread = std::thread::Builder::new().name(String::from("wirestamp-overlapped"));
        let serve = move || server.pending.serve(|| server.wait_for_datagram());
        if thread.spawn(serve).is_err() && socket.pending.give_up(operation, WSAENOBUFS) {
            operation.fail(WSAENOBUFS);
            return Err(WSAENOBUFS);
        }
    }
    Err(WSA_IO_PENDING)
}
