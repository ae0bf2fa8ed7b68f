//! The calls: each safe function does one, and gives back what the system answered.

use std::ffi::{CStr, c_void};
use std::fmt;
use std::net::{SocketAddr, SocketAddrV4};
use std::os::windows::io::{AsRawSocket, AsSocket};
use std::ptr;
use windows_sys::Win32::NetworkManagement::IpHelper as ip;
use windows_sys::Win32::Networking::WinSock as ws;
use windows_sys::Win32::System::LibraryLoader::{GetProcAddress, LoadLibraryA};
use windows_sys::Win32::System::Threading::GetCurrentThreadId;

/// A result of Winsock: a length, or an error's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Done(u32),
    Refused(i32),
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done(0) => f.write_str("ok"),
            Self::Done(length) => write!(f, "ok, {length} bytes"),
            Self::Refused(code) => write!(f, "error {code}"),
        }
    }
}

fn answered(result: i32, length: u32) -> Answer {
    if result == 0 {
        Answer::Done(length)
    } else {
        // SAFETY: it only reads the thread's last error.
        Answer::Refused(unsafe { ws::WSAGetLastError() })
    }
}

/// An exported function of `iphlpapi.dll`, if it is there.
pub(crate) fn export(name: &CStr) -> Option<usize> {
    // SAFETY: the name ends with a zero.
    let library = unsafe { LoadLibraryA(c"iphlpapi.dll".as_ptr().cast()) };
    // SAFETY: the library stays loaded; the name ends with a zero.
    unsafe { GetProcAddress(library, name.as_ptr().cast()) }.map(|found| found as usize)
}

/// More than any structure of the interface, old or new.
pub(crate) const ROOM: usize = 64;

/// Calls a function that takes a LUID and fills a structure; returns its result.
pub(crate) fn query(function: usize, luid: u64, room: &mut [u8; ROOM]) -> u32 {
    type Query = unsafe extern "system" fn(*const u64, *mut c_void) -> u32;
    // SAFETY: the export of this name is a function of this type, under both interfaces.
    let function = unsafe { std::mem::transmute::<usize, Query>(function) };
    // SAFETY: the room is larger than the structure of either interface.
    unsafe { function(&raw const luid, room.as_mut_ptr().cast()) }
}

pub(crate) type Callback = unsafe extern "system" fn(*const c_void);

/// Registers a callback; returns result and handle.
pub(crate) fn register(function: usize, callback: Option<Callback>) -> (u32, *mut c_void) {
    type Register =
        unsafe extern "system" fn(Option<Callback>, *const c_void, *mut *mut c_void) -> u32;
    // SAFETY: the export of this name is a function of this type.
    let function = unsafe { std::mem::transmute::<usize, Register>(function) };
    let mut handle = ptr::null_mut();
    // SAFETY: the callback uses no context; the handle's place is valid for the call.
    let result = unsafe { function(callback, ptr::null(), &raw mut handle) };
    (result, handle)
}

pub(crate) fn unregister(function: usize, handle: *mut c_void) {
    type Unregister = unsafe extern "system" fn(*mut c_void);
    // SAFETY: the export of this name is a function of this type.
    let function = unsafe { std::mem::transmute::<usize, Unregister>(function) };
    // SAFETY: the handle is of a registration that was not ended yet.
    unsafe { function(handle) }
}

pub(crate) fn thread() -> u32 {
    // SAFETY: it takes nothing.
    unsafe { GetCurrentThreadId() }
}

/// A NIC, as Windows describes it.
#[derive(Debug)]
pub(crate) struct Adapter {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) luid: u64,
    pub(crate) kind: u32,
    pub(crate) status: i32,
    pub(crate) ipv4: Option<std::net::Ipv4Addr>,
}

/// Every adapter, hidden ones too.
pub(crate) fn adapters() -> Vec<Adapter> {
    let flags = ip::GAA_FLAG_SKIP_ANYCAST
        | ip::GAA_FLAG_SKIP_MULTICAST
        | ip::GAA_FLAG_INCLUDE_ALL_INTERFACES;
    let mut buffer = vec![0u64; 32_768];
    let mut size = (buffer.len() * 8) as u32;
    let first: *mut ip::IP_ADAPTER_ADDRESSES_LH = buffer.as_mut_ptr().cast();
    // SAFETY: the buffer is aligned and of the size that is told.
    if unsafe { ip::GetAdaptersAddresses(0, flags, ptr::null(), first, &raw mut size) } != 0 {
        return Vec::new();
    }
    let mut listed = Vec::new();
    let mut next: *const ip::IP_ADAPTER_ADDRESSES_LH = first;
    // SAFETY: the list lies in the buffer, and its last record has no next one.
    while let Some(record) = unsafe { next.as_ref() } {
        listed.push(Adapter {
            name: text(record.FriendlyName),
            description: text(record.Description),
            // SAFETY: every pattern of bits is a number.
            luid: unsafe { record.Luid.Value },
            kind: record.IfType,
            status: record.OperStatus,
            ipv4: first_ipv4(record),
        });
        next = record.Next;
    }
    listed
}

