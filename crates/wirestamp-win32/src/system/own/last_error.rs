//! The last error of each thread. `WSAGetLastError` and `GetLastError` share it, as on
//! Windows.

use std::cell::Cell;

thread_local! {
    static LAST: Cell<u32> = const { Cell::new(0) };
}

pub(crate) fn set(code: u32) {
    LAST.set(code);
}

pub(crate) fn last() -> u32 {
    LAST.get()
}
