//! The functions of Winsock that are forwarded here: to the shadow where a socket has one,
//! else to the system.

use crate::real::ReceiveMessage;
use crate::shadow::Known;
use crate::started::Started;
use crate::{datagrams, options, real, shadow};
use std::ffi::c_void;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::OnceLock;
use wirestamp_win32::abi::address::AddressBytes;
use wirestamp_win32::abi::codes::{
    WSAEFAULT, WSAEINVAL, WSAEOPNOTSUPP, WSAEWOULDBLOCK, WSANOTINITIALISED,
};
use wirestamp_win32::abi::numbers::{
    AF_INET, AF_INET6, FIONBIO, IPPROTO_UDP, SIO_GET_EXTENSION_FUNCTION_POINTER,
    SIO_GET_TX_TIMESTAMP, SIO_TIMESTAMPING, SIO_UDP_CONNRESET, SO_TYPE, SOCK_DGRAM, SOL_SOCKET,
    TIMESTAMPING_FLAG_TX, WSA_FLAG_OVERLAPPED,
};
use wirestamp_win32::abi::winsock::{
    CompletionRoutine, Guid, INVALID_SOCKET, Overlapped, SOCKET_ERROR, SocketHandle,
    WSAID_WSARECVMSG, WSAID_WSASENDMSG, WsaData, WsaMessage,
};
use wirestamp_win32::simulated::{self, Simulation};
use wirestamp_win32::winsock::selecting::{self, NetworkEvents};
use wirestamp_win32::winsock::{exports, messages};
use wirestamp_win32::{address, memory};

/// How often Winsock was started.
static STARTED: Started = Started::new();

pub(crate) fn failed(code: i32) -> i32 {
    // SAFETY: takes a number.
    unsafe { exports::WSASetLastError(code) };
    SOCKET_ERROR
}

fn is_chosen() -> bool {
    simulated::chosen().is_ok_and(|simulation| simulation.is_some())
}

/// Whether a socket with this address is simulated.
fn is_simulated(local: SocketAddr) -> bool {
    is_chosen() && (local.ip().is_unspecified() || Simulation::owns(local.ip()))
}

/// Whether an address is one of the simulated network.
pub(crate) fn is_owned(address: IpAddr) -> bool {
    is_chosen() && Simulation::owns(address)
}

/// Gives a socket a shadow that is bound to the wildcard address; `None` if that can't be.
pub(crate) fn bind_to_any(socket: SocketHandle, ipv6: bool) -> Option<SocketHandle> {
    let any: IpAddr = match ipv6 {
        true => Ipv6Addr::UNSPECIFIED.into(),
        false => Ipv4Addr::UNSPECIFIED.into(),
    };
    let local = SocketAddr::new(any, 0);
    let name = AddressBytes::new(local, ipv6);
    let bytes = name.bytes();
    // SAFETY: pointer and length are of one address. Another thread may have been the first: then its shadow counts.
    unsafe { bind_shadow(socket, local, bytes.as_ptr(), bytes.len() as i32) };
    shadow::of(socket)
}

