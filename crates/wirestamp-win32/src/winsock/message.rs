//! `WSAMSG`: reading it from the caller, gathering what is sent, scattering what came.
//!
//! Source: `WSASendMsg`, `LPFN_WSARECVMSG`; `ABI.md`.

use crate::abi::address::{AddressBytes, IPV4_LENGTH, IPV6_LENGTH};
use crate::abi::codes::{WSAEFAULT, WSAEINVAL, WSAEMSGSIZE, WSAEOPNOTSUPP};
use crate::abi::numbers::{MSG_CTRUNC, MSG_PARTIAL, MSG_PEEK};
use crate::abi::winsock::{WsaBuffer, WsaMessage};
use crate::address;
use crate::memory;
use crate::winsock::control;
use crate::winsock::receive::Manner;
use crate::winsock::socket::Socket;
use std::borrow::Cow;
use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;

/// More buffers than that are no message.
const MOST_BUFFERS: u32 = 1_024;
/// No datagram needs more; bytes claimed beyond are not looked at.
const LONGEST: usize = 65_536;
/// The same of control data.
const LONGEST_CONTROL: usize = 65_536;

/// A message's buffers. One is the rule, and costs no memory.
#[derive(Debug)]
enum Buffers {
    One([WsaBuffer; 1]),
    Several(Vec<WsaBuffer>),
}

impl Deref for Buffers {
    type Target = [WsaBuffer];

    fn deref(&self) -> &[WsaBuffer] {
        match self {
            Self::One(one) => one,
            Self::Several(several) => several,
        }
    }
}

/// # Safety
/// The array and what its elements point to are the caller's, readable.
unsafe fn buffers(message: &WsaMessage) -> Result<Buffers, i32> {
    match message.buffer_count {
        // SAFETY: the caller's promise.
        1 => unsafe { memory::read(message.buffers) }
            .map(|one| Buffers::One([one]))
            .ok_or(WSAEFAULT),
        count if count > MOST_BUFFERS => Err(WSAEINVAL),
        // SAFETY: the caller's promise.
        count => unsafe { memory::array(message.buffers, count as usize) }
            .map(Buffers::Several)
            .ok_or(WSAEFAULT),
    }
}

/// The payload of a message: of one buffer as it is, of several put together. Cut where no
/// datagram goes on.
///
/// # Safety
/// The buffers are the caller's, readable.
unsafe fn gather<'a>(buffers: &[WsaBuffer]) -> Result<Cow<'a, [u8]>, i32> {
    // SAFETY: the caller's promise; not more than he said.
    let read =
        |it: &WsaBuffer| unsafe { memory::bytes(it.buffer, (it.length as usize).min(LONGEST)) };
    if let [one] = buffers {
        return read(one).map(Cow::Borrowed).ok_or(WSAEFAULT);
    }
    let mut payload = Vec::new();
    for buffer in buffers {
        payload.extend_from_slice(read(buffer).ok_or(WSAEFAULT)?);
        if payload.len() > LONGEST {
            return Err(WSAEMSGSIZE);
        }
    }
    Ok(Cow::Owned(payload))
}

/// Sends what `message` says; returns the bytes.
///
/// # Safety
/// `message` is null or the caller's message with all it points to.
pub(crate) unsafe fn send(socket: &Arc<Socket>, message: *const WsaMessage) -> Result<usize, i32> {
    socket.check_datagram()?;
    // SAFETY: the caller's promise.
    let message = unsafe { memory::read(message) }.ok_or(WSAEFAULT)?;
    let to = match message.name.is_null() {
        true if message.name_length != 0 => return Err(WSAEFAULT),
        true => None,
        // SAFETY: the caller's promise.
        false => Some(unsafe { address::at(message.name, message.name_length) }?),
    };
    let length = (message.control.length as usize).min(LONGEST_CONTROL);
    // SAFETY: the caller's promise; not more than he said.
    let control = unsafe { memory::bytes(message.control.buffer, length) }.ok_or(WSAEFAULT)?;
    let id = control::transmit_id(control)?;
    // SAFETY: the caller's promise.
    let buffers = unsafe { buffers(&message) }?;
    // SAFETY: the caller's promise.
    let payload = unsafe { gather(&buffers) }?;
    socket.send(&payload, to, id)
}

