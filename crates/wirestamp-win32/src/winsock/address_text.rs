//! The exported functions between socket addresses, with their ports, and texts; and those of addresses alone in wide
//! characters.

use crate::abi::WideCharacter;
use crate::abi::address::AddressBytes;
use crate::abi::codes::{NO_ERROR, WSAEFAULT, WSAEINVAL};
use crate::address;
use crate::iphlp::layout;
use crate::memory::{self, Plain};
use crate::system::last_error;
use crate::winsock::exports::give_address;
use crate::winsock::messages::told;
use crate::winsock::presentation;
use std::ffi::c_void;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// No text of an address is longer: an IPv6 address with scope and port.
const LONGEST: usize = 128;

/// As Windows writes it: the port only if there is one, and then IPv6 in brackets.
fn written(address: SocketAddr) -> String {
    match address {
        SocketAddr::V6(six) if six.port() == 0 && six.scope_id() != 0 => {
            format!("{}%{}", six.ip(), six.scope_id())
        }
        _ if address.port() == 0 => address.ip().to_string(),
        _ => address.to_string(),
    }
}

/// The address of a text: with or without a port; IPv6 with one in brackets.
fn read(text: &str, ipv6: bool) -> Option<SocketAddr> {
    let with_scope = |text: &str| {
        let (ip, scope) = text.split_once('%')?;
        let (ip, scope) = (ip.parse::<Ipv6Addr>().ok()?, scope.parse().ok()?);
        Some(SocketAddr::from(SocketAddrV6::new(ip, 0, 0, scope)))
    };
    let bare = |text: &str| text.parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, 0));
    let inside = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    text.parse()
        .ok()
        .or_else(|| bare(inside.unwrap_or(text)))
        .or_else(|| with_scope(inside.unwrap_or(text)))
        .filter(|address| address.is_ipv6() == ipv6)
}

/// Writes a text and its length in characters, the end among them.
///
/// # Safety
/// `length` is null or writable, and `to` null or as long as it says.
unsafe fn give<T: Plain>(text: &[T], to: *mut T, length: *mut u32) -> Result<(), i32> {
    // SAFETY: the caller's promise.
    let room = unsafe { memory::read(length.cast_const()) }.ok_or(WSAEFAULT)?;
    // SAFETY: the caller's promise.
    unsafe { memory::write(length, text.len() as u32) }.ok_or(WSAEFAULT)?;
    if to.is_null() || (room as usize) < text.len() {
        return Err(WSAEFAULT);
    }
    for (place, character) in text.iter().enumerate() {
        // SAFETY: the caller's promise, and there is room.
        let _written = unsafe { memory::write(to.wrapping_add(place), *character) };
    }
    Ok(())
}

/// # Safety
/// `from` is null or points to `length` readable bytes.
unsafe fn text_of(from: *const u8, length: u32) -> Result<String, i32> {
    // SAFETY: the caller's promise.
    unsafe { address::at(from, i32::try_from(length).unwrap_or(i32::MAX)) }.map(written)
}

/// # Safety
/// `length` is null or writable, and `to` null or as long as it says.
unsafe fn give_read(
    text: Option<String>,
    family: i32,
    to: *mut u8,
    length: *mut i32,
) -> Result<(), i32> {
    let text = text.ok_or(WSAEFAULT)?;
    let ipv6 = address::is_ipv6(family)?;
    let found = read(&text, ipv6).ok_or(WSAEINVAL)?;
    // SAFETY: the caller's promise.
    let room = unsafe { memory::read(length.cast_const()) }.ok_or(WSAEFAULT)?;
    let needed = AddressBytes::new(found, ipv6).bytes().len();
    if usize::try_from(room).is_ok_and(|room| room < needed) {
        return Err(WSAEFAULT);
    }
    // SAFETY: the caller's promise, and there is room.
    unsafe { give_address(found, ipv6, to, length) }
}

fn narrow(text: &str) -> Vec<u8> {
    text.bytes().chain([0]).collect()
}

/// # Safety
/// `text` is null or ends with 0.
unsafe fn narrow_text(text: *const u8) -> Option<String> {
    // SAFETY: the caller's promise.
    unsafe { memory::until_zero(text, LONGEST) }.and_then(|bytes| String::from_utf8(bytes).ok())
}

/// # Safety
/// `text` is null or ends with 0.
unsafe fn wide_text(text: *const WideCharacter) -> Option<String> {
    // SAFETY: the caller's promise.
    unsafe { memory::until_zero(text, LONGEST) }.and_then(|wide| layout::narrow(&wide))
}

