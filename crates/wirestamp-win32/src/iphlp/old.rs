//! The exported functions of the first ABI, which headers map under other names.

use crate::abi::codes::ERROR_INVALID_PARAMETER;
use crate::abi::iphlp::TimestampCapabilities;
use crate::abi::old::{OldCrossTimestamp, OldTimestampCapabilities, VERSION_1};
use crate::abi::winsock::Handle;
use crate::adapter::Adapter;
use crate::iphlp::exports::{Callback, by_luid, capabilities, capture, register, told};
use crate::iphlp::notify;
use crate::memory;
use std::ffi::c_void;

type Ask = fn(&Adapter) -> wirestamp_core::Result<wirestamp_core::capability::Capabilities>;

/// # Safety
/// `luid` is null or readable, `to` null or writable.
unsafe fn give_capabilities(
    luid: *const u64,
    to: *mut OldTimestampCapabilities,
    ask: Ask,
) -> Result<(), u32> {
    if to.is_null() {
        return Err(ERROR_INVALID_PARAMETER);
    }
    // SAFETY: the caller's promise.
    let adapter = unsafe { by_luid(luid) }?;
    let found: TimestampCapabilities = capabilities(&adapter, ask)?;
    // SAFETY: the caller's promise.
    unsafe { memory::write(to, OldTimestampCapabilities::from(&found)) }
        .ok_or(ERROR_INVALID_PARAMETER)
}

/// # Safety
/// `luid` is null or readable, `to` null or writable.
unsafe fn give_cross_timestamp(luid: *const u64, to: *mut OldCrossTimestamp) -> Result<(), u32> {
    // SAFETY: the caller's promise.
    let given = unsafe { memory::read(to.cast_const()) }.ok_or(ERROR_INVALID_PARAMETER)?;
    if given.version != VERSION_1 {
        return Err(ERROR_INVALID_PARAMETER);
    }
    // SAFETY: the caller's promise.
    let adapter = unsafe { by_luid(luid) }?;
    let taken = OldCrossTimestamp {
        now: capture(&adapter)?,
        ..given
    };
    // SAFETY: the caller's promise.
    unsafe { memory::write(to, taken) }.ok_or(ERROR_INVALID_PARAMETER)
}

export_prefixed! {
    /// What an adapter timestamps now, in the first structure.
    ///
    /// # Safety
    /// `luid` is null or readable, `capabilities` null or writable.
    fn GetInterfaceCurrentTimestampCapabilities_rs5(
        luid: *const u64,
        capabilities: *mut OldTimestampCapabilities,
    ) -> u32 {
        // SAFETY: the caller's promise.
        told(unsafe { give_capabilities(luid, capabilities, Adapter::active) })
    }

    /// What an adapter could timestamp, in the first structure.
    ///
    /// # Safety
    /// `luid` is null or readable, `capabilities` null or writable.
    fn GetInterfaceHardwareTimestampCapabilities_rs5(
        luid: *const u64,
        capabilities: *mut OldTimestampCapabilities,
    ) -> u32 {
        // SAFETY: the caller's promise.
        told(unsafe { give_capabilities(luid, capabilities, Adapter::supported) })
    }

    /// Reads an adapter's clock, into the first structure.
    ///
    /// # Safety
    /// `luid` is null or readable, `timestamp` null, or readable and writable.
    fn CaptureInterfaceHardwareCrossTimestamp_rs5(luid: *const u64, timestamp: *mut OldCrossTimestamp) -> u32 {
        // SAFETY: the caller's promise.
        told(unsafe { give_cross_timestamp(luid, timestamp) })
    }
}

export! {
    /// The old name of `RegisterInterfaceTimestampConfigChange`, with its first two arguments
    /// the other way round.
    ///
    /// # Safety
    /// As there.
    fn NotifyIfTimestampConfigChange(context: *mut c_void, callback: Option<Callback>, handle: *mut Handle) -> u32 {
        // SAFETY: the caller's promise.
        told(unsafe { register(callback, context, handle) })
    }

    /// The old name of `UnregisterInterfaceTimestampConfigChange`; an unknown handle changes nothing.
    ///
    /// # Safety
    /// None needed.
    fn CancelIfTimestampConfigChange(handle: Handle) {
        let _unknown_is_ignored = notify::unregister(handle.addr());
    }
}