/// Gives a socket its shadow, bound to `name`.
///
/// # Safety
/// `name` points to an address of `length` bytes.
unsafe fn bind_shadow(
    socket: SocketHandle,
    local: SocketAddr,
    name: *const u8,
    length: i32,
) -> i32 {
    let family = if local.is_ipv6() { AF_INET6 } else { AF_INET };
    let none = std::ptr::null_mut();
    // SAFETY: no protocol information is given.
    let made = unsafe {
        exports::WSASocketW(
            family.into(),
            SOCK_DGRAM,
            IPPROTO_UDP,
            none,
            0,
            WSA_FLAG_OVERLAPPED,
        )
    };
    if made == INVALID_SOCKET {
        return SOCKET_ERROR;
    }
    let mut all = shadow::all();
    let known = all.entry(socket).or_default();
    if known.shadow.is_some() {
        // It is bound; or another thread was the first to send.
        // SAFETY: it was made above and is nobody else's.
        unsafe { exports::closesocket(made) };
        return failed(WSAEINVAL);
    }
    options::replay(made, &known.options);
    let mut on = u32::from(known.nonblocking);
    // SAFETY: the pointer is valid for the call.
    unsafe { exports::ioctlsocket(made, FIONBIO.cast_signed(), &raw mut on) };
    // SAFETY: the caller's promise.
    if unsafe { exports::bind(made, name, length) } != 0 {
        // SAFETY: it takes nothing.
        let code = unsafe { exports::WSAGetLastError() };
        // SAFETY: it was made above and is nobody else's.
        unsafe { exports::closesocket(made) };
        return failed(code); // closing has left the code of a success
    }
    if let Some(on) = known.connection_resets {
        // SAFETY: the pointers are valid for the call.
        unsafe { switch_resets(made, &on) };
    }
    known.shadow = Some(made);
    let (event, events) = known.selected;
    if events != 0 {
        // SAFETY: takes no memory; the real socket's events are over.
        unsafe { real::WSAEventSelect(socket, std::ptr::null_mut(), 0) };
        let event = std::ptr::with_exposed_provenance_mut(event);
        // SAFETY: the program's event, which it keeps for as long as it is selected.
        unsafe { selecting::WSAEventSelect(made, event, events) };
    }
    0
}

/// # Safety
/// None needed beyond a reference.
unsafe fn switch_resets(shadow: SocketHandle, on: &u32) -> i32 {
    let mut bytes = 0;
    let (none, no_output) = (std::ptr::null_mut(), std::ptr::null_mut());
    let input = (&raw const *on).cast();
    // SAFETY: the pointers are valid for the call, and nothing is kept.
    unsafe {
        messages::WSAIoctl(
            shadow,
            SIO_UDP_CONNRESET,
            input,
            4,
            no_output,
            0,
            &raw mut bytes,
            none,
            None,
        )
    }
}

/// The system's own `WSARecvMsg`, as it last gave it.
static OWN: OnceLock<ReceiveMessage> = OnceLock::new();

/// What programs get as `WSARecvMsg`.
unsafe extern "system" fn receive_message(
    socket: SocketHandle,
    message: *mut WsaMessage,
    bytes: *mut u32,
    overlapped: *mut Overlapped,
    routine: CompletionRoutine,
) -> i32 {
    match (shadow::of(socket), OWN.get()) {
        // SAFETY: the caller's promise.
        (Some(shadow), _) => unsafe {
            messages::receive_message(shadow, message, bytes, overlapped, routine)
        },
        // SAFETY: the caller's promise.
        (None, Some(own)) => unsafe { own(socket, message, bytes, overlapped, routine) },
        (None, None) => failed(WSAEOPNOTSUPP),
    }
}

/// Puts ours in the place of the system's `WSARecvMsg`.
///
/// # Safety
/// `output` is writable for a pointer.
unsafe fn exchange(output: *mut c_void) {
    let place = output.cast::<usize>();
    // SAFETY: the caller's promise.
    let Some(own) = (unsafe { memory::read(place.cast_const()) }) else {
        return;
    };
    // SAFETY: the system gives the address of a function of this type.
    OWN.get_or_init(|| unsafe { std::mem::transmute::<usize, ReceiveMessage>(own) });
    // SAFETY: the caller's promise.
    let _written = unsafe { memory::write(place, receive_message as *const () as usize) };
}

