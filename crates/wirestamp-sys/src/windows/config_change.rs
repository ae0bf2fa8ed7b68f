//! The news that some adapter's timestamping configuration has changed: a generation that
//! every such news moves on, and events that it sets. The system names no adapter.

use super::api::{self, Registration};
use super::handle::Event;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use wirestamp_core::Result;

/// Increases with every change; answers from another generation must be asked for again.
static GENERATION: AtomicU64 = AtomicU64::new(1);

/// The generation now; `None` where this Windows does not report changes, so that nothing that was
/// asked stays true.
pub(super) fn generation() -> Option<u64> {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    let registered = REGISTERED.get_or_init(|| {
        let Ok(api) = api::get("watch for changes", "this system") else {
            return false;
        };
        // SAFETY: the callback uses no context, and only counts.
        let registered = unsafe { api.register(count, std::ptr::null()) };
        // It lasts as long as the process: nobody could know that it is no longer needed.
        registered.map(std::mem::forget).is_ok()
    });
    registered.then(|| GENERATION.load(Ordering::Acquire))
}

/// Runs on a thread of the system's.
extern "system" fn count(_context: *const c_void) {
    GENERATION.fetch_add(1, Ordering::AcqRel);
}

/// Sets an event at every change; dropping it ends that.
#[derive(Debug)]
pub(super) struct ConfigurationChanges {
    /// Ended first, so that no call comes when the event is given back.
    _registration: Registration,
    _event: Arc<Event>,
}

/// Runs on a thread of the system's.
extern "system" fn changed(context: *const c_void) {
    // SAFETY: the context is the event that the subscription holds until no call can follow.
    if let Some(event) = unsafe { context.cast::<Event>().as_ref() } {
        event.set();
    }
}

impl ConfigurationChanges {
    /// Sets `event` from now on. `None`: this Windows reports no such changes.
    pub(super) fn subscribe(event: &Arc<Event>) -> Result<Option<Self>> {
        const OPERATION: &str = "watch for changes";
        let Ok(api) = api::get(OPERATION, "this system") else {
            return Ok(None);
        };
        let context = Arc::as_ptr(event).cast();
        // SAFETY: the context is a shared event, which outlives the registration.
        match unsafe { api.register(changed, context) } {
            Ok(registration) => Ok(Some(Self {
                _registration: registration,
                _event: Arc::clone(event),
            })),
            Err(code) => {
                let error = std::io::Error::from_raw_os_error(code as i32);
                Err(super::error::system_error(OPERATION, "this system", &error))
            }
        }
    }
}
