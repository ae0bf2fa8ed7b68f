//! Short ways to the exported functions, for tests.

use std::ptr::{null, null_mut};
use wirestamp_win32::abi::numbers::{
    SIO_GET_EXTENSION_FUNCTION_POINTER, SIO_GET_TX_TIMESTAMP, SIO_TIMESTAMPING, SO_TIMESTAMP,
    SO_TIMESTAMP_ID, SOL_SOCKET,
};
use wirestamp_win32::abi::winsock::{
    CompletionRoutine, Overlapped, SocketHandle, WSAID_WSARECVMSG, WsaBuffer, WsaData, WsaMessage,
};
use wirestamp_win32::system::exports::QueryPerformanceCounter;
use wirestamp_win32::winsock::exports::{WSAGetLastError, WSAStartup, bind, getsockname, socket};
use wirestamp_win32::winsock::messages::{WSAIoctl, WSASendMsg};

pub(crate) type ReceiveMessage = unsafe extern "system" fn(
    SocketHandle,
    *mut WsaMessage,
    *mut u32,
    *mut Overlapped,
    CompletionRoutine,
) -> i32;

pub(crate) fn start() {
    let mut data = std::mem::MaybeUninit::<WsaData>::uninit();
    // SAFETY: room for the structure.
    assert_eq!(unsafe { WSAStartup(0x0202, data.as_mut_ptr()) }, 0);
}

/// The result of a call: the last error if it failed.
pub(crate) fn code(result: i32) -> i32 {
    match result {
        // SAFETY: takes nothing.
        -1 => unsafe { WSAGetLastError() },
        other => other,
    }
}

pub(crate) fn counter() -> u64 {
    let mut count = 0;
    // SAFETY: room for the number.
    assert_eq!(unsafe { QueryPerformanceCounter(&raw mut count) }, 1);
    count as u64
}

/// A `sockaddr_in`.
pub(crate) fn ipv4(octets: [u8; 4], port: u16) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[0] = 2;
    bytes[2..4].copy_from_slice(&port.to_be_bytes());
    bytes[4..8].copy_from_slice(&octets);
    bytes
}

/// A UDP socket bound to an address, and that address with its port.
pub(crate) fn bound(octets: [u8; 4]) -> (SocketHandle, [u8; 16]) {
    // SAFETY: takes numbers.
    let made = unsafe { socket(2, 2, 17) };
    assert_ne!(made, usize::MAX);
    let mut name = ipv4(octets, 0);
    // SAFETY: the address has this length.
    assert_eq!(code(unsafe { bind(made, name.as_ptr(), 16) }), 0);
    let mut length = 16;
    assert_eq!(
        // SAFETY: the address has this length.
        code(unsafe { getsockname(made, name.as_mut_ptr(), &raw mut length) }),
        0
    );
    (made, name)
}

pub(crate) fn configure(socket: SocketHandle, flags: u32, capacity: u16) -> i32 {
    let mut config = [0u8; 8];
    config[..4].copy_from_slice(&flags.to_ne_bytes());
    config[4..6].copy_from_slice(&capacity.to_ne_bytes());
    let mut bytes = 0;
    let (input, bytes) = (config.as_ptr().cast(), &raw mut bytes);
    // SAFETY: all have the lengths given.
    code(unsafe {
        WSAIoctl(
            socket,
            SIO_TIMESTAMPING,
            input,
            8,
            null_mut(),
            0,
            bytes,
            null_mut(),
            None,
        )
    })
}

pub(crate) fn fetch(socket: SocketHandle, id: u32) -> Result<u64, i32> {
    let (mut timestamp, mut bytes) = (0u64, 0);
    let (input, output, bytes) = (
        (&raw const id).cast(),
        (&raw mut timestamp).cast(),
        &raw mut bytes,
    );
    // SAFETY: all have the lengths given.
    let result = unsafe {
        WSAIoctl(
            socket,
            SIO_GET_TX_TIMESTAMP,
            input,
            4,
            output,
            8,
            bytes,
            null_mut(),
            None,
        )
    };
    if result == 0 {
        Ok(timestamp)
    } else {
        Err(code(result))
    }
}

/// Fetches a timestamp as soon as it is there.
pub(crate) fn fetch_soon(socket: SocketHandle, id: u32) -> u64 {
    for _ in 0..20_000 {
        match fetch(socket, id) {
            Ok(timestamp) => return timestamp,
            Err(10_035) => std::thread::sleep(std::time::Duration::from_millis(1)),
            Err(code) => panic!("fetching {id}: {code}"),
        }
    }
    panic!("no timestamp for {id}")
}

