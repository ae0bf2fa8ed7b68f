//! The files of a capture: each is `NAME.partial` while it grows, readable up to its last whole packet, and takes its name when it is
//! complete. A pipe or a device is written to directly. Files of several are numbered on from the highest number that is there: those of
//! another run are left alone.

mod partial;

use crate::failure::told;
use crate::signals;
use partial::{PARTIAL, To, begin, complete, is_through};
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use wirestamp::{Error, ErrorKind};

const OPERATION: &str = "write the capture";

/// When a new file begins, and how many are kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rotation {
    pub(super) size: Option<u64>,
    pub(super) every: Option<Duration>,
    pub(super) keep: Option<u32>,
}

/// Where packets are written.
#[derive(Debug)]
pub(super) struct Files {
    name: PathBuf,
    rotation: Rotation,
    /// Complete ones of this run, oldest first.
    complete: VecDeque<PathBuf>,
    /// Of the file that is written, or was last.
    number: u32,
    open: Option<Open>,
    /// Writes the file before to the disk, while packets go to the next one.
    finishing: Option<JoinHandle<io::Result<PathBuf>>>,
}

#[derive(Debug)]
struct Open {
    to: To,
    written: u64,
    /// When it was begun, as the caller counts.
    since: Duration,
}

impl Files {
    pub(super) fn new(name: &Path, rotation: Rotation) -> Result<Self, Error> {
        let rotates = rotation.size.is_some() || rotation.every.is_some();
        let wrong = |cause: &'static str| {
            let target = name.display().to_string();
            Error::new(ErrorKind::InvalidInput, OPERATION, target, cause)
        };
        if rotation
            .every
            .is_some_and(|every| every < Duration::from_millis(100))
        {
            return Err(wrong("files can't be rotated more often than every 100 ms"));
        }
        if rotates && is_through(name) {
            return Err(wrong("only files can be rotated"));
        }
        if name.is_dir() {
            return Err(wrong("is a folder").with_remedy("name a file in it"));
        }
        if rotation.keep.is_some() && !rotates {
            return Err(wrong("--files needs --rotate-size or --rotate-every"));
        }
        Ok(Self {
            name: name.to_owned(),
            rotation,
            complete: VecDeque::new(),
            number: 0,
            open: None,
            finishing: None,
        })
    }

    /// Begins a file, at `now` of any clock that is not stepped.
    pub(super) fn begin(&mut self, now: Duration) -> Result<(), Error> {
        let to = self.start().map_err(|error| self.failed(&error))?;
        self.open = Some(Open {
            to,
            written: 0,
            since: now,
        });
        Ok(())
    }

    fn start(&mut self) -> io::Result<To> {
        if self.name == Path::new("-") {
            return Ok(To::Standard(io::stdout()));
        }
        if is_through(&self.name) {
            return File::options()
                .write(true)
                .open(&self.name)
                .map(To::Through);
        }
        if !self.rotates() {
            return begin(self.name.clone());
        }
        loop {
            self.number = match self.number {
                0 => self.highest()?,
                last => last,
            }
            .checked_add(1)
            .ok_or(io::ErrorKind::AlreadyExists)?;
            let place = self.numbered(self.number);
            // another program writes files of the same name just now
            match begin(place) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                begun => return begun,
            }
        }
    }

    fn rotates(&self) -> bool {
        self.rotation.size.is_some() || self.rotation.every.is_some()
    }

    /// `NAME-00001.EXT`.
    fn numbered(&self, number: u32) -> PathBuf {
        let (stem, dot_and_extension) = self.parts();
        let name = format!("{stem}-{number:05}{dot_and_extension}");
        self.name.with_file_name(name)
    }

    fn parts(&self) -> (String, String) {
        let stem = self.name.file_stem().unwrap_or_default().to_string_lossy();
        let extension = self.name.extension().unwrap_or_default().to_string_lossy();
        let dot = if extension.is_empty() { "" } else { "." };
        (stem.into_owned(), format!("{dot}{extension}"))
    }

    /// The highest number of a file of this name, complete or not.
    fn highest(&self) -> io::Result<u32> {
        let (stem, dot_and_extension) = self.parts();
        let folder = self.name.parent().unwrap_or(Path::new(""));
        let here = folder.as_os_str().is_empty();
        let mut highest = 0;
        for entry in fs::read_dir(if here { Path::new(".") } else { folder })? {
            let name = entry?.file_name();
            let name = name.to_string_lossy();
            let name = name.strip_suffix(PARTIAL).unwrap_or(&name);
            let number = name
                .strip_prefix(&*stem)
                .and_then(|rest| rest.strip_prefix('-'))
                .and_then(|rest| rest.strip_suffix(&*dot_and_extension))
                .filter(|digits| digits.len() >= 5 && digits.bytes().all(|d| d.is_ascii_digit()));
            highest = highest.max(number.and_then(|digits| digits.parse().ok()).unwrap_or(0));
        }
        Ok(highest)
    }

    /// Writes whole blocks, behind each other.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        open.written += bytes.len() as u64;
        let written = match &mut open.to {
            To::File { file, .. } | To::Through(file) => file.write_all(bytes),
            To::Standard(standard) => standard.write_all(bytes).and_then(|()| standard.flush()),
        };
        match written {
            // a reader who left is no failure: the capture ends as by a signal
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                signals::stop();
                Ok(())
            }
            written => written.map_err(|error| self.failed(&error)),
        }
    }

    /// Whether a new file is due at `now`, with so many bytes still to be written.
    pub(super) fn is_full(&self, waiting: usize, now: Duration) -> bool {
        let Some(open) = &self.open else {
            return false;
        };
        let size = open.written + waiting as u64;
        let age = now.saturating_sub(open.since);
        self.rotation.size.is_some_and(|most| size >= most)
            || self.rotation.every.is_some_and(|every| age >= every)
    }

    /// The file is complete: it takes its name once it is on the disk. Of several, the disk is not waited for: packets come meanwhile.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        self.settle()?;
        let Some(Open {
            to:
                To::File {
                    file,
                    partial,
                    place,
                },
            ..
        }) = self.open.take()
        else {
            return Ok(());
        };
        let is_new = self.rotates();
        let complete = move || complete(&file, &partial, &place, is_new).map(|()| place);
        if is_new {
            let thread = thread::Builder::new().name("capture file".into());
            let started = thread.spawn(complete);
            self.finishing = Some(started.map_err(|error| self.failed(&error))?);
        } else {
            let place = complete().map_err(|error| self.failed(&error))?;
            self.complete.push_back(place);
        }
        Ok(())
    }

    /// Waits for the file before. The oldest ones go, where there are too many.
    pub(super) fn settle(&mut self) -> Result<(), Error> {
        let Some(finishing) = self.finishing.take() else {
            return Ok(());
        };
        let place = finishing
            .join()
            .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
        self.complete
            .push_back(place.map_err(|error| self.failed(&error))?);
        while self
            .rotation
            .keep
            .is_some_and(|keep| self.complete.len() > keep as usize)
        {
            let removed = self.complete.pop_front().map(fs::remove_file);
            // somebody may have taken it away
            if let Some(Err(error)) = removed
                && error.kind() != io::ErrorKind::NotFound
            {
                return Err(self.failed(&error));
            }
        }
        Ok(())
    }

    /// Those that are there.
    pub(super) fn names(&self) -> Vec<String> {
        let names = self.complete.iter().filter(|name| name.exists());
        names.map(|name| name.display().to_string()).collect()
    }

    fn failed(&self, error: &io::Error) -> Error {
        told(
            ErrorKind::Io,
            OPERATION,
            &self.name.display().to_string(),
            error,
        )
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // what was captured before something failed is kept
        let _ = self.settle();
    }
}

#[cfg(test)]
mod tests;
