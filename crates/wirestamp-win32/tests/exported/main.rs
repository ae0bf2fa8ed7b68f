//! The exported functions, called as a C program calls them. What C programs see is tested in
//! `tests/c`; here is what is easier said in Rust: threads, lifetimes, every argument wrong.
#![cfg(target_os = "linux")]

mod arguments;
mod calls;
mod loopback;
mod many;
mod memory;
mod overlapped;
mod simulated;
