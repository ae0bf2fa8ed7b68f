//! Events and timers, and waiting for several of them.

use super::{call, clock};
use std::cell::OnceCell;
use std::io;
use std::os::windows::io::{AsHandle, BorrowedHandle, OwnedHandle};
use wirestamp_core::time::MonotonicTime;

/// An event that stays set until it is reset.
#[derive(Debug)]
pub(super) struct Event(OwnedHandle);

impl Event {
    pub(super) fn new() -> io::Result<Self> {
        call::create_event().map(Self)
    }

    /// Sets it. Can't fail for an event that exists.
    pub(super) fn set(&self) {
        call::set_event(self.0.as_handle());
    }

    pub(super) fn reset(&self) {
        call::reset_event(self.0.as_handle());
    }
}

impl AsHandle for Event {
    fn as_handle(&self) -> BorrowedHandle<'_> {
        self.0.as_handle()
    }
}

thread_local! {
    /// One timer for each thread that waits.
    #[allow(clippy::missing_const_for_thread_local, reason = "it is const; the lint does not see it for windows-gnu")]
    static TIMER: OnceCell<OwnedHandle> = const { OnceCell::new() };
}

/// Waits until one of `events` (at most three) is set or `until` has passed; returns which.
///
/// To a deadline by a high-resolution timer: the timeout of a wait would be rounded to
/// scheduler ticks of up to 15.6 ms.
pub(super) fn wait(events: &[&Event], until: MonotonicTime) -> io::Result<Option<usize>> {
    let events = &events[..events.len().min(3)];
    let signalled = if until == MonotonicTime::MAX {
        call::wait_for(events.iter().map(|event| event.as_handle()))?
    } else {
        TIMER.with(|timer| {
            let timer = match timer.get() {
                Some(timer) => timer,
                None => {
                    let made = call::create_timer()?;
                    timer.get_or_init(|| made)
                }
            };
            let left = (until - clock::now()).saturating_nanoseconds().max(0);
            call::set_timer(timer.as_handle(), left)?;
            call::wait_for(
                events
                    .iter()
                    .map(|event| event.as_handle())
                    .chain([timer.as_handle()]),
            )
        })?
    };
    Ok((signalled < events.len()).then_some(signalled))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirestamp_core::time::Span;

    #[test]
    fn the_deadline_ends_a_wait_and_not_before() {
        let (first, second) = (
            Event::new().expect("an event"),
            Event::new().expect("an event"),
        );
        for microseconds in [0, 100, 3_000] {
            let until = clock::now() + Span::from_microseconds(microseconds);
            assert_eq!(wait(&[&first, &second], until).expect("waited"), None);
            assert!(clock::now() + clock::tick() >= until, "too early");
        }
        second.set();
        assert_eq!(
            wait(&[&first, &second], MonotonicTime::MAX).expect("waited"),
            Some(1)
        );
        second.reset();
        assert_eq!(
            wait(&[&first, &second], clock::now()).expect("waited"),
            None
        );
    }
}
