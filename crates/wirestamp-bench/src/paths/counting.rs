//! How many instructions our case of a path takes outside of the kernel. They repeat where
//! times don't: callgrind runs this program again, on a simulated processor, and counts.

use super::Path;
use super::timing::Case;
use std::env::current_exe;
use std::process::Command;

/// Chunks of the shorter and of the longer run: what both do alike, starting above all, cancels.
const CHUNKS: [u64; 2] = [4, 12];

/// Instructions for each operation.
///
/// # Errors
/// Valgrind is not there, or the case failed in it.
pub(crate) fn instructions(path: &Path) -> Result<f64, String> {
    let [(few, less), (many, more)] = CHUNKS
        .map(|chunks| run(path.name, chunks))
        .into_iter()
        .collect::<Result<Vec<_>, _>>()?[..]
    else {
        return Err("two runs were made".to_owned());
    };
    Ok((more as f64 - less as f64) / (many as f64 - few as f64))
}

/// Operations done, and instructions that took.
fn run(path: &str, chunks: u64) -> Result<(u64, u64), String> {
    let this = current_exe().map_err(|error| format!("this program can't be found: {error}"))?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(this)
        .args(["--bench", "--only", path, "--chunks", &chunks.to_string()])
        .output()
        .map_err(|error| {
            format!("valgrind does not start: {error}; install it, or leave --instructions out")
        })?;
    let (said, counted) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let operations = said
        .lines()
        .find_map(|line| number(line.strip_prefix("operations ")?));
    let collected = counted
        .lines()
        .find_map(|line| number(line.split_once("Collected :")?.1));
    match (output.status.success(), operations, collected) {
        (true, Some(operations), Some(collected)) => Ok((operations, collected)),
        _ => Err(format!(
            "callgrind on {path} ended with {}:\n{said}{counted}",
            output.status
        )),
    }
}

/// What the program that callgrind runs does: so many chunks of a case, ours if none is named.
pub(crate) fn counted(path: &mut Path, name: Option<&str>, chunks: u64) -> Result<u64, String> {
    let is_it = |case: &&mut Case| name.is_none_or(|name| case.name == name);
    let case = path.cases.iter_mut().find(is_it).ok_or("no such case")?;
    (0..chunks)
        .map(|_| {
            case.chunk()
                .map(|(operations, _)| operations)
                .map_err(|error| format!("{}: {error}", case.name))
        })
        .sum()
}