/// Timestamping of a socket that no simulated adapter is below: it can be configured, and nothing
/// is ever timestamped.
///
/// # Safety
/// Each pointer is null or points to memory of the length given with it.
unsafe fn stampless(
    socket: SocketHandle,
    known: &mut Known,
    code: u32,
    input: *const c_void,
    length: u32,
    bytes: *mut u32,
) -> i32 {
    let (mut kind, mut room) = (0i32, size_of::<i32>() as i32);
    let place = (&raw mut kind).cast();
    // SAFETY: the pointers are valid for the call.
    if unsafe { real::getsockopt(socket, SOL_SOCKET, SO_TYPE, place, &raw mut room) } != 0 {
        return SOCKET_ERROR; // no socket
    }
    if kind != SOCK_DGRAM {
        return failed(WSAEOPNOTSUPP);
    }
    if code == SIO_GET_TX_TIMESTAMP {
        return failed(if known.timestamps_sent {
            WSAEWOULDBLOCK
        } else {
            WSAEOPNOTSUPP
        });
    }
    // SAFETY: the caller's promise.
    let config = unsafe { memory::bytes(input.cast(), length as usize) };
    let Some([flags, _, _, _, _, _, _, _, ..]) = config else {
        return failed(WSAEFAULT);
    };
    known.timestamps_sent = u32::from(*flags) & TIMESTAMPING_FLAG_TX != 0;
    // SAFETY: the caller's promise.
    let _written = unsafe { memory::write(bytes, 0) };
    0
}

