//! The structures of Winsock.

use std::ffi::c_void;
use std::mem::offset_of;

/// `SOCKET`.
pub type SocketHandle = usize;
/// `INVALID_SOCKET`.
pub const INVALID_SOCKET: SocketHandle = usize::MAX;
/// `SOCKET_ERROR`.
pub const SOCKET_ERROR: i32 = -1;
/// `HANDLE`.
pub type Handle = *mut c_void;

/// `WSABUF`: the length comes first.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct WsaBuffer {
    /// Bytes.
    pub length: u32,
    /// Where.
    pub buffer: *mut u8,
}

/// `WSAMSG`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct WsaMessage {
    /// The peer's address.
    pub name: *mut u8,
    /// Its bytes.
    pub name_length: i32,
    /// The payload's buffers.
    pub buffers: *mut WsaBuffer,
    /// How many.
    pub buffer_count: u32,
    /// Control messages.
    pub control: WsaBuffer,
    /// `MSG_*`.
    pub flags: u32,
}

/// `OVERLAPPED`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Overlapped {
    /// NTSTATUS.
    pub internal: usize,
    /// Bytes transferred.
    pub internal_high: usize,
    /// Not for sockets.
    pub offset: u64,
    /// Set on completion; null: none.
    pub event: Handle,
}

/// `TIMESTAMPING_CONFIG`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct TimestampingConfig {
    /// `TIMESTAMPING_FLAG_*`.
    pub flags: u32,
    /// How many timestamps may wait.
    pub transmit_timestamps_buffered: u16,
    padding: u16,
}

impl TimestampingConfig {
    /// Both directions at once, which is the only way.
    pub const fn new(flags: u32, transmit_timestamps_buffered: u16) -> Self {
        Self {
            flags,
            transmit_timestamps_buffered,
            padding: 0,
        }
    }
}

/// `GUID`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Guid {
    /// First 32 bits.
    pub data1: u32,
    /// Then 16,
    pub data2: u16,
    /// 16,
    pub data3: u16,
    /// and 64.
    pub data4: [u8; 8],
}

/// `WSAID_WSARECVMSG`.
pub const WSAID_WSARECVMSG: Guid = Guid {
    data1: 0xf689_d7c8,
    data2: 0x6f1f,
    data3: 0x436b,
    data4: [0x8a, 0x53, 0xe5, 0x4f, 0xe3, 0x51, 0xc3, 0x22],
};
/// `WSAID_WSASENDMSG`.
pub const WSAID_WSASENDMSG: Guid = Guid {
    data1: 0xa441_e712,
    data2: 0x754f,
    data3: 0x43ca,
    data4: [0x84, 0xa7, 0x0d, 0xee, 0x44, 0xcf, 0x60, 0x6d],
};

/// `WSADATA` of 64-bit Windows, where the numbers precede the texts.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct WsaData {
    /// The version in use.
    pub version: u16,
    /// The highest version there is.
    pub high_version: u16,
    /// 0 since version 2.
    pub max_sockets: u16,
    /// 0 since version 2.
    pub max_udp_size: u16,
    /// Null.
    pub vendor_information: *mut u8,
    /// Who it is.
    pub description: [u8; 257],
    /// How it is.
    pub system_status: [u8; 129],
}

/// The completion routine of an overlapped call: never called, see `ABI.md`.
pub type CompletionRoutine = Option<unsafe extern "system" fn(u32, u32, *mut Overlapped, u32)>;

const _: () =
    assert!(size_of::<TimestampingConfig>() == 8 && align_of::<TimestampingConfig>() == 4);
const _: () = assert!(offset_of!(TimestampingConfig, transmit_timestamps_buffered) == 4);
const _: () = assert!(size_of::<Guid>() == 16);
#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(size_of::<WsaBuffer>() == 16 && offset_of!(WsaBuffer, buffer) == 8);
    assert!(size_of::<WsaMessage>() == 56 && offset_of!(WsaMessage, name_length) == 8);
    assert!(offset_of!(WsaMessage, buffers) == 16 && offset_of!(WsaMessage, buffer_count) == 24);
    assert!(offset_of!(WsaMessage, control) == 32 && offset_of!(WsaMessage, flags) == 48);
    assert!(size_of::<Overlapped>() == 32 && offset_of!(Overlapped, event) == 24);
    assert!(size_of::<WsaData>() == 408 && offset_of!(WsaData, description) == 16);
};
#[cfg(target_pointer_width = "32")]
const _: () = {
    assert!(
        size_of::<WsaBuffer>() == 8
            && size_of::<WsaMessage>() == 28
            && offset_of!(WsaMessage, flags) == 24
    );
};
