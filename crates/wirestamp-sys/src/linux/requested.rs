//! The memory of which receive filter this process asked an interface for: some drivers
//! answer only "some", which means "what you asked for, and others".

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use wirestamp_core::configuration::ReceiveFilter;
use wirestamp_core::interface::InterfaceIndex;

static REQUESTED: Mutex<BTreeMap<InterfaceIndex, ReceiveFilter>> = Mutex::new(BTreeMap::new());

pub(super) fn remember(interface: InterfaceIndex, filter: ReceiveFilter) {
    REQUESTED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(interface, filter);
}

pub(super) fn filter(interface: InterfaceIndex) -> Option<ReceiveFilter> {
    REQUESTED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get(&interface)
        .copied()
}
