//! The Unix socket that serves the status of a running clock. Only the user who runs the clock can
//! open it: its folder has mode 0700, and no other user can replace a folder in its path. Linux
//! only.

use crate::report::Status;
use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use wirestamp::{Error, ErrorKind, Result};
use wirestamp_sys::lock;

/// The time in which a client must read the answer.
const PATIENCE: Duration = Duration::from_millis(100);
/// The longest answer that is read, in octets.
const LONGEST: u64 = 1 << 20;
/// How long to wait for another clock that is starting or ending.
const TURN: Duration = Duration::from_secs(2);
/// The number of sockets that this process has opened, so that temporary names are unique.
static OPENED: AtomicU32 = AtomicU32::new(0);
const PREFIX: &str = "ptp-";
const SUFFIX: &str = ".sock";

/// A server of a clock's status, until it is dropped.
#[derive(Debug)]
pub struct StatusServer {
    listener: UnixListener,
    path: PathBuf,
    /// The device and inode of the socket: a file that has replaced it must not be removed.
    identity: (u64, u64),
}

impl StatusServer {
    /// Opens the status socket of the clock whose first interface is `interface`.
    ///
    /// # Errors
    /// `Busy` if another clock of this interface is running; `NotPermitted` if the folder belongs
    /// to another user or others can open it; `Io`.
    pub fn open(interface: &str) -> Result<Self> {
        Self::open_in(&folder()?, interface)
    }

    /// Returns the folder of this user's status sockets, and creates it if necessary.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn folder() -> Result<PathBuf> {
        folder()
    }

    fn open_in(folder: &Path, interface: &str) -> Result<Self> {
        const OPERATION: &str = "open the status socket";
        let path = folder.join(format!("{PREFIX}{interface}{SUFFIX}"));
        let failed = |error: io::Error| told(OPERATION, &path, &error);
        let busy = |cause: &'static str| {
            Err(
                Error::new(ErrorKind::Busy, OPERATION, path.display(), cause)
                    .with_remedy("end it, or use another interface"),
            )
        };
        // no other process may do the same between the check and the rename
        let Some(_turn) = turn(folder).map_err(failed)? else {
            return busy("another clock starts there");
        };
        if UnixStream::connect(&path).is_ok() {
            return busy("another clock answers there");
        }
        if fs::symlink_metadata(&path).is_ok_and(|found| !found.file_type().is_socket()) {
            return Err(failed(io::ErrorKind::AlreadyExists.into()));
        }
        let number = OPENED.fetch_add(1, Ordering::Relaxed);
        let new = folder.join(format!(".{}-{number}", std::process::id()));
        let bound = Self::bind(&new, &path);
        if bound.is_err() {
            let _ = fs::remove_file(&new);
        }
        let (listener, identity) = bound.map_err(failed)?;
        Ok(Self {
            listener,
            path,
            identity,
        })
    }

    /// Binds a socket at `new` and renames it to `path`, replacing one that was left behind.
    fn bind(new: &Path, path: &Path) -> io::Result<(UnixListener, (u64, u64))> {
        if fs::symlink_metadata(new).is_ok() {
            fs::remove_file(new)?; // left behind by a process with the same ID
        }
        let listener = UnixListener::bind(new)?;
        fs::set_permissions(new, Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        let identity = identity(&fs::symlink_metadata(new)?);
        fs::rename(new, path)?;
        Ok((listener, identity))
    }

    /// Answers pending requests without waiting.
    pub fn answer(&self, status: impl FnOnce() -> Status) {
        let Ok((mut stream, _)) = self.listener.accept() else {
            return;
        };
        let text = serde_json::to_string(&status()).unwrap_or_default();
        // a client that has gone away gets no answer
        let _ = stream
            .set_write_timeout(Some(PATIENCE))
            .and_then(|()| stream.write_all(text.as_bytes()));
    }
}

