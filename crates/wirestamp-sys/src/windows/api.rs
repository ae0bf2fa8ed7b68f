//! The five functions of the timestamping interface, looked up at run time: a program
//! that imports one that is missing does not start. Recognises which interface is there before
//! anything is called.
//!
//! Source: `iphlpapi.h`. Until build 20348 the same DLL exported functions of other names and,
//! for cross timestamps, of the *same* name with another structure. What exports
//! `GetInterfaceActiveTimestampCapabilities` has the current one.

use super::call::{GetAdjustment, SetAdjustment};
use crate::abi::codes::ERROR_PROC_NOT_FOUND;
use crate::abi::iphlp::{CrossTimestamp, TimestampCapabilities};
use crate::abi::old::OldCrossTimestamp;
use std::ffi::{CStr, c_void};
use std::sync::OnceLock;
use std::{mem, ptr};
use windows_sys::Win32::Foundation::HMODULE;
use windows_sys::Win32::System::LibraryLoader::{
    GetProcAddress, LOAD_LIBRARY_SEARCH_SYSTEM32, LoadLibraryExA,
};
use windows_sys::Win32::System::SystemInformation::OSVERSIONINFOW;
use wirestamp_core::{Error, ErrorKind, Result};

type Query = unsafe extern "system" fn(*const u64, *mut TimestampCapabilities) -> u32;
type Capture = unsafe extern "system" fn(*const u64, *mut Reading) -> u32;
type Register = unsafe extern "system" fn(Callback, *const c_void, *mut *mut c_void) -> u32;
type Unregister = unsafe extern "system" fn(*mut c_void);

/// Called by the system on a thread of its own when some configuration has changed.
pub(super) type Callback = unsafe extern "system" fn(*const c_void);

/// A reading, and the 8 bytes more that the interface of before build 20348 would write: whatever
/// a DLL does, it writes into this.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Reading {
    timestamp: CrossTimestamp,
    spare: u64,
}

const _: () = assert!(size_of::<Reading>() >= size_of::<OldCrossTimestamp>());

/// The interface of build 20348 and later.
#[derive(Debug, Clone, Copy)]
pub(super) struct Api {
    supported: Query,
    active: Query,
    capture: Option<Capture>,
    notification: Option<(Register, Unregister)>,
}

/// Which interface this Windows has.
#[derive(Debug, Clone, Copy)]
enum Found {
    Current(Api),
    /// The one from before build 20348, reserved for the system's own use.
    Old,
    Missing,
}

/// Says so where the interface is missing, and which Windows has it.
pub(super) fn get(operation: &'static str, target: &str) -> Result<Api> {
    static FOUND: OnceLock<Found> = OnceLock::new();
    let cause = match FOUND.get_or_init(find) {
        Found::Current(api) => return Ok(*api),
        Found::Old => {
            "this Windows has the older timestamping interface, which is reserved for the system"
        }
        Found::Missing => "this Windows has no packet timestamping interface",
    };
    let cause = match build() {
        Some(build) => format!("{cause} (build {build})"),
        None => cause.to_owned(),
    };
    Err(
        Error::new(ErrorKind::NotSupported, operation, target, cause)
            .with_code(ERROR_PROC_NOT_FOUND as i32)
            .with_remedy(
                "packet timestamps came with Windows Server 2022 (build 20348) and Windows 11",
            ),
    )
}

/// A part of the interface that its other parts came without.
fn lacking(operation: &'static str, target: &str, name: &str) -> Error {
    Error::new(
        ErrorKind::NotSupported,
        operation,
        target,
        format!("iphlpapi.dll does not export {name}"),
    )
    .with_code(ERROR_PROC_NOT_FOUND as i32)
    .with_remedy(
        "update Windows: cross timestamps came with build 20348, on Windows 11 with 22000.194",
    )
}

fn find() -> Found {
    let library = library(c"iphlpapi.dll");
    let current = || {
        Some(Api {
            supported: function(library, c"GetInterfaceSupportedTimestampCapabilities")?,
            active: function(library, c"GetInterfaceActiveTimestampCapabilities")?,
            capture: function(library, c"CaptureInterfaceHardwareCrossTimestamp"),
            notification: function(library, c"RegisterInterfaceTimestampConfigChange").zip(
                function(library, c"UnregisterInterfaceTimestampConfigChange"),
            ),
        })
    };
    let old = [
        c"GetInterfaceCurrentTimestampCapabilities",
        c"GetInterfaceHardwareTimestampCapabilities",
        c"CaptureInterfaceHardwareCrossTimestamp",
        c"NotifyIfTimestampConfigChange",
    ];
    match current() {
        Some(api) => Found::Current(api),
        None if old.iter().any(|name| address(library, name).is_some()) => Found::Old,
        None => Found::Missing,
    }
}

/// The system's own, wherever a DLL of that name may lie. Stays loaded.
fn library(name: &CStr) -> HMODULE {
    // SAFETY: the name ends with a zero.
    unsafe {
        LoadLibraryExA(
            name.as_ptr().cast(),
            ptr::null_mut(),
            LOAD_LIBRARY_SEARCH_SYSTEM32,
        )
    }
}

