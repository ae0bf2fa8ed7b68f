//! The calls for sockets.

use crate::abi::address::{AddressBytes, IPV6_LENGTH};
use crate::cmsg::ControlBuffer;
use crate::windows_wire::cut;
use std::io;
use std::os::windows::io::{
    AsRawHandle, AsRawSocket, BorrowedHandle, BorrowedSocket, FromRawSocket, OwnedSocket,
};
use std::ptr;
use std::sync::OnceLock;
use windows_sys::Win32::Networking::WinSock as ws;
use windows_sys::core::GUID;

/// Room for the control messages of a received datagram: timestamp and packet information take 72
/// bytes; the rest is for those that others have switched on.
const CONTROL: usize = 256;

fn raw(socket: BorrowedSocket<'_>) -> ws::SOCKET {
    // 64 bits in the standard library's type whatever the system's.
    socket.as_raw_socket() as ws::SOCKET
}

fn last_error() -> io::Error {
    // SAFETY: it only reads the thread's last error.
    io::Error::from_raw_os_error(unsafe { ws::WSAGetLastError() })
}

fn checked(result: i32) -> io::Result<()> {
    if result == ws::SOCKET_ERROR {
        Err(last_error())
    } else {
        Ok(())
    }
}

/// Winsock, started once for the life of the process.
fn start() -> io::Result<()> {
    static STARTED: OnceLock<i32> = OnceLock::new();
    let result = STARTED.get_or_init(|| {
        let mut data = ws::WSADATA::default();
        // SAFETY: the pointer is valid for the call.
        unsafe { ws::WSAStartup(0x0202, &raw mut data) }
    });
    if *result == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(*result))
    }
}

/// A UDP socket of `family`, not inherited by children.
pub(in crate::windows) fn socket(family: u16) -> io::Result<OwnedSocket> {
    start()?;
    let flags = ws::WSA_FLAG_OVERLAPPED | ws::WSA_FLAG_NO_HANDLE_INHERIT;
    // SAFETY: a null protocol information is allowed.
    let socket = unsafe {
        ws::WSASocketW(
            family.into(),
            ws::SOCK_DGRAM,
            ws::IPPROTO_UDP,
            ptr::null(),
            0,
            flags,
        )
    };
    if socket == ws::INVALID_SOCKET {
        return Err(last_error());
    }
    // SAFETY: the system has just made the socket for us, and nobody else has it.
    Ok(unsafe { OwnedSocket::from_raw_socket(socket as _) })
}

pub(in crate::windows) fn option(
    socket: BorrowedSocket<'_>,
    level: i32,
    name: i32,
    value: &[u8],
) -> io::Result<()> {
    // SAFETY: the socket is open while it is borrowed; pointer and length are of one slice.
    checked(unsafe { ws::setsockopt(raw(socket), level, name, value.as_ptr(), value.len() as i32) })
}

/// `WSAIoctl` with input alone.
pub(in crate::windows) fn ioctl_in<T>(
    socket: BorrowedSocket<'_>,
    code: u32,
    input: &T,
) -> io::Result<()> {
    let mut returned = 0;
    let (input, length) = ((&raw const *input).cast(), size_of::<T>() as u32);
    // SAFETY: the socket is open while it is borrowed; the input is a whole `T`, no output is
    // asked for, and without an OVERLAPPED nothing is kept after the call.
    checked(unsafe {
        ws::WSAIoctl(
            raw(socket),
            code,
            input,
            length,
            ptr::null_mut(),
            0,
            &raw mut returned,
            ptr::null_mut(),
            None,
        )
    })
}

/// Types of which every pattern of bits is a value.
///
/// # Safety
/// Every pattern of bits must be a value of the type.
pub(in crate::windows) unsafe trait Plain: Default {}
// SAFETY: integers have no invalid values.
unsafe impl Plain for u64 {}
// SAFETY: as above.
unsafe impl Plain for usize {}

