//! Options of sockets that have no shadow yet: they are set on the real socket too, except
//! what names a simulated interface, and recorded for the shadow.

use crate::shadow::Known;
use crate::{real, shadow};
use wirestamp_win32::abi::numbers::{IP_UNICAST_IF, IPPROTO_IP, IPPROTO_IPV6};
use wirestamp_win32::abi::winsock::SocketHandle;
use wirestamp_win32::memory;
use wirestamp_win32::winsock::exports;

/// The list of interfaces (`IP_IFLIST`, and its additions and removals), which the shadow has no use for; the same numbers for IPv6.
const LISTS: std::ops::RangeInclusive<i32> = 28..=30;

/// # Safety
/// `value` is null or points to `length` readable bytes.
pub(crate) unsafe fn set(
    socket: SocketHandle,
    level: i32,
    name: i32,
    value: *const u8,
    length: i32,
) -> i32 {
    let of_interface = matches!(level, IPPROTO_IP | IPPROTO_IPV6)
        && (name == IP_UNICAST_IF || LISTS.contains(&name));
    // SAFETY: the caller's promise.
    let bytes = unsafe { memory::bytes(value, usize::try_from(length).unwrap_or(0)) };
    let note = |known: &mut Known| {
        let option = (level, name, bytes.unwrap_or_default().to_vec());
        known.options.push(option);
    };
    if let Ok(shadow) = shadow::of_or(socket, note) {
        if of_interface && LISTS.contains(&name) {
            return 0;
        }
        // SAFETY: the caller's promise.
        return unsafe { exports::setsockopt(shadow, level, name, value, length) };
    }
    if of_interface {
        return 0;
    }
    // SAFETY: the caller's promise.
    unsafe { real::setsockopt(socket, level, name, value, length) }
}

/// Sets on a new shadow what was recorded. What it does not know, it does not need.
pub(crate) fn replay(shadow: SocketHandle, recorded: &[(i32, i32, Vec<u8>)]) {
    for (level, name, value) in recorded {
        // SAFETY: pointer and length are of one vector.
        unsafe { exports::setsockopt(shadow, *level, *name, value.as_ptr(), value.len() as i32) };
    }
}
