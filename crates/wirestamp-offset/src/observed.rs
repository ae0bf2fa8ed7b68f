//! Adjustments of the local clock by another program, as readings show them: a daemon that slews the host's clock. They
//! are removed from packets like our own commands, so that they are neither drift nor a step.
//!
//! Only adjustments that differ from the one at the beginning are removed. While readings lie on a straight line, there
//! is none.

use crate::commands::{Movement, SharedCommands};
use wirestamp_core::time::{Adjusted, Bounded, Span};

/// Readings of how far adjustments have moved a clock. Its [`Commands`](crate::Commands) contain the result.
///
/// It assumes what [`Adjusted::until`] does of the time between two readings, and that nothing comes and goes while
/// readings lie on a straight line.
#[derive(Debug, Clone)]
pub struct Observed {
    commands: SharedCommands,
    /// The first reading on the straight line,
    first: Option<Reading>,
    /// and the newest.
    newest: Option<Reading>,
    /// The slopes of the lines through all readings since the first.
    slopes: (f64, f64),
    /// Set once the clock was adjusted otherwise.
    beginning: Option<Beginning>,
    /// Whether the oscillator may need a fast adjustment, so that one at the beginning is no slew.
    is_any_believed: bool,
    /// The adjustment beside which packets contradicted each other.
    doubted: Option<f64>,
}

/// How far adjustments have moved the clock at a local time, in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Reading {
    local: i64,
    by: f64,
    unsure: f64,
}

/// The adjustment at the beginning.
#[derive(Debug, Clone, Copy)]
struct Beginning {
    /// The last reading of it.
    last: Reading,
    slope: f64,
}

/// A reading that is off by more, in nanoseconds, says too little.
const TOO_UNSURE: f64 = 10_000.0;
/// Any slope.
const ANY: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

impl Observed {
    /// Returns an empty record. `commands` are those of the estimators whose packets this clock timestamps; no other
    /// command goes there.
    pub fn new(commands: SharedCommands) -> Self {
        Self {
            commands,
            first: None,
            newest: None,
            slopes: ANY,
            beginning: None,
            is_any_believed: false,
            doubted: None,
        }
    }

    /// Forgets all readings, after a step of the clock. Returns whether something was removed: then all estimators with
    /// its commands must be reset.
    pub fn restart(&mut self) -> bool {
        let has_removed = self.beginning.is_some();
        *self.commands.borrow_mut() = crate::Commands::default();
        *self = Self {
            is_any_believed: self.is_any_believed,
            ..Self::new(SharedCommands::clone(&self.commands))
        };
        has_removed
    }

    /// Moves the scale of local times: from now on they are larger by `by`. Estimators that are to keep packets of before
    /// must keep their scale, too ([`Estimator::keep_scale`](crate::Estimator::keep_scale)).
    pub fn rescale(&mut self, by: i64) {
        self.commands.borrow_mut().rescale(by);
        let last = self.beginning.as_mut().map(|beginning| &mut beginning.last);
        let readings = [self.first.as_mut(), self.newest.as_mut(), last];
        for reading in readings.into_iter().flatten() {
            reading.local = reading.local.saturating_add(by);
        }
    }

    /// Notes a contradiction of packets. If the clock is adjusted otherwise by more than this fraction, the reference may
    /// have been stepped during a slew. Fresh packets that contradict each other beside the same adjustment show more: the
    /// adjustment at the beginning was a slew, or the oscillator needs a fast one. Then all readings are forgotten. Returns
    /// whether they are: then all estimators with its commands must be reset.
    pub fn contradicted(&mut self, most_drift: f64) -> bool {
        let newest = self.newest.map_or(0, |newest| newest.local);
        let adjustment = self.commands.borrow().adjustment_at(newest);
        let doubted = (adjustment.abs() > most_drift).then_some(adjustment);
        let before = std::mem::replace(&mut self.doubted, doubted);
        let is_wrong = before
            .zip(doubted)
            .is_some_and(|(before, now)| (before - now).abs() <= most_drift);
        if is_wrong {
            self.is_any_believed = !self.is_any_believed;
            self.restart();
        }
        is_wrong
    }

    /// Notes how far adjustments have moved the clock at a local time. To be called before packets that were timestamped
    /// since the last reading are given to an estimator.
    pub fn note(&mut self, local: i64, by: Bounded<Span>) {
        let reading = Reading {
            local,
            by: by.value.saturating_nanoseconds() as f64,
            unsure: by.bound.saturating_nanoseconds() as f64,
        };
        if reading.unsure > TOO_UNSURE {
            return;
        }
        let (Some(first), Some(newest)) = (self.first, self.newest) else {
            (self.first, self.newest) = (Some(reading), Some(reading));
            return;
        };
        if local <= newest.local {
            return;
        }
        let slopes = both(self.slopes, first.slopes_to(&reading));
        let is_straight = slopes.0 <= slopes.1;
        if is_straight && self.is_settled(&first, &newest) && self.is_as_expected(&first, &reading)
        {
            self.slopes = slopes;
        } else {
            self.adjusted(&newest, &reading, is_straight.then_some(slopes));
        }
        self.newest = Some(reading);
    }

