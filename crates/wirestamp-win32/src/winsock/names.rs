//! The exported functions between names and addresses: getaddrinfo and its sisters. The C library looks names up;
//! numbers and structures are Windows'.
//!
//! Populated on: Linux. On Windows the system's own are used.

use crate::abi::address::AddressBytes;
use crate::abi::codes as c;
use crate::abi::numbers::AF_INET6;
use crate::adapter::native::names::{self, Hints};
use crate::address;
use crate::memory::{self, Plain};
use crate::system::last_error;
use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;

/// No name is longer: `NI_MAXHOST`.
const LONGEST: usize = 1025;

/// `ADDRINFOA`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct AddressInformation {
    flags: c_int,
    family: c_int,
    kind: c_int,
    protocol: c_int,
    length: usize,
    canonical: *mut c_char,
    address: *mut u8,
    next: *mut AddressInformation,
}
// SAFETY: integers and raw pointers.
unsafe impl Plain for AddressInformation {}
// SAFETY: a pointer.
unsafe impl Plain for *mut AddressInformation {}

/// An entry of a list with all that it points to.
#[repr(C)]
struct Entry {
    information: AddressInformation,
    address: AddressBytes,
    canonical: *mut c_char,
}

/// Flags as the two systems number them.
fn translated(flags: c_int, pairs: &[(c_int, c_int)]) -> Result<c_int, i32> {
    let known = pairs.iter().fold(0, |known, (windows, _)| known | windows);
    if flags & !known != 0 {
        return Err(c::WSAEINVAL);
    }
    let chosen = pairs.iter().filter(|(windows, _)| flags & windows != 0);
    Ok(chosen.fold(0, |all, (_, linux)| all | linux))
}

/// `AI_*`: passive, canonical name, numeric host, numeric service, all, configured addresses, mapped.
const HINT_FLAGS: [(c_int, c_int); 7] = [
    (0x1, libc::AI_PASSIVE),
    (0x2, libc::AI_CANONNAME),
    (0x4, libc::AI_NUMERICHOST),
    (0x8, libc::AI_NUMERICSERV),
    (0x100, libc::AI_ALL),
    (0x400, libc::AI_ADDRCONFIG),
    (0x800, libc::AI_V4MAPPED),
];
/// `NI_*`: no domain, numeric host, name required, numeric service, datagram.
const NAME_FLAGS: [(c_int, c_int); 5] = [
    (0x1, libc::NI_NOFQDN),
    (0x2, libc::NI_NUMERICHOST),
    (0x4, libc::NI_NAMEREQD),
    (0x8, libc::NI_NUMERICSERV),
    (0x10, libc::NI_DGRAM),
];

/// What Windows' headers call `EAI_MEMORY`.
const WSA_NOT_ENOUGH_MEMORY: i32 = c::ERROR_NOT_ENOUGH_MEMORY as i32;

/// The Winsock error for one of the C library's.
fn code(error: c_int) -> i32 {
    match error {
        libc::EAI_BADFLAGS => c::WSAEINVAL,
        libc::EAI_FAMILY => c::WSAEAFNOSUPPORT,
        libc::EAI_SOCKTYPE => c::WSAESOCKTNOSUPPORT,
        libc::EAI_SERVICE => c::WSATYPE_NOT_FOUND,
        libc::EAI_AGAIN => c::WSATRY_AGAIN,
        libc::EAI_MEMORY => WSA_NOT_ENOUGH_MEMORY,
        libc::EAI_OVERFLOW => c::WSAEFAULT,
        libc::EAI_FAIL | libc::EAI_SYSTEM => c::WSANO_RECOVERY,
        _ => c::WSAHOST_NOT_FOUND,
    }
}

/// # Safety
/// `text` is null or ends with 0.
unsafe fn text(text: *const u8) -> Result<Option<CString>, i32> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { memory::until_zero(text, LONGEST) }.ok_or(c::WSAHOST_NOT_FOUND)?;
    CString::new(bytes)
        .map(Some)
        .map_err(|_| c::WSAHOST_NOT_FOUND)
}

fn hints(given: Option<AddressInformation>) -> Result<Hints, i32> {
    let Some(given) = given else {
        return Ok(Hints::default());
    };
    let family = match given.family {
        0 => 0,
        family if address::is_ipv6(family)? => libc::AF_INET6,
        _ => libc::AF_INET,
    };
    Ok(Hints {
        flags: translated(given.flags, &HINT_FLAGS)?,
        family,
        kind: given.kind,
        protocol: given.protocol,
    })
}

/// # Safety
/// As [`getaddrinfo`].
unsafe fn look_up(
    node: *const u8,
    service: *const u8,
    wanted: *const AddressInformation,
    list: *mut *mut AddressInformation,
) -> Result<(), i32> {
    // SAFETY: the caller's promise.
    unsafe { memory::write(list, ptr::null_mut()) }.ok_or(c::WSAEFAULT)?;
    // SAFETY: the caller's promise.
    let node = unsafe { text(node) }?;
    // SAFETY: the caller's promise.
    let service = unsafe { text(service) }?;
    if node.is_none() && service.is_none() {
        return Err(c::WSAHOST_NOT_FOUND);
    }
    // SAFETY: the caller's promise.
    let hints = hints(unsafe { memory::read(wanted) })?;
    let found = names::addresses(node.as_deref(), service.as_deref(), &hints).map_err(code)?;
    let mut first = ptr::null_mut();
    for one in found.into_iter().rev() {
        let bytes = AddressBytes::new(one.address, false);
        let canonical = one.canonical.map_or(ptr::null_mut(), CString::into_raw);
        let entry = Box::into_raw(Box::new(Entry {
            information: AddressInformation {
                flags: 0,
                family: if one.address.is_ipv6() {
                    AF_INET6.into()
                } else {
                    libc::AF_INET
                },
                kind: one.kind,
                protocol: one.protocol,
                length: bytes.bytes().len(),
                canonical: ptr::null_mut(),
                address: ptr::null_mut(),
                next: first,
            },
            address: bytes,
            canonical,
        }));
        // SAFETY: just made; the program may write to the address, which begins with its bytes.
        let address = unsafe { &raw mut (*entry).address };
        // SAFETY: just made, and nobody else's yet.
        let information = unsafe { &mut (*entry).information };
        information.address = address.cast();
        information.canonical = canonical;
        first = entry.cast();
    }
    // SAFETY: the caller's promise.
    unsafe { memory::write(list, first) }.ok_or(c::WSAEFAULT)
}

