//! Network namespaces for tests: what others send on this machine's interfaces does not reach a test, and the other way round.

use std::io::{self, Write};
use std::process::Command;
use std::thread;

/// Runs `test` on a thread in a network namespace of its own, whose loopback interface is up; without root it is skipped, which is said.
pub(super) fn in_namespace(what: &str, test: impl FnOnce() + Send) {
    thread::scope(|scope| {
        let ended = scope.spawn(|| match enter() {
            Ok(()) => test(),
            Err(missing) => {
                writeln!(io::stderr(), "skipped: {what}: {missing}").expect("open");
                assert!(std::env::var_os("WIRESTAMP_NO_SKIP").is_none(), "{missing}");
            }
        });
        ended.join().expect("the test passes");
    });
}

fn enter() -> Result<(), String> {
    // SAFETY: takes a number; this thread alone changes its namespace.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        return Err("needs root, for a network namespace".into());
    }
    ip("link set lo up")
}

/// Runs `ip` with these arguments.
pub(super) fn ip(line: &str) -> Result<(), String> {
    let status = Command::new("ip").args(line.split(' ')).status();
    let status = status.map_err(|error| format!("iproute2: {error}"))?;
    assert!(status.success(), "ip {line}");
    Ok(())
}