    /// Whether the adjustment that is in force was seen for as long as from one reading to another. Before, it is only a
    /// mean: of a time in which the clock was adjusted otherwise.
    fn is_settled(&self, first: &Reading, newest: &Reading) -> bool {
        self.beginning.is_none() || first.local < newest.local
    }

    /// Whether the adjustment that is in force explains the reading.
    fn is_as_expected(&self, first: &Reading, reading: &Reading) -> bool {
        let Some(beginning) = &self.beginning else {
            let moved = Span::from_nanoseconds((reading.by - first.by) as i128);
            let unsure = Span::from_nanoseconds((reading.unsure + first.unsure) as i128);
            let elapsed = Span::from_nanoseconds((reading.local - first.local).into());
            return self.is_any_believed
                || !Adjusted::is_fast(Bounded::new(moved, unsure), elapsed);
        };
        let expected = self.commands.borrow().shift_at(reading.local);
        (beginning.shift(reading) - expected).abs() <= first.unsure + reading.unsure
    }

    /// The clock was adjusted otherwise after `before`; `slopes` if it was only known too inexactly.
    fn adjusted(&mut self, before: &Reading, reading: &Reading, slopes: Option<(f64, f64)>) {
        let usual = self.slopes;
        let beginning = *self.beginning.get_or_insert_with(|| Beginning {
            last: *before,
            // a range that is wide says little: the least adjustment
            slope: 0.0_f64.clamp(usual.0, usual.1),
        });
        let meanwhile = (reading.by - before.by) / (reading.local - before.local) as f64;
        let after = slopes.map_or(meanwhile, |(low, high)| meanwhile.clamp(low, high));
        let unsure = 2.0 * (before.unsure + reading.unsure + beginning.last.unsure);
        self.commands.borrow_mut().moved_by_others(Movement {
            between: (before.local, reading.local),
            reached: beginning.shift(reading),
            after: after - beginning.slope,
            // two readings always lie on a line
            is_straight: slopes.is_some()
                && self.first.is_some_and(|first| first.local < before.local),
            unsure,
        });
        match slopes {
            Some(slopes) => self.slopes = slopes,
            None => (self.first, self.slopes) = (Some(*reading), ANY),
        }
    }
}

impl Reading {
    /// The slopes of the lines through this reading and a later one.
    fn slopes_to(&self, later: &Self) -> (f64, f64) {
        let elapsed = (later.local - self.local) as f64;
        let (moved, unsure) = (later.by - self.by, later.unsure + self.unsure);
        ((moved - unsure) / elapsed, (moved + unsure) / elapsed)
    }
}

impl Beginning {
    /// How far other adjustments have moved the clock at a reading.
    fn shift(&self, reading: &Reading) -> f64 {
        let usual = self.slope * (reading.local - self.last.local) as f64;
        reading.by - self.last.by - usual
    }
}

