//! Worlds in which somebody steps, adjusts or exchanges the clocks at any time: every value that a measurement of the engine states is held
//! against what really happened.
//!
//! `WORLDS` sets how many worlds are tried (by default a few), `WORLDS_FROM` the number of the first.
#![cfg(not(windows))]

mod clock;
mod course;
mod drift;
mod ntp;
mod packet;
mod stamp;

/// In nanoseconds.
const MS: i64 = 1_000_000;
