//! Files with keys and tokens. No message has anything of what they hold.

use std::fs::File;
use std::io::{Error, ErrorKind, Read as _, Result};
use std::path::Path;

/// The longest file that is read: a key of 2048 digits, and white space.
const LONGEST: u64 = 4_096;

/// Reads a file as text. One that does not say how long it is, such as a device, is read no further either.
pub(crate) fn read(path: &Path) -> Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(LONGEST + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        let cause = format!("it is longer than any key or token: {LONGEST} bytes");
        return Err(Error::new(ErrorKind::InvalidData, cause));
    }
    Ok(text)
}
