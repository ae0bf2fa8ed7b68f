//! `FormatMessage`: the words for an error number, and `LocalFree` for its buffer.

use super::texts::text;
use crate::abi::WideCharacter;
use crate::abi::codes::{ERROR_INVALID_PARAMETER, ERROR_NOT_ENOUGH_MEMORY};
use crate::memory::{self, Plain};
use crate::system::last_error;
use std::ffi::c_void;

const ALLOCATE_BUFFER: u32 = 0x100;
const IGNORE_INSERTS: u32 = 0x200;
const FROM_SYSTEM: u32 = 0x1000;
/// The texts of a module beside the system's: there are no modules.
const FROM_HMODULE: u32 = 0x800;
/// How inserts are given: no text has any.
const ARGUMENT_ARRAY: u32 = 0x2000;
/// All bits: no line breaks but the text's own, of which there is none.
const MAX_WIDTH_MASK: u32 = 0xFF;
const ERROR_INSUFFICIENT_BUFFER: u32 = 122;
/// `ERROR_MR_MID_NOT_FOUND`.
const NO_SUCH_TEXT: u32 = 317;

/// Memory of the program's from now on, `size` bytes long.
fn allocate(size: usize) -> Result<*mut c_void, u32> {
    // SAFETY: takes a number.
    let place = unsafe { libc::malloc(size) };
    if place.is_null() {
        Err(ERROR_NOT_ENOUGH_MEMORY)
    } else {
        Ok(place)
    }
}

/// Writes the text of `code`; returns its characters without the end.
///
/// # Safety
/// `to` is null or has room for `room` characters; with `ALLOCATE_BUFFER`, for a pointer.
unsafe fn give<T: Plain + From<u8>>(
    flags: u32,
    code: u32,
    to: *mut T,
    room: u32,
) -> Result<u32, u32> {
    if to.is_null() {
        return Err(ERROR_INVALID_PARAMETER);
    }
    if flags & ALLOCATE_BUFFER != 0 {
        // Programs give the pointer to `LocalFree`, also after a failure.
        // SAFETY: the caller's promise; not null.
        let _written = unsafe { memory::write(to.cast::<usize>(), 0) };
    }
    let ignored = IGNORE_INSERTS | FROM_HMODULE | ARGUMENT_ARRAY;
    let known = ALLOCATE_BUFFER | FROM_SYSTEM | MAX_WIDTH_MASK | ignored;
    if flags & FROM_SYSTEM == 0 || flags & !known != 0 {
        return Err(ERROR_INVALID_PARAMETER);
    }
    let text = text(code).ok_or(NO_SUCH_TEXT)?;
    let end = if flags & MAX_WIDTH_MASK == 0 {
        "\r\n"
    } else {
        ""
    };
    let characters: Vec<T> = text
        .bytes()
        .chain(end.bytes())
        .chain([0])
        .map(T::from)
        .collect();
    let place = if flags & ALLOCATE_BUFFER != 0 {
        let size = characters.len().max(room as usize) * size_of::<T>();
        let place = allocate(size)?.cast::<T>();
        // SAFETY: the caller's promise; not null.
        let _written = unsafe { memory::write(to.cast::<usize>(), place.expose_provenance()) };
        place
    } else if characters.len() > room as usize {
        return Err(ERROR_INSUFFICIENT_BUFFER);
    } else {
        to
    };
    for (index, character) in characters.iter().enumerate() {
        // SAFETY: the caller's promise, or our memory; there is room.
        let _written = unsafe { memory::write(place.wrapping_add(index), *character) };
    }
    Ok(characters.len() as u32 - 1)
}

fn counted(result: Result<u32, u32>) -> u32 {
    result.unwrap_or_else(|code| {
        last_error::set(code);
        0
    })
}

export! {
    /// Writes the words for an error; those of the system only. Returns the characters, 0 for a failure.
    ///
    /// # Safety
    /// `to` is null or has room for `room` characters; with `FORMAT_MESSAGE_ALLOCATE_BUFFER`, for a pointer.
    fn FormatMessageA(
        flags: u32,
        source: *const c_void,
        code: u32,
        language: u32,
        to: *mut u8,
        room: u32,
        arguments: *mut c_void,
    ) -> u32 {
        let _not_of_the_system = (source, language, arguments);
        // SAFETY: the caller's promise.
        counted(unsafe { give(flags, code, to, room) })
    }

    /// Writes the words for an error, as [`FormatMessageA`].
    ///
    /// # Safety
    /// As [`FormatMessageA`].
    fn FormatMessageW(
        flags: u32,
        source: *const c_void,
        code: u32,
        language: u32,
        to: *mut WideCharacter,
        room: u32,
        arguments: *mut c_void,
    ) -> u32 {
        let _not_of_the_system = (source, language, arguments);
        // SAFETY: the caller's promise.
        counted(unsafe { give(flags, code, to, room) })
    }

    /// Gives back what [`FormatMessageA`] allocated. Returns null.
    ///
    /// # Safety
    /// `memory` is null or such a buffer, given back once.
    fn LocalFree(memory: *mut c_void) -> *mut c_void {
        // SAFETY: the caller's promise.
        unsafe { libc::free(memory) };
        std::ptr::null_mut()
    }
}
