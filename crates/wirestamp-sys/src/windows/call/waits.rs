//! The calls for events and timers.

use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle};
use std::ptr;
use windows_sys::Win32::Foundation::{HANDLE, WAIT_FAILED, WAIT_OBJECT_0};
use windows_sys::Win32::System::Threading::{
    CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, CreateEventW, CreateWaitableTimerExW, INFINITE,
    ResetEvent, SetEvent, SetWaitableTimer, TIMER_ALL_ACCESS, WaitForMultipleObjects,
};

/// The most handles that anything here waits for.
const MOST: usize = 4;

fn owned(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the system has just made the handle for us, and nobody else has it.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// An event that stays set until it is reset.
pub(in crate::windows) fn create_event() -> io::Result<OwnedHandle> {
    // SAFETY: null attributes and name are allowed.
    owned(unsafe { CreateEventW(ptr::null(), 1, 0, ptr::null()) })
}

pub(in crate::windows) fn set_event(event: BorrowedHandle<'_>) {
    // SAFETY: the handle is open while it is borrowed.
    unsafe { SetEvent(event.as_raw_handle()) };
}

pub(in crate::windows) fn reset_event(event: BorrowedHandle<'_>) {
    // SAFETY: the handle is open while it is borrowed.
    unsafe { ResetEvent(event.as_raw_handle()) };
}

/// A timer of high resolution; of ordinary one before Windows 10 version 1803.
pub(in crate::windows) fn create_timer() -> io::Result<OwnedHandle> {
    let flags = CREATE_WAITABLE_TIMER_HIGH_RESOLUTION;
    // SAFETY: null attributes and name are allowed.
    let fine = unsafe { CreateWaitableTimerExW(ptr::null(), ptr::null(), flags, TIMER_ALL_ACCESS) };
    owned(fine).or_else(|_| {
        // SAFETY: as above.
        owned(unsafe { CreateWaitableTimerExW(ptr::null(), ptr::null(), 0, TIMER_ALL_ACCESS) })
    })
}

/// Lets `timer` signal after so many nanoseconds.
pub(in crate::windows) fn set_timer(timer: BorrowedHandle<'_>, nanoseconds: i64) -> io::Result<()> {
    // In units of 100 ns; negative: from now. 0 would be a moment in 1601, which has passed too.
    let due = -(nanoseconds / 100 + i64::from(nanoseconds % 100 != 0));
    // SAFETY: the handle is open while it is borrowed, and `due` lives through the call; no
    // routine is called.
    match unsafe {
        SetWaitableTimer(
            timer.as_raw_handle(),
            &raw const due,
            0,
            None,
            ptr::null(),
            0,
        )
    } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Waits for ever until one of `handles` is signalled; returns its place.
pub(in crate::windows) fn wait_for<'a>(
    handles: impl Iterator<Item = BorrowedHandle<'a>>,
) -> io::Result<usize> {
    let mut raw = [ptr::null_mut(); MOST];
    let mut count = 0;
    for (place, handle) in raw.iter_mut().zip(handles) {
        *place = handle.as_raw_handle();
        count += 1;
    }
    // SAFETY: the first `count` handles are open while they are borrowed.
    match unsafe { WaitForMultipleObjects(count, raw.as_ptr(), 0, INFINITE) } {
        WAIT_FAILED => Err(io::Error::last_os_error()),
        signalled => Ok((signalled - WAIT_OBJECT_0) as usize),
    }
}
