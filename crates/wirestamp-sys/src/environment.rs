//! Environment variables that change what the library does. A program with more rights than the
//! user who started it ignores them: that user must not choose files for it to read.

use std::ffi::OsString;

/// Returns the value of an environment variable; `None` if it is unset, or if the program has more rights than its user:
/// it is set-user-ID or set-group-ID, or has file capabilities (Linux).
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|_| !has_more_rights())
}

/// What the dynamic linker goes by, for the same reason.
#[cfg(target_os = "linux")]
fn has_more_rights() -> bool {
    // SAFETY: takes a number; 0 where the kernel says nothing.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

#[cfg(not(target_os = "linux"))]
fn has_more_rights() -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::io::{self, Write as _};
    use std::os::unix::fs::{PermissionsExt as _, chown};
    use std::process::Command;
    use std::{env, fs, thread};

    const NAME: &str = "WIRESTAMP_TEST_ENVIRONMENT";
    const NOBODY: u32 = 65_534;

    /// Runs this test in a copy of its program with this mode and owner; returns which value of the variable it gets, and whose rights it has.
    fn value_in_a_copy(mode: u32, owner: u32) -> (String, String) {
        let program = env::current_exe().expect("this program");
        let copy = program.with_extension(format!("{mode:o}"));
        fs::copy(&program, &copy).expect("copied");
        chown(&copy, Some(owner), None).expect("root may");
        fs::set_permissions(&copy, fs::Permissions::from_mode(mode)).expect("root may");
        let test =
            "environment::tests::a_program_with_more_rights_than_its_user_does_not_act_on_them";
        let run = loop {
            let run = Command::new(&copy)
                .args(["--exact", test, "--nocapture"])
                .env(NAME, "set")
                .output();
            match run {
                // a child of another test still has the descriptor by which it was written
                Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                    thread::yield_now();
                }
                run => break run,
            }
        };
        fs::remove_file(&copy).expect("removed");
        let said = String::from_utf8(run.expect("it runs").stdout).expect("text");
        let value = said.split_once("value: ").expect("it says so").1;
        let mut words = value.split_whitespace().map(String::from);
        (
            words.next().expect("a value"),
            words.next().expect("a user"),
        )
    }

    #[test]
    fn a_program_with_more_rights_than_its_user_does_not_act_on_them() {
        if env::var_os(NAME).is_some() {
            let value = variable(NAME).unwrap_or_else(|| "none".into());
            // SAFETY: takes nothing.
            let user = unsafe { libc::geteuid() };
            writeln!(io::stdout(), "\nvalue: {} {user}", value.to_string_lossy()).expect("open");
            return;
        }
        assert_eq!(variable(NAME), None, "unset");
        // SAFETY: takes nothing.
        let is_root = unsafe { libc::geteuid() } == 0;
        let copies = is_root.then(|| [0o755, 0o4755].map(|mode| value_in_a_copy(mode, NOBODY)));
        let Some([plain, (value, _)]) = copies.filter(|[_, (_, user)]| *user == NOBODY.to_string())
        else {
            let missing = "needs root and a file system that respects set-user-ID";
            writeln!(io::stderr(), "skipped: {missing}").expect("open");
            assert!(env::var_os("WIRESTAMP_NO_SKIP").is_none(), "{missing}");
            return;
        };
        assert_eq!(plain, ("set".into(), "0".into()));
        assert_eq!(value, "none");
    }
}
