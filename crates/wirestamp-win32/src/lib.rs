//! The C API that Microsoft's two pages on packet timestamping specify, as a library for
//! programs written against it: Winsock, IP Helper, and the system calls that such programs
//! need. `ABI.md`, beside the headers, decides the questions that the pages leave open.
//!
//! Adds no timestamping of its own: real adapters and sockets, and `sim0`, which the environment variable
//! `WIRESTAMP_SIM` chooses, are those of `wirestamp`'s choice between this system and a simulated one.
//!
//! Layers, top down: [`winsock`], [`iphlp`] and [`system`] hold the exported functions, each of
//! which reads its arguments once ([`memory`], [`address`]) and hands over to safe code; `adapter` is
//! where adapters and sockets come from; `handle` gives out `SOCKET` and `HANDLE`; [`abi`] is what
//! both sides agree on. `unsafe` is in the exported functions, in `memory`, `address` and the
//! `adapter` of Linux, one call a block.
//!
//! For C programs. The modules that are public beside the exported functions ([`memory`], [`address`], [`simulated`]) are
//! for tests, and for the model that they put before this library (`tests/windows-model`): they may change at any time.
//!
//! Populated on: Linux; on Windows the simulated adapters alone.

#[macro_use]
mod export;

mod adapter;
pub mod address;
mod handle;
pub mod iphlp;
pub mod memory;
pub mod system;
pub mod winsock;

pub use adapter::simulated;
pub use wirestamp_sys::abi;