/// # Safety
/// `to` is null or has room for `room` bytes.
unsafe fn give_text(text: &CStr, to: *mut u8, room: u32) -> Result<(), i32> {
    let bytes = text.to_bytes_with_nul();
    if to.is_null() || room == 0 {
        return Ok(());
    }
    if bytes.len() > room as usize {
        return Err(c::WSAEFAULT);
    }
    // SAFETY: the caller's promise, and there is room.
    unsafe { memory::bytes_mut(to, bytes.len()) }
        .ok_or(c::WSAEFAULT)?
        .copy_from_slice(bytes);
    Ok(())
}

fn answered(result: Result<(), i32>) -> i32 {
    let code = result.err().unwrap_or(0);
    last_error::set(code.unsigned_abs());
    code
}

export_prefixed! {
    /// Looks up the addresses of a node and a service. Returns the error.
    ///
    /// # Safety
    /// Each text is null or ends with 0; `wanted` is null or readable; `list` is null or writable.
    fn getaddrinfo(
        node: *const u8,
        service: *const u8,
        wanted: *const AddressInformation,
        list: *mut *mut AddressInformation,
    ) -> i32 {
        // SAFETY: the caller's promise.
        answered(unsafe { look_up(node, service, wanted, list) })
    }

    /// Gives a list of `getaddrinfo` back.
    ///
    /// # Safety
    /// `list` is null or a list of `getaddrinfo`, given back once.
    fn freeaddrinfo(list: *mut AddressInformation) {
        let mut next = list;
        while !next.is_null() {
            // SAFETY: the caller's promise: each entry was made by `getaddrinfo`.
            let entry = unsafe { Box::from_raw(next.cast::<Entry>()) };
            next = entry.information.next;
            if !entry.canonical.is_null() {
                // SAFETY: made by `CString::into_raw`; the program's own pointer to it may have changed.
                drop(unsafe { CString::from_raw(entry.canonical) });
            }
        }
    }

    /// Looks up the names of an address. Returns the error.
    ///
    /// # Safety
    /// `name` is null or points to `length` readable bytes; each text is null or as long as its size says.
    fn getnameinfo(
        name: *const u8,
        length: i32,
        node: *mut u8,
        node_size: u32,
        service: *mut u8,
        service_size: u32,
        flags: i32,
    ) -> i32 {
        // SAFETY: the caller's promise.
        let address = unsafe { address::at(name, length) };
        let (no_node, no_service) = (node.is_null() || node_size == 0, service.is_null() || service_size == 0);
        answered(address.and_then(|address| {
            let mut flags = translated(flags, &NAME_FLAGS)?;
            if no_node && no_service {
                return Err(c::WSAHOST_NOT_FOUND);
            }
            if no_node {
                // No name server is asked for a name that nobody wants.
                flags = flags & !libc::NI_NAMEREQD | libc::NI_NUMERICHOST;
            }
            let found = names::names(address, flags).map_err(code)?;
            // SAFETY: the caller's promise.
            unsafe { give_text(&found.0, node, node_size) }?;
            // SAFETY: the caller's promise.
            unsafe { give_text(&found.1, service, service_size) }
        }))
    }

    /// The text of an error of `getaddrinfo`.
    ///
    /// # Safety
    /// None needed.
    fn gai_strerror(code: i32) -> *const c_char {
        let text = match code {
            0 => c"success",
            c::WSAHOST_NOT_FOUND => c"no such host is known",
            c::WSATRY_AGAIN => c"the name server did not answer: try again",
            c::WSANO_RECOVERY => c"the name server failed",
            c::WSATYPE_NOT_FOUND => c"no such service for this kind of socket",
            c::WSAEAFNOSUPPORT => c"the address family is not supported",
            c::WSAESOCKTNOSUPPORT => c"the kind of socket is not supported",
            c::WSAEINVAL => c"an argument or a flag is invalid",
            WSA_NOT_ENOUGH_MEMORY => c"no memory",
            _ => c"unknown error",
        };
        text.as_ptr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Programs compare the answer with the names of ws2tcpip.h.
    #[test]
    fn an_error_has_the_number_of_its_name() {
        for (error, number) in [
            (libc::EAI_AGAIN, 11_002),
            (libc::EAI_BADFLAGS, 10_022),
            (libc::EAI_FAIL, 11_003),
            (libc::EAI_FAMILY, 10_047),
            (libc::EAI_MEMORY, 8),
            (libc::EAI_NONAME, 11_001),
            (libc::EAI_SERVICE, 10_109),
            (libc::EAI_SOCKTYPE, 10_044),
        ] {
            assert_eq!(code(error), number, "{error}");
        }
    }
}
