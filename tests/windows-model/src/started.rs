//! How often the program has started Winsock and not yet ended it. Calls no system.
//!
//! Lock order: the count, then the shadows. `WSACleanup` forgets the shadows while it holds the count, so nobody who
//! holds the shadows asks for the count.

use std::sync::{Mutex, PoisonError};

/// The count. Held during the calls that change it: a thread that ends what another one is starting must find it counted.
#[derive(Debug)]
pub(crate) struct Started(Mutex<u32>);

impl Started {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(0))
    }

    pub(crate) fn is_any(&self) -> bool {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) > 0
    }

    /// Calls `start`, and counts it if the result is 0.
    pub(crate) fn start(&self, start: impl FnOnce() -> i32) -> i32 {
        let mut count = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let result = start();
        *count += u32::from(result == 0);
        result
    }

    /// Calls `end`; if its result is 0 and it was the last one, calls `ended`.
    pub(crate) fn end(&self, end: impl FnOnce() -> i32, ended: impl FnOnce()) -> i32 {
        let mut count = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let result = end();
        if result == 0 {
            *count = count.saturating_sub(1);
            if *count == 0 {
                ended();
            }
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::sync::{Arc, mpsc};
    use std::thread;
    use std::time::Duration;

    #[test]
    fn what_is_being_started_is_counted_before_it_ends() {
        let started = Arc::new(Started::new());
        let (report, reported) = mpsc::channel();
        let other = Arc::clone(&started);
        let result = started.start(|| {
            let end = move || other.end(|| 0, || report.send(()).expect("it is waited for"));
            thread::spawn(end);
            let meanwhile = reported.recv_timeout(Duration::from_millis(50));
            assert!(meanwhile.is_err(), "it is not counted yet");
            0
        });
        assert_eq!((result, reported.recv()), (0, Ok(())));
    }

    #[test]
    fn the_last_end_that_succeeds_ends_it() {
        let (started, ended) = (Started::new(), Cell::new(0));
        let end = |result| started.end(|| result, || ended.set(ended.get() + 1));
        assert_eq!([started.start(|| 0), started.start(|| 0)], [0, 0]);
        assert_eq!(started.start(|| 10_091), 10_091);
        assert_eq!([end(0), end(10_093)], [0, 10_093]);
        assert_eq!(ended.get(), 0);
        assert_eq!((end(0), ended.get()), (0, 1));
        assert_eq!((started.start(|| 0), end(0), ended.get()), (0, 0, 2));
    }
}