/// `WSAIoctl` with input and output. An output shorter than an `O` is an error.
pub(in crate::windows) fn ioctl_in_out<I, O: Plain>(
    socket: BorrowedSocket<'_>,
    code: u32,
    input: &I,
) -> io::Result<O> {
    let mut output = O::default();
    let mut returned = 0;
    let (input, input_length) = ((&raw const *input).cast(), size_of::<I>() as u32);
    let (out, out_length) = ((&raw mut output).cast(), size_of::<O>() as u32);
    // SAFETY: the socket is open while it is borrowed; input and output are whole values, of
    // which the output may hold any bits; without an OVERLAPPED nothing is kept after the call.
    checked(unsafe {
        ws::WSAIoctl(
            raw(socket),
            code,
            input,
            input_length,
            out,
            out_length,
            &raw mut returned,
            ptr::null_mut(),
            None,
        )
    })?;
    if returned == out_length {
        Ok(output)
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

/// `WSARecvMsg`, which has no export.
pub(in crate::windows) type ReceiveMessage = unsafe extern "system" fn(
    ws::SOCKET,
    *mut ws::WSAMSG,
    *mut u32,
    *mut windows_sys::Win32::System::IO::OVERLAPPED,
    ws::LPWSAOVERLAPPED_COMPLETION_ROUTINE,
) -> i32;

/// The provider's `WSARecvMsg` for this socket.
pub(in crate::windows) fn receive_message_function(
    socket: BorrowedSocket<'_>,
) -> io::Result<ReceiveMessage> {
    let wanted: GUID = ws::WSAID_WSARECVMSG;
    let address: usize = ioctl_in_out(socket, ws::SIO_GET_EXTENSION_FUNCTION_POINTER, &wanted)?;
    if address == 0 {
        return Err(io::ErrorKind::Unsupported.into());
    }
    // SAFETY: for this GUID the provider returns the address of a function of this signature,
    // which lives as long as Winsock is loaded.
    Ok(unsafe { std::mem::transmute::<usize, ReceiveMessage>(address) })
}

/// The result of receiving one datagram.
#[derive(Debug)]
pub(in crate::windows) struct ReceivedMessage {
    pub(in crate::windows) length: usize,
    pub(in crate::windows) name: [u8; IPV6_LENGTH],
    pub(in crate::windows) control: ControlBytes,
    pub(in crate::windows) truncated: bool,
    pub(in crate::windows) control_truncated: bool,
}

/// A control buffer that the system filled.
#[derive(Debug)]
#[repr(C, align(8))]
pub(in crate::windows) struct ControlBytes {
    bytes: [u8; CONTROL],
    length: usize,
}

impl ControlBytes {
    pub(in crate::windows) fn filled(&self) -> &[u8] {
        &self.bytes[..self.length.min(CONTROL)]
    }
}

/// Receives one datagram. One that does not fit into `buffer` is cut, which is no error.
pub(in crate::windows) fn receive_message(
    function: ReceiveMessage,
    socket: BorrowedSocket<'_>,
    buffer: &mut [u8],
) -> io::Result<ReceivedMessage> {
    let mut name = [0; IPV6_LENGTH];
    let mut control = ControlBytes {
        bytes: [0; CONTROL],
        length: 0,
    };
    let mut part = ws::WSABUF {
        len: buffer.len().try_into().unwrap_or(u32::MAX),
        buf: buffer.as_mut_ptr(),
    };
    let mut message = ws::WSAMSG {
        name: (&raw mut name).cast(),
        namelen: IPV6_LENGTH as i32,
        lpBuffers: &raw mut part,
        dwBufferCount: 1,
        Control: ws::WSABUF {
            len: CONTROL as u32,
            buf: control.bytes.as_mut_ptr(),
        },
        dwFlags: 0,
    };
    let mut length = cut::NOT_COUNTED;
    // SAFETY: the function is that socket's own; the message's pointers are to buffers of the
    // lengths it names, which live through the call, and without an OVERLAPPED nothing is kept.
    let result = unsafe {
        function(
            raw(socket),
            &raw mut message,
            &raw mut length,
            ptr::null_mut(),
            None,
        )
    };
    let failed = checked(result).err();
    if let Some(error) = failed.filter(|error| error.raw_os_error() != Some(ws::WSAEMSGSIZE)) {
        return Err(error);
    }
    let payload = cut::payload(result != 0, message.dwFlags, length, part.len)
        .ok_or_else(|| io::Error::from_raw_os_error(ws::WSAEMSGSIZE))?;
    control.length = message.Control.len as usize;
    Ok(ReceivedMessage {
        length: payload.length as usize,
        name,
        control,
        truncated: payload.truncated,
        control_truncated: message.dwFlags & ws::MSG_CTRUNC != 0,
    })
}

/// Sends one datagram with control messages.
pub(in crate::windows) fn send_message<const BYTES: usize>(
    socket: BorrowedSocket<'_>,
    payload: &[u8],
    to: &AddressBytes,
    control: &ControlBuffer<BYTES>,
) -> io::Result<()> {
    let (name, control) = (to.bytes(), control.written());
    let or_null = |bytes: &[u8]| {
        if bytes.is_empty() {
            ptr::null_mut()
        } else {
            bytes.as_ptr().cast_mut()
        }
    };
    let length =
        u32::try_from(payload.len()).map_err(|_| io::Error::from_raw_os_error(ws::WSAEMSGSIZE))?;
    let mut part = ws::WSABUF {
        len: length,
        buf: payload.as_ptr().cast_mut(),
    };
    let message = ws::WSAMSG {
        name: or_null(name).cast(),
        namelen: name.len() as i32,
        lpBuffers: &raw mut part,
        dwBufferCount: 1,
        Control: ws::WSABUF {
            len: control.len() as u32,
            buf: or_null(control),
        },
        dwFlags: 0,
    };
    let mut sent = 0;
    // SAFETY: the socket is open while it is borrowed; the message's pointers are to buffers of
    // the lengths it names, which are only read, and without an OVERLAPPED nothing is kept.
    checked(unsafe {
        ws::WSASendMsg(
            raw(socket),
            &raw const message,
            0,
            &raw mut sent,
            ptr::null_mut(),
            None,
        )
    })
}

/// Lets `event` be set when something can be received; with no event, none any more. Makes the socket
/// non-blocking.
pub(in crate::windows) fn select_event(
    socket: BorrowedSocket<'_>,
    event: Option<BorrowedHandle<'_>>,
) -> io::Result<()> {
    let events = if event.is_some() { ws::FD_READ } else { 0 };
    let event = event.map_or(0, |event| event.as_raw_handle() as isize);
    // SAFETY: both are open while they are borrowed; the association ends with the socket.
    checked(unsafe { ws::WSAEventSelect(raw(socket), event, events as i32) })
}

/// Whether something can be received and whether there is room to send, now.
pub(in crate::windows) fn readiness(socket: BorrowedSocket<'_>) -> io::Result<(bool, bool)> {
    let events = ws::POLLRDNORM | ws::POLLWRNORM;
    let mut polled = ws::WSAPOLLFD {
        fd: raw(socket),
        events,
        revents: 0,
    };
    // SAFETY: one descriptor, valid for the call.
    checked(unsafe { ws::WSAPoll(&raw mut polled, 1, 0) })?;
    let failed = polled.revents & (ws::POLLERR | ws::POLLHUP) != 0;
    Ok((
        polled.revents & ws::POLLRDNORM != 0 || failed,
        polled.revents & ws::POLLWRNORM != 0 || failed,
    ))
}
