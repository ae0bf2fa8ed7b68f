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

/// A network namespace that has a name, under which `ip` finds it, until it is dropped.
pub(super) struct Another(String);

impl Another {
    /// Makes one. The name is of this process and `what`, so that tests at the same time do not meet.
    pub(super) fn new(what: &str) -> Self {
        let another = Self(format!("wirestamp-{what}-{}", std::process::id()));
        ip(&format!("netns add {}", another.0)).expect("made");
        another
    }

    /// What `ip` calls it.
    pub(super) fn name(&self) -> &str {
        &self.0
    }
}

impl Drop for Another {
    fn drop(&mut self) {
        // a test that failed already reports why
        let _ = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}
