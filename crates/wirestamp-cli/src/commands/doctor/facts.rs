//! Reads facts about Linux from files, for the doctor: version, privilege, devices. On other systems the files are
//! missing, and nothing is known.

use std::env::consts::OS;
use std::fs::{self, File, read_dir};
use std::io::ErrorKind;

/// `CAP_NET_ADMIN` (`linux/capability.h`).
const NET_ADMIN: u32 = 12;

/// A file of Linux' own. (Wine shows the files of the Linux below it, and is none.)
fn read_to_string(path: &str) -> Option<String> {
    if OS == "linux" {
        fs::read_to_string(path).ok()
    } else {
        None
    }
}

/// Version of the kernel, as it writes it.
pub(super) fn kernel() -> Option<String> {
    Some(
        read_to_string("/proc/sys/kernel/osrelease")?
            .trim()
            .to_owned(),
    )
}

/// Major and minor version in a kernel's own writing.
pub(super) fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release
        .split(|character: char| !character.is_ascii_digit())
        .map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Whether this process may configure NICs.
pub(super) fn may_configure() -> Option<bool> {
    is_capable(&read_to_string("/proc/self/status")?)
}

fn is_capable(status: &str) -> Option<bool> {
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))?;
    Some(u64::from_str_radix(mask.trim(), 16).ok()? & (1 << NET_ADMIN) != 0)
}

/// The clock devices, and whether each can be opened for reading.
pub(super) fn clock_devices() -> Option<Vec<(String, Result<(), ErrorKind>)>> {
    if OS != "linux" {
        return None;
    }
    let mut names: Vec<String> = read_dir("/dev")
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.retain(|name| {
        name.strip_prefix("ptp")
            .is_some_and(|rest| rest.parse::<u32>().is_ok())
    });
    names.sort_by_key(|name| (name.len(), name.clone()));
    let tried = names.into_iter().map(|name| {
        let opened = File::open(format!("/dev/{name}"))
            .map(drop)
            .map_err(|error| error.kind());
        (format!("/dev/{name}"), opened)
    });
    Some(tried.collect())
}

/// The largest buffer that a socket may ask for, in bytes.
pub(super) fn largest_buffer() -> Option<u64> {
    read_to_string("/proc/sys/net/core/rmem_max")?
        .trim()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_whatever_follows_them() {
        assert_eq!(version("6.18.5-cloud-amd64"), Some((6, 18)));
        assert_eq!(version("5.10"), Some((5, 10)));
        assert_eq!(version("6.12-rc1"), Some((6, 12)));
        assert_eq!(version("linux"), None);
    }

    #[test]
    fn one_bit_is_the_privilege() {
        assert_eq!(
            is_capable("Name:\tx\nCapEff:\t000001ffffffffff\n"),
            Some(true)
        );
        assert_eq!(is_capable("CapEff:\t0000000000001000\n"), Some(true));
        assert_eq!(is_capable("CapEff:\t0000000000000fff\n"), Some(false));
        assert_eq!(is_capable("CapEff:\tnonsense\n"), None);
        assert_eq!(is_capable(""), None);
    }
}
