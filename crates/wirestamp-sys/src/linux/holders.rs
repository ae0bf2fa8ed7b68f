//! Lock files that show programs who keeps a NIC's hardware timestamping on. The kernel releases the
//! locks of a program that ends in any way.
//!
//! Each interface has two files. The holder of the lock on the first may read or change the second
//! file and the NIC. Each program that keeps timestamping on has a shared lock on the second, which
//! also contains the record.

use crate::lock;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use wirestamp_core::backend::SharedHolders;
use wirestamp_core::interface::InterfaceDescription;
use wirestamp_core::{Error, ErrorKind, Result};

/// Belongs to root alone.
const FOLDER: &str = "/run/wirestamp";
/// A driver that resets its NIC takes up to some seconds.
const PATIENCE: Duration = Duration::from_secs(10);
const NAP: Duration = Duration::from_millis(5);
/// Of the file with the text; the rest is filled with zeros.
const LENGTH: usize = 512;

/// The number of the calling thread's network namespace.
pub(super) fn network() -> u64 {
    fs::metadata("/proc/thread-self/ns/net").map_or(0, |namespace| namespace.ino())
}

/// The lock files of `interface`; `None` if this program can't have them.
pub(super) fn open(interface: &InterfaceDescription) -> Option<Box<dyn SharedHolders>> {
    let network = network();
    if network == 0 {
        return None;
    }
    let stem = format!("hwtstamp-{network}-{}", interface.index.get());
    LockFiles::open_in(Path::new(FOLDER), &stem)
        .ok()
        .map(|files| Box::new(files) as Box<dyn SharedHolders>)
}

#[derive(Debug)]
struct LockFiles {
    turn_path: PathBuf,
    holders_path: PathBuf,
    turn: File,
    /// `None`: to be opened in the next turn.
    holders: Option<File>,
}

impl LockFiles {
    fn open_in(folder: &Path, stem: &str) -> io::Result<Self> {
        own_folder(folder)?;
        let (turn_path, holders_path) = (folder.join(format!("{stem}.turn")), folder.join(stem));
        let turn = opened(&turn_path)?;
        Ok(Self {
            turn_path,
            holders_path,
            turn,
            holders: None,
        })
    }

    /// Locks the file of turns, and the one that is there now: the last holder removes it.
    fn lock_turn(&mut self) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            match lock::try_lock(&self.turn) {
                Ok(true) if self.is_there() => return Ok(()),
                Ok(true) => {
                    self.turn = opened(&self.turn_path).map_err(|error| self.failed(&error))?;
                    self.holders = None; // removed with it
                }
                Ok(false) if Instant::now() < until => thread::sleep(NAP),
                Ok(false) => return Err(self.never_my_turn()),
                Err(error) => return Err(self.failed(&error)),
            }
        }
    }

    fn is_there(&self) -> bool {
        match (self.turn.metadata(), fs::metadata(&self.turn_path)) {
            (Ok(locked), Ok(there)) => (locked.dev(), locked.ino()) == (there.dev(), there.ino()),
            (_, Err(error)) => error.kind() != io::ErrorKind::NotFound, // a sandbox may forbid the question
            (Err(_), _) => false,
        }
    }

    fn holders(&self) -> Result<&File> {
        let closed = || self.failed(&io::Error::from(io::ErrorKind::NotFound));
        self.holders.as_ref().ok_or_else(closed)
    }

    fn failed(&self, error: &io::Error) -> Error {
        super::error::system_error(
            "share a NIC's hardware timestamping",
            self.holders_path.display(),
            error,
        )
    }

    fn never_my_turn(&self) -> Error {
        let cause =
            "another program is changing the NIC's hardware timestamping and does not finish";
        Error::new(
            ErrorKind::Busy,
            "share a NIC's hardware timestamping",
            self.turn_path.display(),
            cause,
        )
        .with_remedy("see which program has this file open, and end it")
    }
}

impl SharedHolders for LockFiles {
    fn begin_turn(&mut self) -> Result<()> {
        self.lock_turn()?;
        if self.holders.is_none() {
            match opened(&self.holders_path) {
                Ok(file) => self.holders = Some(file),
                Err(error) => {
                    self.end_turn();
                    return Err(self.failed(&error));
                }
            }
        }
        Ok(())
    }

    fn end_turn(&mut self) {
        // the lock ends with the file at the latest
        let _ = lock::unlock(&self.turn);
    }

    fn are_others(&mut self) -> Result<bool> {
        let holders = self.holders()?;
        let alone = lock::try_lock(holders).map_err(|error| self.failed(&error))?;
        if alone {
            lock::unlock(holders).map_err(|error| self.failed(&error))?;
        }
        Ok(!alone)
    }

    fn hold(&mut self) -> Result<()> {
        match lock::try_lock_shared(self.holders()?) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.failed(&io::ErrorKind::WouldBlock.into())),
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn release(&mut self) {
        if let Some(holders) = &self.holders {
            let _ = lock::unlock(holders);
        }
    }

    fn read(&mut self) -> Option<String> {
        let mut text = String::new();
        let mut file = self.holders.as_ref()?;
        file.seek(SeekFrom::Start(0)).ok()?;
        file.take(LENGTH as u64).read_to_string(&mut text).ok()?;
        text.truncate(text.trim_end_matches('\0').len());
        Some(text)
    }

