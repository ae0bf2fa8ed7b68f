//! Runs the program.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs the program with these arguments.
pub(crate) fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirestamp"));
    command.args(arguments).output().expect("it runs")
}

/// What it prints, which must be JSON; it must end with one of these codes.
pub(crate) fn json(codes: &[i32], arguments: &[&str]) -> Value {
    let output = run(&[&["--json"], arguments].concat());
    let code = output.status.code().unwrap_or(-1);
    assert!(codes.contains(&code), "{arguments:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// A whole number, which may stand in a string.
pub(crate) fn number(value: &Value) -> i64 {
    let text = value.as_str().and_then(|text| text.parse().ok());
    let number = value.as_i64().or(text);
    number.unwrap_or_else(|| panic!("a number: {value}"))
}

pub(crate) fn utf8(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Writes a file into a folder.
pub(crate) fn file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let file = folder.join(name);
    fs::write(&file, text).expect("written");
    file
}
