//! This machine, as a system of `wirestamp`'s choice, and its clock.

use crate::adapter::native;
use wirestamp::choice::System;
use wirestamp_core::backend::Backend;
use wirestamp_core::time::MonotonicTime;

static MACHINE: System = System::Native(wirestamp_sys::System::new());

/// This machine; `None` where its adapters and sockets are not used.
pub(crate) fn used() -> Option<&'static System> {
    native::IS_USED.then_some(&MACHINE)
}

/// This machine, whose adapter somebody has.
pub(crate) fn system() -> &'static System {
    &MACHINE
}

/// Reads the monotonic clock, which the performance counter counts.
pub(crate) fn now() -> MonotonicTime {
    MACHINE.now()
}
