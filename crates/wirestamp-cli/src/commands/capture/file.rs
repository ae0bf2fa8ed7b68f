//! The files of a capture: each is `NAME.partial` while it grows, readable up to its last whole packet, and takes its name when it is
//! complete. What is no regular file is written through.

use crate::failure::told;
use crate::signals;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
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
    /// Complete ones, oldest first.
    complete: VecDeque<PathBuf>,
    begun: u32,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    to: To,
    written: u64,
    /// When it was begun, as the caller counts.
    since: Duration,
}

#[derive(Debug)]
enum To {
    /// A file that is renamed when it is complete.
    File {
        file: File,
        partial: PathBuf,
        place: PathBuf,
    },
    Through(File),
    Standard(io::Stdout),
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
            begun: 0,
            open: None,
        })
    }

    /// Begins a file, at `now` of any clock that is not stepped.
    pub(super) fn begin(&mut self, now: Duration) -> Result<(), Error> {
        self.begun += 1;
        let to = self.start().map_err(|error| self.failed(&error))?;
        self.open = Some(Open {
            to,
            written: 0,
            since: now,
        });
        Ok(())
    }

    fn start(&self) -> io::Result<To> {
        if self.name == Path::new("-") {
            return Ok(To::Standard(io::stdout()));
        }
        if is_through(&self.name) {
            return File::options()
                .write(true)
                .open(&self.name)
                .map(To::Through);
        }
        let place = self.numbered();
        let mut partial = place.clone().into_os_string();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let file = File::create(&partial)?;
        Ok(To::File {
            file,
            partial,
            place,
        })
    }

    /// `NAME.EXT`, or `NAME-00001.EXT` where there are several.
    fn numbered(&self) -> PathBuf {
        if self.rotation.size.is_none() && self.rotation.every.is_none() {
            return self.name.clone();
        }
        let stem = self.name.file_stem().unwrap_or_default().to_string_lossy();
        let extension = self.name.extension().unwrap_or_default().to_string_lossy();
        let dot = if extension.is_empty() { "" } else { "." };
        let name = format!("{stem}-{:05}{dot}{extension}", self.begun);
        self.name.with_file_name(name)
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

    /// The file is complete: it takes its name. The oldest ones go, where there are too many.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        if let To::File { partial, place, .. } = open.to {
            fs::rename(&partial, &place).map_err(|error| self.failed(&error))?;
            self.complete.push_back(place);
        }
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

/// Whether it is no file that could be replaced.
fn is_through(name: &Path) -> bool {
    name == Path::new("-")
        || fs::metadata(name).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rotation(size: Option<u64>, keep: Option<u32>) -> Rotation {
        Rotation {
            size,
            every: None,
            keep,
        }
    }

    #[test]
    fn a_file_takes_its_name_when_it_is_complete() {
        let folder = tempfile::tempdir().expect("made");
        let name = folder.path().join("a.pcapng");
        let mut files = Files::new(&name, rotation(None, None)).expect("valid");
        files.begin(Duration::ZERO).expect("begun");
        files.write(b"packets").expect("written");
        let partial = folder.path().join("a.pcapng.partial");
        assert!(!name.exists());
        assert_eq!(fs::read(&partial).expect("readable"), b"packets");
        files.finish().expect("finished");
        assert!(!partial.exists());
        assert_eq!(fs::read(&name).expect("complete"), b"packets");
    }

    #[test]
    fn only_the_newest_files_are_kept() {
        let folder = tempfile::tempdir().expect("made");
        let mut files = Files::new(
            &folder.path().join("a.b.pcapng"),
            rotation(Some(10), Some(2)),
        )
        .expect("valid");
        for _ in 0..4 {
            files.begin(Duration::ZERO).expect("begun");
            assert!(!files.is_full(9, Duration::MAX) && files.is_full(10, Duration::ZERO));
            files.finish().expect("finished");
        }
        let mut names: Vec<_> = fs::read_dir(folder.path())
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["a.b-00003.pcapng", "a.b-00004.pcapng"]);
        assert_eq!(files.names().len(), 2);
    }

    #[test]
    fn a_file_that_somebody_took_away_is_not_missed() {
        let folder = tempfile::tempdir().expect("made");
        let name = folder.path().join("a.pcapng");
        let mut files = Files::new(&name, rotation(Some(10), Some(1))).expect("valid");
        for _ in 0..3 {
            files.begin(Duration::ZERO).expect("begun");
            files.finish().expect("finished");
            for entry in fs::read_dir(folder.path()).expect("a folder") {
                fs::remove_file(entry.expect("an entry").path()).expect("was there");
            }
        }
        assert!(files.names().is_empty());
    }

    #[test]
    fn a_file_is_full_when_it_is_old_enough() {
        let folder = tempfile::tempdir().expect("made");
        let every = Some(Duration::from_secs(10));
        let rotation = Rotation {
            every,
            ..rotation(None, None)
        };
        let mut files = Files::new(&folder.path().join("a.pcapng"), rotation).expect("valid");
        files.begin(Duration::from_secs(5)).expect("begun");
        assert!(!files.is_full(usize::MAX, Duration::from_millis(14_999)));
        assert!(files.is_full(0, Duration::from_secs(15)));
    }

    #[test]
    fn what_can_not_be_rotated_is_refused() {
        assert!(Files::new(Path::new("a"), rotation(None, Some(3))).is_err());
        assert!(Files::new(Path::new("-"), rotation(Some(1 << 20), None)).is_err());
        let folder = tempfile::tempdir().expect("made");
        for rotation in [rotation(None, None), rotation(Some(1 << 20), None)] {
            let error = Files::new(folder.path(), rotation).expect_err("a folder");
            assert!(error.to_string().contains("name a file in it"), "{error}");
        }
        if cfg!(unix) {
            let device = Path::new("/dev/null"); // elsewhere a file of that name could be made
            assert!(Files::new(device, rotation(Some(1 << 20), None)).is_err());
            assert!(Files::new(device, rotation(None, None)).is_ok());
        }
    }
}
