//! What a substitute `ws2_32.dll` and `iphlpapi.dll` forward to, so that an unmodified
//! Windows program runs on the simulated adapters: which of its sockets are simulated, and how
//! its waits end. Everything else goes on to the system's own DLLs, which lie beside the
//! substitutes under the names `winews2.dll` and `wineiphlp.dll`. What the interface answers
//! is `wirestamp-win32`'s affair; `scripts/windows/substitutes` makes the substitutes.
//!
//! Each of the program's sockets is a real one, and has a *shadow* from when it is bound to an
//! address of the simulation, or has sent to one: from then on the shadow does the work. Completion ports are the
//! system's and know nothing of shadows: a program that waits there gets nothing.
//!
//! Populated on: Windows, made for Wine; empty elsewhere. Never shipped.
#![cfg(windows)]

/// Exports functions that the substitutes forward to.
macro_rules! export_forward {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block)*) => {$(
        /// As the system's function of this name.
        ///
        /// # Safety
        /// As the system's function of this name.
        #[allow(non_snake_case, reason = "the system's name")]
        #[unsafe(export_name = concat!("wirestamp_forward_", stringify!($name)))]
        pub(crate) unsafe extern "system" fn $name($($argument: $type),*) $(-> $result)? $body
    )*};
}

mod adapters;
mod datagrams;
mod options;
mod real;
mod shadow;
mod sockets;
mod started;
mod steering;
mod waits;
