//! The list of all adapters, the system's and the simulated ones, and which of them a
//! question is about. Adapters of the system's own are answered as by drivers without timestamps.

use crate::{real, steering};
use std::ffi::c_void;
use std::ptr;
use wirestamp_core::backend::Backend;
use wirestamp_win32::abi::WideCharacter;
use wirestamp_win32::abi::adapters::adapter as field;
use wirestamp_win32::abi::codes::{
    ERROR_BUFFER_OVERFLOW, ERROR_FILE_NOT_FOUND, ERROR_NOT_SUPPORTED,
};
use wirestamp_win32::abi::iphlp::{CrossTimestamp, TimestampCapabilities};
use wirestamp_win32::abi::winsock::Handle;
use wirestamp_win32::iphlp::exports::{self, Callback};
use wirestamp_win32::simulated::{self, Simulation};
use wirestamp_win32::{address, memory};

/// As drivers answer that know no timestamps, where the adapter is the system's own.
///
/// # Safety
/// `luid` is null or readable.
unsafe fn without_timestamps(luid: *const u64, code: u32) -> u32 {
    let mut index = 0;
    // SAFETY: the caller's promise; the system refuses null.
    let mut is_the_systems =
        || unsafe { real::ConvertInterfaceLuidToIndex(luid, &raw mut index) } == 0;
    if code == ERROR_FILE_NOT_FOUND && is_the_systems() {
        ERROR_NOT_SUPPORTED
    } else {
        code
    }
}

/// How many bytes a list needs.
///
/// # Safety
/// `list` is `GetAdaptersAddresses` of one of the two.
unsafe fn size_of_list(list: impl FnOnce(*mut u8, *mut u32) -> u32) -> u32 {
    let mut size = 0;
    match list(ptr::null_mut(), &raw mut size) {
        ERROR_BUFFER_OVERFLOW => size,
        _ => 0,
    }
}

/// Lets the last record of the list at `first` be followed by `next`.
///
/// # Safety
/// `first` begins a list that the system linked, and whose memory is the caller's.
unsafe fn append(first: *mut u8, next: *mut u8) {
    let mut record = first;
    loop {
        let place = record.wrapping_add(field::NEXT).cast::<*mut u8>();
        // SAFETY: a record of the list, which has its next one there.
        let following = unsafe { place.read_unaligned() };
        if following.is_null() {
            // SAFETY: as above, and the caller's to write.
            return unsafe { place.write_unaligned(next) };
        }
        record = following;
    }
}

/// The answer of the first that knows the interface: the simulation, or the system.
fn either(simulated: u32, real: impl FnOnce() -> u32) -> u32 {
    if simulated == 0 { simulated } else { real() }
}

