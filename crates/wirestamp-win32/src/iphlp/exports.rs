//! The exported interface functions: reads their arguments, and hands over.

use crate::abi::WideCharacter;
use crate::abi::codes::{ERROR_FILE_NOT_FOUND, ERROR_INVALID_PARAMETER, NO_ERROR};
use crate::abi::iphlp::{CrossTimestamp, TimestampCapabilities};
use crate::abi::winsock::Handle;
use crate::adapter::{self, Adapter, crossing};
use crate::iphlp::names::give_text;
pub use crate::iphlp::notify::Callback;
use crate::iphlp::{adapters, layout, notify};
use crate::memory;
use crate::system::clock;
use crate::winsock::failure::win32;
use std::ffi::c_void;
use wirestamp_core::capability::Capabilities;

/// The longest alias, its end included: `IF_MAX_STRING_SIZE` + 1.
pub(super) const LONGEST_ALIAS: usize = 257;

/// `NO_ERROR`, or the error.
pub(super) fn told(result: Result<(), u32>) -> u32 {
    result.err().unwrap_or(NO_ERROR)
}

pub(super) fn find(wanted: impl Fn(&Adapter) -> bool, otherwise: u32) -> Result<Adapter, u32> {
    use wirestamp_core::ErrorKind::NoSuchDevice;
    adapter::find(wanted).map_err(|error| {
        if error.kind() == NoSuchDevice {
            otherwise
        } else {
            win32(&error, false)
        }
    })
}

/// The adapter of a LUID.
///
/// # Safety
/// `luid` is null or readable.
pub(super) unsafe fn by_luid(luid: *const u64) -> Result<Adapter, u32> {
    // SAFETY: the caller's promise.
    let luid = unsafe { memory::read(luid) }.ok_or(ERROR_INVALID_PARAMETER)?;
    find(|adapter| adapter.luid() == luid, ERROR_FILE_NOT_FOUND)
}

/// What an adapter answers, in Windows' structure.
pub(super) fn capabilities(
    adapter: &Adapter,
    ask: fn(&Adapter) -> wirestamp_core::Result<Capabilities>,
) -> Result<TimestampCapabilities, u32> {
    let found = ask(adapter).map_err(|error| win32(&error, adapter.description.luid.is_some()))?;
    Ok(TimestampCapabilities::from(&found))
}

/// A cross timestamp, in counts.
pub(super) fn capture(adapter: &Adapter) -> Result<CrossTimestamp, u32> {
    let taken = crossing::capture(adapter)
        .map_err(|error| win32(&error, adapter.description.luid.is_some()))?;
    let count = |at| {
        clock::count(
            adapter
                .simulation
                .map_or(at, |simulation| simulation.to_counter(at)),
        )
    };
    Ok(CrossTimestamp {
        system_timestamp1: count(taken.monotonic_before()),
        hardware_clock_timestamp: taken.hardware().raw(),
        system_timestamp2: count(taken.monotonic_after()),
    })
}

/// # Safety
/// `luid` is null or readable, `to` null or writable.
unsafe fn give_capabilities(
    luid: *const u64,
    to: *mut TimestampCapabilities,
    ask: fn(&Adapter) -> wirestamp_core::Result<Capabilities>,
) -> Result<(), u32> {
    if to.is_null() {
        return Err(ERROR_INVALID_PARAMETER);
    }
    // SAFETY: the caller's promise.
    let adapter = unsafe { by_luid(luid) }?;
    let found = capabilities(&adapter, ask)?;
    // SAFETY: the caller's promise.
    unsafe { memory::write(to, found) }.ok_or(ERROR_INVALID_PARAMETER)
}

/// The characters of a text, as this system writes wide ones; `None` if it is no text.
fn narrow(wide: &[WideCharacter]) -> Option<String> {
    layout::narrow(wide)
}

