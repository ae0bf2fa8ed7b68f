//! The monitor's log lines in systemd's journal: a socket of this test stands where journald's is, in a mount namespace of the program's own.
//! Skipped without root.

#![cfg(all(target_os = "linux", feature = "monitor"))]
#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::linux::fs::MetadataExt as _;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);
/// In a namespace of its own, the folder is where journald has its socket.
const MOUNT: &str = "mount -t tmpfs none /run && mkdir -p /run/systemd/journal && mount --bind \"$0\" /run/systemd/journal && exec \"$@\"";

/// A folder with the journal's socket; `None`, which is said, without root.
fn journal() -> Option<(tempfile::TempDir, UnixDatagram)> {
    let may_mount = Command::new("unshare")
        .args(["--mount", "true"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !may_mount {
        eprintln!("skipped: journal: a mount namespace needs root");
        assert!(std::env::var_os("WIRESTAMP_NO_SKIP").is_none());
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let journal = UnixDatagram::bind(folder.path().join("socket")).expect("bound");
    journal.set_nonblocking(true).expect("set");
    Some((folder, journal))
}

/// A line of the journal: the fields of a datagram (systemd's "Journal Native Protocol").
fn fields(datagram: &[u8]) -> BTreeMap<String, String> {
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    let (mut rest, mut found) = (datagram, BTreeMap::new());
    while let Some(end) = rest.iter().position(|octet| *octet == b'\n') {
        let (line, after) = (&rest[..end], &rest[end + 1..]);
        match line.iter().position(|octet| *octet == b'=') {
            Some(place) => {
                found.insert(text(&line[..place]), text(&line[place + 1..]));
                rest = after;
            }
            None => {
                let length: [u8; 8] = after[..8].try_into().expect("a length");
                let length = u64::from_le_bytes(length) as usize;
                found.insert(text(line), text(&after[8..8 + length]));
                rest = &after[8 + length + 1..];
            }
        }
    }
    found
}

/// Runs a monitor that fails to find an interface; its standard error is a socket, which the variable may name. Returns what came on it.
fn run(folder: &Path, is_named: bool) -> String {
    let (mut ours, theirs) = UnixStream::pair().expect("a pair");
    let theirs = File::from(OwnedFd::from(theirs));
    let own = theirs.metadata().expect("known");
    let inode = own.st_ino() + u64::from(!is_named);
    let configuration = folder.join("monitor.toml");
    let text = "[http]\nenabled = false\n[[path]]\ninterface = \"nowhere0\"\n";
    std::fs::write(&configuration, text).expect("written");
    let status = Command::new("unshare")
        .args(["--mount", "sh", "-c", MOUNT])
        .arg(folder)
        .arg(env!("CARGO_BIN_EXE_wirestamp"))
        .args(["monitor", "--for", "1s", "--config"])
        .arg(&configuration)
        .env("JOURNAL_STREAM", format!("{}:{inode}", own.st_dev()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(theirs)
        .status()
        .expect("it runs");
    assert!(status.success(), "{status}");
    let mut said = String::new();
    ours.set_read_timeout(Some(LONG)).expect("set");
    ours.read_to_string(&mut said).expect("the program ended");
    said
}

#[test]
fn events_are_in_the_journal_with_their_fields() {
    let Some((folder, journal)) = journal() else {
        return;
    };
    let lines = || {
        let mut buffer = [0; 65_536];
        let read = std::iter::from_fn(|| {
            journal
                .recv(&mut buffer)
                .ok()
                .map(|length| fields(&buffer[..length]))
        });
        read.filter(|line| !line.is_empty()).collect::<Vec<_>>()
    };

    let said = run(folder.path(), true);
    assert_eq!(said, "", "all of it is in the journal");
    let lines = lines();
    let failed = lines
        .iter()
        .find(|line| {
            line.get("WIRESTAMP_KIND")
                .is_some_and(|kind| kind == "task_failed")
        })
        .unwrap_or_else(|| panic!("{lines:?}"));
    assert_eq!(failed["WIRESTAMP_SUBJECT"], "nowhere0");
    assert_eq!(failed["PRIORITY"], "4", "a warning");
    assert_eq!(failed["SYSLOG_IDENTIFIER"], "wirestamp");
    assert!(failed["MESSAGE"].contains("nowhere0"), "{failed:?}");
}

#[test]
fn a_standard_error_that_is_redirected_has_the_lines() {
    let Some((folder, journal)) = journal() else {
        return;
    };
    // the variable is of the service that started this one
    let said = run(folder.path(), false);
    assert!(said.contains("nowhere0"), "{said}");
    assert!(
        journal.recv(&mut [0; 16]).is_err(),
        "nothing in the journal"
    );
}