fn text(wide: *const u16) -> String {
    // SAFETY: the system's texts end with a zero.
    let characters = (0..)
        .map(|place| unsafe { wide.wrapping_add(place).read() })
        .take_while(|character| *character != 0);
    char::decode_utf16(characters)
        .map(|one| one.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

fn first_ipv4(record: &ip::IP_ADAPTER_ADDRESSES_LH) -> Option<std::net::Ipv4Addr> {
    let mut next = record.FirstUnicastAddress;
    // SAFETY: the list lies in the same buffer.
    while let Some(unicast) = unsafe { next.as_ref() } {
        // SAFETY: an address begins with its family.
        if unsafe { (*unicast.Address.lpSockaddr).sa_family } == ws::AF_INET {
            // SAFETY: of this family, it is that long.
            let address = unsafe {
                unicast
                    .Address
                    .lpSockaddr
                    .cast::<ws::SOCKADDR_IN>()
                    .read_unaligned()
            };
            // SAFETY: every pattern of bits is an address.
            return Some(std::net::Ipv4Addr::from(u32::from_be(unsafe {
                address.sin_addr.S_un.S_addr
            })));
        }
        next = unicast.Next;
    }
    None
}

fn raw(socket: &impl AsSocket) -> ws::SOCKET {
    socket.as_socket().as_raw_socket() as ws::SOCKET
}

/// `WSAIoctl` with these bytes, and room for as many of output.
pub(crate) fn ioctl(socket: &impl AsSocket, code: u32, input: &[u8], output: &mut [u8]) -> Answer {
    let mut length = 0;
    let place = if output.is_empty() {
        ptr::null_mut()
    } else {
        output.as_mut_ptr().cast()
    };
    let (input, input_length, room) = (
        input.as_ptr().cast(),
        input.len() as u32,
        output.len() as u32,
    );
    // SAFETY: pointers and lengths are of slices, and nothing is kept after the call.
    let result = unsafe {
        ws::WSAIoctl(
            raw(socket),
            code,
            input,
            input_length,
            place,
            room,
            &raw mut length,
            ptr::null_mut(),
            None,
        )
    };
    answered(result, length)
}

/// Switches a socket's option on or sets it.
pub(crate) fn option(socket: &impl AsSocket, level: i32, name: i32, value: u32) -> Answer {
    // SAFETY: four bytes.
    answered(
        unsafe { ws::setsockopt(raw(socket), level, name, (&raw const value).cast(), 4) },
        0,
    )
}

/// Sends under an id, as the control message asks for it.
pub(crate) fn send(
    socket: &impl AsSocket,
    payload: &[u8],
    to: SocketAddrV4,
    id: Option<u32>,
) -> Answer {
    const SO_TIMESTAMP_ID: i32 = 0x300b;
    let mut address = ws::SOCKADDR_IN {
        sin_family: ws::AF_INET,
        sin_port: to.port().to_be(),
        ..Default::default()
    };
    address.sin_addr.S_un.S_addr = u32::from(*to.ip()).to_be();
    let mut control = [0u64; 3];
    let header = size_of::<ws::CMSGHDR>();
    let place: *mut u8 = control.as_mut_ptr().cast();
    let one = ws::CMSGHDR {
        cmsg_len: header + 4,
        cmsg_level: ws::SOL_SOCKET,
        cmsg_type: SO_TIMESTAMP_ID,
    };
    // SAFETY: the control buffer is aligned for the header and long enough.
    unsafe { place.cast::<ws::CMSGHDR>().write(one) };
    // SAFETY: the id lies behind the header, within the buffer.
    unsafe {
        place
            .wrapping_add(header)
            .cast::<u32>()
            .write_unaligned(id.unwrap_or_default());
    };
    let mut part = ws::WSABUF {
        len: payload.len() as u32,
        buf: payload.as_ptr().cast_mut(),
    };
    let message = ws::WSAMSG {
        name: (&raw mut address).cast(),
        namelen: size_of::<ws::SOCKADDR_IN>() as i32,
        lpBuffers: &raw mut part,
        dwBufferCount: 1,
        Control: ws::WSABUF {
            len: if id.is_some() { (header + 8) as u32 } else { 0 },
            buf: place,
        },
        dwFlags: 0,
    };
    let mut length = 0;
    // SAFETY: the message's pointers live through the call, and are only read.
    let result = unsafe {
        ws::WSASendMsg(
            raw(socket),
            &raw const message,
            0,
            &raw mut length,
            ptr::null_mut(),
            None,
        )
    };
    answered(result, length)
}

/// A received datagram: how long, from whom, and the bytes of each control message.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub(crate) length: u32,
    pub(crate) from: Option<SocketAddr>,
    pub(crate) controls: Vec<(i32, i32, Vec<u8>)>,
}

/// Receives one datagram, if one waits.
pub(crate) fn receive(socket: &impl AsSocket, buffer: &mut [u8]) -> Result<Arrived, Answer> {
    type Receive = unsafe extern "system" fn(
        ws::SOCKET,
        *mut ws::WSAMSG,
        *mut u32,
        *mut c_void,
        *mut c_void,
    ) -> i32;
    let guid = ws::WSAID_WSARECVMSG;
    let bytes = [
        &guid.data1.to_ne_bytes()[..],
        &guid.data2.to_ne_bytes(),
        &guid.data3.to_ne_bytes(),
        &guid.data4,
    ]
    .concat();
    let mut found = [0; size_of::<usize>()];
    if let Answer::Refused(code) = ioctl(
        socket,
        ws::SIO_GET_EXTENSION_FUNCTION_POINTER,
        &bytes,
        &mut found,
    ) {
        return Err(Answer::Refused(code));
    }
    // SAFETY: for this GUID the provider gives the address of a function of this type.
    let function = unsafe { std::mem::transmute::<usize, Receive>(usize::from_ne_bytes(found)) };
    let mut address = ws::SOCKADDR_IN::default();
    let mut control = [0u64; 64];
    let mut part = ws::WSABUF {
        len: buffer.len() as u32,
        buf: buffer.as_mut_ptr(),
    };
    let mut message = ws::WSAMSG {
        name: (&raw mut address).cast(),
        namelen: size_of::<ws::SOCKADDR_IN>() as i32,
        lpBuffers: &raw mut part,
        dwBufferCount: 1,
        Control: ws::WSABUF {
            len: 512,
            buf: control.as_mut_ptr().cast(),
        },
        dwFlags: 0,
    };
    let mut length = 0;
    // SAFETY: the message's pointers are to buffers of the lengths it names.
    let result = unsafe {
        function(
            raw(socket),
            &raw mut message,
            &raw mut length,
            ptr::null_mut(),
            ptr::null_mut(),
        )
    };
    if let Answer::Refused(code) = answered(result, length) {
        return Err(Answer::Refused(code));
    }
    // SAFETY: every pattern of bits is an address.
    let ip = u32::from_be(unsafe { address.sin_addr.S_un.S_addr });
    let from = (address.sin_family == ws::AF_INET)
        .then(|| SocketAddr::from((std::net::Ipv4Addr::from(ip), u16::from_be(address.sin_port))));
    let bytes: Vec<u8> = control.iter().flat_map(|word| word.to_ne_bytes()).collect();
    Ok(Arrived {
        length,
        from,
        controls: controls(&bytes[..message.Control.len.min(512) as usize]),
    })
}

/// Level, type and bytes of each control message.
fn controls(bytes: &[u8]) -> Vec<(i32, i32, Vec<u8>)> {
    let header = size_of::<ws::CMSGHDR>();
    let number = |at: usize| Some(i32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(length) = bytes.get(at..at + size_of::<usize>()) {
        let length = usize::from_ne_bytes(length.try_into().unwrap_or_default());
        let (level, kind) = (
            number(at + size_of::<usize>()),
            number(at + size_of::<usize>() + 4),
        );
        let (Some(level), Some(kind), Some(payload)) =
            (level, kind, bytes.get(at + header..at + length))
        else {
            break;
        };
        found.push((level, kind, payload.to_vec()));
        at += length.next_multiple_of(size_of::<usize>());
    }
    found
}
