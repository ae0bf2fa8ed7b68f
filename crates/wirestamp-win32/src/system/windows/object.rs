//! The way to the system's events: those of overlapped operations.

use crate::abi::winsock::Handle;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn SetEvent(event: Handle) -> i32;
    fn ResetEvent(event: Handle) -> i32;
    fn WaitForSingleObject(object: Handle, milliseconds: u32) -> u32;
}

/// Whether this may be the handle of an event: the system finds out when it is set.
pub(crate) fn is_event(handle: Handle) -> bool {
    !handle.is_null()
}

/// Sets an event; `false` if there is none of this handle.
pub(crate) fn signal(event: Handle) -> bool {
    // SAFETY: the system checks handles.
    unsafe { SetEvent(event) != 0 }
}

/// Resets an event; `false` if there is none of this handle.
pub(crate) fn clear(event: Handle) -> bool {
    // SAFETY: the system checks handles.
    unsafe { ResetEvent(event) != 0 }
}

/// Waits for an event as long as it takes; `false` if there is none of this handle.
pub(crate) fn wait(event: Handle) -> bool {
    // SAFETY: the system checks handles.
    unsafe { WaitForSingleObject(event, u32::MAX) == 0 }
}
