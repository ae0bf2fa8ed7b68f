//! The history of the frequency adjustments that this program commanded, or that it observed.
//! Estimates are for the free-running clock, which is the steered clock without them, so that they
//! never count as drift.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use wirestamp_core::time::{Adjusted, Bounded, MonotonicTime, Span};

/// The number of commands to remember: there are at most a few per second, and every message is
/// answered before this many follow.
const REMEMBERED: usize = 96;

/// How much later than the whole second the kernel begins and ends its own slew, in nanoseconds: it checks at a timer
/// tick, and an idle processor has none while this program sleeps.
const LATE: i64 = 200_000_000;
/// The free-running clock runs no faster or slower than this while an adjustment is only known on average.
const FASTEST_DRIFT: f64 = 1e-3;
/// The error of a slew by the kernel, in nanoseconds.
const ROUNDED: f64 = 1_000.0;
/// A reading counts as much closer by this factor.
const MUCH: f64 = 4.0;
const SECOND: i64 = 1_000_000_000;

/// A history that all estimators of one clock share.
pub type SharedCommands = Rc<RefCell<Commands>>;

/// A time of the local clock, and the same instant on the free-running one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moment {
    /// The time that the clock would show without commands.
    pub free: i64,
    /// How far adjustments have moved the clock: `(low, high)`, for commands exact except for rounding.
    pub shift: (i64, i64),
    /// Grows with the possible difference between commanded and actual movement.
    pub doubt: f64,
}

/// The commands that hold from a time on.
#[derive(Debug, Clone, Copy)]
struct Knot {
    /// On the local clock.
    from: i64,
    /// The shift until then.
    shift: f64,
    doubt: f64,
    /// The adjustment after it, as a fraction.
    adjustment: f64,
    /// Growth of `doubt`.
    doubt_rate: f64,
    /// The largest error of the shift.
    unsure: f64,
    /// The time until which the adjustment is only known on average, and the shift then.
    on_average: Option<(i64, f64)>,
}

impl Knot {
    /// The lowest and the highest shift at a local time.
    fn shifts_at(&self, local: i64) -> (i64, i64) {
        let (shift, _) = self.at(local);
        let (low, high) = match self.on_average {
            Some((until, reached)) if local < until => self.between(local, until, reached),
            _ => (shift, shift),
        };
        let unsure = self.unsure + (high - low) * FASTEST_DRIFT;
        ((low - unsure).floor() as i64, (high + unsure).ceil() as i64)
    }

    /// The possible shifts on the way from this one to `reached`.
    fn between(&self, local: i64, until: i64, reached: f64) -> (f64, f64) {
        let reading = |at: i64, shift: f64| Adjusted {
            at: MonotonicTime::from_nanoseconds(at),
            by: Bounded::new(
                Span::from_nanoseconds(shift.round() as i128),
                Span::from_nanoseconds(1),
            ),
        };
        let (begun, ended) = (reading(self.from, self.shift), reading(until, reached));
        let meanwhile = begun.until(&ended, MonotonicTime::from_nanoseconds(local));
        let [low, high] = [meanwhile.least(), meanwhile.most()].map(Span::saturating_nanoseconds);
        (low as f64, high as f64)
    }

    /// The shift and the doubt at a local time.
    fn at(&self, local: i64) -> (f64, f64) {
        let elapsed = local.saturating_sub(self.from) as f64;
        // `elapsed` is measured on the adjusted clock, so only this part of it was commanded
        let shift = self.shift + elapsed * self.adjustment / (1.0 + self.adjustment);
        (shift, self.doubt + elapsed.max(0.0) * self.doubt_rate)
    }
}

/// What readings show of others' adjustments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Movement {
    /// The local times of two readings.
    pub(crate) between: (i64, i64),
    /// The shift at the second one.
    pub(crate) reached: f64,
    /// The growth of the shift per nanosecond since then.
    pub(crate) after: f64,
    /// Whether that between them is known, too; else only its mean is.
    pub(crate) is_straight: bool,
    /// The largest error of shifts.
    pub(crate) unsure: f64,
}

