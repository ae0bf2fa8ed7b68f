//! Owns the local socket by which a running clock is asked how it is. Only the user who runs
//! it can open it: its folder has mode 0700, itself 0600. Populated on: Linux.

use crate::report::Status;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;
use wirestamp::{Error, ErrorKind, Result};

/// Whoever does not read the answer in time does not get it.
const PATIENCE: Duration = Duration::from_millis(100);
/// Answers longer than this are not read.
const LONGEST: u64 = 1 << 20;
const PREFIX: &str = "ptp-";
const SUFFIX: &str = ".sock";

/// Answers on the socket until it is dropped.
#[derive(Debug)]
pub struct StatusServer {
    listener: UnixListener,
    path: PathBuf,
}

impl StatusServer {
    /// Opens the socket of the clock whose first interface is called `interface`.
    ///
    /// # Errors
    /// `Busy` if a clock of this interface answers already; `NotPermitted` if the folder belongs
    /// to somebody else or others can open it; `Io`.
    pub fn open(interface: &str) -> Result<Self> {
        Self::open_in(&folder()?, interface)
    }

    fn open_in(folder: &Path, interface: &str) -> Result<Self> {
        const OPERATION: &str = "open the status socket";
        let path = folder.join(format!("{PREFIX}{interface}{SUFFIX}"));
        let failed = |error: io::Error| told(OPERATION, &path, &error);
        if UnixStream::connect(&path).is_ok() {
            return Err(Error::new(ErrorKind::Busy, OPERATION, path.display(), "another clock answers there")
                .with_remedy("end it, or use another interface"));
        }
        if fs::symlink_metadata(&path).is_ok_and(|found| found.file_type().is_socket()) {
            fs::remove_file(&path).map_err(failed)?; // left behind by one that was killed
        }
        let listener = UnixListener::bind(&path).map_err(failed)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self { listener, path })
    }

    /// Answers whoever asks now; waits for nobody.
    pub fn answer(&self, status: impl FnOnce() -> Status) {
        let Ok((mut stream, _)) = self.listener.accept() else { return };
        let text = serde_json::to_string(&status()).unwrap_or_default();
        // who asked and went away is not told
        let _ = stream.set_write_timeout(Some(PATIENCE)).and_then(|()| stream.write_all(text.as_bytes()));
    }
}

impl Drop for StatusServer {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Asks a running clock of this user: that of `interface`, or the only one. Returns its
/// status as JSON.
///
/// # Errors
/// `NoSuchDevice` if none runs; `InvalidInput` if several do and none was named; `Io`.
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
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            let target = interface.map_or_else(|| path.display().to_string(), str::to_owned);
            Err(Error::new(ErrorKind::NoSuchDevice, OPERATION, target, "none of this user's runs there")
                .with_remedy("start one: wirestamp ptp IFACE"))
        }
        Err(error) => Err(told(OPERATION, &path, &error)),
    }
}

fn only_one(folder: &Path) -> Result<PathBuf> {
    const OPERATION: &str = "ask a running PTP clock";
    let entries = fs::read_dir(folder).map_err(|error| told(OPERATION, folder, &error))?;
    let mut found: Vec<_> =
        entries.flatten().map(|entry| entry.path()).filter(|path| name_of(path).is_some()).collect();
    found.sort();
    match found.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(Error::new(ErrorKind::NoSuchDevice, OPERATION, folder.display(), "none of this user's runs")
            .with_remedy("start one: wirestamp ptp IFACE")),
        several => {
            let names: Vec<_> = several.iter().filter_map(|path| name_of(path)).collect();
            Err(Error::new(ErrorKind::InvalidInput, OPERATION, folder.display(), "several run")
                .with_remedy(format!("name one of: {}", names.join(", "))))
        }
    }
}

fn name_of(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()?.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)
}

/// The folder of this user's sockets, made if it is not there.
fn folder() -> Result<PathBuf> {
    let user =
        fs::metadata("/proc/self").map_err(|error| told("find this user", Path::new("/proc/self"), &error))?.uid();
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty());
    let folder = match runtime {
        Some(runtime) => PathBuf::from(runtime).join("wirestamp"),
        None if user == 0 => PathBuf::from("/run/wirestamp"),
        None => std::env::temp_dir().join(format!("wirestamp-{user}")),
    };
    own_folder(&folder, user)?;
    Ok(folder)
}

