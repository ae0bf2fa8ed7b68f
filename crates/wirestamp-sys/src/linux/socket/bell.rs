//! What ends a wait from outside: a descriptor that only a socket has whose waits block.

use crate::native::call;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering, fence};

/// Becomes readable when it is rung, also if that was before anybody waited.
#[derive(Debug, Default)]
pub(super) struct Bell {
    /// Made for the first wait that blocks: a program that polls a thousand sockets itself has no use for it.
    event: OnceLock<OwnedFd>,
    /// Whether it was rung before there was a descriptor.
    rung: AtomicBool,
}

impl Bell {
    /// Its descriptor, for a wait.
    ///
    /// # Errors
    /// If the process has too many.
    pub(super) fn descriptor(&self) -> io::Result<BorrowedFd<'_>> {
        if let Some(event) = self.event.get() {
            return Ok(event.as_fd());
        }
        let made = call::eventfd()?;
        let event = self.event.get_or_init(|| made);
        // Either this sees what `ring` noted, or `ring` sees the descriptor.
        fence(Ordering::SeqCst);
        if self.rung.load(Ordering::Relaxed) {
            call::signal(event.as_fd());
        }
        Ok(event.as_fd())
    }

    /// What a wait would find at once: `None` if only the descriptor knows.
    pub(super) fn without_descriptor(&self) -> Option<bool> {
        let rung = self.rung.load(Ordering::Acquire);
        self.event.get().is_none().then_some(rung)
    }

    /// Ends the waits for it.
    pub(super) fn ring(&self) {
        self.rung.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
        if let Some(event) = self.event.get() {
            call::signal(event.as_fd());
        }
    }

    /// Has it silent again.
    pub(super) fn hush(&self) {
        match self.event.get() {
            Some(event) => call::clear(event.as_fd()),
            // acquires what happened before it was rung
            None => _ = self.rung.swap(false, Ordering::AcqRel),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    fn is_rung(bell: &Bell) -> bool {
        let fd = bell.descriptor().expect("a descriptor").as_raw_fd();
        let mut watched = [libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        }];
        let now = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        call::poll(&mut watched, Some(now)).expect("polled");
        watched[0].revents != 0
    }

    #[test]
    fn who_waits_first_after_it_was_rung_is_not_left_waiting() {
        let bell = Bell::default();
        bell.ring();
        assert!(is_rung(&bell));
        bell.hush();
        assert!(!is_rung(&bell));
        bell.ring();
        assert!(is_rung(&bell));
    }

    #[test]
    fn one_that_nobody_waits_for_has_no_descriptor() {
        let bell = Bell::default();
        assert_eq!(bell.without_descriptor(), Some(false));
        bell.ring();
        assert_eq!(bell.without_descriptor(), Some(true));
        bell.hush();
        assert_eq!(bell.without_descriptor(), Some(false));
        bell.ring();
        assert!(is_rung(&bell), "what was rung before the first wait counts");
        assert_eq!(bell.without_descriptor(), None);
    }
}