pub(crate) fn send(socket: SocketHandle, to: &[u8; 16], payload: &[u8], id: Option<u32>) -> i32 {
    let mut control = [0u64; 3];
    if let Some(id) = id {
        let kind = u64::from(SOL_SOCKET as u32) | u64::from(SO_TIMESTAMP_ID as u32) << 32;
        control = [20, kind, id.into()];
    }
    let mut buffer = WsaBuffer {
        length: payload.len() as u32,
        buffer: payload.as_ptr().cast_mut(),
    };
    let message = WsaMessage {
        name: to.as_ptr().cast_mut(),
        name_length: 16,
        buffers: &raw mut buffer,
        buffer_count: 1,
        control: WsaBuffer {
            length: if id.is_some() { 24 } else { 0 },
            buffer: if id.is_some() {
                control.as_mut_ptr().cast()
            } else {
                null_mut()
            },
        },
        flags: 0,
    };
    let mut bytes = 0;
    // SAFETY: all have the lengths given.
    code(unsafe {
        WSASendMsg(
            socket,
            &raw const message,
            0,
            &raw mut bytes,
            null_mut(),
            None,
        )
    })
}

pub(crate) fn receive_message(socket: SocketHandle) -> ReceiveMessage {
    let (mut function, mut bytes) = (None::<ReceiveMessage>, 0);
    let wanted = WSAID_WSARECVMSG;
    let input = (&raw const wanted).cast();
    let (output, bytes) = ((&raw mut function).cast(), &raw mut bytes);
    let number = SIO_GET_EXTENSION_FUNCTION_POINTER;
    assert_eq!(
        // SAFETY: all have the lengths given; null and "none" are the same.
        code(unsafe {
            WSAIoctl(
                socket,
                number,
                input,
                16,
                output,
                8,
                bytes,
                null_mut(),
                None,
            )
        }),
        0
    );
    function.expect("a function")
}

/// A message to receive into, with memory of its own that stays where it is.
pub(crate) struct Room {
    pub(crate) payload: Vec<u8>,
    pub(crate) control: Vec<u64>,
    buffer: Box<WsaBuffer>,
    pub(crate) message: Box<WsaMessage>,
}

impl Room {
    pub(crate) fn new(control_words: usize) -> Self {
        let mut payload = vec![0; 2_048];
        let mut control = vec![0; control_words];
        let mut buffer = Box::new(WsaBuffer {
            length: 2_048,
            buffer: payload.as_mut_ptr(),
        });
        let message = Box::new(WsaMessage {
            name: null_mut(),
            name_length: 0,
            buffers: &raw mut *buffer,
            buffer_count: 1,
            control: WsaBuffer {
                length: (control_words * 8) as u32,
                buffer: control.as_mut_ptr().cast(),
            },
            flags: 0,
        });
        Self {
            payload,
            control,
            buffer,
            message,
        }
    }

    /// Makes it ready for one more datagram: receiving cut the control buffer to what was used.
    pub(crate) fn prepare(&mut self) {
        (self.message.control.length, self.message.flags) = ((self.control.len() * 8) as u32, 0);
    }

    pub(crate) fn receive(&mut self, socket: SocketHandle) -> Result<usize, i32> {
        let mut bytes = 0;
        let function = receive_message(socket);
        // SAFETY: the message and all it points to are this room's.
        let result = unsafe {
            function(
                socket,
                &raw mut *self.message,
                &raw mut bytes,
                null_mut(),
                None,
            )
        };
        if result == 0 {
            Ok(bytes as usize)
        } else {
            Err(code(result))
        }
    }

    /// The received timestamp, if it comes first.
    pub(crate) fn timestamp(&self) -> Option<u64> {
        let kind = u64::from(SOL_SOCKET as u32) | u64::from(SO_TIMESTAMP as u32) << 32;
        let is_timestamp =
            self.message.control.length >= 24 && self.control[0] == 24 && self.control[1] == kind;
        is_timestamp.then(|| self.control[2])
    }

    pub(crate) fn is_untouched(&self) -> bool {
        self.buffer.length == 2_048 && self.payload.iter().all(|byte| *byte == 0)
    }
}

/// Null, as any pointer.
pub(crate) fn nothing<T>() -> *const T {
    null()
}