export! {
    /// What an adapter could timestamp.
    ///
    /// # Safety
    /// `luid` is null or readable, `capabilities` null or writable.
    fn GetInterfaceSupportedTimestampCapabilities(luid: *const u64, capabilities: *mut TimestampCapabilities) -> u32 {
        // SAFETY: the caller's promise.
        told(unsafe { give_capabilities(luid, capabilities, Adapter::supported) })
    }

    /// What an adapter timestamps now.
    ///
    /// # Safety
    /// `luid` is null or readable, `capabilities` null or writable.
    fn GetInterfaceActiveTimestampCapabilities(luid: *const u64, capabilities: *mut TimestampCapabilities) -> u32 {
        // SAFETY: the caller's promise.
        told(unsafe { give_capabilities(luid, capabilities, Adapter::active) })
    }

    /// The old name of [`GetInterfaceActiveTimestampCapabilities`], with the current structure.
    ///
    /// # Safety
    /// `luid` is null or readable, `capabilities` null or writable.
    fn GetInterfaceCurrentTimestampCapabilities(luid: *const u64, capabilities: *mut TimestampCapabilities) -> u32 {
        // SAFETY: the caller's promise.
        told(unsafe { give_capabilities(luid, capabilities, Adapter::active) })
    }

    /// The old name of [`GetInterfaceSupportedTimestampCapabilities`], with the current structure.
    ///
    /// # Safety
    /// `luid` is null or readable, `capabilities` null or writable.
    fn GetInterfaceHardwareTimestampCapabilities(luid: *const u64, capabilities: *mut TimestampCapabilities) -> u32 {
        // SAFETY: the caller's promise.
        told(unsafe { give_capabilities(luid, capabilities, Adapter::supported) })
    }

    /// Reads an adapter's clock between two readings of the performance counter.
    ///
    /// # Safety
    /// `luid` is null or readable, `timestamp` null or writable.
    fn CaptureInterfaceHardwareCrossTimestamp(luid: *const u64, timestamp: *mut CrossTimestamp) -> u32 {
        if timestamp.is_null() {
            return ERROR_INVALID_PARAMETER;
        }
        // SAFETY: the caller's promise.
        let taken = unsafe { by_luid(luid) }.and_then(|adapter| capture(&adapter));
        // SAFETY: the caller's promise.
        told(taken.and_then(|taken| unsafe { memory::write(timestamp, taken) }.ok_or(ERROR_INVALID_PARAMETER)))
    }

    /// Calls back on changes of any adapter's timestamping, until it is unregistered.
    ///
    /// # Safety
    /// `callback` may be called with `context` on another thread until it is unregistered;
    /// `handle` is null or writable.
    fn RegisterInterfaceTimestampConfigChange(
        callback: Option<Callback>,
        context: *mut c_void,
        handle: *mut Handle,
    ) -> u32 {
        // SAFETY: the caller's promise.
        told(unsafe { register(callback, context, handle) })
    }

    /// Ends the calls: waits for one that runs, unless it is this one.
    ///
    /// # Safety
    /// None needed.
    fn UnregisterInterfaceTimestampConfigChange(handle: Handle) {
        let _unknown = notify::unregister(handle.addr());
    }

    /// Lists the adapters with an address of `family` (0: any).
    ///
    /// # Safety
    /// `size` is null or writable, and `adapters` null or as long as it says.
    fn GetAdaptersAddresses(
        family: u32,
        flags: u32,
        reserved: *mut c_void,
        adapters: *mut u8,
        size: *mut u32,
    ) -> u32 {
        let _ignored = reserved;
        // SAFETY: the caller's promise.
        told(unsafe { give_adapters(family, flags, adapters, size) })
    }

    /// The LUID of an index.
    ///
    /// # Safety
    /// `luid` is null or writable.
    fn ConvertInterfaceIndexToLuid(index: u32, luid: *mut u64) -> u32 {
        if luid.is_null() {
            return ERROR_INVALID_PARAMETER;
        }
        let found = find(|adapter| adapter.description.index.get() == index, ERROR_FILE_NOT_FOUND);
        // SAFETY: the caller's promise.
        told(found.and_then(|found| unsafe { memory::write(luid, found.luid()) }.ok_or(ERROR_INVALID_PARAMETER)))
    }

    /// The LUID of a friendly name; other names of the interface count.
    ///
    /// # Safety
    /// `alias` is null or ends with 0; `luid` is null or writable.
    fn ConvertInterfaceAliasToLuid(alias: *const WideCharacter, luid: *mut u64) -> u32 {
        if luid.is_null() {
            return ERROR_INVALID_PARAMETER;
        }
        // SAFETY: the caller's promise.
        let alias = unsafe { memory::until_zero(alias, LONGEST_ALIAS) };
        let Some(alias) = alias.as_deref().and_then(narrow) else { return ERROR_INVALID_PARAMETER };
        let found = find(|adapter| adapter.description.is_called(&alias), ERROR_INVALID_PARAMETER);
        // SAFETY: the caller's promise.
        told(found.and_then(|found| unsafe { memory::write(luid, found.luid()) }.ok_or(ERROR_INVALID_PARAMETER)))
    }

    /// The index of a LUID.
    ///
    /// # Safety
    /// `luid` is null or readable, `index` null or writable.
    fn ConvertInterfaceLuidToIndex(luid: *const u64, index: *mut u32) -> u32 {
        if index.is_null() {
            return ERROR_INVALID_PARAMETER;
        }
        // SAFETY: the caller's promise.
        let found = unsafe { by_luid(luid) }.map(|adapter| adapter.description.index.get());
        // SAFETY: the caller's promise.
        told(found.and_then(|found| unsafe { memory::write(index, found) }.ok_or(ERROR_INVALID_PARAMETER)))
    }

    /// The friendly name of a LUID.
    ///
    /// # Safety
    /// `luid` is null or readable; `alias` is null or has room for `length` characters.
    fn ConvertInterfaceLuidToAlias(luid: *const u64, alias: *mut WideCharacter, length: usize) -> u32 {
        if alias.is_null() {
            return ERROR_INVALID_PARAMETER;
        }
        // SAFETY: the caller's promise.
        let found = unsafe { by_luid(luid) }.map(|adapter| layout::wide(&adapter.description.name));
        // SAFETY: the caller's promise.
        told(found.and_then(|name| unsafe { give_text(&name, alias, length) }))
    }
}