/// A slew that ends by itself.
#[derive(Debug, Clone, Copy)]
struct OwnSlew {
    from: i64,
    until: i64,
    /// The adjustment while it lasts.
    adjustment: f64,
}

impl OwnSlew {
    /// How far it moves the clock, in nanoseconds.
    fn by(&self) -> f64 {
        self.adjustment.abs() * SECOND as f64
    }
}

/// The history of commanded frequency adjustments.
///
/// The default is a clock without adjustments.
#[derive(Debug, Clone)]
pub struct Commands {
    knots: VecDeque<Knot>,
    /// Whether the first knot's adjustment also holds for all times before it.
    is_complete: bool,
    /// The kernel's slew, pending or under way.
    own: Option<OwnSlew>,
    /// The step size in which the clock follows commands.
    step: f64,
    /// The largest rate of the free-running clock.
    most_drift: f64,
}

impl Default for Commands {
    fn default() -> Self {
        Self::new(0.0, 0.0, 0.0)
    }
}

impl Commands {
    /// Returns the history of a clock that has always had this adjustment.
    pub fn new(adjustment: f64, step: f64, most_drift: f64) -> Self {
        let first = Knot {
            from: 0,
            shift: 0.0,
            doubt: 0.0,
            adjustment,
            doubt_rate: 0.0,
            unsure: 0.0,
            on_average: None,
        };
        Self {
            knots: VecDeque::from([first]),
            is_complete: true,
            own: None,
            step,
            most_drift,
        }
    }

    /// Records that the adjustment became `base + correction` between the local times `before` and `after`. A slew by
    /// the kernel that has not begun is cancelled.
    pub fn command(&mut self, before: i64, after: i64, base: f64, correction: f64) {
        self.own = self
            .own
            .filter(|own| own.from <= before && before < own.until);
        let own = self.own.map_or(0.0, |own| own.adjustment);
        let adjustment = base + correction + own;
        let width = after.saturating_sub(before).max(0) as f64;
        let mut unsure = (adjustment - self.adjustment_at(before)).abs() * width;
        if self.is_beginning(before) {
            unsure += self.own.map_or(0.0, |own| own.by()); // the kernel's slew may also have been cancelled
        }
        // a device adds its own error to the commanded adjustment, or multiplies it: both are allowed
        let doubt_rate = self.step + (correction.abs() + own.abs()) * self.most_drift;
        self.push(before, adjustment, doubt_rate, unsure);
        if unsure >= 0.5 {
            self.push(after, adjustment, doubt_rate, unsure);
        }
        if let Some(own) = self.own {
            self.push(
                own.until.max(after),
                base + correction,
                self.step + correction.abs() * self.most_drift,
                late(own),
            );
        }
    }

    /// Records that the kernel was asked at local time `at` to slew the clock by `by` nanoseconds during the next whole
    /// second.
    pub fn moves_itself(&mut self, at: i64, by: f64) {
        let from = (at.div_euclid(SECOND) + 1) * SECOND;
        let own = OwnSlew {
            from,
            until: from + SECOND,
            adjustment: by / SECOND as f64,
        };
        let (before, rate) = self
            .knots
            .back()
            .map_or((0.0, 0.0), |knot| (knot.adjustment, knot.doubt_rate));
        let doubt_rate = rate + own.adjustment.abs() * self.most_drift;
        self.push(from, before + own.adjustment, doubt_rate, late(own));
        self.push(own.until, before, rate, late(own));
        self.own = Some(own);
    }

    /// Returns whether a slew by the kernel begins about now, so that its state is uncertain.
    pub fn is_beginning(&self, at: i64) -> bool {
        self.own
            .is_some_and(|own| own.from <= at && at < own.from + LATE)
    }

