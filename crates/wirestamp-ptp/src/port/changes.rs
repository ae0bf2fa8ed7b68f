//! What a watch reported of a port's interface since the port looked last.

use std::sync::atomic::{AtomicBool, Ordering};
use wirestamp::interface::ChangeKind;

/// Set on the watch's thread, and read on the port's.
#[derive(Debug, Default)]
pub(super) struct Changes {
    any: AtomicBool,
    went: AtomicBool,
}

impl Changes {
    pub(super) fn note(&self, kind: ChangeKind) {
        // several changes at once, and those that were lost, may be any
        if matches!(kind, ChangeKind::Removed | ChangeKind::Unspecified) {
            self.went.store(true, Ordering::Release);
        }
        self.any.store(true, Ordering::Release);
    }

    /// Returns whether the interface went, if there was any change.
    pub(super) fn take(&self) -> Option<bool> {
        let any = self.any.swap(false, Ordering::AcqRel);
        any.then(|| self.went.swap(false, Ordering::AcqRel))
    }
}
