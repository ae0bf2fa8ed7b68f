//! What behaviours measured on the way, to be told at the end of a run. Judges nothing.

use crate::rig::Rig;
use std::sync::{Mutex, PoisonError};

static NOTES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Keeps what was measured on `rig`.
pub(crate) fn note(rig: &Rig, text: &str) {
    NOTES
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(format!("measured on {}: {text}", rig.kind().name()));
}

/// All of it.
pub fn notes() -> Vec<String> {
    NOTES.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
