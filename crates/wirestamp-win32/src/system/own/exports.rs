//! The exported system calls: reads their arguments, and hands over.

use super::object::{self, Object};
pub use super::thread::StartRoutine;
use super::{last_error, thread, waiting};
use crate::abi::WideCharacter;
use crate::abi::codes::{ERROR_INVALID_HANDLE, ERROR_INVALID_PARAMETER, ERROR_NOT_ENOUGH_MEMORY};
use crate::abi::numbers::{
    INFINITE, MAXIMUM_WAIT_OBJECTS, WAIT_FAILED, WAIT_OBJECT_0, WAIT_TIMEOUT,
};
use crate::abi::winsock::Handle;
use crate::adapter::native;
use crate::memory;
use crate::system::clock;
use std::ffi::c_void;
use std::time::Duration;

/// In units of 100 ns.
const FROM_1601_TO_1970: u64 = 116_444_736_000_000_000;
const TRUE: i32 = 1;
const FALSE: i32 = 0;

/// `BOOL` of a result; a failure sets the last error.
pub(crate) fn told(result: Result<(), u32>) -> i32 {
    match result {
        Ok(()) => TRUE,
        Err(code) => {
            last_error::set(code);
            FALSE
        }
    }
}

fn handle(object: std::sync::Arc<Object>) -> Handle {
    object::open(object).unwrap_or_else(|| {
        last_error::set(ERROR_NOT_ENOUGH_MEMORY);
        std::ptr::null_mut()
    })
}

/// Milliseconds of a wait; `None` for [`INFINITE`].
pub(crate) fn timeout(milliseconds: u32) -> Option<Duration> {
    (milliseconds != INFINITE).then(|| Duration::from_millis(milliseconds.into()))
}

/// Waits for several objects, as `WaitForMultipleObjects` and `WSAWaitForMultipleEvents` do.
///
/// # Errors
/// The Win32 error.
pub(crate) fn wait_for(handles: &[Handle], all: bool, milliseconds: u32) -> Result<u32, u32> {
    let twice = |(index, handle): (usize, &Handle)| handles[..index].contains(handle);
    if handles.is_empty()
        || handles.len() > MAXIMUM_WAIT_OBJECTS as usize
        || handles.iter().enumerate().any(twice)
    {
        return Err(ERROR_INVALID_PARAMETER);
    }
    let find = |handle: &Handle| object::find(*handle).filter(|object| object.can_be_waited_for());
    let objects: Option<Vec<_>> = handles.iter().map(find).collect();
    let objects = objects.ok_or(ERROR_INVALID_HANDLE)?;
    let found = waiting::wait(&objects, all, timeout(milliseconds));
    Ok(found.map_or(WAIT_TIMEOUT, |index| WAIT_OBJECT_0 + index as u32))
}

/// The handles of a wait, if their number can be.
///
/// # Safety
/// `from` is null or points to `count` handles.
pub(crate) unsafe fn handles(from: *const Handle, count: u32) -> Result<Vec<Handle>, u32> {
    if count == 0 || count > MAXIMUM_WAIT_OBJECTS {
        return Err(ERROR_INVALID_PARAMETER);
    }
    // SAFETY: the caller's promise.
    unsafe { memory::array(from, count as usize) }.ok_or(ERROR_INVALID_PARAMETER)
}

pub(crate) fn waited(result: Result<u32, u32>) -> u32 {
    result.unwrap_or_else(|code| {
        last_error::set(code);
        WAIT_FAILED
    })
}

