//! The network events of a socket: what `WSAEventSelect` asked for, and what has come since it was last asked. Sets the
//! program's event.
//!
//! A socket whose program waits for `FD_READ` has one thread that waits for datagrams. As on Windows the event is set
//! once, and again only after a receive that has left a datagram. `FD_WRITE` comes at once, and again after a send that
//! has found no room, once there is some: one more thread waits for that.

use crate::abi::winsock::Handle;
use crate::system::object;
use crate::winsock::socket::{Socket, lock};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use wirestamp_core::backend::Interest;
use wirestamp_core::time::MonotonicTime;

/// Bits of the events that a datagram socket has.
pub(crate) const FD_READ: i32 = 1;
pub(crate) const FD_WRITE: i32 = 2;

/// What one socket's program waits for.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    /// Something is asked for: receives say that they were called.
    active: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The program's event, as a number.
    event: usize,
    wanted: i32,
    recorded: i32,
    /// `FD_READ` was recorded, and nothing was received since.
    reported: bool,
    /// A thread waits for datagrams.
    watched: bool,
    /// A thread waits for room to send.
    awaits_room: bool,
    closed: bool,
}

impl State {
    fn record(&mut self, event: i32) {
        self.recorded |= event;
        object::signal(as_handle(self.event));
    }

    fn waits_for_datagrams(&self) -> bool {
        self.wanted & FD_READ != 0 && !self.reported && !self.closed
    }

    /// Nobody will ever want a datagram's event of the thread that watches.
    fn is_over(&self) -> bool {
        self.closed || self.wanted & FD_READ == 0
    }
}

fn as_handle(number: usize) -> Handle {
    std::ptr::with_exposed_provenance_mut(number)
}

impl Selection {
    /// Replaces what is asked for; `true` if a thread must be started that [`watch`](Socket::watch)es.
    fn replace(&self, event: Handle, wanted: i32) -> bool {
        let mut state = lock(&self.state);
        *state = State {
            event: event.expose_provenance(),
            wanted,
            watched: state.watched,
            awaits_room: state.awaits_room,
            closed: state.closed,
            ..State::default()
        };
        self.active.store(wanted != 0, Ordering::Release);
        if wanted & FD_WRITE != 0 {
            state.record(FD_WRITE); // a datagram socket can be written to from the start
        }
        let must_watch = state.waits_for_datagrams() && !state.watched;
        state.watched |= must_watch;
        drop(state);
        self.changed.notify_all();
        must_watch
    }

    pub(crate) fn is_active(&self) -> bool {
        self.active.load(Ordering::Acquire)
    }

    /// Takes the events that came, and resets `event`, all at one instant.
    pub(crate) fn take(&self, event: Handle) -> i32 {
        let mut state = lock(&self.state);
        object::clear(event);
        std::mem::take(&mut state.recorded)
    }

    /// The program has called a receive: a datagram that is left counts anew.
    pub(crate) fn receive_was_called(&self) {
        if self.is_active() {
            lock(&self.state).reported = false;
            self.changed.notify_all();
        }
    }

    /// Datagrams can come from now on.
    pub(crate) fn socket_has_a_place(&self) {
        drop(lock(&self.state)); // who looks for the place does so under the lock
        self.changed.notify_all();
    }

    pub(crate) fn close(&self) {
        lock(&self.state).closed = true;
        self.changed.notify_all();
    }

    /// Waits until a datagram would be an event; `false` once none ever will.
    fn wait_until_wanted(&self, has_place: impl Fn() -> bool) -> bool {
        let mut state = lock(&self.state);
        while !(state.waits_for_datagrams() && has_place()) {
            if state.is_over() {
                state.watched = false;
                return false;
            }
            let changed = self.changed.wait(state);
            state = changed.unwrap_or_else(PoisonError::into_inner);
        }
        true
    }

    fn report_datagram(&self) {
        let mut state = lock(&self.state);
        if state.waits_for_datagrams() {
            state.reported = true;
            state.record(FD_READ);
        }
    }

    /// A send has found no room; `true` if a thread must be started that waits for it.
    fn lacks_room(&self) -> bool {
        let mut state = lock(&self.state);
        let must_wait = state.wanted & FD_WRITE != 0 && !state.awaits_room && !state.closed;
        state.awaits_room |= must_wait;
        must_wait
    }

    fn report_room(&self) {
        let mut state = lock(&self.state);
        state.awaits_room = false;
        if state.wanted & FD_WRITE != 0 && !state.closed {
            state.record(FD_WRITE);
        }
    }

    fn give_up(&self) {
        lock(&self.state).watched = false;
    }
}

impl Socket {
    /// Has `event` set when one of the `wanted` events comes; the socket is non-blocking from now on.
    ///
    /// # Errors
    /// `WSAENOBUFS` if no thread can be had.
    pub(crate) fn select_events(self: &Arc<Self>, event: Handle, wanted: i32) -> Result<(), i32> {
        self.nonblocking.store(true, Ordering::Release);
        if self.selection.replace(event, wanted) {
            let socket = Arc::clone(self);
            let thread = std::thread::Builder::new().name(String::from("wirestamp-events"));
            thread.spawn(move || socket.watch()).map_err(|_| {
                self.selection.give_up();
                crate::abi::codes::WSAENOBUFS
            })?;
        }
        Ok(())
    }

    /// A send has found no room: there is an event once there is some.
    pub(super) fn report_room_later(self: &Arc<Self>) {
        if !self.selection.is_active() || !self.selection.lacks_room() {
            return;
        }
        let socket = Arc::clone(self);
        let wait = move || {
            // An error waits in the socket, and a send reports it: that is an event too.
            let _room_or_error = socket.wait_for(Interest::Send, MonotonicTime::MAX);
            socket.selection.report_room();
        };
        let thread = std::thread::Builder::new().name(String::from("wirestamp-room"));
        if thread.spawn(wait).is_err() {
            self.selection.report_room(); // the program tries again at once
        }
    }

    /// Reports datagrams until none are asked for.
    fn watch(&self) {
        while self.selection.wait_until_wanted(|| self.wire().is_some()) {
            // An error waits in the socket, and a receive reports it: that is an event too.
            let _error = self.wait_for_datagram();
            self.selection.report_datagram();
        }
    }
}