impl Drop for StatusServer {
    fn drop(&mut self) {
        let _turn = self
            .path
            .parent()
            .and_then(|folder| turn(folder).ok().flatten());
        if fs::symlink_metadata(&self.path).is_ok_and(|found| identity(&found) == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

/// Locks `folder` for changes until the result is dropped; `None` if another process keeps the
/// lock.
fn turn(folder: &Path) -> io::Result<Option<File>> {
    let (file, begun) = (File::open(folder)?, Instant::now());
    while !lock::try_lock(&file)? {
        if begun.elapsed() >= TURN {
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(Some(file))
}

/// Returns the status of a running clock of this user as JSON: that of `interface`, or the only
/// one.
///
/// # Errors
/// `NoSuchDevice` if none is running; `InvalidInput` if several are and `interface` is `None`;
/// `Io`.
pub fn ask(interface: Option<&str>) -> Result<String> {
    ask_in(&folder()?, interface)
}

fn ask_in(folder: &Path, interface: Option<&str>) -> Result<String> {
    const OPERATION: &str = "ask a running PTP clock";
    let path = match interface {
        Some(interface) => folder.join(format!("{PREFIX}{interface}{SUFFIX}")),
        None => only_one(folder)?,
    };
    let mut text = String::new();
    let asked = UnixStream::connect(&path).and_then(|stream| {
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.take(LONGEST).read_to_string(&mut text)
    });
    match asked {
        Ok(_) => Ok(text),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
            ) =>
        {
            let target = interface.map_or_else(|| path.display().to_string(), str::to_owned);
            Err(Error::new(
                ErrorKind::NoSuchDevice,
                OPERATION,
                target,
                "none of this user's runs there",
            )
            .with_remedy("start one: wirestamp ptp IFACE"))
        }
        Err(error) => Err(told(OPERATION, &path, &error)),
    }
}

fn only_one(folder: &Path) -> Result<PathBuf> {
    const OPERATION: &str = "ask a running PTP clock";
    let entries = fs::read_dir(folder).map_err(|error| told(OPERATION, folder, &error))?;
    let mut found: Vec<_> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| name_of(path).is_some())
        .collect();
    found.sort();
    match found.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(Error::new(
            ErrorKind::NoSuchDevice,
            OPERATION,
            folder.display(),
            "none of this user's runs",
        )
        .with_remedy("start one: wirestamp ptp IFACE")),
        several => {
            let names: Vec<_> = several.iter().filter_map(|path| name_of(path)).collect();
            Err(Error::new(
                ErrorKind::InvalidInput,
                OPERATION,
                folder.display(),
                "several run",
            )
            .with_remedy(format!("name one of: {}", names.join(", "))))
        }
    }
}

fn name_of(path: &Path) -> Option<&str> {
    path.file_name()?
        .to_str()?
        .strip_prefix(PREFIX)?
        .strip_suffix(SUFFIX)
}

/// Returns the folder of this user's sockets, and creates it if necessary.
fn folder() -> Result<PathBuf> {
    let user = fs::metadata("/proc/self")
        .map_err(|error| told("find this user", Path::new("/proc/self"), &error))?
        .uid();
    let runtime = std::env::var_os("XDG_RUNTIME_DIR")
        .filter(|folder| !folder.is_empty())
        .map(PathBuf::from);
    let folder = place(runtime, &std::env::temp_dir(), user);
    own_folder(&folder, user)?;
    Ok(folder)
}

/// Returns the path of that folder. `sudo` may pass on the calling user's variable: their folder,
/// in which they can replace ours at any time, is not used.
fn place(runtime: Option<PathBuf>, temporary: &Path, user: u32) -> PathBuf {
    let runtime =
        runtime.filter(|folder| fs::metadata(folder).is_ok_and(|found| found.uid() == user));
    match runtime {
        Some(runtime) => runtime.join("wirestamp"),
        None if user == 0 => PathBuf::from("/run/wirestamp"),
        None => temporary.join(format!("wirestamp-{user}")),
    }
}

/// Creates a folder that only `user` can enter. Fails if others can enter or replace an existing
/// one.
fn own_folder(folder: &Path, user: u32) -> Result<()> {
    const OPERATION: &str = "use the folder of status sockets";
    let failed = |error: io::Error| told(OPERATION, folder, &error);
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    let found = fs::symlink_metadata(folder).map_err(failed)?;
    if !found.is_dir() || found.uid() != user || found.mode() & 0o077 != 0 {
        let cause = "it is no folder that belongs to this user alone";
        return Err(
            Error::new(ErrorKind::NotPermitted, OPERATION, folder.display(), cause)
                .with_remedy("remove it, or give it mode 0700"),
        );
    }
    let real = fs::canonicalize(folder).map_err(failed)?;
    for above in real.ancestors().skip(1) {
        if !keeps_its_entries(&fs::metadata(above).map_err(failed)?, user) {
            let cause = format!(
                "others than this user can replace what is in {}",
                above.display()
            );
            return Err(
                Error::new(ErrorKind::NotPermitted, OPERATION, folder.display(), cause)
                    .with_remedy(
                        "set XDG_RUNTIME_DIR to a folder of this user, in folders of root",
                    ),
            );
        }
    }
    Ok(())
}

/// Whether only root and `user` can rename or remove entries of `user` in this folder.
fn keeps_its_entries(folder: &Metadata, user: u32) -> bool {
    const STICKY: u32 = 0o1000;
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    let is_trusted = folder.uid() == 0 || folder.uid() == user;
    is_trusted && (folder.mode() & WRITABLE_BY_OTHERS == 0 || folder.mode() & STICKY != 0)
}

fn told(operation: &'static str, path: &Path, error: &io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::PermissionDenied => ErrorKind::NotPermitted,
        _ => ErrorKind::Io,
    };
    Error::new(kind, operation, path.display(), error.to_string()).with_system(error)
}

#[cfg(test)]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
mod tests {
    use super::*;
    use crate::message::PortIdentity;
    use wirestamp::UtcTime;

