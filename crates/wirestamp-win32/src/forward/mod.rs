//! What a substitute `ws2_32.dll` and `iphlpapi.dll` forward to, so that an unmodified
//! Windows program runs on the simulated adapters: which of its sockets are simulated, and how
//! its waits end. Everything else goes on to the system's own DLLs, which lie beside the
//! substitutes under the names `winews2.dll` and `wineiphlp.dll`.
//!
//! Each of the program's sockets is a real one, and has a *shadow* from when it is bound to an
//! address of the simulation: from then on the shadow does the work.
//!
//! Populated on: Windows, made for Wine. Not for programs to link with.

mod adapters;
mod exports;
mod options;
mod real;
mod shadow;
mod signal;
mod steering;
