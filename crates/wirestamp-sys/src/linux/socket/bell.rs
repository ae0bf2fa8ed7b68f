//! What ends a wait from outside: a descriptor that only a socket has whose waits block.

use super::lock;
use crate::native::call;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

/// Becomes readable when it is rung, also if that was before anybody waited.
#[derive(Debug, Default)]
pub(super) struct Bell {
    /// Made for the first wait that blocks: a program that polls a thousand sockets itself has no use for it.
    event: OnceLock<OwnedFd>,
    /// Whether it is rung, as long as there is no descriptor.
    rung: AtomicBool,
    /// Held while any of this changes.
    changing: Mutex<()>,
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
        let _changing = lock(&self.changing);
        if let Some(event) = self.event.get() {
            return Ok(event.as_fd());
        }
        let made = call::eventfd()?;
        if self.rung.load(Ordering::Acquire) {
            call::signal(made.as_fd());
        }
        Ok(self.event.get_or_init(|| made).as_fd())
    }

    /// What a wait would find at once: `None` if only the descriptor knows.
    pub(super) fn without_descriptor(&self) -> Option<bool> {
        let rung = self.rung.load(Ordering::Acquire);
        self.event.get().is_none().then_some(rung)
    }

    /// Ends the waits for it.
    pub(super) fn ring(&self) {
        let _changing = lock(&self.changing);
        match self.event.get() {
            Some(event) => call::signal(event.as_fd()),
            None => self.rung.store(true, Ordering::Release),
        }
    }

    /// Has it silent again.
    pub(super) fn hush(&self) {
        let _changing = lock(&self.changing);
        match self.event.get() {
            Some(event) => call::clear(event.as_fd()),
            None => self.rung.store(false, Ordering::Release),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::socket::tests::until;
    use std::os::fd::AsRawFd;
    use std::thread;

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

    /// It is silent in the end, whoever made the descriptor when.
    #[test]
    fn one_that_is_hushed_once_another_has_its_descriptor_is_silent() {
        const AT_ONCE: usize = 100; // each takes a descriptor
        for round in 0..20 {
            let bells: Vec<_> = (0..AT_ONCE).map(|_| Bell::default()).collect();
            bells.iter().for_each(Bell::ring);
            thread::scope(|scope| {
                scope.spawn(|| {
                    for bell in &bells {
                        bell.descriptor().expect("a descriptor");
                    }
                });
                for bell in &bells {
                    until(|| bell.event.get().is_some());
                    bell.hush();
                }
            });
            let rung = bells.iter().filter(|bell| is_rung(bell)).count();
            assert_eq!(rung, 0, "in round {round}");
        }
    }
}