    /// Records that the clock was stepped and shows `at` now. Earlier times are no longer valid.
    pub fn restart(&mut self, at: i64) {
        let Some(mut last) = self.knots.back().copied() else {
            return;
        };
        (last.from, last.shift, last.doubt) = (at, 0.0, 0.0);
        (last.unsure, last.on_average) = (0.0, None);
        self.own = None; // a step ends it
        self.knots.clear();
        self.knots.push_back(last);
        self.is_complete = true;
    }

    /// Replaces the history by `adjustment`, as if it had always held.
    pub fn forget(&mut self, adjustment: f64) {
        *self = Self::new(adjustment, self.step, self.most_drift);
    }

    /// Moves the scale of local times: from now on they are larger by `by`.
    pub fn rescale(&mut self, by: i64) {
        for knot in &mut self.knots {
            knot.from = knot.from.saturating_add(by);
            if let Some((until, _)) = &mut knot.on_average {
                *until = until.saturating_add(by);
            }
        }
        if let Some(own) = &mut self.own {
            (own.from, own.until) = (own.from.saturating_add(by), own.until.saturating_add(by));
        }
    }

    /// Returns a local time on the free-running clock; `None` if it is older than the history.
    pub fn at(&self, local: i64) -> Option<Moment> {
        let place = self.knots.partition_point(|knot| knot.from <= local);
        let knot = match place.checked_sub(1) {
            Some(place) => self.knots[place],
            None if self.is_complete => *self.knots.front()?,
            None => return None,
        };
        let shift = knot.shifts_at(local);
        Some(Moment {
            free: local.saturating_sub(shift.0),
            shift,
            doubt: knot.at(local).1,
        })
    }

    /// Records what readings show of others' adjustments.
    pub(crate) fn moved_by_others(&mut self, movement: Movement) {
        let Movement {
            between: (from, until),
            reached,
            after,
            is_straight,
            unsure,
        } = movement;
        let meanwhile = (reached - self.shift_at(from)) / until.saturating_sub(from) as f64;
        for (from, share) in [(from, meanwhile), (until, after)] {
            // of the free-running clock's time
            let adjustment = share / (1.0 - share);
            self.push(from, adjustment, 0.0, 0.0);
            if let Some(knot) = self.knots.back_mut() {
                knot.unsure = unsure;
                let on_average = from < until && !is_straight;
                knot.on_average = on_average.then_some((until, reached));
            }
        }
    }

    /// Records that readings show the same adjustment as before, with shifts to within `unsure` from a local time on.
    pub(crate) fn confirmed_by_others(&mut self, from: i64, unsure: f64) {
        let Some(last) = self.knots.back().copied() else {
            return;
        };
        // a little less is not worth its place
        if unsure <= last.unsure && last.unsure <= MUCH * unsure {
            return;
        }
        self.push(from, last.adjustment, 0.0, 0.0);
        if let Some(knot) = self.knots.back_mut() {
            knot.unsure = unsure;
        }
    }

    /// Records that a reading says too little: from a local time on, shifts are only known to within `unsure`.
    pub(crate) fn unsure_by_others(&mut self, from: i64, unsure: f64) {
        let Some(last) = self.knots.back().copied() else {
            return;
        };
        self.push(from, last.adjustment, 0.0, 0.0);
        if let Some(knot) = self.knots.back_mut() {
            knot.unsure = last.unsure.max(unsure);
        }
    }

    /// The growth of the shift per nanosecond of the local clock since the last command.
    pub(crate) fn slope(&self) -> f64 {
        let adjustment = self.knots.back().map_or(0.0, |knot| knot.adjustment);
        adjustment / (1.0 + adjustment)
    }

    /// The shift at a time from the last command on.
    pub(crate) fn shift_at(&self, local: i64) -> f64 {
        self.knots.back().map_or(0.0, |knot| knot.at(local).0)
    }

    /// Returns the adjustment at a local time.
    pub fn adjustment_at(&self, local: i64) -> f64 {
        let place = self.knots.partition_point(|knot| knot.from <= local);
        self.knots
            .get(place.saturating_sub(1))
            .map_or(0.0, |knot| knot.adjustment)
    }

