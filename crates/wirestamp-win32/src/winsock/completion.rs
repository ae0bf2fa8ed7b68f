//! The exported functions for overlapped operations by `HANDLE`: completion ports, cancelling, results. A `SOCKET` is a
//! `HANDLE` to them, as on Windows; there are no files.
//!
//! Populated on: Linux. On Windows the system's own are used.

use crate::abi::codes::{
    ERROR_INVALID_HANDLE, ERROR_INVALID_PARAMETER, ERROR_NOT_ENOUGH_MEMORY, ERROR_NOT_FOUND,
    WSA_IO_INCOMPLETE,
};
use crate::abi::numbers::WAIT_TIMEOUT;
use crate::abi::winsock::{Handle, Overlapped};
use crate::memory::{self, Plain};
use crate::system::exports::{timeout, told};
use crate::system::last_error;
use crate::system::object::{self, Object};
use crate::system::port::{Association, Empty, Packet, Port};
use crate::winsock::overlapped::Operation;
use crate::winsock::pending::Which;
use crate::winsock::socket::Socket;
use crate::winsock::startup;
use crate::winsock::status::win32_of_status;
use std::ptr;
use std::sync::Arc;

/// `ERROR_ABANDONED_WAIT_0`: the port was closed meanwhile.
const ERROR_ABANDONED_WAIT_0: u32 = 735;

/// `OVERLAPPED_ENTRY`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Entry {
    key: usize,
    overlapped: usize,
    status: usize,
    bytes: u32,
}
// SAFETY: integers; the padding is never read as a value.
unsafe impl Plain for Entry {}

fn socket(file: Handle) -> Result<Arc<Socket>, u32> {
    startup::find(file.addr()).map_err(|_| ERROR_INVALID_HANDLE)
}

fn port(handle: Handle) -> Result<Arc<Port>, u32> {
    let object = object::find(handle).ok_or(ERROR_INVALID_HANDLE)?;
    object.as_port().cloned().ok_or(ERROR_INVALID_HANDLE)
}

/// Makes a port, unless `existing` is one, and associates the socket with it.
fn create(file: Handle, existing: Handle, key: usize) -> Result<Handle, u32> {
    let no_file = file.addr() == usize::MAX;
    if no_file && !existing.is_null() {
        return Err(ERROR_INVALID_PARAMETER);
    }
    let socket = if no_file { None } else { Some(socket(file)?) };
    let handle = match existing.is_null() {
        true => object::open(Object::port()).ok_or(ERROR_NOT_ENOUGH_MEMORY)?,
        false => existing,
    };
    let associated = port(handle).and_then(|port| match socket {
        None => Ok(()),
        Some(socket) => socket
            .port
            .set(Association::new(port, key))
            .map_err(|_| ERROR_INVALID_PARAMETER), // it has one already
    });
    if associated.is_err() && existing.is_null() {
        object::close(handle);
    }
    associated.map(|()| handle)
}

fn of_empty(why: Empty) -> u32 {
    match why {
        Empty::TimedOut => WAIT_TIMEOUT,
        Empty::Closed => ERROR_ABANDONED_WAIT_0,
    }
}

/// # Safety
/// As [`GetQueuedCompletionStatus`].
unsafe fn dequeue(
    handle: Handle,
    (bytes, key, overlapped): (*mut u32, *mut usize, *mut usize),
    milliseconds: u32,
) -> Result<(), u32> {
    // SAFETY: the caller's promise.
    unsafe { memory::write(overlapped, 0) }.ok_or(ERROR_INVALID_PARAMETER)?;
    if bytes.is_null() || key.is_null() {
        return Err(ERROR_INVALID_PARAMETER);
    }
    let taken = port(handle)?.take(1, timeout(milliseconds));
    let packet = *taken.map_err(of_empty)?.first().ok_or(WAIT_TIMEOUT)?;
    // SAFETY: the caller's promise; not null.
    let _written = unsafe { memory::write(bytes, packet.bytes) };
    // SAFETY: the caller's promise; not null.
    let _written = unsafe { memory::write(key, packet.key) };
    // SAFETY: the caller's promise; not null.
    let _written = unsafe { memory::write(overlapped, packet.overlapped) };
    match win32_of_status(packet.status) {
        0 => Ok(()),
        code => Err(code),
    }
}

/// # Safety
/// As [`GetQueuedCompletionStatusEx`].
unsafe fn dequeue_several(
    handle: Handle,
    (entries, count, removed): (*mut Entry, u32, *mut u32),
    milliseconds: u32,
) -> Result<(), u32> {
    // SAFETY: the caller's promise.
    unsafe { memory::write(removed, 0) }.ok_or(ERROR_INVALID_PARAMETER)?;
    if entries.is_null() || count == 0 {
        return Err(ERROR_INVALID_PARAMETER);
    }
    let packets = port(handle)?.take(count as usize, timeout(milliseconds));
    let packets = packets.map_err(of_empty)?;
    for (place, packet) in packets.iter().enumerate() {
        let entry = Entry {
            key: packet.key,
            overlapped: packet.overlapped,
            status: packet.status,
            bytes: packet.bytes,
        };
        // SAFETY: the caller's promise; no more than there is room for.
        let _written = unsafe { memory::write(entries.wrapping_add(place), entry) };
    }
    // SAFETY: the caller's promise; not null.
    let _written = unsafe { memory::write(removed, packets.len() as u32) };
    Ok(())
}

