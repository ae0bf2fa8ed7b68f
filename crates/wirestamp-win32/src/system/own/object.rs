//! The objects of a `HANDLE`: events and threads, which can be waited for, and completion ports. How waiting works
//! is in `waiting`.

use super::port::Port;
use super::waiting;
use crate::abi::winsock::Handle;
use crate::handle::{Kind, Table};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// An object. Its signal changes only under the lock of `waiting`.
#[derive(Debug)]
pub(crate) struct Object {
    signalled: AtomicBool,
    role: Role,
}

#[derive(Debug)]
enum Role {
    /// `manual`: stays signalled until it is reset; otherwise one wait takes the signal.
    Event { manual: bool },
    /// Signalled when it has ended, with what it returned.
    Thread { exit_code: AtomicU32 },
    /// Cannot be waited for as the others can.
    Port(Arc<Port>),
}

static OBJECTS: Table<Object> = Table::new(Kind::Object);

impl Object {
    pub(crate) fn event(manual: bool, signalled: bool) -> Arc<Self> {
        Arc::new(Self {
            signalled: AtomicBool::new(signalled),
            role: Role::Event { manual },
        })
    }

    pub(crate) fn thread(exit_code: u32) -> Arc<Self> {
        let role = Role::Thread {
            exit_code: AtomicU32::new(exit_code),
        };
        Arc::new(Self {
            signalled: AtomicBool::new(false),
            role,
        })
    }

    pub(crate) fn port() -> Arc<Self> {
        Arc::new(Self {
            signalled: AtomicBool::new(false),
            role: Role::Port(Arc::default()),
        })
    }

    /// The completion port, if it is one.
    pub(crate) fn as_port(&self) -> Option<&Arc<Port>> {
        match &self.role {
            Role::Port(port) => Some(port),
            Role::Event { .. } | Role::Thread { .. } => None,
        }
    }

    pub(crate) fn can_be_waited_for(&self) -> bool {
        self.as_port().is_none()
    }

    pub(crate) fn is_signalled(&self) -> bool {
        self.signalled.load(Ordering::Acquire)
    }

    /// A wait for it was satisfied.
    pub(crate) fn take(&self) {
        if matches!(self.role, Role::Event { manual: false }) {
            self.signalled.store(false, Ordering::Release);
        }
    }

    pub(crate) fn store(&self, signalled: bool) {
        self.signalled.store(signalled, Ordering::Release);
    }

    pub(crate) fn is_event(&self) -> bool {
        matches!(self.role, Role::Event { .. })
    }

    /// What a thread returned, or that it runs; `None` for other objects.
    pub(crate) fn exit_code(&self) -> Option<u32> {
        match &self.role {
            Role::Thread { exit_code } => Some(exit_code.load(Ordering::Acquire)),
            Role::Event { .. } | Role::Port(_) => None,
        }
    }

    /// The thread has ended.
    pub(crate) fn finish(&self, code: u32) {
        if let Role::Thread { exit_code } = &self.role {
            exit_code.store(code, Ordering::Release);
        }
        waiting::change(self, true);
    }
}

/// Gives an object a handle; `None` if there is none left.
pub(crate) fn open(object: Arc<Object>) -> Option<Handle> {
    OBJECTS.insert(object).map(std::ptr::without_provenance_mut)
}

pub(crate) fn find(handle: Handle) -> Option<Arc<Object>> {
    OBJECTS.find(handle.addr())
}

/// Closes a handle; `false` if there is none. A thread runs on; who waits at a completion port is woken.
pub(crate) fn close(handle: Handle) -> bool {
    let Some(object) = OBJECTS.remove(handle.addr()) else {
        return false;
    };
    if let Some(port) = object.as_port() {
        port.close();
    }
    true
}

fn find_event(handle: Handle) -> Option<Arc<Object>> {
    find(handle).filter(|object| object.is_event())
}

/// Whether this is the handle of an event.
pub(crate) fn is_event(handle: Handle) -> bool {
    find_event(handle).is_some()
}

/// Sets an event; `false` if there is none of this handle.
pub(crate) fn signal(event: Handle) -> bool {
    find_event(event)
        .map(|event| waiting::change(&event, true))
        .is_some()
}

/// Resets an event; `false` if there is none of this handle.
pub(crate) fn clear(event: Handle) -> bool {
    find_event(event)
        .map(|event| waiting::change(&event, false))
        .is_some()
}

/// Waits for an event as long as it takes; `false` if there is none of this handle.
pub(crate) fn wait(event: Handle) -> bool {
    find_event(event).is_some_and(|event| waiting::wait(&[event], false, None).is_some())
}
