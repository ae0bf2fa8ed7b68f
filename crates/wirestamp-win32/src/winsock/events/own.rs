//! The exported names that Winsock gives to events. They are those of `system`.

use crate::abi::codes::{ERROR_INVALID_HANDLE, ERROR_NOT_ENOUGH_MEMORY};
use crate::abi::winsock::Handle;
use crate::system::exports::{handles, wait_for, waited};
use crate::system::last_error;
use crate::system::object::{self, Object};

fn told(done: bool) -> i32 {
    if !done {
        last_error::set(ERROR_INVALID_HANDLE);
    }
    done.into()
}

export! {
    /// Makes an event that stays signalled until it is reset; not signalled.
    ///
    /// # Safety
    /// None needed.
    fn WSACreateEvent() -> Handle {
        object::open(Object::event(true, false)).unwrap_or_else(|| {
            last_error::set(ERROR_NOT_ENOUGH_MEMORY);
            std::ptr::null_mut()
        })
    }

    /// Closes an event.
    ///
    /// # Safety
    /// None needed.
    fn WSACloseEvent(event: Handle) -> i32 {
        told(object::close(event))
    }

    /// Signals an event.
    ///
    /// # Safety
    /// None needed.
    fn WSASetEvent(event: Handle) -> i32 {
        told(object::signal(event))
    }

    /// Takes the signal of an event back.
    ///
    /// # Safety
    /// None needed.
    fn WSAResetEvent(event: Handle) -> i32 {
        told(object::clear(event))
    }

    /// Waits for one or all of up to 64 events. There are no alertable waits: nothing is queued
    /// to a thread here.
    ///
    /// # Safety
    /// `events` is null or points to `count` handles.
    fn WSAWaitForMultipleEvents(
        count: u32,
        events: *const Handle,
        all: i32,
        milliseconds: u32,
        alertable: i32,
    ) -> u32 {
        let _nothing_is_queued = alertable;
        // SAFETY: the caller's promise.
        let handles = unsafe { handles(events, count) };
        waited(handles.and_then(|handles| wait_for(&handles, all != 0, milliseconds)))
    }
}