/// # Safety
/// As [`GetOverlappedResult`].
unsafe fn result(
    file: Handle,
    overlapped: *mut Overlapped,
    bytes: *mut u32,
    wait: bool,
) -> Result<(), u32> {
    // SAFETY: the caller's promise.
    let operation = unsafe { Operation::new(overlapped) };
    let operation = operation.ok().flatten().ok_or(ERROR_INVALID_PARAMETER)?;
    // As on Windows: the result is asked for after the socket was closed, too.
    if wait && operation.is_pending() && !operation.has_event() {
        socket(file)?;
    }
    let ended = operation.result(wait);
    let (count, status) = ended.map_err(|_| WSA_IO_INCOMPLETE.unsigned_abs())?;
    // SAFETY: the caller's promise.
    unsafe { memory::write(bytes, count as u32) }.ok_or(ERROR_INVALID_PARAMETER)?;
    match win32_of_status(status) {
        0 => Ok(()),
        code => Err(code),
    }
}

export! {
    /// Makes a completion port, or associates a socket with one: completions of its overlapped operations are queued
    /// there. The number of threads is ignored: as many run as the program starts.
    ///
    /// # Safety
    /// None needed.
    fn CreateIoCompletionPort(file: Handle, existing: Handle, key: usize, threads: u32) -> Handle {
        let _ignored = threads;
        create(file, existing, key).unwrap_or_else(|code| {
            last_error::set(code);
            ptr::null_mut()
        })
    }

    /// Takes the oldest completion; waits for one.
    ///
    /// # Safety
    /// Each pointer is null or writable.
    fn GetQueuedCompletionStatus(
        port: Handle,
        bytes: *mut u32,
        key: *mut usize,
        overlapped: *mut usize,
        milliseconds: u32,
    ) -> i32 {
        // SAFETY: the caller's promise.
        told(unsafe { dequeue(port, (bytes, key, overlapped), milliseconds) })
    }

    /// Takes several completions at once; waits for the first. There are no alertable waits: nothing is queued to a
    /// thread here.
    ///
    /// # Safety
    /// `entries` is null or has room for `count`; `removed` is null or writable.
    fn GetQueuedCompletionStatusEx(
        port: Handle,
        entries: *mut Entry,
        count: u32,
        removed: *mut u32,
        milliseconds: u32,
        alertable: i32,
    ) -> i32 {
        let _nothing_is_queued = alertable;
        // SAFETY: the caller's promise.
        told(unsafe { dequeue_several(port, (entries, count, removed), milliseconds) })
    }

    /// Queues a completion of the program's own.
    ///
    /// # Safety
    /// None needed: the pointer is handed on and not followed.
    fn PostQueuedCompletionStatus(port_of: Handle, bytes: u32, key: usize, overlapped: *mut Overlapped) -> i32 {
        let overlapped = overlapped.expose_provenance();
        told(port(port_of).map(|port| port.post(Packet { key, overlapped, status: 0, bytes })))
    }

    /// Cancels the overlapped receives of a socket: one, or with null all. `FALSE` with `ERROR_NOT_FOUND` if none waits.
    ///
    /// # Safety
    /// None needed: the pointer is compared and not followed.
    fn CancelIoEx(file: Handle, overlapped: *mut Overlapped) -> i32 {
        told(socket(file).and_then(|socket| {
            let which = if overlapped.is_null() { Which::All } else { Which::At(overlapped.addr()) };
            match socket.pending.cancel(which) {
                0 => Err(ERROR_NOT_FOUND),
                _ => Ok(()),
            }
        }))
    }

    /// Cancels the overlapped receives of a socket that this thread asked for, if there are any.
    ///
    /// # Safety
    /// None needed.
    fn CancelIo(file: Handle) -> i32 {
        told(socket(file).map(|socket| {
            socket.pending.cancel(Which::OfThread(std::thread::current().id()));
        }))
    }

    /// How an overlapped operation ended, as `WSAGetOverlappedResult`, with the errors of Win32. The socket may be
    /// closed: it is looked at only where it is waited for.
    ///
    /// # Safety
    /// `overlapped` is null or that of an operation; `bytes` is null or writable.
    fn GetOverlappedResult(file: Handle, overlapped: *mut Overlapped, bytes: *mut u32, wait: i32) -> i32 {
        // SAFETY: the caller's promise.
        told(unsafe { result(file, overlapped, bytes, wait != 0) })
    }
}
