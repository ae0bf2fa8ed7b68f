//! A port's timers.

use wirestamp::MonotonicTime;

/// A timer of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timer {
    Announce,
    Sync,
    DelayRequest,
    AnnounceReceipt,
}

/// The timers of a port.
#[derive(Debug, Default)]
pub(super) struct Timers {
    due: [Option<MonotonicTime>; 4],
}

const ALL: [Timer; 4] = [
    Timer::Announce,
    Timer::Sync,
    Timer::DelayRequest,
    Timer::AnnounceReceipt,
];

impl Timers {
    pub(super) fn set(&mut self, timer: Timer, at: MonotonicTime) {
        self.due[timer as usize] = Some(at);
    }

    /// Takes a due timer.
    pub(super) fn take(&mut self, now: MonotonicTime) -> Option<Timer> {
        let timer = ALL
            .into_iter()
            .find(|timer| self.due[*timer as usize].is_some_and(|at| at <= now))?;
        self.due[timer as usize] = None;
        Some(timer)
    }

    /// Returns when the next timer is due.
    pub(super) fn next(&self) -> Option<MonotonicTime> {
        self.due.iter().flatten().copied().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_goes_off_once() {
        let at = MonotonicTime::from_nanoseconds;
        let mut timers = Timers::default();
        timers.set(Timer::Sync, at(10));
        timers.set(Timer::Announce, at(20));
        assert_eq!((timers.next(), timers.take(at(9))), (Some(at(10)), None));
        assert_eq!(
            (
                timers.take(at(25)),
                timers.take(at(25)),
                timers.take(at(25))
            ),
            (Some(Timer::Announce), Some(Timer::Sync), None)
        );
        assert_eq!(timers.next(), None);
    }
}
