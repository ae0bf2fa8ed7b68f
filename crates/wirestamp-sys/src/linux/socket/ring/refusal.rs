//! Explains the kernel's errors when a ring cannot be created.

use std::io;
use wirestamp_core::configuration::IoUringUnavailable;

/// The kernel's answer when a ring was to be made, or its memory.
pub(super) fn of_setup(error: &io::Error) -> IoUringUnavailable {
    let code = error.raw_os_error();
    let cause = match code {
        Some(libc::ENOSYS) => "the kernel was built without io_uring",
        Some(libc::EPERM | libc::EACCES) => {
            "io_uring is forbidden here: see kernel.io_uring_disabled, and the filter of the container"
        }
        Some(libc::EINVAL) => "the kernel's io_uring lacks what is needed: it takes Linux 6.1",
        Some(libc::ENOMEM) => "there is no memory for the ring",
        Some(libc::EMFILE | libc::ENFILE) => "there are too many descriptors",
        _ => "the kernel refused the ring",
    };
    IoUringUnavailable::new(cause, code)
}

/// The kernel's answer to the command for transmit timestamps.
pub(super) fn of_timestamps(code: i32) -> IoUringUnavailable {
    let cause = match code {
        libc::EOPNOTSUPP | libc::EINVAL => {
            "the kernel gives no transmit timestamps as completions: it takes Linux 6.17"
        }
        _ => "the kernel refused to give transmit timestamps as completions",
    };
    IoUringUnavailable::new(cause, Some(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_forbids_it_is_named() {
        let refusal = of_setup(&io::Error::from_raw_os_error(libc::EPERM));
        assert!(
            refusal.to_string().contains("kernel.io_uring_disabled"),
            "{refusal}"
        );
        assert!(refusal.to_string().ends_with("(code 1)"), "{refusal}");
        assert!(of_timestamps(libc::EOPNOTSUPP).to_string().contains("6.17"));
    }
}
