//! The files of a capture: each is `NAME.partial` while it grows, readable up to its last whole packet, and takes its name when it is
//! complete. What is no regular file is written through. Files of several are numbered on from the highest number that is there: those of
//! another run are left alone.

use crate::failure::told;
use crate::signals;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use wirestamp::{Error, ErrorKind};

const OPERATION: &str = "write the capture";
/// What the name of a file ends with that is not complete.
const PARTIAL: &str = ".partial";

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

/// Makes the file in which packets gather until it is complete. One that another run left behind, or writes, is not touched, and no link is
/// followed.
fn begin(place: PathBuf) -> io::Result<To> {
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
fn complete(file: &File, partial: &Path, place: &Path, new: bool) -> io::Result<()> {
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
        files.settle().expect("on the disk");
        let mut names: Vec<_> = fs::read_dir(folder.path())
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["a.b-00003.pcapng", "a.b-00004.pcapng"]);
        assert_eq!(files.names().len(), 2);
    }

    /// What is in a folder, by name.
    fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
        let entries = fs::read_dir(folder).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry").path());
        let mut all: Vec<_> = names
            .map(|path| {
                let name = path.file_name().expect("a name").to_string_lossy();
                (name.into_owned(), fs::read(&path).expect("readable"))
            })
            .collect();
        all.sort();
        all
    }

    #[test]
    fn files_of_another_run_are_left_alone() {
        let folder = tempfile::tempdir().expect("made");
        let name = folder.path().join("r.pcapng");
        let others = [
            "r-00002.pcapng",
            "r-00007.pcapng.partial",
            "r-4.pcapng",
            "r-00009.pcap",
            "x",
        ];
        for other in others {
            fs::write(folder.path().join(other), other).expect("written");
        }
        let mut files = Files::new(&name, rotation(Some(10), Some(2))).expect("valid");
        for turn in 0..4 {
            files.begin(Duration::ZERO).expect("begun");
            if turn == 1 {
                // another run takes the next number
                fs::write(folder.path().join("r-00010.pcapng.partial"), "other").expect("written");
            }
            files.write(b"ours").expect("written");
            files.finish().expect("finished");
        }
        files.settle().expect("on the disk");
        let all = contents(folder.path());
        for other in others {
            assert!(all.contains(&(other.into(), other.into())), "{all:?}");
        }
        let ours: Vec<_> = all.iter().filter(|(_, bytes)| bytes == b"ours").collect();
        assert_eq!(
            ours.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            ["r-00011.pcapng", "r-00012.pcapng"]
        );
        assert_eq!(all.len(), others.len() + 3);
    }

    #[test]
    fn what_another_run_left_behind_is_not_written_over() {
        let folder = tempfile::tempdir().expect("made");
        let (name, victim) = (folder.path().join("y.pcapng"), folder.path().join("victim"));
        let partial = folder.path().join("y.pcapng.partial");
        fs::write(&victim, "precious").expect("written");
        #[cfg(unix)]
        std::os::unix::fs::symlink(&victim, &partial).expect("linked");
        #[cfg(not(unix))]
        fs::write(&partial, "precious").expect("written");
        let mut files = Files::new(&name, rotation(None, None)).expect("valid");
        let error = files
            .begin(Duration::ZERO)
            .expect_err("refused")
            .to_string();
        assert!(error.contains("y.pcapng.partial is there"), "{error}");
        assert_eq!(fs::read(&victim).expect("readable"), b"precious");
        assert!(!name.exists());
    }

    #[test]
    fn a_file_that_somebody_took_away_is_not_missed() {
        let folder = tempfile::tempdir().expect("made");
        let name = folder.path().join("a.pcapng");
        let mut files = Files::new(&name, rotation(Some(10), Some(1))).expect("valid");
        for _ in 0..3 {
            files.begin(Duration::ZERO).expect("begun");
            files.finish().expect("finished");
            files.settle().expect("on the disk");
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
