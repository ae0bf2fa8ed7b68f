//! The way to the system's last error of each thread.

#[link(name = "kernel32")]
unsafe extern "system" {
    safe fn SetLastError(code: u32);
    safe fn GetLastError() -> u32;
}

pub(crate) fn set(code: u32) {
    SetLastError(code);
}

pub(crate) fn last() -> u32 {
    GetLastError()
}