    /// Returns the local time at which the free-running clock has advanced by `elapsed` nanoseconds since local `from`,
    /// and the largest adjustment in between; `None` as for [`at`](Self::at).
    pub fn later(&self, from: i64, elapsed: i64) -> Option<(i64, f64)> {
        let begun = self.at(from)?;
        let wanted = begun.free.saturating_add(elapsed);
        let mut local = wanted.saturating_add(begun.shift.0);
        for _ in 0..5 {
            local = wanted.saturating_add(self.at(local)?.shift.0); // each round is at least ten times closer
        }
        let place = |local: i64| {
            self.knots
                .partition_point(|knot| knot.from <= local)
                .saturating_sub(1)
        };
        let meanwhile = self
            .knots
            .range(place(from)..=place(local).max(place(from)));
        Some((
            local,
            meanwhile
                .map(|knot| knot.adjustment.abs())
                .fold(0.0, f64::max),
        ))
    }

    fn push(&mut self, from: i64, adjustment: f64, doubt_rate: f64, unsure: f64) {
        // later commands no longer hold; earlier ones are not changed
        let from = from.max(self.knots.front().map_or(i64::MIN, |first| first.from));
        while self.knots.len() > 1 && self.knots.back().is_some_and(|last| last.from > from) {
            self.knots.pop_back();
        }
        let Some(last) = self.knots.back().copied() else {
            return;
        };
        let (shift, doubt) = last.at(from);
        if self.knots.len() > 1 && last.from == from {
            self.knots.pop_back(); // it never held
        }
        self.knots.push_back(Knot {
            from,
            shift,
            doubt: doubt + unsure,
            adjustment,
            doubt_rate,
            unsure: last.unsure,
            on_average: None,
        });
        if self.knots.len() > REMEMBERED {
            self.knots.pop_front();
            self.is_complete = false;
        }
    }
}