    fn write(&mut self, text: &str) -> Result<()> {
        let mut file = self.holders()?;
        // filled up instead of cut: a sandbox may forbid that
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(LENGTH, 0);
        let written = file
            .seek(SeekFrom::Start(0))
            .and_then(|_| file.write_all(&bytes));
        written.map_err(|error| self.failed(&error))
    }

    fn clear(&mut self) {
        self.holders = None;
        for path in [&self.holders_path, &self.turn_path] {
            let _ = fs::remove_file(path); // an empty file harms nobody
        }
    }
}

fn opened(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

/// Makes a folder that only this user can write to; refuses one that is not so.
fn own_folder(folder: &Path) -> io::Result<()> {
    if fs::symlink_metadata(folder).is_err() {
        match DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    let found = fs::symlink_metadata(folder)?;
    let user = fs::metadata("/proc/self")?.uid();
    let is_own = found.is_dir() && found.uid() == user && found.mode() & 0o022 == 0;
    if is_own {
        Ok(())
    } else {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::env;
    use std::io::{BufRead, BufReader};
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Child, Command, Stdio};

    /// Set for a test that runs as another program.
    const VARIABLE: &str = "WIRESTAMP_TEST_HOLDS_IN";

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path =
                env::temp_dir().join(format!("wirestamp-holders-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            Self(path)
        }

        fn open(&self) -> LockFiles {
            LockFiles::open_in(&self.0, "one").expect("opened")
        }

        fn files(&self) -> usize {
            fs::read_dir(&self.0).expect("a folder").count()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// Holds, and says whether others did.
    fn join(files: &mut LockFiles) -> bool {
        files.begin_turn().expect("a turn");
        let others = files.are_others().expect("asked");
        files.hold().expect("held");
        files.end_turn();
        others
    }

    /// Releases, and says whether others hold; the last one clears.
    fn leave(files: &mut LockFiles) -> bool {
        files.begin_turn().expect("a turn");
        files.release();
        let others = files.are_others().expect("asked");
        if !others {
            files.clear();
        }
        files.end_turn();
        others
    }

    /// Another program that holds until it is killed.
    fn another_program(folder: &Folder) -> Child {
        let (_, here) = module_path!().split_once("::").expect("within the crate");
        let mut child = Command::new(env::current_exe().expect("a program"))
            .args(["--exact", "--nocapture"])
            .arg(format!("{here}::as_another_program"))
            .env(VARIABLE, &folder.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        assert!(
            lines.any(|line| line.is_ok_and(|line| line.contains("holding"))),
            "it holds"
        );
        child
    }

    #[test]
    fn as_another_program() {
        let Some(folder) = env::var_os(VARIABLE) else {
            return;
        };
        let mut files = LockFiles::open_in(Path::new(&folder), "one").expect("opened");
        join(&mut files);
        let _ = writeln!(io::stdout(), "\nholding");
        let _ = io::stdin().read(&mut [0]); // until it is killed, or our end of the pipe is closed
    }

    #[test]
    fn the_last_holder_knows_that_it_is_and_leaves_no_file() {
        let folder = Folder::new("last");
        let (mut first, mut second) = (folder.open(), folder.open());
        assert!(!join(&mut first));
        first.write("a longer text than the next").expect("written");
        first.write("what was found").expect("written");
        assert!(join(&mut second));
        assert_eq!(second.read().as_deref(), Some("what was found"));
        assert!(leave(&mut first), "the second still holds");
        assert_eq!(second.read().as_deref(), Some("what was found"));
        assert!(!leave(&mut second));
        assert_eq!(folder.files(), 0);
        assert!(!join(&mut first), "opened before the files were removed");
        assert!(join(&mut second));
        assert!(leave(&mut second) && !leave(&mut first));
    }

    #[test]
    fn only_one_has_a_turn() {
        let folder = Folder::new("turn");
        let (mut first, mut second) = (folder.open(), folder.open());
        first.begin_turn().expect("a turn");
        let waiting = thread::spawn(move || {
            second.begin_turn().expect("a turn");
            second.read()
        });
        thread::sleep(Duration::from_millis(50));
        assert!(!waiting.is_finished());
        first.write("done").expect("written");
        first.end_turn();
        assert_eq!(waiting.join().expect("no panic").as_deref(), Some("done"));
    }

    #[test]
    fn a_killed_program_holds_no_longer() {
        let folder = Folder::new("killed");
        let mut child = another_program(&folder);
        let mut ours = folder.open();
        assert!(join(&mut ours), "the other program holds");
        child.kill().expect("killed");
        child.wait().expect("ended");
        assert!(!leave(&mut ours), "nobody is left");

        let mut child = another_program(&folder);
        assert!(join(&mut ours));
        assert!(leave(&mut ours), "the other program still holds");
        child.kill().expect("killed");
        child.wait().expect("ended");
        assert!(!join(&mut ours));
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_not_used() {
        let folder = Folder::new("writable");
        drop(folder.open());
        fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o777)).expect("changed");
        LockFiles::open_in(&folder.0, "one").expect_err("anyone could lock");
    }
}
