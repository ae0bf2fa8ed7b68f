//! The frequency adjustments that this program commanded, over the time that the steered clock
//! showed. They are what separates the clock from the same clock running freely; estimates are
//! made of the free-running one, so no command of ours is ever taken for something else.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Commands that are remembered. There are at most a few each second, and no message is answered
/// later than this many of them.
const REMEMBERED: usize = 96;

/// One history for all estimators of messages that the same clock stamps.
pub(crate) type SharedCommands = Rc<RefCell<Commands>>;

/// A time of the local clock, and the same instant on the free-running one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Moment {
    /// What the clock would show if nothing had been commanded.
    pub(crate) free: i64,
    /// By how much commands have moved it: `(low, high)`, both exact but for rounding.
    pub(crate) shift: (i64, i64),
    /// Grows by as much as the clock may have moved otherwise than commanded.
    pub(crate) doubt: f64,
}

/// What is in force from a time on.
#[derive(Debug, Clone, Copy)]
struct Knot {
    /// On the local clock.
    from: i64,
    /// Until then.
    shift: f64,
    doubt: f64,
    /// In force after it (1: by all).
    adjustment: f64,
    /// Growth of `doubt`.
    doubt_rate: f64,
}

impl Knot {
    /// The shift and the doubt at a local time.
    fn at(&self, local: i64) -> (f64, f64) {
        let elapsed = local.saturating_sub(self.from) as f64;
        // `elapsed` is of the adjusted clock: so much of it was commanded
        let shift = self.shift + elapsed * self.adjustment / (1.0 + self.adjustment);
        (shift, self.doubt + elapsed.max(0.0) * self.doubt_rate)
    }
}

/// The history of commanded adjustments.
#[derive(Debug, Clone)]
pub(crate) struct Commands {
    knots: VecDeque<Knot>,
    /// Whether the first knot's adjustment was in force ever before.
    is_complete: bool,
    /// The clock follows what it is asked for in steps of this size.
    step: f64,
    /// The rate of the free-running clock is no greater than this.
    most_drift: f64,
}

impl Default for Commands {
    fn default() -> Self {
        Self::new(0.0, 0.0, 0.0)
    }
}

impl Commands {
    /// A clock whose adjustment has been `adjustment` ever before.
    pub(crate) fn new(adjustment: f64, step: f64, most_drift: f64) -> Self {
        let first = Knot { from: 0, shift: 0.0, doubt: 0.0, adjustment, doubt_rate: 0.0 };
        Self { knots: VecDeque::from([first]), is_complete: true, step, most_drift }
    }

    /// The adjustment in force now.
    pub(crate) fn adjustment(&self) -> f64 {
        self.knots.back().map_or(0.0, |knot| knot.adjustment)
    }

    /// From some time between local `before` and `after` on `base + correction` is in force, instead of
    /// what was. Known to the estimators from then on.
    pub(crate) fn command(&mut self, before: i64, after: i64, base: f64, correction: f64) {
        let adjustment = base + correction;
        let unsure = (adjustment - self.adjustment()).abs() * after.saturating_sub(before).max(0) as f64;
        // a device adds its own error to what it was asked for, or multiplies: both are allowed
        let doubt_rate = self.step + correction.abs() * self.most_drift;
        self.push(before, adjustment, doubt_rate, unsure);
        if unsure >= 0.5 {
            self.push(after, adjustment, doubt_rate, unsure);
        }
    }

    /// The clock was stepped and shows `at` now: earlier times mean nothing any more.
    pub(crate) fn restart(&mut self, at: i64) {
        let Some(mut last) = self.knots.back().copied() else { return };
        (last.from, last.shift, last.doubt) = (at, 0.0, 0.0);
        self.knots.clear();
        self.knots.push_back(last);
        self.is_complete = true;
    }

    /// What was in force is not known; `adjustment` is now, and counts as if it had ever been.
    pub(crate) fn forget(&mut self, adjustment: f64) {
        *self = Self::new(adjustment, self.step, self.most_drift);
    }

