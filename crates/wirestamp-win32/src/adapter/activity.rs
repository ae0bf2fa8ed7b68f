//! The state of the adapters while datagrams pass: which of them timestamp in hardware now, and
//! which has an address. Listed once; listed again when an adapter is not known, or after a report
//! of a change.
//!
//! Needed per packet: a packet that an adapter with hardware timestamping did not timestamp has no
//! timestamp, never one of the other clock. So nothing is asked between a datagram and its receiver:
//! adapters with a clock are asked again [`before`](refresh) a datagram is waited for.

use crate::adapter::{self, Adapter};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const FRESH: Duration = Duration::from_secs(1);

/// How often somebody said that something changed.
static CHANGES: AtomicU64 = AtomicU64::new(0);
static KNOWN: Mutex<Known> = Mutex::new(Known {
    entries: Vec::new(),
    listed: None,
});

#[derive(Debug)]
struct Known {
    entries: Vec<Entry>,
    /// After how many changes they were listed; `None`: never.
    listed: Option<u64>,
}

#[derive(Debug)]
struct Entry {
    index: u32,
    /// `None`: there is none of this index, as far as is known.
    adapter: Option<Adapter>,
    in_hardware: bool,
    asked_at: Instant,
}

/// Whether the adapter of this index timestamps in hardware: some datagrams of some direction.
pub(crate) fn in_hardware(index: u32) -> bool {
    let mut known = up_to_date();
    if let Some(entry) = known.entries.iter().find(|entry| entry.index == index) {
        return entry.in_hardware;
    }
    known.list();
    if let Some(entry) = known.entries.iter().find(|entry| entry.index == index) {
        return entry.in_hardware;
    }
    known.entries.push(Entry {
        index,
        adapter: None,
        in_hardware: false,
        asked_at: Instant::now(),
    });
    false
}

/// Lists the adapters, if nobody did.
pub(crate) fn learn() {
    drop(up_to_date());
}

/// Asks the adapter of this index again, if it has a clock and was not asked for a second.
pub(crate) fn refresh(index: u32) {
    let mut known = up_to_date();
    let Some(entry) = known.entries.iter_mut().find(|entry| entry.index == index) else {
        return;
    };
    let has_clock = entry
        .adapter
        .as_ref()
        .is_some_and(|adapter| adapter.description.hardware_clock.is_some());
    if has_clock && entry.asked_at.elapsed() >= FRESH {
        entry.ask();
    }
}

/// The index of the first adapter for which `wanted` holds; 0 if there is none.
pub(crate) fn index_of(wanted: impl Fn(&Adapter) -> bool) -> u32 {
    let mut known = up_to_date();
    known
        .first(&wanted)
        .or_else(|| {
            known.list();
            known.first(&wanted)
        })
        .unwrap_or(0)
}

/// Something may have changed. Takes no lock: it is called from within others' calls.
pub(crate) fn forget() {
    CHANGES.fetch_add(1, Ordering::AcqRel);
}

fn up_to_date() -> MutexGuard<'static, Known> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if known.listed != Some(CHANGES.load(Ordering::Acquire)) {
        known.list();
    }
    known
}

impl Known {
    fn list(&mut self) {
        self.listed = Some(CHANGES.load(Ordering::Acquire));
        // What can't be listed is not known: its software timestamps are taken for what they are.
        let adapters = adapter::all().unwrap_or_default();
        self.entries = adapters.into_iter().map(Entry::new).collect();
    }

    fn first(&self, wanted: impl Fn(&Adapter) -> bool) -> Option<u32> {
        let adapters = self
            .entries
            .iter()
            .filter_map(|entry| entry.adapter.as_ref());
        adapters
            .filter(|adapter| wanted(adapter))
            .map(|adapter| adapter.description.index.get())
            .next()
    }
}

impl Entry {
    fn new(adapter: Adapter) -> Self {
        let index = adapter.description.index.get();
        let mut entry = Self {
            index,
            adapter: Some(adapter),
            in_hardware: false,
            asked_at: Instant::now(),
        };
        entry.ask();
        entry
    }

    fn ask(&mut self) {
        // An adapter that can't tell, or is gone, timestamps nothing in hardware that could be told.
        let active = self
            .adapter
            .as_ref()
            .and_then(|adapter| adapter.active().ok());
        self.in_hardware = active.is_some_and(|active| active.hardware.any());
        self.asked_at = Instant::now();
    }
}