export_forward! {
    fn ConvertInterfaceAliasToLuid(alias: *const WideCharacter, luid: *mut u64) -> u32 {
        // SAFETY: the caller's promise.
        let ours = unsafe { exports::ConvertInterfaceAliasToLuid(alias, luid) };
        // SAFETY: the caller's promise.
        either(ours, || unsafe { real::ConvertInterfaceAliasToLuid(alias, luid) })
    }

    fn ConvertInterfaceIndexToLuid(index: u32, luid: *mut u64) -> u32 {
        // SAFETY: the caller's promise.
        let ours = unsafe { exports::ConvertInterfaceIndexToLuid(index, luid) };
        // SAFETY: the caller's promise.
        either(ours, || unsafe { real::ConvertInterfaceIndexToLuid(index, luid) })
    }

    fn ConvertInterfaceLuidToIndex(luid: *const u64, index: *mut u32) -> u32 {
        // SAFETY: the caller's promise.
        let ours = unsafe { exports::ConvertInterfaceLuidToIndex(luid, index) };
        // SAFETY: the caller's promise.
        either(ours, || unsafe { real::ConvertInterfaceLuidToIndex(luid, index) })
    }

    fn ConvertInterfaceLuidToAlias(luid: *const u64, alias: *mut WideCharacter, length: usize) -> u32 {
        // SAFETY: the caller's promise.
        let ours = unsafe { exports::ConvertInterfaceLuidToAlias(luid, alias, length) };
        // SAFETY: the caller's promise.
        either(ours, || unsafe { real::ConvertInterfaceLuidToAlias(luid, alias, length) })
    }

    fn GetAdaptersAddresses(family: u32, flags: u32, reserved: *mut c_void, to: *mut u8, size: *mut u32) -> u32 {
        steering::start();
        // SAFETY: the caller's promise.
        let own = |to, size| unsafe { real::GetAdaptersAddresses(family, flags, reserved, to, size) };
        // SAFETY: the caller's promise.
        let simulated = |to, size| unsafe { exports::GetAdaptersAddresses(family, flags, reserved, to, size) };
        // SAFETY: a null list of size 0.
        let own_size = unsafe { size_of_list(own) };
        // SAFETY: a null list of size 0.
        let simulated_size = unsafe { size_of_list(simulated) }.next_multiple_of(8);
        // SAFETY: the caller's promise.
        let Some(room) = (unsafe { memory::read(size.cast_const()) }) else { return own(to, size) };
        if simulated_size == 0 {
            return own(to, size);
        }
        if to.is_null() || room < own_size + simulated_size {
            // SAFETY: the caller's promise; it was read above.
            let _written = unsafe { memory::write(size, own_size + simulated_size) };
            return ERROR_BUFFER_OVERFLOW;
        }
        // The simulated ones first: a real adapter of this machine may have their addresses.
        let (mut own_room, mut simulated_room) = (room - simulated_size, simulated_size);
        let code = simulated(to, &raw mut simulated_room);
        let second = to.wrapping_add(simulated_size as usize);
        if code != 0 || own_size == 0 || own(second, &raw mut own_room) != 0 {
            return code;
        }
        // SAFETY: both lists were just written into the caller's memory.
        unsafe { append(to, second) };
        0
    }

    fn GetBestInterfaceEx(to: *const u8, index: *mut u32) -> u32 {
        // SAFETY: the caller's promise: a whole address of its family.
        let address = unsafe { address::of_its_family(to) }.ok();
        let Ok(Some(simulation)) = simulated::chosen() else {
            // SAFETY: the caller's promise.
            return unsafe { real::GetBestInterfaceEx(to, index) };
        };
        match address.filter(|address| Simulation::owns(address.ip())) {
            Some(_) => {
                let first = simulation.caught_up().interfaces().ok().and_then(|list| list.first().map(|one| one.index));
                // SAFETY: the caller's promise.
                let written = first.and_then(|first| unsafe { memory::write(index, first.get()) });
                if written.is_some() { 0 } else { ERROR_FILE_NOT_FOUND }
            }
            // SAFETY: the caller's promise.
            None => unsafe { real::GetBestInterfaceEx(to, index) },
        }
    }

    fn GetInterfaceSupportedTimestampCapabilities(luid: *const u64, to: *mut TimestampCapabilities) -> u32 {
        // SAFETY: the caller's promise.
        let code = unsafe { exports::GetInterfaceSupportedTimestampCapabilities(luid, to) };
        // SAFETY: as above.
        unsafe { without_timestamps(luid, code) }
    }

    fn GetInterfaceActiveTimestampCapabilities(luid: *const u64, to: *mut TimestampCapabilities) -> u32 {
        // SAFETY: the caller's promise.
        let code = unsafe { exports::GetInterfaceActiveTimestampCapabilities(luid, to) };
        // SAFETY: as above.
        unsafe { without_timestamps(luid, code) }
    }

    fn CaptureInterfaceHardwareCrossTimestamp(luid: *const u64, to: *mut CrossTimestamp) -> u32 {
        // SAFETY: the caller's promise.
        let code = unsafe { exports::CaptureInterfaceHardwareCrossTimestamp(luid, to) };
        // SAFETY: as above.
        unsafe { without_timestamps(luid, code) }
    }

    fn RegisterInterfaceTimestampConfigChange(callback: Option<Callback>, context: *mut c_void, handle: *mut Handle) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { exports::RegisterInterfaceTimestampConfigChange(callback, context, handle) }
    }

    fn UnregisterInterfaceTimestampConfigChange(handle: Handle) {
        // SAFETY: the caller's promise.
        unsafe { exports::UnregisterInterfaceTimestampConfigChange(handle) };
    }
}
