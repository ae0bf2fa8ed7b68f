//! What the ioctls do, given their bytes. Knows no pointer of the caller but those to
//! functions.
//!
//! Source: `WSAIoctl`, `SIO_TIMESTAMPING`, `SIO_GET_TX_TIMESTAMP`; order of checks: `ABI.md`.

use crate::abi::codes::{WSAEFAULT, WSAEINVAL, WSAEOPNOTSUPP};
use crate::abi::numbers::{
    FIONBIO, FIONREAD, SIO_GET_EXTENSION_FUNCTION_POINTER, SIO_GET_TX_TIMESTAMP, SIO_TIMESTAMPING,
    SIO_UDP_CONNRESET, TIMESTAMPING_FLAG_RX, TIMESTAMPING_FLAG_TX,
};
use crate::abi::winsock::{Guid, TimestampingConfig, WSAID_WSARECVMSG, WSAID_WSASENDMSG};
use crate::winsock::messages;
use crate::winsock::socket::Socket;
use std::sync::atomic::Ordering;

/// What the caller gave, as far as any ioctl reads it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Input {
    /// Its first bytes; `None` for a null pointer.
    pub(crate) bytes: Option<[u8; 16]>,
    /// How many of them are the caller's.
    pub(crate) length: usize,
}

impl Input {
    fn take<const N: usize>(&self) -> Result<[u8; N], i32> {
        let bytes = self
            .bytes
            .as_ref()
            .filter(|_| self.length >= N)
            .ok_or(WSAEFAULT)?;
        bytes.first_chunk().copied().ok_or(WSAEFAULT)
    }
}

/// What an ioctl gives back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    Nothing,
    /// Four bytes.
    Number(u32),
    /// Eight bytes.
    Timestamp(u64),
    /// A function's address.
    Function(usize),
}

/// Performs ioctl `number`; there are `room` bytes for what it gives back.
///
/// # Errors
/// The Winsock error; nothing has changed then.
pub(crate) fn perform(
    socket: &Socket,
    number: u32,
    input: &Input,
    room: usize,
) -> Result<Output, i32> {
    let room_for = |bytes: usize| if room < bytes { Err(WSAEFAULT) } else { Ok(()) };
    match number {
        SIO_TIMESTAMPING => {
            socket.check_datagram()?;
            configure(socket, input.take()?).map(|()| Output::Nothing)
        }
        SIO_GET_TX_TIMESTAMP => {
            socket.check_datagram()?;
            socket.ready().check_was_on()?;
            let id = u32::from_ne_bytes(input.take()?);
            room_for(8)?;
            socket.fetch(id).map(Output::Timestamp)
        }
        SIO_GET_EXTENSION_FUNCTION_POINTER => {
            let function = function(input.take()?)?;
            room_for(size_of::<usize>())?;
            Ok(Output::Function(function))
        }
        SIO_UDP_CONNRESET => {
            socket.check_datagram()?;
            let silent = u32::from_ne_bytes(input.take()?) == 0;
            socket.silence_resets(silent).map(|()| Output::Nothing)
        }
        FIONBIO => {
            let nonblocking = u32::from_ne_bytes(input.take()?) != 0;
            if !nonblocking && socket.selection.is_active() {
                return Err(WSAEINVAL); // WSAEventSelect made it so
            }
            socket.nonblocking.store(nonblocking, Ordering::Release);
            Ok(Output::Nothing)
        }
        FIONREAD => {
            socket.check_datagram()?;
            room_for(4)?;
            socket.readable().map(Output::Number)
        }
        _ => Err(WSAEOPNOTSUPP),
    }
}

fn configure(socket: &Socket, bytes: [u8; 8]) -> Result<(), i32> {
    let [a, b, c, d, low, high, _, _] = bytes;
    let config = TimestampingConfig::new(
        u32::from_ne_bytes([a, b, c, d]),
        u16::from_ne_bytes([low, high]),
    );
    if config.flags & !(TIMESTAMPING_FLAG_RX | TIMESTAMPING_FLAG_TX) != 0 {
        return Err(WSAEINVAL);
    }
    socket.configure_timestamping(config)
}

/// The function of a GUID.
fn function(bytes: [u8; 16]) -> Result<usize, i32> {
    let [a, b, c, d, e, f, g, h, data4 @ ..] = bytes;
    let asked = Guid {
        data1: u32::from_ne_bytes([a, b, c, d]),
        data2: u16::from_ne_bytes([e, f]),
        data3: u16::from_ne_bytes([g, h]),
        data4,
    };
    match asked {
        WSAID_WSARECVMSG => Ok(messages::receive_message as *const () as usize),
        WSAID_WSASENDMSG => Ok(messages::WSASendMsg as *const () as usize),
        _ => Err(WSAEINVAL),
    }
}