export! {
    /// The text of a socket address. Protocol information is not looked at.
    ///
    /// # Safety
    /// `from` is null or points to `from_length` bytes; `length` is null or writable, and `to` null or as long as it says.
    fn WSAAddressToStringA(
        from: *const u8,
        from_length: u32,
        information: *mut c_void,
        to: *mut u8,
        length: *mut u32,
    ) -> i32 {
        let _not_looked_at = information;
        // SAFETY: the caller's promise.
        let text = unsafe { text_of(from, from_length) };
        // SAFETY: the caller's promise.
        told(text.and_then(|text| unsafe { give(&narrow(&text), to, length) }))
    }

    /// The text of a socket address, as [`WSAAddressToStringA`].
    ///
    /// # Safety
    /// As [`WSAAddressToStringA`].
    fn WSAAddressToStringW(
        from: *const u8,
        from_length: u32,
        information: *mut c_void,
        to: *mut WideCharacter,
        length: *mut u32,
    ) -> i32 {
        let _not_looked_at = information;
        // SAFETY: the caller's promise.
        let text = unsafe { text_of(from, from_length) };
        // SAFETY: the caller's promise.
        told(text.and_then(|text| unsafe { give(&layout::wide(&text), to, length) }))
    }

    /// The socket address of a text.
    ///
    /// # Safety
    /// `text` is null or ends with 0; `length` is null or writable, and `to` null or as long as it says.
    fn WSAStringToAddressA(
        text: *const u8,
        family: i32,
        information: *mut c_void,
        to: *mut u8,
        length: *mut i32,
    ) -> i32 {
        let _not_looked_at = information;
        // SAFETY: the caller's promise.
        let text = unsafe { narrow_text(text) };
        // SAFETY: the caller's promise.
        told(unsafe { give_read(text, family, to, length) })
    }

    /// The socket address of a text, as [`WSAStringToAddressA`].
    ///
    /// # Safety
    /// As [`WSAStringToAddressA`].
    fn WSAStringToAddressW(
        text: *const WideCharacter,
        family: i32,
        information: *mut c_void,
        to: *mut u8,
        length: *mut i32,
    ) -> i32 {
        let _not_looked_at = information;
        // SAFETY: the caller's promise.
        let text = unsafe { wide_text(text) };
        // SAFETY: the caller's promise.
        told(unsafe { give_read(text, family, to, length) })
    }

    /// Reads an address from its text, as `inet_pton`.
    ///
    /// # Safety
    /// `text` is null or ends with 0; `to` is null or has room for the address.
    fn InetPtonW(family: i32, text: *const WideCharacter, to: *mut u8) -> i32 {
        // SAFETY: the caller's promise.
        let narrowed = unsafe { wide_text(text) }.map(|text| narrow(&text));
        // Null stays null; a text that is none is no address.
        let other = if text.is_null() { None } else { Some(narrowed.unwrap_or_else(|| narrow("?"))) };
        let text = other.as_ref().map_or(std::ptr::null(), Vec::as_ptr);
        // SAFETY: the caller's promise; our text ends with 0.
        unsafe { presentation::inet_pton(family, text, to) }
    }

    /// Writes the text of an address, ended by 0; returns `text`, or null.
    ///
    /// # Safety
    /// `from` is null or points to an address; `text` is null or has room for `length` characters.
    fn InetNtopW(family: i32, from: *const u8, text: *mut WideCharacter, length: usize) -> *const WideCharacter {
        let mut narrow = [0u8; LONGEST];
        // SAFETY: the caller's promise; the text is ours.
        let found = unsafe { presentation::inet_ntop(family, from, narrow.as_mut_ptr(), length.min(LONGEST)) };
        // SAFETY: it was just written, and ends with 0.
        let Some(found) = (unsafe { narrow_text(found) }) else { return std::ptr::null() };
        let mut room = length as u32;
        // SAFETY: the caller's promise.
        let given = unsafe { give(&layout::wide(&found), text, &raw mut room) };
        last_error::set(given.err().map_or(NO_ERROR, i32::unsigned_abs));
        if given.is_ok() { text } else { std::ptr::null() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_leads_back_to_its_address() {
        for text in [
            "192.0.2.1",
            "192.0.2.1:319",
            "2001:db8::1",
            "[2001:db8::1]:319",
            "fe80::1%3",
            "[fe80::1%3]:319",
        ] {
            let address = read(text, text.contains("::")).expect(text);
            assert_eq!(written(address), text);
        }
        assert_eq!(read("192.0.2.1", true), None);
        assert_eq!(
            read("[2001:db8::1]", true).map(written).as_deref(),
            Some("2001:db8::1")
        );
        for none in ["", "192.0.2", "192.0.2.1:", "[::1", "name:80"] {
            assert_eq!(read(none, none.contains("::")), None, "{none}");
        }
        assert!(written(SocketAddr::from(([127, 0, 0, 1], 0))).ends_with(".1"));
    }
}
