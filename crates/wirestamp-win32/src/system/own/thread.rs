//! Threads that run a function of the caller.

use super::object::{self, Object};
use crate::abi::codes::{ERROR_INVALID_PARAMETER, ERROR_NOT_ENOUGH_MEMORY, ERROR_NOT_SUPPORTED};
use crate::abi::numbers::STILL_ACTIVE;
use crate::abi::winsock::Handle;
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// `LPTHREAD_START_ROUTINE`.
pub type StartRoutine = unsafe extern "system" fn(*mut c_void) -> u32;

/// `STACK_SIZE_PARAM_IS_A_RESERVATION`; the only flag there is.
const STACK_SIZE_IS_A_RESERVATION: u32 = 0x1_0000;
/// Stacks beyond this are refused before the system is asked.
const LARGEST_STACK: usize = 1 << 30;

static NEXT: AtomicU32 = AtomicU32::new(1);
thread_local! {
    /// 0: not numbered yet.
    static NUMBER: Cell<u32> = const { Cell::new(0) };
}

/// A number that no other thread of this process has.
pub(crate) fn current() -> u32 {
    if NUMBER.get() == 0 {
        NUMBER.set(NEXT.fetch_add(4, Ordering::Relaxed));
    }
    NUMBER.get()
}

/// The caller's argument, which is his to share between threads.
struct Argument(*mut c_void);
// SAFETY: never followed here; the caller hands it to a thread on purpose.
unsafe impl Send for Argument {}

impl Argument {
    fn pointer(&self) -> *mut c_void {
        self.0
    }
}

/// Starts a thread; returns its handle and number.
///
/// # Safety
/// `start` may be called with `argument` on another thread.
pub(crate) unsafe fn start(
    start: StartRoutine,
    argument: *mut c_void,
    stack: usize,
    flags: u32,
) -> Result<(Handle, u32), u32> {
    if flags & !STACK_SIZE_IS_A_RESERVATION != 0 {
        return Err(if flags == 4 {
            ERROR_NOT_SUPPORTED
        } else {
            ERROR_INVALID_PARAMETER
        });
    }
    if stack > LARGEST_STACK {
        return Err(ERROR_NOT_ENOUGH_MEMORY);
    }
    let number = NEXT.fetch_add(4, Ordering::Relaxed);
    let object = Object::thread(STILL_ACTIVE);
    let handle = object::open(Arc::clone(&object)).ok_or(ERROR_NOT_ENOUGH_MEMORY)?;
    let argument = Argument(argument);
    let run = move || {
        NUMBER.set(number);
        // SAFETY: the caller's promise.
        let code = unsafe { start(argument.pointer()) };
        object.finish(code);
    };
    let builder = std::thread::Builder::new();
    let builder = if stack == 0 {
        builder
    } else {
        builder.stack_size(stack)
    };
    match builder.spawn(run) {
        Ok(_runs_on) => Ok((handle, number)),
        Err(_) => {
            object::close(handle);
            Err(ERROR_NOT_ENOUGH_MEMORY)
        }
    }
}
