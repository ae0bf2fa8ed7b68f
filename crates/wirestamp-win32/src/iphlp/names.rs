//! The exported conversions between the names of an interface beyond alias and index: the name of its LUID
//! (`ethernet_7`), its GUID, and what programs of both systems call its name.
//!
//! The name of a LUID is its type and its index, as on Windows; whether there is such an interface does not matter.

use crate::abi::WideCharacter;
use crate::abi::adapters::{TYPE_ETHERNET, TYPE_LOOPBACK};
use crate::abi::codes::{ERROR_INVALID_PARAMETER, ERROR_NOT_ENOUGH_MEMORY};
use crate::abi::winsock::Guid;
use crate::adapter::{self, Adapter};
use crate::iphlp::exports::{LONGEST_ALIAS, by_luid, find, told};
use crate::iphlp::{guid, layout};
use crate::memory::{self, Plain};

/// `ERROR_INVALID_NAME`.
const ERROR_INVALID_NAME: u32 = 123;
/// `IF_NAMESIZE` of Linux, the end included.
const LONGEST_LINUX_NAME: usize = 16;
/// Types of interfaces that have a word of their own in the name of a LUID.
const TYPES: [(u32, &str); 2] = [(TYPE_ETHERNET, "ethernet"), (TYPE_LOOPBACK, "loopback")];
/// Bits of `NET_LUID`: where the index and the type begin, and how many the index has.
const INDEX: u32 = 24;
const TYPE: u32 = 48;

/// The name of a LUID.
fn name_of(luid: u64) -> String {
    let (kind, index) = (luid >> TYPE, luid >> INDEX & 0xFF_FFFF);
    let known = TYPES.iter().find(|(known, _)| u64::from(*known) == kind);
    known.map_or_else(
        || format!("iftype{kind}_{index}"),
        |(_, word)| format!("{word}_{index}"),
    )
}

/// The LUID of a name that [`name_of`] gave.
fn luid_of(name: &str) -> Option<u64> {
    let (word, index) = name.rsplit_once('_')?;
    let known = TYPES.iter().find(|(_, known)| *known == word);
    let kind = match known {
        Some((kind, _)) => *kind,
        None => word.strip_prefix("iftype")?.parse::<u16>().ok()?.into(),
    };
    let index: u32 = index.parse().ok().filter(|index| *index < 1 << INDEX)?;
    let luid = u64::from(index) << INDEX | u64::from(kind) << TYPE;
    (name_of(luid) == name).then_some(luid)
}

fn narrow(text: &str) -> Vec<u8> {
    text.bytes().chain([0]).collect()
}

/// Writes a text with its end.
///
/// # Safety
/// `to` is null or has room for `room` characters.
pub(super) unsafe fn give_text<T: Plain>(text: &[T], to: *mut T, room: usize) -> Result<(), u32> {
    if to.is_null() {
        return Err(ERROR_INVALID_PARAMETER);
    }
    if text.len() > room {
        return Err(ERROR_NOT_ENOUGH_MEMORY);
    }
    for (place, character) in text.iter().enumerate() {
        // SAFETY: the caller's promise, and there is room.
        let _written = unsafe { memory::write(to.wrapping_add(place), *character) };
    }
    Ok(())
}

/// # Safety
/// `luid` is null or writable.
unsafe fn give_luid(name: Option<&str>, luid: *mut u64) -> u32 {
    if luid.is_null() {
        return ERROR_INVALID_PARAMETER;
    }
    told(match name.map(luid_of) {
        None => Err(ERROR_INVALID_PARAMETER),
        Some(None) => Err(ERROR_INVALID_NAME),
        // SAFETY: the caller's promise.
        Some(Some(found)) => unsafe { memory::write(luid, found) }.ok_or(ERROR_INVALID_PARAMETER),
    })
}

/// # Safety
/// `luid` is null or readable.
unsafe fn read_luid(luid: *const u64) -> Result<u64, u32> {
    // SAFETY: the caller's promise.
    unsafe { memory::read(luid) }.ok_or(ERROR_INVALID_PARAMETER)
}

/// A text of the program's.
///
/// # Safety
/// `text` is null or ends with 0.
unsafe fn text(text: *const u8) -> Option<String> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { memory::until_zero(text, LONGEST_ALIAS) }?;
    String::from_utf8(bytes).ok()
}

/// The adapter that a program calls so: by its own name, or by that of its LUID.
fn called(name: &str) -> Option<Adapter> {
    let luid = luid_of(name);
    adapter::find(|one| one.description.is_called(name) || luid == Some(one.luid())).ok()
}

