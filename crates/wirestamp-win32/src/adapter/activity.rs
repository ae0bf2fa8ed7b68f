//! Owns what is known of which adapters stamp in hardware now. Asks an adapter that has a clock
//! again after a second, and all when somebody says that something changed.
//!
//! Needed per packet: a packet that such an adapter did not stamp has no stamp, never one of
//! the other clock. So the answer must be cheap for adapters without a clock.

use crate::adapter::{self, Adapter};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const FRESH: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
struct Known {
    in_hardware: bool,
    asked_at: Instant,
    changes: u64,
    /// `None`: it has no clock, so that there is nothing to ask again.
    adapter: Option<Adapter>,
}

/// How often somebody said that something changed.
static CHANGES: AtomicU64 = AtomicU64::new(0);
static KNOWN: Mutex<BTreeMap<u32, Known>> = Mutex::new(BTreeMap::new());

/// Whether the adapter of this index stamps in hardware now: some datagrams of some direction.
pub(crate) fn in_hardware(index: u32) -> bool {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if known.get(&index).is_some_and(|entry| entry.changes != CHANGES.load(Ordering::Acquire)) {
        known.remove(&index);
    }
    let entry = known.entry(index).or_insert_with(|| Known::find(index));
    if entry.adapter.is_some() && entry.asked_at.elapsed() >= FRESH {
        entry.ask();
    }
    entry.in_hardware
}

/// Something may have changed. Takes no lock: it is called from within others' calls.
pub(crate) fn forget() {
    CHANGES.fetch_add(1, Ordering::AcqRel);
}

impl Known {
    fn find(index: u32) -> Self {
        let changes = CHANGES.load(Ordering::Acquire);
        let found = adapter::find(|adapter| adapter.description.index.get() == index).ok();
        let adapter = found.filter(|adapter| adapter.description.hardware_clock.is_some());
        let mut known = Self { in_hardware: false, asked_at: Instant::now(), changes, adapter };
        known.ask();
        known
    }

    fn ask(&mut self) {
        // An adapter that can't tell, or is gone, stamps nothing in hardware that could be told.
        let active = self.adapter.as_ref().and_then(|adapter| adapter.active().ok());
        self.in_hardware = active.is_some_and(|active| active.hardware.any());
        self.asked_at = Instant::now();
    }
}
