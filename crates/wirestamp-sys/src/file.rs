//! One way to read a file that a user names: in bounded memory and time, whatever the name leads to.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read as _, Result};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How often a file is read again that changed while it was read.
const AGAIN: u32 = 3;
/// How long a pipe is waited for, and how often it is looked at.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(5);

/// Reads a file as [`read_octets`] does, as text.
///
/// # Errors
/// As [`read_octets`]; `InvalidData` if it is no UTF-8.
pub fn read_text(path: &Path, most: u64) -> Result<String> {
    let wrong = |_| Error::new(ErrorKind::InvalidData, "it is no text in UTF-8");
    String::from_utf8(read_octets(path, most)?).map_err(wrong)
}

/// Reads a file, or a pipe such as the shell's `<(...)`, of at most `most` bytes. `/dev/null` is an empty file.
///
/// # Errors
/// `FileTooLarge`; `InvalidInput` for any other device, a folder or a socket; `TimedOut` for a named pipe into which nobody
/// writes; `Interrupted` for a file that somebody keeps writing; those of the system.
pub fn read_octets(path: &Path, most: u64) -> Result<Vec<u8>> {
    for _ in 0..AGAIN {
        let (mut file, kind) = open(path)?;
        let octets = match kind {
            Kind::File => read(&mut file, most)?,
            Kind::Pipe => read_pipe(&mut file, most)?,
            Kind::Null => return Ok(Vec::new()),
        };
        let length = file.metadata()?.len();
        // those of /proc have no length
        if length == 0 || length == octets.len() as u64 {
            return Ok(octets);
        }
    }
    let cause = "it changed while it was read";
    Err(Error::new(ErrorKind::Interrupted, cause))
}

/// What can be read.
enum Kind {
    File,
    #[cfg_attr(not(unix), allow(dead_code, reason = "there are no pipes among files"))]
    Pipe,
    /// The device that is empty: how people say "none".
    #[cfg_attr(not(unix), allow(dead_code, reason = "it has no device"))]
    Null,
}

fn open(path: &Path) -> Result<(File, Kind)> {
    let mut options = OpenOptions::new();
    options.read(true);
    // a pipe without a writer, or a terminal, must not hold the program
    #[cfg(target_os = "linux")]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        libc::O_NONBLOCK | libc::O_NOCTTY,
    );
    let file = options.open(path)?;
    let found = file.metadata()?;
    if found.is_file() {
        return Ok((file, Kind::File));
    }
    #[cfg(unix)]
    if let Some(kind) = special(&found) {
        return Ok((file, kind));
    }
    let what = if found.is_dir() {
        "a folder"
    } else {
        "a device"
    };
    let cause = format!("it is {what}, not a file");
    Err(Error::new(ErrorKind::InvalidInput, cause))
}

#[cfg(unix)]
fn special(found: &std::fs::Metadata) -> Option<Kind> {
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    let is_null = || std::fs::metadata("/dev/null").is_ok_and(|null| null.rdev() == found.rdev());
    let kind = found.file_type();
    match kind.is_fifo() {
        true => Some(Kind::Pipe),
        false => (kind.is_char_device() && is_null()).then_some(Kind::Null),
    }
}

fn read(file: &mut File, most: u64) -> Result<Vec<u8>> {
    let mut octets = Vec::new();
    file.by_ref().take(most + 1).read_to_end(&mut octets)?;
    bounded(octets, most)
}

fn read_pipe(file: &mut File, most: u64) -> Result<Vec<u8>> {
    let (begun, mut octets) = (Instant::now(), Vec::new());
    let is_named = !is_unnamed(file);
    while octets.len() as u64 <= most {
        let left = most + 1 - octets.len() as u64;
        match file.by_ref().take(left).read_to_end(&mut octets) {
            // without a writer yet it looks as if it had ended; one without a name has had its writer
            Ok(0) if octets.is_empty() && is_named => {
                if begun.elapsed() >= PATIENCE {
                    let cause = "nobody writes into this pipe";
                    return Err(Error::new(ErrorKind::TimedOut, cause));
                }
                thread::sleep(LOOK);
            }
            Ok(_) => break,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if begun.elapsed() >= PATIENCE {
                    let cause = "nobody ends what is written into this pipe";
                    return Err(Error::new(ErrorKind::TimedOut, cause));
                }
                thread::sleep(LOOK);
            }
            Err(error) => return Err(error),
        }
    }
    bounded(octets, most)
}

