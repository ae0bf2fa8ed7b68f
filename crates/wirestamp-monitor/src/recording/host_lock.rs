//! Ensures that one monitor records as a host into a folder; the recordings of its earlier configurations share the
//! lock.

use crate::lock::FolderLock;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The lock of a host in a folder, which whoever needs it first takes.
#[derive(Debug)]
pub(super) struct HostLock {
    folder: PathBuf,
    name: String,
    taken: Mutex<Option<FolderLock>>,
}

impl HostLock {
    pub(super) fn new(folder: &Path, host: &str) -> Self {
        Self {
            folder: folder.to_owned(),
            // other hosts may record into the same folder
            name: format!(".{}.lock", wirestamp_record::label(host)),
            taken: Mutex::default(),
        }
    }

    /// Takes it, if that is not done yet.
    pub(super) fn take(&self) -> io::Result<()> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.is_none() {
            *taken = Some(FolderLock::take(&self.folder, &self.name)?);
        }
        Ok(())
    }
}

/// Of the same host in the same folder.
impl PartialEq for HostLock {
    fn eq(&self, other: &Self) -> bool {
        (&self.folder, &self.name) == (&other.folder, &other.name)
    }
}
