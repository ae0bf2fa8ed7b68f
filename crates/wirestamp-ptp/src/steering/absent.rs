//! A steered clock that no longer timestamps, because a bond has failed over to another NIC.
//! Another program may use the clock now.

use super::{Leap, PAUSE, Steering};
use wirestamp::MonotonicTime;

impl Steering {
    /// Notes that another clock timestamps. Ends the current correction, repeatedly until that
    /// succeeds, and then neither reads nor commands the clock. Returns whether this is a change:
    /// earlier samples were of this clock.
    pub(crate) fn leave(&mut self, now: MonotonicTime) -> bool {
        let is_new = !std::mem::replace(&mut self.is_absent, true);
        self.leap = Leap::None;
        let is_corrected = self.corrected_until.is_some() || self.has_slew;
        let is_due = if self.is_unsettled {
            now >= self.next_at
        } else {
            is_corrected
        };
        if is_due {
            let _ = self.command(0.0); // its absence is the more useful report than the error
            self.next_at = now + PAUSE;
        }
        let _ = self.tell_unsynchronised();
        if is_new || is_due {
            // samples are now of a clock with an unknown history of commands
            self.commands.borrow_mut().forget(0.0);
        }
        is_new
    }

    /// Notes that the clock timestamps. Returns whether this is a change.
    pub(crate) fn come_back(&mut self) -> bool {
        let is_new = std::mem::take(&mut self.is_absent);
        if is_new {
            self.forget(self.told);
        }
        is_new
    }
}