/// Whether it is a pipe that no path leads to but those of processes which have it, such as the shell's `<(...)`.
fn is_unnamed(file: &File) -> bool {
    #[cfg(target_os = "linux")]
    {
        let number = std::os::fd::AsRawFd::as_raw_fd(file);
        let name = std::fs::read_link(format!("/proc/self/fd/{number}"));
        name.is_ok_and(|name| name.as_os_str().as_encoded_bytes().starts_with(b"pipe:["))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        false
    }
}

fn bounded(octets: Vec<u8>, most: u64) -> Result<Vec<u8>> {
    if octets.len() as u64 > most {
        let cause = format!("it has more than {most} bytes");
        return Err(Error::new(ErrorKind::FileTooLarge, cause));
    }
    Ok(octets)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;
    use std::process::{Command, Stdio};

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("wirestamp-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("made");
        folder
    }

    #[test]
    fn a_file_has_a_limit_and_no_device_is_one() {
        let folder = folder("read-text");
        let file = folder.join("file");
        fs::write(&file, "ä234").expect("written");
        assert_eq!(read_text(&file, 5).expect("it is short"), "ä234");
        let kind = |path: &Path, most| read_text(path, most).expect_err("refused").kind();
        assert_eq!(kind(&file, 4), ErrorKind::FileTooLarge);
        fs::write(&file, [0xff]).expect("written");
        assert_eq!(kind(&file, 4), ErrorKind::InvalidData);
        assert_eq!(kind(&folder.join("none"), 4), ErrorKind::NotFound);
        assert_eq!(read_text(Path::new("/dev/null"), 4).expect("none"), "");
        for device in ["/dev/zero", "/dev/tty", "/"] {
            let kind = kind(Path::new(device), 1 << 20);
            // a process without a terminal has no /dev/tty
            let has_none = device == "/dev/tty" && kind != ErrorKind::InvalidInput;
            assert!(
                kind == ErrorKind::InvalidInput || has_none,
                "{device}: {kind:?}"
            );
        }
        assert!(read_text(Path::new("/proc/self/status"), 1 << 20).is_ok());
        assert_eq!(
            kind(Path::new("/proc/self/smaps"), 100),
            ErrorKind::FileTooLarge
        );
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn a_pipe_is_read_to_its_end_and_not_waited_for_without_end() {
        let folder = folder("read-pipe");
        let mut child = Command::new("sh")
            .args(["-c", "sleep 0.1; echo one; sleep 0.1; echo two"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let pipe = child.stdout.take().expect("a pipe");
        let path = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&pipe));
        assert_eq!(
            read_text(Path::new(&path), 100).expect("it ends"),
            "one\ntwo\n"
        );
        child.wait().expect("it ended");
        // its writer has ended without a word
        let mut child = Command::new("true")
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let pipe = child.stdout.take().expect("a pipe");
        child.wait().expect("it ended");
        let path = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&pipe));
        assert_eq!(read_text(Path::new(&path), 100).expect("it has ended"), "");
        let fifo = folder.join("fifo");
        let made = Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .expect("coreutils");
        assert!(made.success());
        // nobody writes
        let kind = read_text(&fifo, 100).expect_err("nobody writes").kind();
        assert_eq!(kind, ErrorKind::TimedOut);
        // somebody holds it open, and writes nothing
        let held = OpenOptions::new().read(true).write(true).open(&fifo);
        let kind = read_text(&fifo, 100).expect_err("it never ends").kind();
        assert_eq!(kind, ErrorKind::TimedOut);
        drop(held);
        fs::remove_dir_all(folder).expect("removed");
    }
}
