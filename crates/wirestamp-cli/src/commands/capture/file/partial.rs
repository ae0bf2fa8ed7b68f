//! What packets are written to: a file that is not complete yet, or what is no regular file.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

pub(super) use crate::output::PARTIAL;

#[derive(Debug)]
pub(super) enum To {
    /// A file that is renamed when it is complete.
    File {
        file: File,
        partial: PathBuf,
        place: PathBuf,
    },
    Through(File),
    Standard(io::Stdout),
}

/// Makes the file in which packets gather until it is complete. One that another run left behind, or writes, is not touched, and no link is
/// followed.
pub(super) fn begin(place: PathBuf) -> io::Result<To> {
    let mut partial = OsString::from(&place);
    partial.push(PARTIAL);
    let partial = PathBuf::from(partial);
    let file = File::options().write(true).create_new(true).open(&partial);
    let file = file.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => io::Error::new(error.kind(), Left(partial.clone())),
        _ => error,
    })?;
    Ok(To::File {
        file,
        partial,
        place,
    })
}

/// A file takes its name once it is on the disk. `new`: it never takes the place of another one.
pub(super) fn complete(file: &File, partial: &Path, place: &Path, new: bool) -> io::Result<()> {
    file.sync_all()?;
    if new {
        // unlike a rename, a link takes no other file's place
        match fs::hard_link(partial, place) {
            Ok(()) => return fs::remove_file(partial),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            Err(_) if fs::symlink_metadata(place).is_ok() => {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            Err(_) => {} // a file system without links
        }
    }
    fs::rename(partial, place)
}

/// What stands where packets were to be gathered.
#[derive(Debug)]
struct Left(PathBuf);

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.0.display();
        write!(
            f,
            "{name} is there: another run writes it, or left it behind; move it, or write another file"
        )
    }
}

impl std::error::Error for Left {}

/// Whether it is no file that could be replaced.
pub(super) fn is_through(name: &Path) -> bool {
    name == Path::new("-")
        || fs::metadata(name).is_ok_and(|found| !found.is_file() && !found.is_dir())
}