fn address(library: HMODULE, name: &CStr) -> Option<unsafe extern "system" fn() -> isize> {
    if library.is_null() {
        return None;
    }
    // SAFETY: the library is loaded and stays so; the name ends with a zero.
    unsafe { GetProcAddress(library, name.as_ptr().cast()) }
}

/// `F` must be the type of the function of this name.
fn function<F: Copy>(library: HMODULE, name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<usize>()) }
    // SAFETY: callers name the function's own type; both are addresses of functions.
    address(library, name).map(|found| unsafe { mem::transmute_copy(&found) })
}

/// What reads and sets the real-time clock's rate; `None` before Windows 10.
pub(super) fn adjustment_functions() -> Option<(GetAdjustment, SetAdjustment)> {
    let library = library(c"kernelbase.dll");
    function(library, c"GetSystemTimeAdjustmentPrecise")
        .zip(function(library, c"SetSystemTimeAdjustmentPrecise"))
}

/// The build of Windows; `None` if it does not say.
pub(super) fn build() -> Option<u32> {
    type RtlGetVersion = unsafe extern "system" fn(*mut OSVERSIONINFOW) -> i32;
    let ask: RtlGetVersion = function(library(c"ntdll.dll"), c"RtlGetVersion")?;
    let size = size_of::<OSVERSIONINFOW>() as u32;
    let mut version = OSVERSIONINFOW {
        dwOSVersionInfoSize: size,
        ..OSVERSIONINFOW::default()
    };
    // SAFETY: the structure is whole and says its size.
    (unsafe { ask(&raw mut version) } == 0).then_some(version.dwBuildNumber)
}

/// The handle of a registration.
#[derive(Debug)]
pub(super) struct Registration {
    handle: *mut c_void,
    unregister: Unregister,
}

// SAFETY: the handle may be unregistered from any thread.
unsafe impl Send for Registration {}

impl Api {
    /// What the adapter could timestamp, or the system's number.
    pub(super) fn supported(&self, luid: u64) -> Result<TimestampCapabilities, u32> {
        query(self.supported, luid)
    }

    /// What the adapter timestamps now, or the system's number.
    pub(super) fn active(&self, luid: u64) -> Result<TimestampCapabilities, u32> {
        query(self.active, luid)
    }

    /// Whether cross timestamps can be asked for at all.
    pub(super) fn check_capture(&self, operation: &'static str, target: &str) -> Result<()> {
        let name = "CaptureInterfaceHardwareCrossTimestamp";
        self.capture
            .map(drop)
            .ok_or_else(|| lacking(operation, target, name))
    }

    /// One cross timestamp, or the system's number.
    pub(super) fn capture(&self, luid: u64) -> Result<CrossTimestamp, u32> {
        let Some(capture) = self.capture else {
            return Err(ERROR_PROC_NOT_FOUND);
        };
        let mut reading = Reading::default();
        // SAFETY: both pointers are valid for the call, and the structure has room for the
        // longest that any Windows writes.
        match unsafe { capture(&raw const luid, &raw mut reading) } {
            0 => Ok(reading.timestamp),
            code => Err(code),
        }
    }

    /// Calls `callback` with `context` at every change, or the system's number.
    ///
    /// # Safety
    /// `callback` must be sound with `context` on any thread until the registration has ended.
    pub(super) unsafe fn register(
        &self,
        callback: Callback,
        context: *const c_void,
    ) -> Result<Registration, u32> {
        let Some((register, unregister)) = self.notification else {
            return Err(ERROR_PROC_NOT_FOUND);
        };
        let mut handle = ptr::null_mut();
        // SAFETY: the caller answers for callback and context; the handle's place is valid.
        match unsafe { register(callback, context, &raw mut handle) } {
            0 => Ok(Registration { handle, unregister }),
            code => Err(code),
        }
    }
}

fn query(ask: Query, luid: u64) -> Result<TimestampCapabilities, u32> {
    let mut capabilities = TimestampCapabilities::default();
    // SAFETY: both pointers are valid for the call.
    match unsafe { ask(&raw const luid, &raw mut capabilities) } {
        0 => Ok(capabilities),
        code => Err(code),
    }
}

impl Drop for Registration {
    /// Waits for a running callback. No callback here takes a lock or waits.
    fn drop(&mut self) {
        // SAFETY: the handle is of a registration that was not ended yet.
        unsafe { (self.unregister)(self.handle) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scripts/windows/model` runs this where the DLL exports the older names; Wine has none.
    #[test]
    fn an_older_interface_is_recognised_and_not_called() {
        let Err(error) = get("query active capabilities", "Ethernet") else {
            return;
        };
        let old = std::env::var_os("WIRESTAMP_OLD_INTERFACE").is_some();
        assert_eq!(
            error.cause().contains("the older timestamping interface"),
            old,
            "{error}"
        );
        assert_eq!(
            error.cause().contains("no packet timestamping interface"),
            !old,
            "{error}"
        );
        assert_eq!(
            (error.kind(), error.code()),
            (ErrorKind::NotSupported, Some(127))
        );
        assert!(error.remedy().contains("20348"), "{error}");
    }

    #[test]
    fn the_system_tells_its_build() {
        assert!(build().is_some_and(|build| build > 7_000));
    }
}