/// Makes a folder that only `user` can enter; refuses one that is not so.
fn own_folder(folder: &Path, user: u32) -> Result<()> {
    const OPERATION: &str = "use the folder of status sockets";
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(told(OPERATION, folder, &error)),
        _ => {}
    }
    let found = fs::symlink_metadata(folder).map_err(|error| told(OPERATION, folder, &error))?;
    if !found.is_dir() || found.uid() != user || found.mode() & 0o077 != 0 {
        let cause = "it is no folder that belongs to this user alone";
        return Err(Error::new(ErrorKind::NotPermitted, OPERATION, folder.display(), cause)
            .with_remedy("remove it, or give it mode 0700"));
    }
    Ok(())
}

fn told(operation: &'static str, path: &Path, error: &io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::PermissionDenied => ErrorKind::NotPermitted,
        _ => ErrorKind::Io,
    };
    let described = Error::new(kind, operation, path.display(), error.to_string());
    error.raw_os_error().map_or(described.clone(), |code| described.with_code(code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::PortIdentity;
    use wirestamp::WallTime;

    fn status() -> Status {
        let nobody = PortIdentity::default();
        Status {
            time: WallTime::from_nanoseconds(1),
            identity: nobody,
            transmitter: None,
            grandmaster: nobody,
            steps_removed: 0,
            ports: Vec::new(),
        }
    }

    struct Scratch(PathBuf);

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn scratch(name: &str) -> Scratch {
        let folder = std::env::temp_dir().join(format!("wirestamp-status-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        Scratch(folder)
    }

    #[test]
    fn answers_its_owner_and_leaves_nothing_behind() {
        let Scratch(folder) = &scratch("answers");
        let user = fs::metadata("/proc/self").expect("Linux").uid();
        own_folder(folder, user).expect("made");
        assert_eq!(ask_in(folder, None).map_err(|error| error.kind()), Err(ErrorKind::NoSuchDevice));
        let server = StatusServer::open_in(folder, "eth0").expect("opened");
        assert_eq!(fs::metadata(&server.path).expect("there").mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(folder).expect("there").mode() & 0o777, 0o700);
        let answered = std::thread::scope(|scope| {
            let asking = scope.spawn(|| ask_in(folder, None));
            while !asking.is_finished() {
                server.answer(status);
                std::thread::yield_now();
            }
            asking.join().expect("no panic")
        });
        let answer: serde_json::Value = serde_json::from_str(&answered.expect("answered")).expect("JSON");
        assert_eq!(answer["transmitter"], serde_json::Value::Null);
        drop(server);
        assert_eq!(fs::read_dir(folder).expect("there").count(), 0);
    }

    #[test]
    fn one_that_was_killed_makes_room_and_one_that_runs_does_not() {
        let Scratch(folder) = &scratch("room");
        let user = fs::metadata("/proc/self").expect("Linux").uid();
        own_folder(folder, user).expect("made");
        // what a killed one leaves: the file, and nobody behind it
        drop(UnixListener::bind(folder.join("ptp-eth0.sock")).expect("bound"));
        let server = StatusServer::open_in(folder, "eth0").expect("takes over");
        assert_eq!(StatusServer::open_in(folder, "eth0").map_err(|error| error.kind()).err(), Some(ErrorKind::Busy));
        drop(server);
    }

    #[test]
    fn a_folder_that_others_can_enter_is_refused() {
        let Scratch(folder) = &scratch("others");
        fs::create_dir(folder).expect("made");
        fs::set_permissions(folder, Permissions::from_mode(0o755)).expect("set");
        let user = fs::metadata("/proc/self").expect("Linux").uid();
        assert_eq!(own_folder(folder, user).map_err(|error| error.kind()), Err(ErrorKind::NotPermitted));
        fs::set_permissions(folder, Permissions::from_mode(0o700)).expect("set");
        assert_eq!(
            own_folder(folder, user.wrapping_add(1)).map_err(|error| error.kind()),
            Err(ErrorKind::NotPermitted)
        );
        own_folder(folder, user).expect("ours alone now");
    }
}