/// The possible error of a slew by the kernel while it begins and while it ends.
fn late(own: OwnSlew) -> f64 {
    own.adjustment.abs() * LATE as f64 + ROUNDED
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(
            shift(&commands, 13 * SECOND) - shift(&commands, 12 * SECOND),
            19_999
        );
        assert!((commands.adjustment_at(11 * SECOND) - 100e-6).abs() < 1e-12);
        assert!((commands.adjustment_at(13 * SECOND) - 20e-6).abs() < 1e-12);
    }

    #[test]
    fn when_it_changed_is_as_doubtful_as_the_call_was_long() {
        let mut commands = Commands::new(0.0, 0.0, 0.0);
        commands.command(SECOND, SECOND + 1_000_000, 0.0, 500e-6);
        let doubt = |at| commands.at(at).expect("remembered").doubt;
        assert!(doubt(SECOND - 1) < 1e-9 && (499.0..502.0).contains(&doubt(SECOND)));
        assert!(
            (999.0..1_002.0).contains(&doubt(2 * SECOND)),
            "{}",
            doubt(2 * SECOND)
        );
    }

    #[test]
    fn a_slew_of_the_clocks_own_lasts_for_its_next_second() {
        let mut commands = Commands::new(0.0, 0.0, 0.0);
        commands.moves_itself(10 * SECOND + SECOND / 2, 400_000.0);
        assert_eq!(
            (
                shift(&commands, 11 * SECOND),
                shift(&commands, 11 * SECOND + SECOND / 2)
            ),
            (0, 199_920)
        );
        assert_eq!(shift(&commands, 13 * SECOND), 399_840); // by the slewed clock's second, which is shorter
        assert!(commands.at(13 * SECOND).expect("remembered").doubt >= 160_000.0);
        // during it, other commands do not end it
        commands.command(
            11 * SECOND + SECOND / 2,
            11 * SECOND + SECOND / 2,
            10e-6,
            0.0,
        );
        let moved = shift(&commands, 13 * SECOND);
        assert!(
            (399_840 + 14_990..399_840 + 15_000).contains(&moved),
            "{moved}"
        );
        assert!(!commands.is_beginning(11 * SECOND + SECOND / 2));
    }

    #[test]
    fn a_slew_of_the_clocks_own_is_taken_back_before_it_begins() {
        let mut commands = Commands::new(0.0, 0.0, 0.0);
        commands.moves_itself(10 * SECOND + SECOND / 2, 400_000.0);
        commands.command(10 * SECOND + SECOND / 2, 10 * SECOND + SECOND / 2, 0.0, 0.0);
        assert_eq!(
            (
                shift(&commands, 13 * SECOND),
                commands.is_beginning(11 * SECOND)
            ),
            (0, false)
        );
        // at its begin, the state is unknown
        commands.moves_itself(10 * SECOND + SECOND / 2, 400_000.0);
        assert!(commands.is_beginning(11 * SECOND));
        commands.command(11 * SECOND + 1, 11 * SECOND + 1, 0.0, 0.0);
        assert!(commands.at(13 * SECOND).expect("remembered").doubt >= 400_000.0);
    }

    #[test]
    fn a_slew_of_the_clocks_own_goes_with_the_scale() {
        const SHIFT: i64 = 37 * SECOND; // UTC to TAI
        let mut commands = Commands::new(0.0, 0.0, 0.0);
        commands.moves_itself(10 * SECOND + SECOND / 2, 400_000.0);
        commands.rescale(SHIFT);
        assert!(commands.is_beginning(SHIFT + 11 * SECOND) && !commands.is_beginning(11 * SECOND));
        // before it begins, a command cancels it, as on the old scale
        commands.command(
            SHIFT + 10 * SECOND + SECOND / 2,
            SHIFT + 10 * SECOND + SECOND / 2,
            0.0,
            0.0,
        );
        assert_eq!(shift(&commands, SHIFT + 13 * SECOND), 0);
    }

    #[test]
    fn a_time_span_is_as_long_as_the_commands_made_it() {
        let mut commands = Commands::new(0.0, 0.0, 0.0);
        commands.command(10 * SECOND, 10 * SECOND, 0.0, 0.01);
        commands.command(
            10 * SECOND + SECOND * 101 / 100,
            10 * SECOND + SECOND * 101 / 100,
            0.0,
            0.0,
        );
        let later = |from: i64, elapsed: i64| commands.later(from, elapsed).expect("remembered");
        assert_eq!(later(8 * SECOND, SECOND), (9 * SECOND, 0.0));
        assert!((later(9 * SECOND, 3 * SECOND).1 - 0.01).abs() < 1e-12);
        let near = |local: i64, wanted: i64| assert!(local.abs_diff(wanted) <= 2, "{local}");
        near(
            later(9 * SECOND, SECOND + SECOND / 2).0,
            10 * SECOND + SECOND / 2 + SECOND / 200,
        );
        near(later(9 * SECOND, 3 * SECOND).0, 12 * SECOND + SECOND / 100);
        near(later(13 * SECOND, SECOND).0, 14 * SECOND);
    }

    #[test]
    fn a_wide_reading_widens_until_the_next_one() {
        let mut commands = Commands::default();
        commands.moved_by_others(Movement {
            between: (SECOND, 2 * SECOND),
            reached: 5_000.0,
            after: 0.0,
            is_straight: true,
            unsure: 400.0,
        });
        for (second, unsure) in [
            (2, 300.0),
            (3, 18_000.0),
            (4, 300.0),
            (5, 500.0),
            (6, 450.0),
        ] {
            commands.confirmed_by_others(second * SECOND, unsure);
        }
        let width = |second: i64| {
            let at = second * SECOND + SECOND / 2;
            let (low, high) = commands.at(at).expect("remembered").shift;
            assert!((low + high).abs_diff(10_000) <= 1);
            (high - low) / 2
        };
        assert_eq!([2, 3, 4, 5, 6].map(width), [400, 18_000, 300, 500, 500]);
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
