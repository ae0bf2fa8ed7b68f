//! The structures and numbers of Windows' timestamping interface, and of what programs need beside it:
//! once, for the crate that calls the interface on Windows, for the crate that offers it to C programs
//! elsewhere, and for tests. Pure, so built on every system. Calls nothing.
//!
//! Declared here, not taken from the bindings: those are there on Windows alone, and their BOOLEANs are
//! `bool`, with which a driver that writes another true than 1 would be undefined behaviour. Sizes and offsets are asserted
//! beside each structure; on Windows, `agreement.rs` compares all of it with `windows-sys` at compile time, and on Linux the
//! C headers of `wirestamp-win32` assert the same.
//!
//! Source: `iphlpapi.h`, `iptypes.h`, `ws2def.h`, `winsock2.h`, `mstcpip.h`, `minwinbase.h` of Windows 10
//! build 20348 (`NTDDI_WIN10_FE`).

pub mod adapters;
pub mod address;
#[cfg(windows)]
mod agreement;
pub mod codes;
pub mod iphlp;
pub mod numbers;
pub mod old;
pub mod winsock;

/// `WCHAR`: the C library's `wchar_t`, one code point each.
#[cfg(not(windows))]
pub type WideCharacter = u32;
/// `WCHAR`: UTF-16.
#[cfg(windows)]
pub type WideCharacter = u16;
