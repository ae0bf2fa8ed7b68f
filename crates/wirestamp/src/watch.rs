//! Callbacks on changes of interfaces, hardware clocks and timestamping configurations. The
//! callback queries the new state itself.

use crate::find;
use crate::host::Host;
use crate::inner::Subscription;
use crate::interface::Interface;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use wirestamp_core::backend::{Backend, Change, ChangeKind};
use wirestamp_core::{Error, ErrorKind, Result};

/// A possible change: its interface (`None`: any of them) and its kind.
pub type ChangeEvent = Change;

type Callback = Box<dyn FnMut(&ChangeEvent) + Send>;

/// A subscription that calls a callback on every change of interfaces, hardware clocks and
/// timestamping configurations, until it is dropped or unregistered.
///
/// Register first and query the state afterwards, so that no change is missed. The callback runs on
/// a thread of the library, one call at a time. Changes during a call are combined into one further
/// call. A callback that panics is called again at the next change; [`panics`](Self::panics) counts
/// these.
///
/// Dropping it waits for a running callback, like [`unregister`](Self::unregister). Inside the
/// callback it does not wait, and only prevents further calls.
///
/// Source: `RegisterInterfaceTimestampConfigChange` (`iphlpapi.h`). Linux has no such notification,
/// so link events, clock devices and polling are used instead.
pub struct Watch {
    shared: Arc<Shared>,
    subscription: Mutex<Option<Subscription>>,
}

struct Shared {
    state: Mutex<State>,
    finished: Condvar,
}

struct State {
    /// `None` while it runs, and for good once unregistered.
    callback: Option<Callback>,
    running: Option<ThreadId>,
    /// The changes that came while the callback ran, combined.
    missed: Option<ChangeEvent>,
    unregistered: bool,
    panics: u64,
}

impl Watch {
    /// Calls `callback` on every change of this system. For simulated interfaces use
    /// `Simulation::watch`.
    ///
    /// # Errors
    /// `Io` if the system call fails; `NotSupported` on systems without a backend.
    pub fn register(callback: impl FnMut(&ChangeEvent) + Send + 'static) -> Result<Self> {
        Self::on(Host::native(), callback)
    }

    /// Calls `callback` like [`register`](Self::register), with a context that is passed to each
    /// call and dropped after the last one.
    ///
    /// # Errors
    /// As [`register`](Self::register).
    pub fn with_context<C: Send + 'static>(
        context: C,
        mut callback: impl FnMut(&C, &ChangeEvent) + Send + 'static,
    ) -> Result<Self> {
        Self::register(move |event| callback(&context, event))
    }

    pub(crate) fn on(
        host: &Host,
        callback: impl FnMut(&ChangeEvent) + Send + 'static,
    ) -> Result<Self> {
        let shared = Arc::new(Shared::new(Box::new(callback)));
        let sink = Arc::clone(&shared);
        let subscription = host.subscribe(Box::new(move |change| sink.report(change)))?;
        Ok(Self {
            shared,
            subscription: Mutex::new(Some(subscription)),
        })
    }

    pub(crate) fn on_interface(
        interface: &Interface,
        mut callback: impl FnMut(&ChangeEvent) + Send + 'static,
    ) -> Result<Self> {
        let host = Arc::clone(interface.host());
        let mut known = interface.description().clone();
        Self::on(interface.host(), move |event| {
            if event.kind == ChangeKind::Added {
                // it may have come back with another index
                known = find::again(&host, &known)
                    .ok()
                    .flatten()
                    .unwrap_or_else(|| known.clone());
            }
            if event.interface.is_none_or(|index| index == known.index) {
                callback(event);
            }
        })
    }

    /// Ends the subscription after waiting for a running call. When this returns, the callback and
    /// its context are dropped. Further calls have no effect.
    ///
    /// # Errors
    /// `InvalidInput` inside the callback, which would wait for itself. The callback then stays
    /// registered.
    pub fn unregister(&self) -> Result<()> {
        let mut state = self.shared.lock();
        if state.running == Some(thread::current().id()) {
            let cause = "the callback would wait for itself to end";
            let error = Error::new(
                ErrorKind::InvalidInput,
                "unregister",
                "a watch from inside its callback",
                cause,
            );
            return Err(error.with_remedy("do it from another thread, or drop the watch"));
        }
        state.unregistered = true;
        while state.running.is_some() {
            state = self
                .shared
                .finished
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let callback = state.callback.take();
        drop(state);
        drop(callback); // not under the lock: this runs the destructor of the user's context
        self.end_subscription();
        Ok(())
    }

    /// Returns the number of calls that panicked.
    pub fn panics(&self) -> u64 {
        self.shared.lock().panics
    }

    fn end_subscription(&self) {
        let subscription = self
            .subscription
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(subscription);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if self.unregister().is_err() {
            // inside the callback: it is dropped when it returns
            self.shared.lock().unregistered = true;
            self.end_subscription();
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let registered = !self.shared.lock().unregistered;
        f.debug_struct("Watch")
            .field("registered", &registered)
            .finish_non_exhaustive()
    }
}

impl Shared {
    fn new(callback: Callback) -> Self {
        let state = State {
            callback: Some(callback),
            running: None,
            missed: None,
            unregistered: false,
            panics: 0,
        };
        Self {
            state: Mutex::new(state),
            finished: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self, change: ChangeEvent) {
        let mut state = self.lock();
        if state.unregistered {
            return;
        }
        state.missed = Some(
            state
                .missed
                .take()
                .map_or(change, |earlier| coalesced(earlier, change)),
        );
        if state.running.is_some() {
            return; // the running thread handles this one too
        }
        state.running = Some(thread::current().id());
        self.call(state);
    }

    /// Calls the callback until there are no missed changes. `running` is this thread.
    fn call<'a>(&'a self, mut state: MutexGuard<'a, State>) {
        let Some(mut callback) = state.callback.take() else {
            state.running = None; // unregistered: nothing to call
            return;
        };
        while let Some(change) = state.missed.take() {
            if state.unregistered {
                break;
            }
            drop(state);
            let called = catch_unwind(AssertUnwindSafe(|| callback(&change)));
            state = self.lock();
            state.panics += u64::from(called.is_err());
        }
        if state.unregistered {
            drop(state);
            drop(callback); // before waiting threads are notified
            state = self.lock();
        } else {
            state.callback = Some(callback);
        }
        state.running = None;
        self.finished.notify_all();
    }
}

/// Combines two changes into one with their common properties.
fn coalesced(earlier: ChangeEvent, later: ChangeEvent) -> ChangeEvent {
    ChangeEvent {
        interface: earlier
            .interface
            .filter(|_| earlier.interface == later.interface),
        kind: if earlier.kind == later.kind {
            earlier.kind
        } else {
            ChangeKind::Unspecified
        },
    }
}
