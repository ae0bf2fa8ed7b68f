//! Worlds in which somebody steps, adjusts or exchanges the clocks at any time: every number that a command prints is held against what
//! really happened, through the program's own printers.
//!
//! `WORLDS` sets how many worlds are tried (by default a few), `WORLDS_FROM` the number of the first. In virtual time, with no
//! system asked, so Linux shows what Windows would: there the hundreds of processes take minutes.
#![cfg(not(windows))]

mod captures;
mod convert;
mod latency;
mod program;

/// In nanoseconds.
const MS: i64 = 1_000_000;