/// A message without control messages.
pub(super) fn parts(
    buffers: *mut WsaBuffer,
    buffer_count: u32,
    name: *mut u8,
    name_length: i32,
) -> WsaMessage {
    WsaMessage {
        name,
        name_length,
        buffers,
        buffer_count,
        control: WsaBuffer {
            length: 0,
            buffer: std::ptr::null_mut(),
        },
        flags: 0,
    }
}

/// Where the answer of a receive goes.
#[derive(Debug, Clone, Copy)]
enum Back {
    Message(*mut WsaMessage),
    Parts {
        flags: *mut u32,
        name_length: *mut i32,
    },
}

/// A message to receive into: read once, written back when a datagram came.
#[derive(Debug)]
pub(crate) struct Room {
    back: Back,
    message: WsaMessage,
    buffers: Buffers,
}
// SAFETY: an overlapped receive lends its memory to the library until it is complete.
unsafe impl Send for Room {}

impl Room {
    /// Reads `at`, for a socket of this family.
    ///
    /// # Errors
    /// `WSAEFAULT` for null where there must be memory, or too little room for an address: found out now, when no
    /// datagram is lost to it. `WSAEOPNOTSUPP` for flags other than `MSG_PEEK`.
    ///
    /// # Safety
    /// `at` is null or the caller's message with all it points to, writable.
    pub(crate) unsafe fn read(at: *mut WsaMessage, ipv6: bool) -> Result<Self, i32> {
        // SAFETY: the caller's promise.
        let message = unsafe { memory::read(at.cast_const()) }.ok_or(WSAEFAULT)?;
        let nameless = message.name.is_null();
        if nameless != (message.name_length == 0) || message.name_length < 0 {
            return Err(WSAEFAULT);
        }
        if !nameless {
            check_room(message.name_length, ipv6)?;
        }
        if message.control.buffer.is_null() && message.control.length != 0 {
            return Err(WSAEFAULT);
        }
        if message.flags & !MSG_PEEK != 0 {
            return Err(WSAEOPNOTSUPP);
        }
        // SAFETY: the caller's promise.
        let buffers = unsafe { buffers(&message) }?;
        if buffers
            .iter()
            .any(|it| it.buffer.is_null() && it.length != 0)
        {
            return Err(WSAEFAULT);
        }
        Ok(Self {
            back: Back::Message(at),
            message,
            buffers,
        })
    }

    /// Of a receive whose parts are apart, and that has no room for control messages.
    ///
    /// # Errors
    /// As [`read`](Self::read); a place for the sender's address needs one for its length.
    ///
    /// # Safety
    /// Each pointer is null or the caller's, writable; the name is as long as its length says.
    pub(crate) unsafe fn of_parts(
        (buffers, count): (*mut WsaBuffer, u32),
        flags: *mut u32,
        (name, name_length): (*mut u8, *mut i32),
        ipv6: bool,
    ) -> Result<Self, i32> {
        // SAFETY: the caller's promise.
        let given = unsafe { memory::read(flags.cast_const()) }.ok_or(WSAEFAULT)?;
        let room = match name.is_null() {
            true => 0,
            // SAFETY: the caller's promise.
            false => unsafe { memory::read(name_length.cast_const()) }.ok_or(WSAEFAULT)?,
        };
        let mut message = parts(buffers, count, name, room);
        message.flags = given;
        // SAFETY: the caller's promise; the message is here.
        let mut room = unsafe { Self::read(&raw mut message, ipv6) }?;
        room.back = Back::Parts { flags, name_length };
        Ok(room)
    }

    /// The call returns before a datagram comes: the caller's flags may be gone then.
    pub(crate) fn let_flags_go(&mut self) {
        if let Back::Parts { flags, .. } = &mut self.back {
            *flags = std::ptr::null_mut();
        }
    }

    /// # Safety
    /// What `read` or `of_parts` was promised still holds.
    unsafe fn give_back(&self, truncated: bool) -> Result<(), i32> {
        match self.back {
            // SAFETY: the caller's promise.
            Back::Message(at) => unsafe { memory::write(at, self.message) }.ok_or(WSAEFAULT),
            Back::Parts { flags, name_length } => {
                let given = if truncated { MSG_PARTIAL } else { 0 };
                // SAFETY: the caller's promise; null where the call returned before.
                let _may_be_gone = unsafe { memory::write(flags, given) };
                if !self.message.name.is_null() {
                    // SAFETY: the caller's promise.
                    unsafe { memory::write(name_length, self.message.name_length) }
                        .ok_or(WSAEFAULT)?;
                }
                Ok(())
            }
        }
    }

