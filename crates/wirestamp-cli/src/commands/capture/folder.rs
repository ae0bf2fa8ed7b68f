//! A folder of files that one capture wrote one after the other (`tcpdump -C` and `-G`, `dumpcap -b`, `--rotate-size`): all of
//! them, in the order of their first packets. Names are no help: rings begin again, and numbers have different lengths.

use super::input::{self, OPERATION};
use crate::failure::told;
use std::collections::HashSet;
use std::io::Seek;
use std::path::{Path, PathBuf};
use std::{fs, io};
use wirestamp::{Error, ErrorKind};
use wirestamp_capture::read::{File, Reader};

/// The most files of a capture.
const MOST_FILES: usize = 65_536;
/// The most packets that are read of a file to find one with a time.
const MOST_UNTIMED: usize = 1_000;

const MOVE: &str = "move it out of the folder";

/// A file of the folder, as it was when its place was found.
struct Listed {
    first_ns: Option<i64>,
    path: PathBuf,
    identity: Identity,
}

/// Opens all files of a folder as one capture.
pub(super) fn open(folder: &Path) -> Result<Reader<'static>, Error> {
    let mut files = listed(folder)?;
    files.sort_by(|one, other| (one.first_ns, &one.path).cmp(&(other.first_ns, &other.path)));
    let opened = files.into_iter().map(|listed| {
        let path = &listed.path;
        let mut file = open_file(path)?.ok_or_else(|| changed(path))?;
        let is_same = identity(&file, path)? == listed.identity;
        if !is_same || first_time(path, &mut file)? != listed.first_ns {
            return Err(changed(path));
        }
        let name = path.display().to_string();
        let input = input::of_file(&name, file)?;
        Ok(File { name, input })
    });
    let refuse = || refused(folder, "is a folder without a capture");
    Reader::of_files(opened)?.ok_or_else(refuse)
}

/// Returns the files that have contents, without hidden ones; each once, however many links to it there are.
fn listed(folder: &Path) -> Result<Vec<Listed>, Error> {
    let (mut files, mut known) = (Vec::new(), HashSet::new());
    for entry in fs::read_dir(folder).map_err(|error| failed(folder, &error))? {
        let entry = entry.map_err(|error| failed(folder, &error))?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let path = entry.path();
        let Some(mut file) = open_file(&path)? else {
            continue;
        };
        let identity = identity(&file, &path)?;
        if !known.insert(identity.clone()) {
            continue;
        }
        if files.len() == MOST_FILES {
            let cause = format!("is a folder with more than {MOST_FILES} files");
            return Err(refused(folder, cause));
        }
        let first_ns = first_time(&path, &mut file)?;
        files.push(Listed {
            first_ns,
            path,
            identity,
        });
    }
    Ok(files)
}

/// Opens a file that has contents; `None` if it has none, or is a folder; an error if it is something else. The open file is checked, not
/// its name, which may lead elsewhere by then; opening waits for nobody.
fn open_file(path: &Path) -> Result<Option<fs::File>, Error> {
    let opened = match fs::metadata(path) {
        // devices act when they are opened
        Ok(about) if !about.is_file() => return kind(path, &about).map(|_| None),
        Ok(_) => input::open_at_once(path),
        Err(error) => Err(error),
    };
    match opened {
        Ok(file) => {
            let about = file.metadata().map_err(|error| failed(path, &error))?;
            Ok(kind(path, &about)?.then_some(file))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::symlink_metadata(path) {
            Ok(_) => Err(other(path, "is a link to a file that does not exist")),
            // a ring just removed it
            Err(_) => Ok(None),
        },
        Err(error) => Err(failed(path, &error)),
    }
}

/// Whether it is a file that has contents; an error if it is neither a file nor a folder.
fn kind(path: &Path, about: &fs::Metadata) -> Result<bool, Error> {
    if about.is_file() || about.is_dir() {
        return Ok(about.is_file() && about.len() > 0);
    }
    Err(other(path, "is neither a file nor a folder"))
}

/// What all links to a file share: its device and its number there.
#[cfg(unix)]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Identity(u64, u64);

#[cfg(unix)]
fn identity(file: &fs::File, path: &Path) -> Result<Identity, Error> {
    use std::os::unix::fs::MetadataExt;
    let about = file.metadata().map_err(|error| failed(path, &error))?;
    Ok(Identity(about.dev(), about.ino()))
}

/// What all symbolic links to a file share: its path.
#[cfg(not(unix))]
type Identity = PathBuf;

#[cfg(not(unix))]
fn identity(_: &fs::File, path: &Path) -> Result<Identity, Error> {
    fs::canonicalize(path).map_err(|error| failed(path, &error))
}

/// Returns the time of a file's first packet, and goes back to the file's beginning; `None` if it has no packets.
fn first_time(path: &Path, file: &mut fs::File) -> Result<Option<i64>, Error> {
    let name = path.display().to_string();
    let same = file.try_clone().map_err(|error| failed(path, &error))?;
    let found = first_time_in(path, Reader::new(&name, input::of_file(&name, same)?));
    file.rewind().map_err(|error| failed(path, &error))?;
    found
}

fn first_time_in(path: &Path, reader: Result<Reader<'_>, Error>) -> Result<Option<i64>, Error> {
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
