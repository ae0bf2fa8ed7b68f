//! Another program that holds hardware timestamping on: this one, started again.

use crate::{Outcome, Stop};
use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use wirestamp::{HardwareRequest, Interface, Result};

/// Names the interface that a program of ours holds.
const HOLDS: &str = "WIRESTAMP_CONFORMANCE_HOLDS";
const HOLDING: &str = "holding";

/// It holds until it is told to end, or killed.
#[derive(Debug)]
pub(crate) struct OtherProgram {
    child: Child,
    /// Closed, it ends.
    input: Option<ChildStdin>,
}

impl OtherProgram {
    /// Starts one that holds every PTP message of `interface` on, in this thread's network namespace.
    pub(crate) fn holding(interface: &str) -> Outcome<Self> {
        let failed = |error: io::Error| Stop::Failed(format!("another program: {error}"));
        let mut command = Command::new(env::current_exe().map_err(failed)?);
        command
            .env(HOLDS, interface)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        let output = child
            .stdout
            .take()
            .ok_or_else(|| Stop::Failed("it has no output".to_owned()))?;
        let this = Self {
            input: child.stdin.take(),
            child,
        };
        let first = BufReader::new(output)
            .lines()
            .next()
            .and_then(io::Result::ok)
            .unwrap_or_default();
        if first == HOLDING {
            Ok(this)
        } else {
            Err(Stop::Failed(format!("another program said: {first}")))
        }
    }

    /// It lets go.
    pub(crate) fn end(mut self) -> Outcome {
        drop(self.input.take());
        match self.child.wait() {
            Ok(status) if status.success() => Ok(()),
            other => Err(Stop::Failed(format!(
                "another program ended with {other:?}"
            ))),
        }
    }

    /// It runs no line of its own any more.
    pub(crate) fn kill(mut self) {
        self.end_hard();
    }

    fn end_hard(&mut self) {
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

impl Drop for OtherProgram {
    fn drop(&mut self) {
        self.end_hard();
    }
}

/// What a program that was started to hold does; `None` if this one was not.
pub fn hold_as_asked() -> Option<ExitCode> {
    let name = env::var(HOLDS).ok()?;
    let (text, code) = match hold(&name) {
        Ok(()) => return Some(ExitCode::SUCCESS),
        Err(error) => (error.to_string(), ExitCode::FAILURE),
    };
    let _ = writeln!(io::stdout(), "{text}");
    Some(code)
}

fn hold(name: &str) -> Result<()> {
    let guard = Interface::find(name)?.enable_hardware(HardwareRequest::Ptp)?;
    let _ = writeln!(io::stdout(), "{HOLDING}");
    let _ = io::stdin().read(&mut [0]);
    guard.restore()
}