    /// Receives into it. Returns the bytes, and whether Windows answers `WSAEMSGSIZE` beside them: the datagram was cut,
    /// or its control messages did not fit into the room that the caller gave for them.
    ///
    /// # Safety
    /// What `read` was promised still holds.
    pub(crate) unsafe fn receive(
        &mut self,
        socket: &Socket,
        manner: Manner,
    ) -> Result<(usize, bool), i32> {
        let manner = Manner {
            peek: self.message.flags & MSG_PEEK != 0,
            ..manner
        };
        let received = match self.buffers[..] {
            [one] => {
                let length = (one.length as usize).min(LONGEST);
                // SAFETY: the caller's promise; not more than he said.
                let buffer = unsafe { memory::bytes_mut(one.buffer, length) }.ok_or(WSAEFAULT)?;
                socket.receive(buffer, manner)?
            }
            _ => {
                let lengths = self.buffers.iter().map(|it| u64::from(it.length));
                let room = usize::try_from(lengths.sum::<u64>()).unwrap_or(LONGEST);
                let mut whole = vec![0; room.min(LONGEST)];
                let received = socket.receive(&mut whole, manner)?;
                // SAFETY: the caller's promise.
                unsafe { self.scatter(&whole[..received.length]) }?;
                received
            }
        };
        let length = (self.message.control.length as usize).min(LONGEST_CONTROL);
        // SAFETY: the caller's promise; not more than he said.
        let control =
            unsafe { memory::bytes_mut(self.message.control.buffer, length) }.ok_or(WSAEFAULT)?;
        let (used, flags) = socket.describe(&received, control);
        self.message.control.length = used as u32;
        self.message.flags = flags;
        if let Some(source) = Socket::source(&received).filter(|_| !self.message.name.is_null()) {
            // SAFETY: the caller's promise.
            let length = unsafe {
                write_address(
                    source,
                    socket.ipv6,
                    self.message.name,
                    self.message.name_length,
                )
            }?;
            self.message.name_length = length;
        }
        // SAFETY: the caller's promise.
        unsafe { self.give_back(received.truncated) }?;
        let control_cut = length != 0 && flags & MSG_CTRUNC != 0;
        Ok((received.length, received.truncated || control_cut))
    }

    /// # Safety
    /// The buffers are the caller's, writable.
    unsafe fn scatter(&self, mut payload: &[u8]) -> Result<(), i32> {
        for buffer in self.buffers.iter() {
            let (now, later) = payload.split_at(payload.len().min(buffer.length as usize));
            // SAFETY: the caller's promise; not more than he said.
            unsafe { memory::bytes_mut(buffer.buffer, now.len()) }
                .ok_or(WSAEFAULT)?
                .copy_from_slice(now);
            payload = later;
        }
        Ok(())
    }
}

/// Whether a socket's addresses fit into `room` bytes.
///
/// # Errors
/// `WSAEFAULT` if not.
pub(super) fn check_room(room: i32, ipv6: bool) -> Result<(), i32> {
    let needed = if ipv6 { IPV6_LENGTH } else { IPV4_LENGTH };
    match usize::try_from(room) {
        Ok(room) if room >= needed => Ok(()),
        _ => Err(WSAEFAULT),
    }
}

/// Writes an address where there are `room` bytes for it; returns how many it has.
///
/// # Safety
/// `to` points to `room` writable bytes.
pub(super) unsafe fn write_address(
    address: SocketAddr,
    ipv6: bool,
    to: *mut u8,
    room: i32,
) -> Result<i32, i32> {
    let written = AddressBytes::new(address, ipv6);
    let bytes = written.bytes();
    if usize::try_from(room).map_err(|_| WSAEFAULT)? < bytes.len() {
        return Err(WSAEFAULT);
    }
    // SAFETY: the caller's promise, and there is room.
    unsafe { memory::bytes_mut(to, bytes.len()) }
        .ok_or(WSAEFAULT)?
        .copy_from_slice(bytes);
    Ok(bytes.len() as i32)
}