fn both(one: (f64, f64), other: (f64, f64)) -> (f64, f64) {
    (one.0.max(other.0), one.1.min(other.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    const SECOND: i64 = 1_000 * MS;

    /// Adjustments by so many parts per million from these times on.
    struct Clock(Vec<(i64, f64)>);

    impl Clock {
        fn by(&self, local: i64) -> f64 {
            let until = |place: usize| {
                self.0
                    .get(place + 1)
                    .map_or(local, |next| next.0.min(local))
            };
            let parts = self.0.iter().enumerate();
            parts
                .map(|(place, (from, ppm))| (until(place) - from).max(0) as f64 * ppm * 1e-6)
                .sum()
        }

        /// A reading that is off by up to 40 ns.
        fn reading(&self, local: i64) -> Bounded<Span> {
            let error = local.wrapping_mul(6_364_136_223_846_793_005).rem_euclid(81) - 40;
            let by = self.by(local).round() as i64 + error;
            Bounded::new(
                Span::from_nanoseconds(by.into()),
                Span::from_nanoseconds(41),
            )
        }
    }

    /// Packets are timestamped somewhat before readings; returns the widest range of the shift in each second.
    fn observed(clock: &Clock, seconds: i64, interval: i64) -> Vec<i64> {
        let commands = SharedCommands::default();
        let mut observed = Observed::new(SharedCommands::clone(&commands));
        let mut widest = vec![0; seconds as usize];
        for turn in 0..seconds * SECOND / interval {
            let read = turn * interval + turn % 7 * 1_000;
            observed.note(read, clock.reading(read));
            for before in [20_000, 4 * MS, interval * 2 / 3] {
                let packet = read - before;
                let (low, high) = commands.borrow().at(packet).expect("remembered").shift;
                let Some(beginning) = observed.beginning else {
                    assert_eq!((low, high), (0, 0));
                    continue;
                };
                let usual = beginning.slope * (packet - beginning.last.local) as f64;
                let truth = clock.by(packet) - clock.by(beginning.last.local) - usual;
                let is_inside = low as f64 <= truth && truth <= high as f64;
                assert!(is_inside, "{packet}: {low} to {high}, really {truth}");
                if before == 20_000 {
                    let widest = &mut widest[(read / SECOND) as usize];
                    *widest = (high - low).max(*widest);
                }
            }
        }
        widest
    }

    #[test]
    fn a_slew_at_any_time_is_removed() {
        for ppm in [3.0, -60.0, 500.0, -500.0, 83_333.0, -83_333.0] {
            for begun in (5_000 * MS..5_200 * MS).step_by(13 * MS as usize) {
                let usual = 40.0;
                let ends = begun + 3 * SECOND + 17 * MS;
                let clock = Clock(vec![(0, usual), (begun, usual + ppm), (ends, usual)]);
                for interval in [125 * MS, SECOND] {
                    let widest = observed(&clock, 15, interval);
                    assert_eq!(widest[..5], [0; 5]);
                    assert!(
                        widest.iter().all(|widest| *widest < 8_000),
                        "{ppm}: {widest:?}"
                    );
                    assert!(
                        widest[12..].iter().all(|widest| *widest < 1_200),
                        "{widest:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_slew_that_is_shorter_than_two_intervals_is_inside() {
        for ppm in [3.0, -60.0, 500.0, -500.0, 83_333.0, -83_333.0] {
            let check = |begun: i64, ends: i64| {
                let clock = Clock(vec![(0, 40.0), (begun, 40.0 + ppm), (ends, 40.0)]);
                observed(&clock, 7, 125 * MS);
            };
            for begun in (5_000 * MS..5_130 * MS).step_by(21 * MS as usize) {
                for length in (5..=270).step_by(41) {
                    check(begun, begun + length * MS);
                }
            }
            // as much in one interval as in the next
            check(5_062_500_000, 5_187_500_000);
        }
    }

    #[test]
    fn changes_each_second_leave_an_older_estimate_its_place() {
        let commands = SharedCommands::default();
        let mut observed = Observed::new(SharedCommands::clone(&commands));
        let changes: Vec<_> = (0..400)
            .map(|second| (second * SECOND, (second % 7 * 20) as f64))
            .collect();
        let clock = Clock(changes);
        let mut estimator = crate::Estimator::new(SETTINGS, SharedCommands::clone(&commands));
        for turn in 0..1_600 {
            let at = turn * SECOND / 4 + 1_000;
            let scale = [0, -37 * SECOND][usize::from(turn >= 60)];
            if turn == 60 {
                observed.rescale(scale);
                estimator.keep_scale(scale);
            }
            observed.note(at + scale, clock.reading(at));
            let really = |at: i64| clock.by(at).round() as i64;
            if turn < 40 {
                let (sync, request) = (at - 30_000, at - 20_000);
                let taken = estimator.from_reference(sync, really(sync) + 5_000);
                taken.expect("no contradiction");
                let taken = estimator.to_reference(request, really(request) - 5_000);
                taken.expect("no contradiction");
            } else {
                let held = estimator.held_at(at).expect("held");
                let error = (held.offset - really(at)).abs();
                assert!(error <= held.bound, "{turn}: {error}, {held:?}");
            }
        }
    }

    const SETTINGS: crate::Settings = crate::Settings {
        assumptions: crate::Assumptions {
            drift: (-200e-6, 200e-6),
            wander: 30e-9,
            jump: 0.0,
        },
        least_delay: 0,
        resolution: 100,
    };

    #[test]
    fn a_fast_slew_from_the_beginning_on_is_removed_and_any_other_is_usual() {
        for (ppm, is_usual) in [
            (900.0, true),
            (-900.0, true),
            (83_333.0, false),
            (-83_333.0, false),
        ] {
            let widest = observed(&Clock(vec![(0, ppm)]), 6, 125 * MS);
            assert_eq!(widest == [0; 6], is_usual, "{ppm}: {widest:?}");
        }
    }

    #[test]
    fn packets_that_contradict_each_other_beside_a_large_adjustment_begin_anew() {
        let commands = SharedCommands::default();
        let mut observed = Observed::new(SharedCommands::clone(&commands));
        let clock = Clock(vec![(0, 83_333.0), (5 * SECOND, 10.0)]);
        let shift = |observed: &mut Observed, second: i64| {
            for tenth in second * 10..second * 10 + 10 {
                observed.note(tenth * SECOND / 10, clock.reading(tenth * SECOND / 10));
            }
            let at = commands.borrow().at((second + 1) * SECOND);
            at.expect("remembered").shift.0
        };
        assert!(shift(&mut observed, 1) > 70 * MS);
        assert!(
            !observed.contradicted(200e-6),
            "the reference may have been stepped"
        );
        assert!(shift(&mut observed, 2) > 140 * MS);
        assert!(
            observed.contradicted(200e-6),
            "it may be what the oscillator needs"
        );
        assert_eq!(shift(&mut observed, 3), 0);
        assert!(!observed.contradicted(200e-6));
        assert!(shift(&mut observed, 7) < -70 * MS);
        assert!(!observed.contradicted(200e-6));
        assert!(observed.contradicted(200e-6), "or a slew that is over");
        assert_eq!(shift(&mut observed, 9), 0);
        assert!(!observed.restart());
    }
}
