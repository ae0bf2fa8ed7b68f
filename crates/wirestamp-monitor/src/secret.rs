//! Reads files with keys and tokens. No error message contains any part of them.

use std::io::Result;
use std::path::Path;

/// The longest file that is read: a key of 2048 digits, and white space.
const LONGEST: u64 = 4_096;

/// Reads a file as text.
pub(crate) fn read(path: &Path) -> Result<String> {
    wirestamp::file::read_text(path, LONGEST)
}