/// # Safety
/// As [`RegisterInterfaceTimestampConfigChange`].
pub(super) unsafe fn register(
    callback: Option<Callback>,
    context: *mut c_void,
    handle: *mut Handle,
) -> Result<(), u32> {
    let callback = callback.ok_or(ERROR_INVALID_PARAMETER)?;
    if handle.is_null() {
        return Err(ERROR_INVALID_PARAMETER);
    }
    // The handle is written before anybody can be called: a callback may use it.
    let number = notify::register(callback, context, |number| {
        // SAFETY: the caller's promise; not null.
        let _written = unsafe { memory::write(handle, std::ptr::without_provenance_mut(number)) };
    });
    number.map(drop)
}

/// # Safety
/// As [`GetAdaptersAddresses`].
unsafe fn give_adapters(family: u32, flags: u32, to: *mut u8, size: *mut u32) -> Result<(), u32> {
    // SAFETY: the caller's promise.
    let room = unsafe { memory::read(size.cast_const()) }.ok_or(ERROR_INVALID_PARAMETER)?;
    let found = adapters::list(family, flags)?;
    let layout = layout::of(&found, flags, to.addr());
    let needed = layout.len();
    if to.is_null() || (room as usize) < needed {
        // SAFETY: the caller's promise.
        unsafe { memory::write(size, needed as u32) }.ok_or(ERROR_INVALID_PARAMETER)?;
        return Err(crate::abi::codes::ERROR_BUFFER_OVERFLOW);
    }
    if to.addr() % layout::ALIGNMENT != 0 {
        return Err(ERROR_INVALID_PARAMETER);
    }
    // SAFETY: the caller's promise, and there is room.
    unsafe { memory::bytes_mut(to, needed) }
        .ok_or(ERROR_INVALID_PARAMETER)?
        .copy_from_slice(&layout);
    Ok(())
}