    fn status() -> Status {
        let nobody = PortIdentity::default();
        Status {
            time: UtcTime::from_nanoseconds(1),
            identity: nobody,
            time_transmitter: None,
            grandmaster: nobody,
            steps_removed: 0,
            ports: Vec::new(),
            agreement: crate::trust::Agreement::Single,
            sources: Vec::new(),
        }
    }

    struct Scratch(PathBuf);

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn scratch(name: &str) -> Scratch {
        let folder =
            std::env::temp_dir().join(format!("wirestamp-status-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        Scratch(folder)
    }

    #[test]
    fn answers_its_owner_and_leaves_nothing_behind() {
        let Scratch(folder) = &scratch("answers");
        let user = fs::metadata("/proc/self").expect("Linux").uid();
        own_folder(folder, user).expect("made");
        assert_eq!(
            ask_in(folder, None).map_err(|error| error.kind()),
            Err(ErrorKind::NoSuchDevice)
        );
        let server = StatusServer::open_in(folder, "eth0").expect("opened");
        assert_eq!(
            fs::metadata(&server.path).expect("there").mode() & 0o777,
            0o600
        );
        assert_eq!(fs::metadata(folder).expect("there").mode() & 0o777, 0o700);
        let answered = std::thread::scope(|scope| {
            let asking = scope.spawn(|| ask_in(folder, None));
            while !asking.is_finished() {
                server.answer(status);
                std::thread::yield_now();
            }
            asking.join().expect("no panic")
        });
        let answer: serde_json::Value =
            serde_json::from_str(&answered.expect("answered")).expect("JSON");
        assert_eq!(answer["time_transmitter"], serde_json::Value::Null);
        drop(server);
        assert_eq!(fs::read_dir(folder).expect("there").count(), 0);
    }

    #[test]
    fn one_that_was_killed_makes_room_and_one_that_runs_does_not() {
        let Scratch(folder) = &scratch("room");
        let user = fs::metadata("/proc/self").expect("Linux").uid();
        own_folder(folder, user).expect("made");
        // a killed program leaves its file without a listener
        drop(UnixListener::bind(folder.join("ptp-eth0.sock")).expect("bound"));
        let server = StatusServer::open_in(folder, "eth0").expect("takes over");
        assert_eq!(
            StatusServer::open_in(folder, "eth0")
                .map_err(|error| error.kind())
                .err(),
            Some(ErrorKind::Busy)
        );
        drop(server);
    }

    #[test]
    fn a_folder_that_others_can_enter_is_refused() {
        let Scratch(folder) = &scratch("others");
        fs::create_dir(folder).expect("made");
        fs::set_permissions(folder, Permissions::from_mode(0o755)).expect("set");
        let user = fs::metadata("/proc/self").expect("Linux").uid();
        assert_eq!(
            own_folder(folder, user).map_err(|error| error.kind()),
            Err(ErrorKind::NotPermitted)
        );
        fs::set_permissions(folder, Permissions::from_mode(0o700)).expect("set");
        assert_eq!(
            own_folder(folder, user.wrapping_add(1)).map_err(|error| error.kind()),
            Err(ErrorKind::NotPermitted)
        );
        own_folder(folder, user).expect("ours alone now");
    }

    #[test]
    fn a_folder_that_others_can_replace_is_refused() {
        let Scratch(above) = &scratch("replace");
        let user = fs::metadata("/proc/self").expect("Linux").uid();
        fs::create_dir(above).expect("made");
        let folder = above.join("wirestamp");
        for (mode, expected) in [
            (0o755, Ok(())),
            (0o777, Err(ErrorKind::NotPermitted)),
            (0o1777, Ok(())),
        ] {
            fs::set_permissions(above, Permissions::from_mode(mode)).expect("set");
            assert_eq!(
                own_folder(&folder, user).map_err(|error| error.kind()),
                expected,
                "{mode:o}"
            );
        }
        if user != 0 {
            assert!(
                std::env::var_os("WIRESTAMP_NO_SKIP").is_none(),
                "skipped, but nothing may be missing here"
            );
            eprintln!("skipped: only root can give a folder away");
            return;
        }
        // as `sudo` with the XDG_RUNTIME_DIR of the user who calls it
        fs::set_permissions(above, Permissions::from_mode(0o700)).expect("set");
        std::os::unix::fs::chown(above, Some(65_534), None).expect("given away");
        assert_eq!(
            own_folder(&folder, user).map_err(|error| error.kind()),
            Err(ErrorKind::NotPermitted)
        );
    }

    #[test]
    fn a_runtime_folder_of_another_user_is_not_used() {
        let Scratch(runtime) = &scratch("runtime");
        fs::create_dir(runtime).expect("made");
        let user = fs::metadata("/proc/self").expect("Linux").uid();
        let placed = |user| place(Some(runtime.clone()), Path::new("/temporary"), user);
        assert_eq!(placed(user), runtime.join("wirestamp"));
        if user != 0 {
            assert_eq!(placed(0), Path::new("/run/wirestamp"));
        }
        assert_eq!(
            placed(user + 1),
            Path::new(&format!("/temporary/wirestamp-{}", user + 1))
        );
        assert_eq!(
            place(None, Path::new("/temporary"), 0),
            Path::new("/run/wirestamp")
        );
    }

    /// Each looks for another one, removes what is there and binds: only one may get through.
    #[test]
    fn of_many_that_start_at_once_one_gets_the_socket() {
        let Scratch(folder) = &scratch("many");
        let user = fs::metadata("/proc/self").expect("Linux").uid();
        own_folder(folder, user).expect("made");
        for round in 0..20 {
            let start = std::sync::Barrier::new(8);
            let opened: Vec<_> = thread::scope(|scope| {
                let open = || {
                    start.wait();
                    StatusServer::open_in(folder, "eth0")
                };
                let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
                threads
                    .into_iter()
                    .filter_map(|thread| thread.join().expect("no panic").ok())
                    .collect()
            });
            assert_eq!(opened.len(), 1, "round {round}");
        }
    }

    #[test]
    fn a_socket_of_another_one_is_not_removed() {
        let Scratch(folder) = &scratch("another");
        let user = fs::metadata("/proc/self").expect("Linux").uid();
        own_folder(folder, user).expect("made");
        let server = StatusServer::open_in(folder, "eth0").expect("opened");
        fs::remove_file(&server.path).expect("there"); // by hand
        let another = StatusServer::open_in(folder, "eth0").expect("opened");
        drop(server);
        assert!(another.path.exists());
    }
}
