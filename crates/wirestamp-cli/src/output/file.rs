//! Files that a command writes: a file that is there already is replaced as a whole, or not at all, and one that is not there appears when all of
//! it is written.

use crate::failure::told;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;
use wirestamp::{Error, ErrorKind};

/// Links that are followed until there is a file or nothing.
const MOST_LINKS: usize = 40;

/// A file that can be written to, as far as can be checked before.
#[derive(Debug)]
pub(crate) struct Target {
    operation: &'static str,
    name: String,
    way: Way,
}

/// How it is written.
#[derive(Debug)]
enum Way {
    /// A temporary file beside it takes its place.
    Replace {
        place: PathBuf,
        existing: Option<Metadata>,
    },
    /// Nothing can take the place of a device, a pipe, or the file that standard output goes to.
    Through(File),
    /// A file in a folder that nothing can be added to.
    Over(PathBuf),
}

/// The draft of a file. Dropped unfinished, it leaves the file as it was.
#[derive(Debug)]
pub(crate) struct Draft {
    operation: &'static str,
    name: String,
    to: To,
}

#[derive(Debug)]
enum To {
    Temporary(NamedTempFile, PathBuf),
    Itself(File),
    /// The file as it was, until something is written.
    Untouched(File),
}

impl Target {
    /// Looks whether `path` can be written, and changes nothing. `operation`: for messages.
    pub(crate) fn check(path: &Path, operation: &'static str) -> Result<Self, Error> {
        let name = path.display().to_string();
        let way = way(path).map_err(|error| told(ErrorKind::Io, operation, &name, &error))?;
        Ok(Self {
            operation,
            name,
            way,
        })
    }

    /// For messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// From here on there is something to write.
    pub(crate) fn start(self) -> Result<Draft, Error> {
        let Self {
            operation,
            name,
            way,
        } = self;
        let to = match way {
            Way::Through(file) => Ok(To::Itself(file)),
            Way::Over(place) => over(&place),
            Way::Replace { place, existing } => match temporary(&place, existing.as_ref()) {
                Ok(file) => Ok(To::Temporary(file, place)),
                // whose owner can't be kept
                Err(error)
                    if error.kind() == io::ErrorKind::PermissionDenied && existing.is_some() =>
                {
                    over(&place)
                }
                Err(error) => Err(error),
            },
        };
        let to = to.map_err(|error| told(ErrorKind::Io, operation, &name, &error))?;
        Ok(Draft {
            operation,
            name,
            to,
        })
    }

    /// Writes all of it.
    pub(crate) fn write(self, content: &[u8]) -> Result<(), Error> {
        let mut draft = self.start()?;
        draft
            .write_all(content)
            .map_err(|error| draft.failed(&error))?;
        draft.finish()
    }
}

impl Draft {
    /// Everything is written: it takes its place.
    pub(crate) fn finish(self) -> Result<(), Error> {
        let failed = |error: &io::Error| told(ErrorKind::Io, self.operation, &self.name, error);
        match self.to {
            To::Itself(mut file) => file.flush().map_err(|error| failed(&error)),
            To::Untouched(file) => file.set_len(0).map_err(|error| failed(&error)),
            To::Temporary(file, place) => {
                file.as_file().sync_all().map_err(|error| failed(&error))?;
                file.persist(place)
                    .map(drop)
                    .map_err(|error| failed(&error.error))
            }
        }
    }

    /// Nothing more can be written: the draft stays beside the file, which is as it was, up to its last whole line. `None`: it cannot, or it is the
    /// file itself.
    pub(crate) fn keep_lines(self) -> Option<PathBuf> {
        let To::Temporary(file, place) = self.to else {
            return None;
        };
        end_with_a_line(file.as_file()).ok()?;
        let mut partial = place.into_os_string();
        partial.push(PARTIAL);
        let partial = PathBuf::from(partial);
        file.persist_noclobber(&partial).ok()?;
        Some(partial)
    }

    /// The folder in which it takes its place; `None`: it is the file itself.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match &self.to {
            To::Temporary(_, place) => Some(folder_of(place)),
            To::Itself(_) | To::Untouched(_) => None,
        }
    }

    /// An error of writing, in the library's form.
    pub(crate) fn failed(&self, error: &io::Error) -> Error {
        told(ErrorKind::Io, self.operation, &self.name, error)
    }
}

/// Takes away the end of a file that is no whole line.
fn end_with_a_line(mut file: &File) -> io::Result<()> {
    let length = file.metadata()?.len();
    let from = length.saturating_sub(LONGEST_LINE);
    file.seek(io::SeekFrom::Start(from))?;
    let mut end = Vec::new();
    file.take(LONGEST_LINE).read_to_end(&mut end)?;
    let whole = end.iter().rposition(|byte| *byte == b'\n');
    let whole = whole.map_or(0, |place| place as u64 + 1);
    file.set_len(from + whole)
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let To::Untouched(file) = &self.to {
            file.set_len(0)?;
            self.to = To::Itself(file.try_clone()?);
        }
        match &mut self.to {
            // the file's own errors: tempfile's have its name
            To::Temporary(file, _) => file.as_file_mut().write(bytes),
            To::Itself(file) | To::Untouched(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::Temporary(file, _) => file.as_file_mut().flush(),
            To::Itself(file) | To::Untouched(file) => file.flush(),
        }
    }
}