export_forward! {
    fn WSAStartup(version: u16, data: *mut WsaData) -> i32 {
        // SAFETY: the caller's promise.
        let ours = unsafe { exports::WSAStartup(version, data) };
        if ours != 0 {
            return ours;
        }
        // SAFETY: the caller's promise.
        let real = STARTED.start(|| unsafe { real::WSAStartup(version, data) });
        if real != 0 {
            // SAFETY: takes nothing.
            unsafe { exports::WSACleanup() };
        }
        real
    }

    fn WSACleanup() -> i32 {
        // The system gives the numbers of its sockets to others after that.
        let forget = || shadow::all().clear();
        // SAFETY: takes nothing.
        let real = STARTED.end(|| unsafe { real::WSACleanup() }, forget);
        if real == 0 {
            // SAFETY: takes nothing.
            unsafe { exports::WSACleanup() };
        }
        real
    }

    fn closesocket(socket: SocketHandle) -> i32 {
        let known = shadow::all().remove(&socket);
        if let Some(shadow) = known.and_then(|known| known.shadow) {
            // SAFETY: it was the shadow of this socket alone.
            unsafe { exports::closesocket(shadow) };
        }
        // SAFETY: the caller's promise.
        unsafe { real::closesocket(socket) }
    }

    fn bind(socket: SocketHandle, name: *const u8, length: i32) -> i32 {
        // SAFETY: the caller's promise.
        let local = unsafe { address::at(name, length) }.ok();
        match (shadow::of(socket), local.filter(|local| is_simulated(*local))) {
            // SAFETY: the caller's promise.
            (Some(bound), _) => unsafe { exports::bind(bound, name, length) },
            // SAFETY: the caller's promise.
            (None, Some(local)) => unsafe { bind_shadow(socket, local, name, length) },
            // SAFETY: the caller's promise.
            (None, None) => unsafe { real::bind(socket, name, length) },
        }
    }

    fn connect(socket: SocketHandle, name: *const u8, length: i32) -> i32 {
        // SAFETY: the caller's promise.
        let made = unsafe { datagrams::towards(socket, name, length) };
        match made.or_else(|| shadow::of(socket)) {
            // SAFETY: the caller's promise.
            Some(shadow) => unsafe { exports::connect(shadow, name, length) },
            // SAFETY: the caller's promise.
            None => unsafe { real::connect(socket, name, length) },
        }
    }

    fn getsockname(socket: SocketHandle, name: *mut u8, length: *mut i32) -> i32 {
        match shadow::of(socket) {
            // SAFETY: the caller's promise.
            Some(shadow) => unsafe { exports::getsockname(shadow, name, length) },
            // SAFETY: the caller's promise.
            None => unsafe { real::getsockname(socket, name, length) },
        }
    }

    fn setsockopt(socket: SocketHandle, level: i32, name: i32, value: *const u8, length: i32) -> i32 {
        // SAFETY: the caller's promise.
        unsafe { options::set(socket, level, name, value, length) }
    }

    fn WSAEventSelect(socket: SocketHandle, event: *mut c_void, events: i32) -> i32 {
        let selected = shadow::of_or(socket, |known| {
            // SAFETY: the caller's promise.
            let selected = unsafe { real::WSAEventSelect(socket, event, events) };
            if selected == 0 {
                known.selected = (event.expose_provenance(), events);
                known.nonblocking = true; // and it stays so
            }
            selected
        });
        match selected {
            // SAFETY: the caller's promise.
            Ok(shadow) => unsafe { selecting::WSAEventSelect(shadow, event, events) },
            Err(real) => real,
        }
    }

    fn WSAEnumNetworkEvents(socket: SocketHandle, event: *mut c_void, events: *mut NetworkEvents) -> i32 {
        match shadow::of(socket) {
            // SAFETY: the caller's promise.
            Some(shadow) => unsafe { selecting::WSAEnumNetworkEvents(shadow, event, events) },
            // SAFETY: the caller's promise.
            None => unsafe { real::WSAEnumNetworkEvents(socket, event, events) },
        }
    }

    fn WSAIoctl(
        socket: SocketHandle,
        code: u32,
        input: *const c_void,
        input_length: u32,
        output: *mut c_void,
        output_length: u32,
        bytes: *mut u32,
        overlapped: *mut Overlapped,
        routine: CompletionRoutine,
    ) -> i32 {
        let is_started = STARTED.is_any(); // before the lock of the shadows
        let shadow = shadow::of_or(socket, |known| match code {
            SIO_TIMESTAMPING | SIO_GET_TX_TIMESTAMP if !is_started => Some(failed(WSANOTINITIALISED)),
            SIO_TIMESTAMPING | SIO_GET_TX_TIMESTAMP => {
                // SAFETY: the caller's promise.
                Some(unsafe { stampless(socket, known, code, input, input_length, bytes) })
            }
            SIO_UDP_CONNRESET if input_length as usize >= size_of::<u32>() => {
                // SAFETY: the caller's promise: there are so many bytes.
                known.connection_resets = unsafe { memory::read(input.cast::<u32>()) };
                None
            }
            _ => None,
        });
        if let Err(Some(answer)) = shadow {
            return answer;
        }
        if let Some(shadow) = shadow.ok().filter(|_| code != SIO_GET_EXTENSION_FUNCTION_POINTER) {
            // SAFETY: the caller's promise.
            return unsafe {
                messages::WSAIoctl(
                    shadow, code, input, input_length, output, output_length, bytes, overlapped, routine,
                )
            };
        }
        // SAFETY: the caller's promise.
        let result = unsafe {
            real::WSAIoctl(socket, code, input, input_length, output, output_length, bytes, overlapped, routine)
        };
        if result == 0 && code == SIO_GET_EXTENSION_FUNCTION_POINTER {
            // SAFETY: the system has found a whole GUID there.
            match unsafe { memory::read(input.cast::<Guid>()) } {
                // SAFETY: the system has just written it.
                Some(WSAID_WSARECVMSG) => unsafe { exchange(output) },
                Some(WSAID_WSASENDMSG) => {
                    // SAFETY: the system has just written a pointer there.
                    let _ours = unsafe { memory::write(output.cast(), WSASendMsg as *const () as usize) };
                }
                _ => {}
            }
        }
        result
    }

    fn WSASendMsg(
        socket: SocketHandle,
        message: *const WsaMessage,
        flags: u32,
        bytes: *mut u32,
        overlapped: *mut Overlapped,
        routine: CompletionRoutine,
    ) -> i32 {
        // SAFETY: the caller's promise; aligned or not.
        let to = unsafe { memory::read(message) };
        // SAFETY: the caller's promise: the name is as long as the message says.
        let made = to.and_then(|to| unsafe { datagrams::towards(socket, to.name.cast(), to.name_length) });
        match made.or_else(|| shadow::of(socket)) {
            // SAFETY: the caller's promise.
            Some(shadow) => unsafe { messages::WSASendMsg(shadow, message, flags, bytes, overlapped, routine) },
            // SAFETY: the caller's promise.
            None => unsafe { real::WSASendMsg(socket, message, flags, bytes, overlapped, routine) },
        }
    }
}

#[cfg(test)]
mod tests;
