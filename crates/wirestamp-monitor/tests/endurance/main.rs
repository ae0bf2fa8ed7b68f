//! Long runs in a simulation: a day of faults, and thousands of peers for a week. Here in short forms; `scripts/slow endurance` runs the whole.
//!
//! `WIRESTAMP_DAY_HOURS`: virtual hours of faults; `WIRESTAMP_DAY_SEED`: which ones. `WIRESTAMP_CROWD_PEERS`, `WIRESTAMP_CROWD_HOURS` and
//! `WIRESTAMP_CROWD_SECONDS`: how many peers, for how long, and so many seconds between two packets to each.

mod adds_up;
mod crowd;
mod day;
mod faults;
mod servers;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// One test at a time: the heap is everybody's.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of the heap that are in use.
fn in_use() -> i64 {
    let heap = HEAP.stats();
    // what reallocation added or took is part of both
    heap.bytes_allocated as i64 - heap.bytes_deallocated as i64
}

/// Bytes that dropping it gives back: what it holds, also of the simulation.
fn held_by<T>(it: T) -> i64 {
    let before = in_use();
    drop(it);
    before - in_use()
}

/// Prints the results of the measurements.
fn say(what: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{what}");
}

fn number_from(variable: &str, otherwise: f64) -> f64 {
    let set = std::env::var(variable).ok();
    set.and_then(|set| set.parse().ok()).unwrap_or(otherwise)
}
