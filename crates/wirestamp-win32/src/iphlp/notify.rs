//! Change callbacks: who is registered, and the one thread that calls them. What changed is
//! for them to find out.
//!
//! The thread runs while anybody is registered. It also lets the simulation's time pass, so that
//! events that happen there by themselves are reported.

use crate::abi::codes::ERROR_NOT_ENOUGH_MEMORY;
use crate::adapter::{activity, machine, simulated};
use crate::handle::{Kind, Table};
use crate::winsock::failure::win32;
use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;
use wirestamp::choice::{Subscription, System};
use wirestamp_core::backend::{Backend, Change};

/// `PINTERFACE_TIMESTAMP_CONFIG_CHANGE_CALLBACK`: gets the caller's context and nothing else.
pub type Callback = unsafe extern "system" fn(*mut c_void);

/// The simulation is looked at so often, at least.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

static REGISTERED: Table<Registration> = Table::new(Kind::Registration);
static CENTRE: Mutex<Centre> = Mutex::new(Centre {
    registered: 0,
    subscriptions: Vec::new(),
    thread_runs: false,
});
/// Never held while anything is called: changes are noted from within others' calls.
static NEWS: Mutex<News> = Mutex::new(News {
    changed: false,
    look: false,
});
static MORE_NEWS: Condvar = Condvar::new();

/// What all registrations share.
struct Centre {
    registered: usize,
    /// Held for what dropping them does; none: nobody is registered.
    subscriptions: Vec<Subscription>,
    thread_runs: bool,
}

/// What the thread waits for.
struct News {
    changed: bool,
    /// The registrations are others than before.
    look: bool,
}

/// One callback.
#[derive(Debug)]
struct Registration {
    callback: Callback,
    context: Context,
    calls: Mutex<Calls>,
    returned: Condvar,
}

/// The caller's context, which is his to share between threads.
#[derive(Debug)]
struct Context(*mut c_void);
// SAFETY: never followed here; the caller registers it for another thread on purpose.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

#[derive(Debug, Default)]
struct Calls {
    running: Option<ThreadId>,
    ended: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers a callback; `numbered` gets its number before anybody can be called.
///
/// # Errors
/// The Win32 error.
pub(super) fn register(
    callback: Callback,
    context: *mut c_void,
    numbered: impl FnOnce(usize),
) -> Result<usize, u32> {
    let mut centre = lock(&CENTRE);
    if centre.subscriptions.is_empty() {
        centre.subscriptions = subscribe()?;
    }
    if !centre.thread_runs {
        let thread = thread::Builder::new().name(String::from("wirestamp-changes"));
        thread
            .spawn(call_back_on_changes)
            .map_err(|_| ERROR_NOT_ENOUGH_MEMORY)?;
        centre.thread_runs = true;
    }
    let registration = Registration {
        callback,
        context: Context(context),
        calls: Mutex::new(Calls::default()),
        returned: Condvar::new(),
    };
    let number = REGISTERED
        .insert(Arc::new(registration))
        .ok_or(ERROR_NOT_ENOUGH_MEMORY)?;
    centre.registered += 1;
    numbered(number);
    Ok(number)
}

/// Ends the calls of a callback: waits for one that runs, unless this is in it. `None` for an
/// unknown number.
pub(super) fn unregister(number: usize) -> Option<()> {
    let registration = REGISTERED.remove(number)?;
    let mut centre = lock(&CENTRE);
    centre.registered -= 1;
    let over = if centre.registered == 0 {
        std::mem::take(&mut centre.subscriptions)
    } else {
        Vec::new()
    };
    drop(centre);
    lock(&NEWS).look = true;
    MORE_NEWS.notify_all();
    drop(over);
    registration.end();
    Some(())
}

fn subscribe() -> Result<Vec<Subscription>, u32> {
    let simulation = simulated::chosen().map_err(|error| win32(&error, false))?;
    let to = |system: &System, of_windows| {
        let subscribed = system.subscribe(Box::new(note));
        subscribed.map_err(|error| win32(&error, of_windows))
    };
    let here = machine::used().map(|machine| to(machine, false));
    let there = simulation.map(|simulation| to(simulation.system(), true));
    here.into_iter().chain(there).collect()
}

/// Something changed. Called on any thread, also within calls of ours that let simulated time
/// pass, whatever lock they hold.
fn note(_: Change) {
    activity::forget();
    lock(&NEWS).changed = true;
    MORE_NEWS.notify_all();
}

/// The thread: ends with the last registration.
fn call_back_on_changes() {
    loop {
        let pause = pause();
        let quiet = |news: &mut News| !news.changed && !news.look;
        let waited = MORE_NEWS.wait_timeout_while(lock(&NEWS), pause, quiet);
        let mut news = waited.unwrap_or_else(PoisonError::into_inner).0;
        let changed = std::mem::take(&mut news.changed);
        news.look = false;
        drop(news);
        if changed {
            for (_, registration) in REGISTERED.all() {
                registration.call();
            }
        }
        let mut centre = lock(&CENTRE);
        if centre.registered == 0 {
            centre.thread_runs = false;
            return;
        }
    }
}

/// Lets the simulation's time pass; returns how long nothing happens there.
fn pause() -> Duration {
    let Some(simulation) = simulated::running() else {
        return Duration::from_secs(3_600);
    };
    simulation.caught_up();
    let until_next = simulation
        .next_event()
        .map(|next| (next - machine::now()).to_duration());
    until_next.map_or(LONGEST_PAUSE, |pause| pause.min(LONGEST_PAUSE))
}

impl Registration {
    fn call(&self) {
        let mut calls = lock(&self.calls);
        if calls.ended {
            return;
        }
        calls.running = Some(thread::current().id());
        drop(calls);
        // SAFETY: the caller registered it for this, and is not told of its end before.
        unsafe { (self.callback)(self.context.0) };
        lock(&self.calls).running = None;
        self.returned.notify_all();
    }

    fn end(&self) {
        let mut calls = lock(&self.calls);
        calls.ended = true;
        while calls
            .running
            .is_some_and(|running| running != thread::current().id())
        {
            calls = self
                .returned
                .wait(calls)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}
