//! Keys of STAMP sessions, from files.

use crate::secret;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use wirestamp::{Error, ErrorKind, Result};
use wirestamp_probe::Key;

/// A number that is another one as soon as the file has another content; `None`: it cannot be read.
pub(crate) fn mark(path: &Path) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    secret::read(path).ok()?.hash(&mut hasher);
    Some(hasher.finish())
}

/// The key in a file. No message holds anything of it.
pub(crate) fn read(path: Option<&Path>) -> Result<Option<Key>> {
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
    let text = secret::read(path).map_err(|error| refused(error.to_string()))?;
    Key::from_hexadecimal(&text)
        .map(Some)
        .map_err(|error| refused(error.to_string()))
}
