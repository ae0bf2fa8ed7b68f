//! A steered clock that timestamps no more, because a bond has failed over to another NIC: somebody else may use it now.

use super::{Leap, PAUSE, Steering};
use wirestamp::MonotonicTime;

impl Steering {
    /// Another clock timestamps. Ends the current correction, until that has worked, and asks and commands nothing more.
    /// Returns whether this is news: samples until now were of this clock.
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
            let _ = self.command(0.0); // that it is absent says more than why it could not be reached
            self.next_at = now + PAUSE;
        }
        let _ = self.tell_unsynchronised();
        if is_new || is_due {
            // samples are now of a clock whose commands nobody knows
            self.commands.borrow_mut().forget(0.0);
        }
        is_new
    }

    /// The clock timestamps. Returns whether this is news.
    pub(crate) fn come_back(&mut self) -> bool {
        let is_new = std::mem::take(&mut self.is_absent);
        if is_new {
            self.forget(self.told);
        }
        is_new
    }
}