fn way(path: &Path) -> io::Result<Way> {
    let existing = match fs::metadata(path) {
        Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(found) if !found.is_file() => return open(path).map(Way::Through),
        Ok(found) => Some(found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if let Some(existing) = &existing {
        if let Some(standard) = system::standard_stream(existing)? {
            return Ok(Way::Through(standard));
        }
        open(path)?;
    }
    let place = behind_links(path);
    if let Some(existing) = &existing
        && !fs::metadata(&place).is_ok_and(|found| system::is_same(existing, &found))
    {
        return Ok(Way::Over(path.to_owned())); // open in some process, and without a name
    }
    let folder = folder_of(&place);
    fs::metadata(folder)?;
    // whether there is room for a temporary file; it is gone at once
    match tempfile::Builder::new().prefix(PREFIX).tempfile_in(folder) {
        Ok(_) => Ok(Way::Replace { place, existing }),
        Err(error) if existing.is_some() && error.kind() == io::ErrorKind::PermissionDenied => {
            Ok(Way::Over(place))
        }
        // without the temporary file's name, which says nothing
        Err(error) => Err(error.kind().into()),
    }
}

const PREFIX: &str = ".wirestamp-";
/// Longer lines are not written.
const LONGEST_LINE: u64 = 1 << 16;
/// The end of the name of a file that is not complete.
pub(crate) const PARTIAL: &str = ".partial";

/// For writing, without touching what is in it.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(path)
}

fn over(place: &Path) -> io::Result<To> {
    open(place).map(To::Untouched)
}

/// Where a link leads, whether or not there is something.
fn behind_links(path: &Path) -> PathBuf {
    let mut place = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&place) else {
            break;
        };
        place = folder_of(&place).join(target);
    }
    place
}

fn folder_of(place: &Path) -> &Path {
    place
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// With the permissions of the file that it will replace, or those of a new file.
fn temporary(place: &Path, existing: Option<&Metadata>) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    system::as_a_new_file(&mut builder);
    let file = builder.tempfile_in(folder_of(place))?;
    if let Some(existing) = existing {
        system::keep_owner(file.as_file(), existing)?;
        file.as_file().set_permissions(existing.permissions())?;
    }
    Ok(file)
}

#[cfg(unix)]
mod system {
    use std::fs::{File, Metadata, Permissions};
    use std::io;
    use std::os::fd::AsFd;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

    pub(super) fn is_same(one: &Metadata, other: &Metadata) -> bool {
        (one.dev(), one.ino()) == (other.dev(), other.ino())
    }

    /// Standard output or error, if `file` is where it goes to.
    pub(super) fn standard_stream(file: &Metadata) -> io::Result<Option<File>> {
        for stream in [io::stdout().as_fd(), io::stderr().as_fd()] {
            let stream = File::from(stream.try_clone_to_owned()?);
            if stream.metadata().is_ok_and(|found| is_same(file, &found)) {
                return Ok(Some(stream));
            }
        }
        Ok(None)
    }

    pub(super) fn as_a_new_file(builder: &mut tempfile::Builder<'_, '_>) {
        // less the umask
        builder.permissions(Permissions::from_mode(0o666));
    }

    pub(super) fn keep_owner(file: &File, existing: &Metadata) -> io::Result<()> {
        let new = file.metadata()?;
        let change = |new, existing| (new != existing).then_some(existing);
        match (
            change(new.uid(), existing.uid()),
            change(new.gid(), existing.gid()),
        ) {
            (None, None) => Ok(()),
            (user, group) => fchown(file, user, group),
        }
    }
}

#[cfg(not(unix))]
mod system {
    use std::fs::{File, Metadata};
    use std::io;

    pub(super) fn is_same(_: &Metadata, _: &Metadata) -> bool {
        true
    }

    pub(super) fn standard_stream(_: &Metadata) -> io::Result<Option<File>> {
        Ok(None)
    }

    pub(super) fn as_a_new_file(_: &mut tempfile::Builder<'_, '_>) {}

    pub(super) fn keep_owner(_: &File, _: &Metadata) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_replaced_stays_until_something_is_written() {
        let mut file = NamedTempFile::new().expect("a file");
        file.write_all(b"a long one from yesterday")
            .expect("writes");
        let draft = |place: &Path| Draft {
            operation: "try",
            name: String::new(),
            to: over(place).expect("it is there"),
        };
        let content = || fs::read_to_string(file.path()).expect("readable");
        drop(draft(file.path()));
        assert_eq!(content(), "a long one from yesterday");
        let mut new = draft(file.path());
        new.write_all(b"short").expect("writes");
        new.write_all(b"er").expect("writes");
        new.finish().expect("finishes");
        assert_eq!(content(), "shorter");
        draft(file.path()).finish().expect("finishes");
        assert_eq!(content(), "", "all of nothing is written");
    }
}
