//! Locks a folder for one writer, by a file in it. The system ends the lock with the process.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

/// A locked folder, until it is dropped.
#[derive(Debug)]
pub(crate) struct FolderLock(#[allow(dead_code, reason = "it holds the lock")] File);

impl FolderLock {
    /// Locks a folder, which is created if necessary, by a file of this name, which stays. A symbolic link of this name
    /// is not followed: others may write into the folder, and could make it lead to any file.
    ///
    /// # Errors
    /// `ResourceBusy` if somebody else has it; those of the system.
    pub(crate) fn take(folder: &Path, name: &str) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let path = folder.join(name);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o600).custom_flags(libc::O_NOFOLLOW);
        }
        let file = match options.open(&path) {
            // made by another user: reading is enough to lock it
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                options.write(false).create(false).open(&path)
            }
            file => file,
        };
        let file = file.map_err(|error| explained(error, &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => {
                let cause = format!("another monitor writes into {}", folder.display());
                Err(Error::new(ErrorKind::ResourceBusy, cause))
            }
            Err(TryLockError::Error(error)) if has_no_locks(&error, on_a_disk(&file)) => {
                tracing::warn!("{}: its file system has no locks", folder.display());
                Ok(Self(file))
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Says what the system means by too many links: there is one, which was not followed.
fn explained(error: Error, path: &Path) -> Error {
    #[cfg(unix)]
    if error.raw_os_error() == Some(libc::ELOOP) {
        let cause = format!("{} is a link: remove it", path.display());
        return Error::new(ErrorKind::InvalidInput, cause);
    }
    let _ = path;
    error
}

/// Whether the file system has no locks: NFS without a lock manager answers ENOLCK. On a disk of this machine that is a lack of room, and another
/// monitor may have the lock.
fn has_no_locks(error: &Error, on_a_disk: bool) -> bool {
    const ENOLCK: i32 = if cfg!(any(target_arch = "mips", target_arch = "mips64")) {
        46
    } else if cfg!(target_arch = "sparc64") {
        79
    } else {
        37
    };
    let is_enolck = cfg!(target_os = "linux") && error.raw_os_error() == Some(ENOLCK);
    is_enolck && !on_a_disk || error.kind() == ErrorKind::Unsupported
}

/// Whether a file is on a block device; the devices of network file systems have no major number.
fn on_a_disk(file: &File) -> bool {
    #[cfg(target_os = "linux")]
    {
        let device = file
            .metadata()
            .map(|found| std::os::unix::fs::MetadataExt::dev(&found));
        device.is_ok_and(|device| (device >> 8) & 0xfff | (device >> 32) & !0xfff != 0)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_has_a_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let below = folder.path().join("made");
        let first = FolderLock::take(&below, "lock").expect("it is free");
        let second = FolderLock::take(&below, "lock").expect_err("it is taken");
        assert_eq!(second.kind(), ErrorKind::ResourceBusy);
        FolderLock::take(&below, "other").expect("another name is another lock");
        drop(first);
        FolderLock::take(&below, "lock").expect("it is free again");
    }

    #[test]
    #[cfg(unix)]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let [there, made] = ["there", "made"].map(|name| folder.path().join(name));
        std::fs::write(&there, "").expect("written");
        for target in [&there, &made] {
            let link = folder.path().join("lock");
            std::os::unix::fs::symlink(target, &link).expect("made");
            let refused = FolderLock::take(folder.path(), "lock").expect_err("it is a link");
            assert!(refused.to_string().contains("lock is a link"), "{refused}");
            fs::remove_file(link).expect("removed");
        }
        assert!(!made.exists());
        FolderLock::take(folder.path(), "lock").expect("it is free");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_lack_of_room_for_locks_is_no_lack_of_locks() {
        let (no_lock, denied) = (Error::from_raw_os_error(37), Error::from_raw_os_error(13));
        assert!(has_no_locks(&no_lock, false) && !has_no_locks(&no_lock, true));
        assert!(!has_no_locks(&denied, false));
        assert!(has_no_locks(&ErrorKind::Unsupported.into(), true));
        assert!(!on_a_disk(&File::open("/proc/self/stat").expect("there")));
    }
}
