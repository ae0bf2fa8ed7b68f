//! Runs a program and ends with the exit code that the system holds for it. Under Wine the Unix process may end
//! with 0 instead, if other threads of the program end at the same time: 1 of 400 runs of a small C program on a busy machine.
//!
//! usage: `windows_exit PROGRAM [ARGUMENT...]`

use std::io::Error;
use std::process::{Command, exit};

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let Some(program) = arguments.next() else {
        return Err(Error::other("usage: windows_exit PROGRAM [ARGUMENT...]"));
    };
    let status = Command::new(program).args(arguments).status()?;
    exit(status.code().unwrap_or(-1))
}
