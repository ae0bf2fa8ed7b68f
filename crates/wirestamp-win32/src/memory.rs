//! Access to the caller's memory: null, misaligned and impossible ranges are recognised. A wild pointer can't be, as in any
//! C library.

use crate::abi::iphlp::{CrossTimestamp, TimestampCapabilities};
use crate::abi::old::{OldCrossTimestamp, OldTimestampCapabilities};
use crate::abi::winsock::{Guid, Overlapped, WsaBuffer, WsaData, WsaMessage};
use std::ffi::c_void;

/// A value of any bits: the caller's memory can be read as it.
///
/// # Safety
/// Every bit pattern of the size of `Self` must be a value of `Self`.
pub unsafe trait Plain: Copy + 'static {}

macro_rules! plain {
    ($($type:ty),* $(,)?) => {$(
        // SAFETY: integers, or `repr(C)` structures of integers and raw pointers.
        unsafe impl Plain for $type {}
    )*};
}

plain!(u8, u16, u32, u64, i32, i64, usize, *mut c_void);
plain!(Guid, Overlapped, WsaBuffer, WsaData, WsaMessage);
plain!(CrossTimestamp, TimestampCapabilities);
plain!(OldCrossTimestamp, OldTimestampCapabilities);

/// Reads a value, aligned or not; `None` for null.
///
/// # Safety
/// `from` is null or points to `size_of::<T>()` readable bytes.
pub unsafe fn read<T: Plain>(from: *const T) -> Option<T> {
    if from.is_null() {
        return None;
    }
    // SAFETY: the caller's promise; `Plain` says that any bytes are a value.
    Some(unsafe { from.read_unaligned() })
}

/// Writes a value, aligned or not; `None` for null.
///
/// # Safety
/// `to` is null or points to `size_of::<T>()` writable bytes.
pub unsafe fn write<T: Plain>(to: *mut T, value: T) -> Option<()> {
    if to.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    unsafe { to.write_unaligned(value) };
    Some(())
}

/// Whether `length` bytes from `start` can be an object at all.
fn is_possible(start: usize, length: usize) -> bool {
    start != 0 && isize::try_from(length).is_ok() && start.checked_add(length).is_some()
}

/// Bytes to read; none at all where `length` is 0. `None` for null and what wraps around.
///
/// # Safety
/// `from` is null or points to `length` readable bytes that nobody writes meanwhile.
pub unsafe fn bytes<'a>(from: *const u8, length: usize) -> Option<&'a [u8]> {
    if length == 0 {
        return Some(&[]);
    }
    if !is_possible(from.addr(), length) {
        return None;
    }
    // SAFETY: the caller's promise; not null, not too long, no wrap.
    Some(unsafe { std::slice::from_raw_parts(from, length) })
}

/// Bytes to write; none at all where `length` is 0. `None` for null and what wraps around.
///
/// # Safety
/// `to` is null or points to `length` writable bytes that nobody else uses meanwhile.
pub unsafe fn bytes_mut<'a>(to: *mut u8, length: usize) -> Option<&'a mut [u8]> {
    if length == 0 {
        return Some(&mut []);
    }
    if !is_possible(to.addr(), length) {
        return None;
    }
    // SAFETY: the caller's promise; not null, not too long, no wrap.
    Some(unsafe { std::slice::from_raw_parts_mut(to, length) })
}

/// The first `length` values of an array; `None` for null, unless it is empty.
///
/// # Safety
/// `from` is null or points to `length` readable values.
pub unsafe fn array<T: Plain>(from: *const T, length: usize) -> Option<Vec<T>> {
    if length == 0 {
        return Some(Vec::new());
    }
    if !is_possible(from.addr(), length.checked_mul(size_of::<T>())?) {
        return None;
    }
    let read_one = |index: usize| {
        // SAFETY: the caller's promise; the whole array is possible, so this place is in it.
        let place = unsafe { from.add(index) };
        // SAFETY: the caller's promise; not null, as the first one is not.
        unsafe { place.read_unaligned() }
    };
    Some((0..length).map(read_one).collect())
}

/// Characters up to the 0 that ends them, at most `most`; `None` for null or without an end.
///
/// # Safety
/// `from` is null or points to characters of which one within `most` is 0.
pub unsafe fn until_zero<T: Plain + Into<u32>>(from: *const T, most: usize) -> Option<Vec<T>> {
    let mut found = Vec::new();
    while found.len() < most {
        let place = from.wrapping_add(found.len());
        // SAFETY: the caller's promise: no zero was met before, so the next character is there.
        let next = unsafe { read(place) }?;
        if next.into() == 0 {
            return Some(found);
        }
        found.push(next);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_no_memory_is_not_touched() {
        // SAFETY: null is allowed.
        assert_eq!(unsafe { read(std::ptr::null::<u32>()) }, None);
        // SAFETY: null is allowed.
        assert!(unsafe { bytes(std::ptr::null(), 1) }.is_none());
        // SAFETY: an empty range needs no memory.
        assert_eq!(unsafe { bytes(std::ptr::null(), 0) }, Some(&[][..]));
        let near_the_end = std::ptr::without_provenance::<u8>(usize::MAX - 3);
        // SAFETY: refused before it is touched.
        assert!(unsafe { bytes(near_the_end, 5) }.is_none());
        // SAFETY: refused before it is touched.
        assert!(unsafe { array(near_the_end.cast::<u64>(), usize::MAX) }.is_none());
    }

    #[test]
    fn misaligned_values_are_read_and_written() {
        let mut bytes = [0u8; 9];
        let place = bytes[1..].as_mut_ptr().cast::<u64>();
        // SAFETY: eight bytes of the array.
        assert_eq!(unsafe { write(place, 0x0102_0304_0506_0708) }, Some(()));
        // SAFETY: eight bytes of the array.
        assert_eq!(unsafe { read(place) }, Some(0x0102_0304_0506_0708));
    }

    #[test]
    fn text_without_an_end_is_none() {
        let text = [65u8, 66, 0, 67];
        // SAFETY: the array.
        assert_eq!(unsafe { until_zero(text.as_ptr(), 4) }, Some(vec![65, 66]));
        // SAFETY: the array.
        assert_eq!(unsafe { until_zero(text.as_ptr(), 2) }, None);
    }
}
