//! The subscription to changes of interfaces (not of their timestamping configuration).

use super::super::handle::Event;
use std::io;
use std::ptr;
use std::sync::Arc;
use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::NetworkManagement::IpHelper as ip;
use windows_sys::Win32::Networking::WinSock::AF_UNSPEC;

/// Sets an event at every change of an interface; dropping it ends that.
#[derive(Debug)]
pub(in crate::windows) struct InterfaceChanges {
    handle: HANDLE,
    /// What the callback points to: given back when no call can follow.
    _event: Arc<Event>,
}

// SAFETY: the handle may be cancelled from any thread.
unsafe impl Send for InterfaceChanges {}

/// Runs on a thread of the system's.
extern "system" fn changed(
    context: *const std::ffi::c_void,
    _row: *const ip::MIB_IPINTERFACE_ROW,
    _kind: ip::MIB_NOTIFICATION_TYPE,
) {
    // SAFETY: the context is the event that the subscription holds until no call can follow.
    if let Some(event) = unsafe { context.cast::<Event>().as_ref() } {
        event.set();
    }
}

impl InterfaceChanges {
    /// Sets `event` from now on.
    pub(in crate::windows) fn subscribe(event: &Arc<Event>) -> io::Result<Self> {
        let mut handle = ptr::null_mut();
        let context = Arc::as_ptr(event).cast();
        // SAFETY: the context is a shared event, which outlives the subscription; the handle's
        // place is valid for the call.
        match unsafe {
            ip::NotifyIpInterfaceChange(AF_UNSPEC, Some(changed), context, false, &raw mut handle)
        } {
            0 => Ok(Self {
                handle,
                _event: Arc::clone(event),
            }),
            code => Err(io::Error::from_raw_os_error(code as i32)),
        }
    }
}

impl Drop for InterfaceChanges {
    /// Waits for a running callback, which waits for nothing.
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the handle is of a subscription that was not cancelled yet.
            unsafe { ip::CancelMibChangeNotify2(self.handle) };
        }
    }
}
