//! Forbidden calls fail, and needed ones work, in a process of its own.

use super::{Needs, Sandbox};
use std::io::ErrorKind::PermissionDenied;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::{env, fs, net, path, thread};

/// What the other process is asked to do.
const TASK: &str = "WIRESTAMP_SANDBOX_TASK";
/// The folder that it may write into. Nothing in the sandbox could remove it.
const FOLDER: &str = "WIRESTAMP_SANDBOX_FOLDER";
/// The folder in which files that are open take their places.
const PICTURES: &str = "WIRESTAMP_SANDBOX_PICTURES";

/// Runs one of the tasks below in a copy of this test that is in the sandbox.
fn confined(task: &str) -> (ExitStatus, String) {
    let program = env::current_exe().expect("this test");
    let name = "sandbox::tests::a_task_in_the_sandbox";
    let [folder, pictures] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    for name in ["draft", "picture", "other"] {
        fs::write(pictures.path().join(name), name).expect("writes");
    }
    let done = Command::new(program)
        .args(["--exact", name, "--nocapture"])
        .env(TASK, task)
        .env(FOLDER, folder.path())
        .env(PICTURES, pictures.path())
        .output()
        .expect("runs");
    let said =
        String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    (done.status, said)
}

#[test]
fn a_task_in_the_sandbox() {
    let Ok(task) = env::var(TASK) else { return };
    let [own, pictures] =
        [FOLDER, PICTURES].map(|name| path::PathBuf::from(env::var_os(name).expect("a folder")));
    let waiting = thread::spawn(thread::park); // filters hold for threads that are there already
    let (sandbox, missing) = Sandbox::enter(Needs {
        folders: vec![own.clone()],
        writes_files: true,
        renames_in: vec![pictures.clone()],
        // which lets it open files for reading and writing
        reads_hardware_clock: true,
        ..Needs::default()
    });
    let landlock = !missing.iter().any(|missing| missing.contains("Landlock"));
    assert_eq!(sandbox.close(), None);
    match task.as_str() {
        "everything needed" => needed(&own, &pictures),
        "refusals" => {
            refusals(&own, landlock);
            if landlock {
                others_in(&pictures);
            }
        }
        "exec" => panic!("{}", Command::new("/bin/true").exec()),
        "exec from another thread" => {
            let thread = thread::spawn(|| panic!("{}", Command::new("/bin/true").exec()));
            thread.join().expect("it does not get here");
        }
        other => panic!("no task is called {other}"),
    }
    waiting.thread().unpark();
    waiting.join().expect("no panic");
}

/// Of a folder in which files take their places, none can be opened.
fn others_in(pictures: &path::Path) {
    let other = pictures.join("other");
    let both = fs::OpenOptions::new().read(true).write(true).open(&other);
    let read = fs::read(&other).map(drop);
    for refused in [both.map(drop), read, fs::read_dir(pictures).map(drop)] {
        assert_eq!(refused.expect_err("closed").kind(), PermissionDenied);
    }
}

fn needed(own: &path::Path, pictures: &path::Path) {
    fs::rename(pictures.join("draft"), pictures.join("picture")).expect("it takes its place");
    assert!(
        fs::read_to_string("/proc/self/status")
            .expect("readable")
            .contains("Seccomp:\t2")
    );
    fs::read_dir("/sys/class/net").expect("readable").next();
    let socket = net::UdpSocket::bind("127.0.0.1:0").expect("bound");
    socket
        .send_to(b"ping", socket.local_addr().expect("bound"))
        .expect("sent");
    assert_eq!(socket.recv(&mut [0; 8]).expect("received"), 4);
    let doubled = thread::Builder::new()
        .name("inside".into())
        .spawn(|| 2 * 21)
        .expect("started");
    assert_eq!(doubled.join().expect("no panic"), 42);
    thread::sleep(std::time::Duration::from_millis(1));
    let many = vec![1_u8; 64 << 20];
    assert_eq!(many.len(), 64 << 20);
    fs::remove_file(own.join("nothing")).expect_err("not there");
}

fn refusals(own: &path::Path, landlock: bool) {
    let refused = |result: std::io::Result<()>, what: &str| {
        assert_eq!(result.expect_err(what).kind(), PermissionDenied, "{what}");
    };
    refused(fs::write("/dev/shm/wirestamp-intruder", "x"), "a new file");
    refused(
        fs::OpenOptions::new()
            .write(true)
            .open("/proc/self/oom_score_adj")
            .map(drop),
        "writing what is there",
    );
    refused(
        Command::new("/bin/true").spawn().map(drop),
        "another process",
    );
    refused(UnixStream::pair().map(drop), "a local socket pair");
    refused(
        UnixStream::connect(own.join("nobody")).map(drop),
        "a local socket",
    );
    refused(
        net::TcpListener::bind("127.0.0.1:0").map(drop),
        "a TCP socket",
    );
    refused(
        std::os::unix::fs::symlink("/etc/passwd", own.join("link")),
        "a link",
    );
    refused(
        fs::set_permissions(own, std::os::unix::fs::PermissionsExt::from_mode(0o777)),
        "other permissions",
    );
    if landlock {
        refused(fs::read("/etc/hostname").map(drop), "a file of others");
        refused(fs::read_dir("/").map(drop), "a folder of others");
    }
}

#[test]
fn what_the_program_needs_works() {
    let (status, said) = confined("everything needed");
    assert!(status.success(), "{said}");
}

#[test]
fn what_it_does_not_need_is_refused() {
    let (status, said) = confined("refusals");
    assert!(status.success(), "{said}");
}

#[test]
fn becoming_another_program_ends_it() {
    for task in ["exec", "exec from another thread"] {
        let (status, said) = confined(task);
        assert_eq!(
            status.signal(),
            Some(libc::SIGSYS),
            "{task}: {status:?} {said}"
        );
    }
}
