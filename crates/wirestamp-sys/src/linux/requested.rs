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

/// Forgets everything: something was asked of a device that is not known.
pub(super) fn forget() {
    REQUESTED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clear();
}

pub(super) fn filter(interface: InterfaceIndex) -> Option<ReceiveFilter> {
    REQUESTED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get(&interface)
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_known_of_any_device_once_one_is_not_known() {
        let device = InterfaceIndex::new(4_000_000).expect("not zero");
        remember(device, ReceiveFilter::All);
        assert_eq!(filter(device), Some(ReceiveFilter::All));
        forget();
        assert_eq!(filter(device), None);
    }
}
