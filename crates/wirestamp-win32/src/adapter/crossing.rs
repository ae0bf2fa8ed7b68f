//! Cross timestamps of an adapter, and its clock that stays open from one to the next.

use crate::adapter::Adapter;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use wirestamp::choice::Clock;
use wirestamp_core::backend::{Backend, HardwareClock};
use wirestamp_core::cross::{CrossTimestamp, narrowest};
use wirestamp_core::{Error, ErrorKind, Result};

/// Readings of a call, of which the closest is given.
const READINGS: usize = 5;
/// Clocks that stay open.
const MOST_OPEN: usize = 64;

static OPEN: Mutex<BTreeMap<u64, Clock>> = Mutex::new(BTreeMap::new());

/// Takes a cross timestamp of `adapter`, on the clocks of its host.
pub(crate) fn capture(adapter: &Adapter) -> Result<CrossTimestamp> {
    let luid = adapter.luid();
    // Taken out while it is read: calls for other adapters go on, one for the same opens its own.
    let open = OPEN
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .remove(&luid);
    let mut clock = match open {
        Some(clock) => clock,
        None => adapter.system().open_clock(&adapter.description)?,
    };
    let _caught_up = adapter.system();
    let mut readings = Vec::with_capacity(READINGS);
    clock.cross_timestamps(READINGS, &mut readings)?; // a clock that fails is not kept
    if let Some(simulation) = adapter.simulation {
        simulation.wait_for_real_time();
    }
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if open.len() < MOST_OPEN {
        open.insert(luid, clock);
    }
    drop(open);
    narrowest(&readings).copied().ok_or_else(|| {
        Error::new(
            ErrorKind::Io,
            "take a cross timestamp",
            &adapter.description.name,
            "the clock gave no reading",
        )
    })
}
