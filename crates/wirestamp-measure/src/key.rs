//! Keys of STAMP sessions, from files.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use wirestamp::{Error, ErrorKind, Result};
use wirestamp_probe::Key;

/// The longest file that is read: a key of 2048 digits, and white space.
const LONGEST: u64 = 4_096;

/// Returns a number that changes with the file's content; `None` if the file cannot be read.
pub(crate) fn mark(path: &Path) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    wirestamp::file::read_text(path, LONGEST)
        .ok()?
        .hash(&mut hasher);
    Some(hasher.finish())
}

/// Reads the key in a file. No error message contains any part of it.
///
/// # Errors
/// `InvalidInput`, naming the file: it cannot be read, or has no key.
pub fn read(path: Option<&Path>) -> Result<Option<Key>> {
    let Some(path) = path else {
        return Ok(None);
    };
    let refused = |cause: String| {
        Error::new(
            ErrorKind::InvalidInput,
            "read the key",
            path.display().to_string(),
            cause,
        )
        .with_remedy("make one: openssl rand -hex 32 > FILE, and chmod 600 FILE")
    };
    let text =
        wirestamp::file::read_text(path, LONGEST).map_err(|error| refused(error.to_string()))?;
    Key::from_hexadecimal(&text)
        .map(Some)
        .map_err(|error| refused(error.to_string()))
}
