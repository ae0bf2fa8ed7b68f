//! Who may touch a caller's `OVERLAPPED`, and until when.

use super::Operation;
use crate::abi::codes::{WSA_OPERATION_ABORTED, WSAENOBUFS};
use crate::abi::numbers::STATUS_PENDING;
use crate::abi::winsock::{Handle, Overlapped};
use crate::system::object::{self, Object};
use crate::winsock::pending::{Pending, Waiting, Which};
use crate::winsock::status::of_status;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A caller's structure, freed by hand as in C.
#[derive(Debug, Clone, Copy)]
struct Caller(*mut Overlapped);
// SAFETY: the tests use it in one thread at a time, as the interface says.
unsafe impl Send for Caller {}

impl Caller {
    fn new(event: Handle) -> Self {
        Self(Box::into_raw(Box::new(Overlapped {
            internal: 0,
            internal_high: 0,
            offset: 0,
            event,
        })))
    }

    fn operation(self) -> Operation {
        // SAFETY: allocated by `new`, freed by `free`.
        unsafe { Operation::new(self.0) }
            .expect("aligned")
            .expect("not null")
    }

    fn status(self) -> usize {
        // SAFETY: not freed yet.
        let place = unsafe { &raw mut (*self.0).internal };
        // SAFETY: aligned, and written as an atomic.
        unsafe { AtomicUsize::from_ptr(place) }.load(Ordering::Acquire)
    }

    fn free(self) {
        // SAFETY: allocated by `new`, and freed once.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

fn waiting(operation: Operation) -> Waiting {
    Waiting::new(operation, || (0, 0))
}

/// Under Miri and ThreadSanitizer any access after the status was published is a race with `free`.
/// Without them, the caller gives the memory to another operation instead, whose event may not be set.
#[test]
fn nothing_of_the_structure_is_touched_once_the_status_is_there() {
    let rounds = if cfg!(miri) { 10 } else { 500 };
    for _ in 0..rounds {
        let (event, other) = (Object::event(true, false), Object::event(true, false));
        let [handle, others] =
            [&event, &other].map(|event| object::open(Arc::clone(event)).expect("a handle"));
        let caller = Caller::new(handle);
        let operation = caller.operation();
        operation.begin();
        std::thread::scope(|scope| {
            scope.spawn(move || operation.complete(0, 1));
            for look in 1_u32.. {
                if caller.status() != STATUS_PENDING {
                    break;
                }
                // the other thread may need this processor
                if look % 10_000 == 0 {
                    std::thread::yield_now();
                } else {
                    std::hint::spin_loop();
                }
            }
            // SAFETY: the operation is complete, so the structure is the caller's again.
            unsafe { (*caller.0).event = others };
        });
        caller.free();
        assert!(event.is_signalled() && !other.is_signalled());
        assert!(object::close(handle) && object::close(others));
    }
}

#[test]
fn without_a_thread_every_receive_ends_once() {
    let [first, second, third] = [(); 3].map(|()| Caller::new(null_mut()));
    let pending = Pending::default();
    for (caller, must_serve) in [(first, true), (second, false), (third, false)] {
        caller.operation().begin();
        assert_eq!(
            pending.add(waiting(caller.operation())).ok(),
            Some(must_serve)
        );
    }
    // the caller of the first could start no thread; the other two rely on that thread
    assert!(pending.give_up(&first.operation(), WSAENOBUFS));
    assert_eq!(
        first.status(),
        STATUS_PENDING,
        "told by the return value of its call"
    );
    for caller in [second, third] {
        let ended = caller.operation().result(false);
        assert_eq!(ended.map(|(_, status)| of_status(status)), Ok(WSAENOBUFS));
    }
    assert!(!pending.is_any());
    assert_eq!(
        pending.add(waiting(first.operation())).ok(),
        Some(true),
        "the next one starts a thread again"
    );
    [first, second, third].into_iter().for_each(Caller::free);
}

#[test]
fn a_receive_that_closing_has_aborted_is_not_touched_again() {
    let caller = Caller::new(null_mut());
    let pending = Pending::default();
    caller.operation().begin();
    assert_eq!(pending.add(waiting(caller.operation())).ok(), Some(true));
    pending.abort();
    assert!(
        !pending.give_up(&caller.operation(), WSAENOBUFS),
        "it is complete already"
    );
    caller.free();
}

#[test]
fn what_is_cancelled_is_complete_and_the_rest_waits_on() {
    let [first, second, third] = [(); 3].map(|()| Caller::new(null_mut()));
    let pending = Pending::default();
    for caller in [first, second, third] {
        caller.operation().begin();
        assert!(pending.add(waiting(caller.operation())).is_ok());
    }
    assert_eq!(pending.cancel(Which::At(second.operation().address())), 1);
    assert_eq!(pending.cancel(Which::At(second.operation().address())), 0);
    assert_eq!(of_status(second.status()), WSA_OPERATION_ABORTED);
    let other = std::thread::spawn(|| std::thread::current().id()).join();
    let other = other.expect("a thread's number");
    assert_eq!(pending.cancel(Which::OfThread(other)), 0);
    assert_eq!(first.status(), STATUS_PENDING);
    pending.serve(|| panic!("datagrams are there"));
    assert_eq!((first.status(), third.status()), (0, 0));
    assert!(!pending.is_any());
    [first, second, third].into_iter().for_each(Caller::free);
}