export! {
    /// Reads the performance counter.
    ///
    /// # Safety
    /// `count` is null or writable.
    fn QueryPerformanceCounter(count: *mut i64) -> i32 {
        let now = clock::count(clock::now()) as i64;
        // SAFETY: the caller's promise.
        told(unsafe { memory::write(count, now) }.ok_or(ERROR_INVALID_PARAMETER))
    }

    /// Says how often a second the performance counter ticks: 10,000,000 times.
    ///
    /// # Safety
    /// `frequency` is null or writable.
    fn QueryPerformanceFrequency(frequency: *mut i64) -> i32 {
        let hertz = native::frequency().hertz() as i64;
        // SAFETY: the caller's promise.
        told(unsafe { memory::write(frequency, hertz) }.ok_or(ERROR_INVALID_PARAMETER))
    }

    /// Milliseconds of the performance counter.
    ///
    /// # Safety
    /// None needed.
    fn GetTickCount64() -> u64 {
        clock::now().nanoseconds().unsigned_abs() / 1_000_000
    }

    /// The real-time clock as `FILETIME`: 100 ns since 1601, UTC.
    ///
    /// # Safety
    /// `time` is null or writable.
    fn GetSystemTimePreciseAsFileTime(time: *mut u64) {
        let since_1970 = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        let ticks = since_1970.as_nanos() / 100 + u128::from(FROM_1601_TO_1970);
        // SAFETY: the caller's promise.
        let _not_wanted = unsafe { memory::write(time, u64::try_from(ticks).unwrap_or(u64::MAX)) };
    }

    /// Sleeps; 0 lets others run, [`INFINITE`] never returns.
    ///
    /// # Safety
    /// None needed.
    fn Sleep(milliseconds: u32) {
        match timeout(milliseconds) {
            Some(Duration::ZERO) => std::thread::yield_now(),
            Some(duration) => std::thread::sleep(duration),
            None => loop {
                std::thread::park();
            },
        }
    }

    /// The last error of this thread; shared with `WSAGetLastError`.
    ///
    /// # Safety
    /// None needed.
    fn GetLastError() -> u32 {
        last_error::last()
    }

    /// Sets the last error of this thread.
    ///
    /// # Safety
    /// None needed.
    fn SetLastError(code: u32) {
        last_error::set(code);
    }

    /// The number of this thread.
    ///
    /// # Safety
    /// None needed.
    fn GetCurrentThreadId() -> u32 {
        thread::current()
    }

    /// Starts a thread. Security attributes are ignored; of the flags,
    /// `STACK_SIZE_PARAM_IS_A_RESERVATION` alone is taken.
    ///
    /// # Safety
    /// `start` may be called with `argument` on another thread; `number` is null or writable.
    fn CreateThread(
        attributes: *mut c_void,
        stack: usize,
        start: Option<StartRoutine>,
        argument: *mut c_void,
        flags: u32,
        number: *mut u32,
    ) -> Handle {
        let _ignored = attributes;
        let Some(start) = start else {
            last_error::set(ERROR_INVALID_PARAMETER);
            return std::ptr::null_mut();
        };
        // SAFETY: the caller's promise.
        match unsafe { thread::start(start, argument, stack, flags) } {
            Ok((handle, started)) => {
                // SAFETY: the caller's promise; null is allowed.
                let _not_wanted = unsafe { memory::write(number, started) };
                handle
            }
            Err(code) => {
                last_error::set(code);
                std::ptr::null_mut()
            }
        }
    }

    /// What a thread returned; `STILL_ACTIVE` while it runs.
    ///
    /// # Safety
    /// `code` is null or writable.
    fn GetExitCodeThread(thread: Handle, code: *mut u32) -> i32 {
        let found = object::find(thread).and_then(|object| object.exit_code());
        // SAFETY: the caller's promise.
        let write = |found| unsafe { memory::write(code, found) }.ok_or(ERROR_INVALID_PARAMETER);
        told(found.ok_or(ERROR_INVALID_HANDLE).and_then(write))
    }

    /// Makes an event. Names are not supported: events are this process's.
    ///
    /// # Safety
    /// None needed: the name is not read.
    fn CreateEventA(attributes: *mut c_void, manual: i32, signalled: i32, name: *const u8) -> Handle {
        let _ignored = (attributes, name);
        handle(Object::event(manual != FALSE, signalled != FALSE))
    }

    /// Makes an event, as [`CreateEventA`].
    ///
    /// # Safety
    /// None needed: the name is not read.
    fn CreateEventW(attributes: *mut c_void, manual: i32, signalled: i32, name: *const WideCharacter) -> Handle {
        let _ignored = (attributes, name);
        handle(Object::event(manual != FALSE, signalled != FALSE))
    }

    /// Signals an event.
    ///
    /// # Safety
    /// None needed.
    fn SetEvent(event: Handle) -> i32 {
        told(object::signal(event).then_some(()).ok_or(ERROR_INVALID_HANDLE))
    }

    /// Takes the signal of an event back.
    ///
    /// # Safety
    /// None needed.
    fn ResetEvent(event: Handle) -> i32 {
        told(object::clear(event).then_some(()).ok_or(ERROR_INVALID_HANDLE))
    }

    /// Waits for an event, or for the end of a thread.
    ///
    /// # Safety
    /// None needed.
    fn WaitForSingleObject(object: Handle, milliseconds: u32) -> u32 {
        waited(wait_for(&[object], false, milliseconds))
    }

    /// Waits for one or all of up to 64 objects, each given once.
    ///
    /// # Safety
    /// `objects` is null or points to `count` handles.
    fn WaitForMultipleObjects(count: u32, objects: *const Handle, all: i32, milliseconds: u32) -> u32 {
        // SAFETY: the caller's promise.
        let handles = unsafe { handles(objects, count) };
        waited(handles.and_then(|handles| wait_for(&handles, all != FALSE, milliseconds)))
    }

    /// Closes a handle; a thread runs on.
    ///
    /// # Safety
    /// None needed.
    fn CloseHandle(object: Handle) -> i32 {
        told(object::close(object).then_some(()).ok_or(ERROR_INVALID_HANDLE))
    }
}
