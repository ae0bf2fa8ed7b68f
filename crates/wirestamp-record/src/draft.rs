//! Files that are complete or absent.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;
use tempfile::NamedTempFile;

/// The prefix of incomplete files: readers pass over names that begin with a dot. The host follows, so that the file of a killed
/// process is not mistaken for one that another host writes to the same folder.
const PREFIX: &str = ".wirestamp-";
const SUFFIX: &str = ".part";

/// Whether a file of this name is a draft of the host with this label.
pub(crate) fn is_draft(name: &str, label: &str) -> bool {
    let rest = name
        .strip_prefix(PREFIX)
        .and_then(|rest| rest.strip_prefix(label));
    rest.is_some_and(|rest| rest.starts_with('-') && rest.ends_with(SUFFIX))
}

/// A file that is written under another name until it is complete. Dropped, it is removed.
pub(crate) struct Draft(NamedTempFile);

impl Draft {
    /// Makes the folder too, if it is not there. `label`: the host's.
    pub(crate) fn in_folder(folder: &Path, label: &str) -> io::Result<Self> {
        create_folders(folder)?;
        let prefix = format!("{PREFIX}{label}-");
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(SUFFIX);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // less the umask: other programs read it
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        builder.tempfile_in(folder).map(Self)
    }

    pub(crate) fn file(&self) -> io::Result<File> {
        self.0.as_file().try_clone()
    }

    /// Gives it its name once it is on the disk. An existing file is never replaced.
    pub(crate) fn finish(self, place: &Path) -> io::Result<()> {
        self.0.as_file().sync_all()?;
        self.0
            .persist_noclobber(place)
            .map_err(|error| error.error)?;
        let synced = sync_folder(place.parent().unwrap_or(Path::new(".")));
        if synced.is_err() {
            // its rows count as not written: they must not be there twice
            let _ = fs::remove_file(place);
        }
        synced
    }
}

/// Makes those that are missing; each is on the disk when this returns.
fn create_folders(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Ok(()) => folder.parent().map_or(Ok(()), sync_folder),
        Err(error) if error.kind() == ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => match folder.parent() {
            Some(parent) if !parent.as_os_str().is_empty() && !parent.exists() => {
                create_folders(parent)?;
                create_folders(folder)
            }
            // nothing can be made there, as in /proc
            _ => Err(error),
        },
        Err(error) => Err(error),
    }
}

/// A renamed file has its name for certain once its folder is on the disk.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    let named = !folder.as_os_str().is_empty();
    File::open(if named { folder } else { Path::new(".") })?.sync_all()
}

/// Windows writes the folder with the file.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
