//! A folder of files that one capture wrote one after the other (`tcpdump -C` and `-G`, `dumpcap -b`, `--rotate-size`): all of
//! them, in the order of their first packets. Names are no help: rings begin again, and numbers have different lengths.

use super::input::{self, OPERATION};
use crate::failure::told;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::{fs, io};
use wirestamp::{Error, ErrorKind};
use wirestamp_capture::read::{File, Reader};

/// The most files of a capture.
const MOST_FILES: usize = 65_536;
/// The most packets that are read of a file to find one with a time.
const MOST_UNTIMED: usize = 1_000;

const MOVE: &str = "move it out of the folder";

/// Opens all files of a folder as one capture.
pub(super) fn open(folder: &Path) -> Result<Reader<'static>, Error> {
    let mut files = Vec::new();
    for path in names(folder)? {
        files.push((first_time(&path)?, path));
    }
    files.sort();
    let opened = files.into_iter().map(|(first_ns, path)| {
        match first_time(&path) {
            Ok(now) if now == first_ns => {}
            Err(error) if path.exists() => return Err(error),
            _ => return Err(changed(&path)),
        }
        Ok(File {
            name: path.display().to_string(),
            input: input::bytes(&path)?,
        })
    });
    let refuse = || refused(folder, "is a folder without a capture");
    Reader::of_files(opened)?.ok_or_else(refuse)
}

/// Returns the files that have contents, without hidden ones; each once, however many links to it there are.
fn names(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let (mut files, mut known) = (Vec::new(), HashSet::new());
    for entry in fs::read_dir(folder).map_err(|error| failed(folder, &error))? {
        let entry = entry.map_err(|error| failed(folder, &error))?;
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if is_hidden || !has_contents(&entry.path())? {
            continue;
        }
        let identity = identity(&entry.path()).map_err(|error| failed(&entry.path(), &error))?;
        if !known.insert(identity) {
            continue;
        }
        if files.len() == MOST_FILES {
            let cause = format!("is a folder with more than {MOST_FILES} files");
            return Err(refused(folder, cause));
        }
        files.push(entry.path());
    }
    Ok(files)
}

/// Whether it is a file that has contents; an error if it is neither a file nor a folder.
fn has_contents(path: &Path) -> Result<bool, Error> {
    match fs::metadata(path) {
        Ok(about) if about.is_file() => Ok(about.len() > 0),
        Ok(about) if about.is_dir() => Ok(false),
        Ok(_) => Err(other(path, "is neither a file nor a folder")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::symlink_metadata(path) {
            Ok(_) => Err(other(path, "is a link to a file that does not exist")),
            // a ring just removed it
            Err(_) => Ok(false),
        },
        Err(error) => Err(failed(path, &error)),
    }
}

/// Returns what all links to a file share: its device and its number there.
#[cfg(unix)]
fn identity(path: &Path) -> io::Result<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let about = fs::metadata(path)?;
    Ok((about.dev(), about.ino()))
}

/// Returns what all symbolic links to a file share: its path.
#[cfg(not(unix))]
fn identity(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path)
}

/// Returns the time of a file's first packet; `None` if it has no packets.
fn first_time(path: &Path) -> Result<Option<i64>, Error> {
    let reader = Reader::new(path.display().to_string(), input::bytes(path)?);
    let mut reader = reader.map_err(|error| match error.kind() {
        ErrorKind::InvalidInput => error.with_remedy(MOVE),
        _ => error,
    })?;
    for untimed in 0..MOST_UNTIMED {
        match reader.next_packet()? {
            None if untimed == 0 => return Ok(None),
            None => break,
            Some(packet) if packet.utc_ns.is_some() => return Ok(packet.utc_ns),
            Some(_) => {}
        }
    }
    let cause =
        "has no packet with a time at its beginning, so that its place among the files is unknown";
    Err(refused(path, cause))
}

fn failed(path: &Path, error: &io::Error) -> Error {
    told(ErrorKind::Io, OPERATION, &path.display().to_string(), error)
}

fn changed(path: &Path) -> Error {
    refused(path, "was replaced or removed while the folder was read")
        .with_remedy("end the capture first, or copy its files")
}

/// The error for what is not a file of the capture.
fn other(path: &Path, cause: &'static str) -> Error {
    refused(path, cause).with_remedy(MOVE)
}

fn refused(path: &Path, cause: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    let name = path.display().to_string();
    Error::new(ErrorKind::InvalidInput, OPERATION, name, cause)
        .with_remedy("name a file, or a folder of the files of one capture")
}

#[cfg(test)]
mod tests;
