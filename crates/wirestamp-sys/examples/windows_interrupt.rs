//! Starts a program on a console of its own, presses Ctrl-C after a while, and ends as it does.
//! For tests of how programs end: nothing but a program on the same console can press it.
//!
//! usage: `windows_interrupt MILLISECONDS PROGRAM [ARGUMENT...]`

#[cfg(windows)]
fn main() -> std::io::Result<()> {
    use std::fs::File;
    use std::io::{Error, Write};
    use std::os::windows::io::AsHandle;
    use std::process::{Command, Stdio, exit};
    use windows_sys::Win32::System::Console::{
        AllocConsole, CTRL_C_EVENT, FreeConsole, GenerateConsoleCtrlEvent, SetConsoleCtrlHandler,
    };

    let mut arguments = std::env::args_os().skip(1);
    let after = arguments
        .next()
        .and_then(|text| text.to_str()?.parse().ok());
    let (Some(after), Some(program)) = (after, arguments.next()) else {
        return Err(Error::other(
            "usage: windows_interrupt MILLISECONDS PROGRAM [ARGUMENT...]",
        ));
    };
    // A new console takes the place of where the output went.
    let mut output = File::from(std::io::stdout().as_handle().try_clone_to_owned()?);
    // Those who share a console share what is pressed on it.
    // SAFETY: it takes nothing; without a console it does nothing.
    unsafe { FreeConsole() };
    // SAFETY: it takes nothing.
    if unsafe { AllocConsole() } == 0 {
        return Err(Error::last_os_error());
    }
    let mut child = Command::new(program)
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    std::thread::sleep(std::time::Duration::from_millis(after));
    // After the start: a child would inherit it.
    // SAFETY: without a handler, this process ignores Ctrl-C from now on.
    unsafe { SetConsoleCtrlHandler(None, 1) };
    // SAFETY: it takes numbers; 0 is everybody on this console.
    if unsafe { GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0) } == 0 {
        let _ = child.kill();
        return Err(Error::last_os_error());
    }
    let said = child.wait_with_output()?;
    output.write_all(&said.stdout)?;
    output.write_all(&said.stderr)?;
    exit(said.status.code().unwrap_or(-1))
}

#[cfg(not(windows))]
#[allow(clippy::print_stderr, reason = "a program for people")]
fn main() {
    eprintln!("this presses keys on a console of Windows, and this is none");
}
