//! Every call into Windows, and with [`super::api`] all of this folder's `unsafe`: safe
//! functions around one call each. Decides nothing.

mod adapters;
mod notify;
mod registered;
mod sockets;
mod utc;
mod waits;

pub(super) use adapters::{adapters, best_interface};
pub(super) use notify::InterfaceChanges;
pub(super) use registered::{Call, RegisteredWait};
pub(super) use sockets::{
    ReceiveMessage, ioctl_in, ioctl_in_out, option, readiness, receive_message,
    receive_message_function, select_event, send_message, socket,
};
pub(super) use utc::{
    GetAdjustment, SetAdjustment, adjustment, calendar, enable_privilege, is_service_running,
    set_adjustment, set_system_time, user,
};
pub(super) use waits::{create_event, create_timer, reset_event, set_event, set_timer, wait_for};

use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::Performance::{QueryPerformanceCounter, QueryPerformanceFrequency};
use windows_sys::Win32::System::SystemInformation::GetSystemTimePreciseAsFileTime;

/// The performance counter.
pub(super) fn counter() -> u64 {
    let mut ticks = 0;
    // SAFETY: the pointer is valid for the call. It can't fail since Windows XP.
    unsafe { QueryPerformanceCounter(&raw mut ticks) };
    ticks as u64
}

/// Its rate in hertz.
pub(super) fn counter_frequency() -> u64 {
    let mut hertz = 0;
    // SAFETY: the pointer is valid for the call. It can't fail since Windows XP.
    unsafe { QueryPerformanceFrequency(&raw mut hertz) };
    hertz as u64
}

/// The UTC in 100 ns since 1601.
pub(super) fn system_time() -> i64 {
    let mut time = FILETIME::default();
    // SAFETY: the pointer is valid for the call.
    unsafe { GetSystemTimePreciseAsFileTime(&raw mut time) };
    (u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime)) as i64
}