export! {
    /// The name of a LUID.
    ///
    /// # Safety
    /// `luid` is null or readable; `name` is null or has room for `length` characters.
    fn ConvertInterfaceLuidToNameA(luid: *const u64, name: *mut u8, length: usize) -> u32 {
        // SAFETY: the caller's promise.
        let found = unsafe { read_luid(luid) }.map(|luid| narrow(&name_of(luid)));
        // SAFETY: the caller's promise.
        told(found.and_then(|found| unsafe { give_text(&found, name, length) }))
    }

    /// The name of a LUID.
    ///
    /// # Safety
    /// `luid` is null or readable; `name` is null or has room for `length` characters.
    fn ConvertInterfaceLuidToNameW(luid: *const u64, name: *mut WideCharacter, length: usize) -> u32 {
        // SAFETY: the caller's promise.
        let found = unsafe { read_luid(luid) }.map(|luid| layout::wide(&name_of(luid)));
        // SAFETY: the caller's promise.
        told(found.and_then(|found| unsafe { give_text(&found, name, length) }))
    }

    /// The LUID of its name.
    ///
    /// # Safety
    /// `name` is null or ends with 0; `luid` is null or writable.
    fn ConvertInterfaceNameToLuidA(name: *const u8, luid: *mut u64) -> u32 {
        // SAFETY: the caller's promise.
        let name = unsafe { text(name) };
        // SAFETY: the caller's promise.
        unsafe { give_luid(name.as_deref(), luid) }
    }

    /// The LUID of its name.
    ///
    /// # Safety
    /// `name` is null or ends with 0; `luid` is null or writable.
    fn ConvertInterfaceNameToLuidW(name: *const WideCharacter, luid: *mut u64) -> u32 {
        // SAFETY: the caller's promise.
        let name = unsafe { memory::until_zero(name, LONGEST_ALIAS) };
        let name = name.as_deref().and_then(layout::narrow);
        // SAFETY: the caller's promise.
        unsafe { give_luid(name.as_deref(), luid) }
    }

    /// A GUID that names the interface of a LUID, on this system only.
    ///
    /// # Safety
    /// `luid` is null or readable, `guid` null or writable.
    fn ConvertInterfaceLuidToGuid(luid: *const u64, guid: *mut Guid) -> u32 {
        if guid.is_null() {
            return ERROR_INVALID_PARAMETER;
        }
        // SAFETY: the caller's promise.
        let found = unsafe { by_luid(luid) }.map(|adapter| guid::of(adapter.luid()));
        // SAFETY: the caller's promise.
        told(found.and_then(|found| unsafe { memory::write(guid, found) }.ok_or(ERROR_INVALID_PARAMETER)))
    }

    /// The LUID of a GUID that [`ConvertInterfaceLuidToGuid`] gave.
    ///
    /// # Safety
    /// `guid` is null or readable, `luid` null or writable.
    fn ConvertInterfaceGuidToLuid(guid: *const Guid, luid: *mut u64) -> u32 {
        // SAFETY: the caller's promise.
        let Some(given) = (unsafe { memory::read(guid) }).filter(|_| !luid.is_null()) else {
            return ERROR_INVALID_PARAMETER;
        };
        let found = find(|adapter| guid::of(adapter.luid()) == given, ERROR_INVALID_PARAMETER);
        // SAFETY: the caller's promise.
        told(found.and_then(|found| unsafe { memory::write(luid, found.luid()) }.ok_or(ERROR_INVALID_PARAMETER)))
    }
}

export_prefixed! {
    /// The index of an interface that is called so; 0 if there is none.
    ///
    /// # Safety
    /// `name` is null or ends with 0.
    fn if_nametoindex(name: *const u8) -> u32 {
        // SAFETY: the caller's promise.
        let name = unsafe { text(name) };
        let found = name.as_deref().and_then(called);
        found.map_or(0, |adapter| adapter.description.index.get())
    }

    /// Writes the name of an interface, and returns where; null if there is none of this index. In place of a long name,
    /// which a simulated interface may have, that of its LUID.
    ///
    /// # Safety
    /// `name` is null or has room for 16 bytes: `IF_NAMESIZE` of the C library, which a program may have included.
    fn if_indextoname(index: u32, name: *mut u8) -> *mut u8 {
        let found = adapter::find(|adapter| adapter.description.index.get() == index);
        let text = found.map(|adapter| match narrow(&adapter.description.name) {
            own if own.len() <= LONGEST_LINUX_NAME => own,
            _ => narrow(&name_of(adapter.luid())),
        });
        // SAFETY: the caller's promise.
        let given = text.map(|text| unsafe { give_text(&text, name, LONGEST_LINUX_NAME) });
        if matches!(given, Ok(Ok(()))) { name } else { std::ptr::null_mut() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_luid_leads_back_to_it() {
        for (luid, name) in [
            (0x0006_0080_0400_0000, "ethernet_32772"),
            (0x0018_0000_0100_0000, "loopback_1"),
            (0x0047_FFFF_FF00_0000, "iftype71_16777215"),
        ] {
            assert_eq!(name_of(luid), name);
            assert_eq!(luid_of(name), Some(luid));
        }
        for no_name in [
            "",
            "ethernet",
            "ethernet_",
            "ethernet_16777216",
            "ethernet_01",
            "iftype6_1",
            "lo_1",
        ] {
            assert_eq!(luid_of(no_name), None, "{no_name}");
        }
    }
}
