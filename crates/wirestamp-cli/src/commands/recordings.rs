//! Folders of Parquet files: what `record`, `capture` and `latency --peer` have in common.

use crate::failure::told;
use std::io;
use std::path::Path;
use wirestamp::{Error, ErrorKind};

/// Makes the folder now rather than with the first file, a minute later. Returns what this host is called in the files.
pub(super) fn open(folder: &Path, host: Option<&str>) -> Result<String, Error> {
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    let own = || gethostname::gethostname().to_string_lossy().into_owned();
    Ok(host.map_or_else(own, str::to_owned))
}

/// Why files could not be written.
pub(super) fn failed(folder: &Path, error: &io::Error) -> Error {
    let target = folder.display().to_string();
    told(ErrorKind::Io, "write Parquet files", &target, error)
}
