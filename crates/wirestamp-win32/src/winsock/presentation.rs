//! The exported functions between addresses and their texts: the C library's know another
//! number for IPv6.

use crate::abi::codes::{WSAEAFNOSUPPORT, WSAEFAULT, WSAEINVAL};
use crate::address::is_ipv6;
use crate::memory;
use crate::system::last_error;
use std::net::{Ipv4Addr, Ipv6Addr};

/// No text of an address is longer.
const LONGEST: usize = 64;

fn failed<T>(code: i32, answer: T) -> T {
    last_error::set(code.unsigned_abs());
    answer
}

export_prefixed! {
    /// Reads an address from its text: 1, 0 if it is none, -1 for an unknown family.
    ///
    /// # Safety
    /// `text` is null or ends with 0; `to` is null or has room for the address.
    fn inet_pton(family: i32, text: *const u8, to: *mut u8) -> i32 {
        let Ok(ipv6) = is_ipv6(family) else { return failed(WSAEAFNOSUPPORT, -1) };
        if text.is_null() || to.is_null() {
            return failed(WSAEFAULT, -1);
        }
        // SAFETY: the caller's promise.
        let Some(text) = (unsafe { memory::until_zero(text, LONGEST) }) else { return 0 };
        let Ok(text) = String::from_utf8(text) else { return 0 };
        let octets = match ipv6 {
            true => text.parse::<Ipv6Addr>().map(|address| address.octets().to_vec()),
            false => text.parse::<Ipv4Addr>().map(|address| address.octets().to_vec()),
        };
        let Ok(octets) = octets else { return 0 };
        // SAFETY: the caller's promise.
        match unsafe { memory::bytes_mut(to, octets.len()) } {
            Some(place) => {
                place.copy_from_slice(&octets);
                1
            }
            None => failed(WSAEFAULT, -1),
        }
    }

    /// Writes the text of an address, ended by 0; returns `text`, or null.
    ///
    /// # Safety
    /// `from` is null or points to an address; `text` is null or has room for `length` bytes.
    fn inet_ntop(family: i32, from: *const u8, text: *mut u8, length: usize) -> *const u8 {
        let Ok(ipv6) = is_ipv6(family) else { return failed(WSAEAFNOSUPPORT, std::ptr::null()) };
        let octets = if ipv6 { 16 } else { 4 };
        // SAFETY: the caller's promise.
        let Some(bytes) = (unsafe { memory::bytes(from, octets) }) else {
            return failed(WSAEFAULT, std::ptr::null());
        };
        let written = match (<[u8; 16]>::try_from(bytes), <[u8; 4]>::try_from(bytes)) {
            (Ok(octets), _) => Ipv6Addr::from(octets).to_string(),
            (_, Ok(octets)) => Ipv4Addr::from(octets).to_string(),
            _ => return failed(WSAEFAULT, std::ptr::null()),
        };
        if length <= written.len() {
            return failed(WSAEINVAL, std::ptr::null());
        }
        // SAFETY: the caller's promise, and there is room.
        let Some(place) = (unsafe { memory::bytes_mut(text, written.len() + 1) }) else {
            return failed(WSAEFAULT, std::ptr::null());
        };
        place[..written.len()].copy_from_slice(written.as_bytes());
        place[written.len()] = 0;
        text
    }
}
