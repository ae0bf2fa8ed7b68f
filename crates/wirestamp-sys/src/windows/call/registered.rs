//! Waits that the system's threads do for this process: one thread of the system's waits
//! for many handles, and calls once when one is signalled.

use std::ffi::c_void;
use std::fmt;
use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle};
use std::ptr;
use std::sync::Arc;
use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Threading::{
    INFINITE, RegisterWaitForSingleObject, UnregisterWaitEx, WT_EXECUTEINWAITTHREAD,
    WT_EXECUTEONLYONCE,
};

/// The function to call, on a thread that many share: it must not wait.
pub(in crate::windows) type Call = Arc<dyn Fn() + Send + Sync>;

/// A wait for one handle. Dropping it ends it.
pub(in crate::windows) struct RegisteredWait {
    handle: HANDLE,
    /// What the callback points to: given back when no call can follow.
    _call: Box<Call>,
}

// SAFETY: a wait may be ended from any thread, and what it calls may be called on any.
unsafe impl Send for RegisteredWait {}

impl fmt::Debug for RegisteredWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RegisteredWait({:?})", self.handle)
    }
}

/// Runs on a thread of the system's.
extern "system" fn signalled(context: *mut c_void, _timed_out: bool) {
    // SAFETY: the context is the call that the wait holds until none can follow.
    if let Some(call) = unsafe { context.cast::<Call>().as_ref() } {
        call();
    }
}

impl RegisteredWait {
    /// Calls once, as soon as `object` is signalled; at once if it is already. The object must
    /// stay open for as long as the wait.
    pub(in crate::windows) fn new(object: BorrowedHandle<'_>, call: Call) -> io::Result<Self> {
        let call = Box::new(call);
        let context = (&raw const *call).cast();
        let flags = WT_EXECUTEINWAITTHREAD | WT_EXECUTEONLYONCE;
        let mut handle = ptr::null_mut();
        let object = object.as_raw_handle();
        // SAFETY: the context is on the heap and outlives the wait; the handle's place is valid
        // for the call.
        match unsafe {
            RegisterWaitForSingleObject(
                &raw mut handle,
                object,
                Some(signalled),
                context,
                INFINITE,
                flags,
            )
        } {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(Self {
                handle,
                _call: call,
            }),
        }
    }
}

impl Drop for RegisteredWait {
    /// Waits for a running call, which waits for nothing.
    fn drop(&mut self) {
        // SAFETY: the wait was not ended yet.
        unsafe { UnregisterWaitEx(self.handle, INVALID_HANDLE_VALUE) };
    }
}