    /// Local times are told on another scale from now on: `by` more than before.
    pub(crate) fn rescale(&mut self, by: i64) {
        self.knots.iter_mut().for_each(|knot| knot.from = knot.from.saturating_add(by));
    }

    /// A local time on the free-running clock. `None` for one from before what is remembered.
    pub(crate) fn at(&self, local: i64) -> Option<Moment> {
        let place = self.knots.partition_point(|knot| knot.from <= local);
        let knot = match place.checked_sub(1) {
            Some(place) => self.knots[place],
            None if self.is_complete => *self.knots.front()?,
            None => return None,
        };
        let (shift, doubt) = knot.at(local);
        let shift = (shift.floor() as i64, shift.ceil() as i64);
        Some(Moment { free: local.saturating_sub(shift.0), shift, doubt })
    }

    /// The adjustment that was in force at a local time.
    pub(crate) fn adjustment_at(&self, local: i64) -> f64 {
        let place = self.knots.partition_point(|knot| knot.from <= local);
        self.knots.get(place.saturating_sub(1)).map_or(0.0, |knot| knot.adjustment)
    }

    fn push(&mut self, from: i64, adjustment: f64, doubt_rate: f64, unsure: f64) {
        // what was to come no longer does; what was is not changed
        let from = from.max(self.knots.front().map_or(i64::MIN, |first| first.from));
        while self.knots.len() > 1 && self.knots.back().is_some_and(|last| last.from > from) {
            self.knots.pop_back();
        }
        let Some(last) = self.knots.back().copied() else { return };
        let (shift, doubt) = last.at(from);
        self.knots.push_back(Knot { from, shift, doubt: doubt + unsure, adjustment, doubt_rate });
        if self.knots.len() > REMEMBERED {
            self.knots.pop_front();
            self.is_complete = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn shift(commands: &Commands, at: i64) -> i64 {
        commands.at(at).expect("remembered").shift.0
    }

    #[test]
    fn what_was_in_force_counts_for_as_long_as_it_was() {
        let mut commands = Commands::new(0.0, 0.0, 0.0);
        commands.command(10 * SECOND, 10 * SECOND, 20e-6, 80e-6);
        commands.command(12 * SECOND, 12 * SECOND, 20e-6, 0.0);
        assert_eq!(shift(&commands, 9 * SECOND), 0);
        assert_eq!(shift(&commands, 11 * SECOND), 99_990); // 100 ppm of the free-running second
        assert_eq!(shift(&commands, 13 * SECOND) - shift(&commands, 12 * SECOND), 19_999);
        assert!((commands.adjustment_at(11 * SECOND) - 100e-6).abs() < 1e-12);
        assert!((commands.adjustment() - 20e-6).abs() < 1e-12);
    }

    #[test]
    fn when_it_changed_is_as_doubtful_as_the_call_was_long() {
        let mut commands = Commands::new(0.0, 0.0, 0.0);
        commands.command(SECOND, SECOND + 1_000_000, 0.0, 500e-6);
        let doubt = |at| commands.at(at).expect("remembered").doubt;
        assert!(doubt(SECOND - 1) < 1e-9 && (499.0..502.0).contains(&doubt(SECOND)));
        assert!((999.0..1_002.0).contains(&doubt(2 * SECOND)), "{}", doubt(2 * SECOND));
    }

    #[test]
    fn what_is_too_old_has_no_place() {
        let mut commands = Commands::new(0.0, 0.0, 0.0);
        for second in 1..=2 * REMEMBERED as i64 {
            commands.command(second * SECOND, second * SECOND, 1e-6, 0.0);
        }
        assert_eq!(commands.at(SECOND), None);
        assert!(commands.at(2 * REMEMBERED as i64 * SECOND).is_some());
        assert_eq!(commands.knots.len(), REMEMBERED);
    }
}
