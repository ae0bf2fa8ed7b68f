//! Adjustments of the local clock by another program, as readings show them: a daemon that slews the host's clock. They
//! are removed from packets like our own commands, so that they are neither drift nor a step.
//!
//! Only adjustments that differ from the one at the beginning are removed. While readings lie on a straight line, there
//! is none.

mod doubt;

use crate::commands::{Movement, SharedCommands};
use doubt::Doubt;
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
    /// The last contradiction beside an adjustment, while it lasts.
    doubted: Option<Doubt>,
    /// Whether readings before the first one said too little.
    is_blind: bool,
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
/// Slow adjustments, as a fraction: the usual one and others beside it.
const SLOW: f64 = 2.1e-3;
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
            is_blind: false,
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
        if let Some(doubted) = &mut self.doubted {
            doubted.at = doubted.at.saturating_add(by);
        }
    }

    /// Notes a contradiction of packets. If the clock is adjusted otherwise by more than this fraction, the reference may
    /// have been stepped during a slew. Fresh packets that contradict each other while that adjustment lasts show more: the
    /// adjustment at the beginning was a slew, or the oscillator needs a fast one. Then all readings are forgotten. Returns
    /// whether they are: then all estimators with its commands must be reset.
    pub fn contradicted(&mut self, most_drift: f64) -> bool {
        let at = self.newest.map_or(0, |newest| newest.local);
        let adjustment = self.commands.borrow().adjustment_at(at);
        let usual = self.beginning.map_or(0.0, |beginning| beginning.slope);
        let doubted = (adjustment.abs() > most_drift).then_some(Doubt {
            slope: usual + adjustment / (1.0 + adjustment),
            tolerance: most_drift,
            at,
        });
        let before = std::mem::replace(&mut self.doubted, doubted);
        let is_wrong = before
            .zip(doubted)
            .is_some_and(|(before, now)| before.is_confirmed_by(&now));
        if is_wrong {
            self.is_any_believed = !self.is_any_believed;
            self.restart();
        }
        is_wrong
    }

    /// Notes how far adjustments have moved the clock at a local time. To be called before packets that were timestamped
    /// since the last reading are given to an estimator. Returns whether an adjustment that was taken for usual was a fast
    /// slew, or readings said too little since the beginning: then all estimators with its commands must be reset.
    pub fn note(&mut self, local: i64, by: Bounded<Span>) -> bool {
        let reading = Reading {
            local,
            by: by.value.saturating_nanoseconds() as f64,
            unsure: by.bound.saturating_nanoseconds() as f64,
        };
        if reading.unsure > TOO_UNSURE {
            return self.missed(&reading);
        }
        let (Some(first), Some(newest)) = (self.first, self.newest) else {
            (self.first, self.newest) = (Some(reading), Some(reading));
            return std::mem::take(&mut self.is_blind);
        };
        if local <= newest.local {
            return false;
        }
        let meanwhile = newest.slopes_to(&reading);
        self.doubted = self.doubted.filter(|doubt| doubt.lasts(meanwhile, local));
        self.newest = Some(reading);
        self.place(&first, &newest, &reading)
    }

    /// Returns whether all readings so far said too little: then nothing can be measured.
    pub fn is_blind(&self) -> bool {
        self.is_blind
    }

    /// Takes a reading that says too little. Until the next one, shifts are as unsure as what may have happened since the
    /// newest one. Before there is one, no packet can be used.
    fn missed(&mut self, reading: &Reading) -> bool {
        let (Some(first), Some(newest)) = (self.first, self.newest) else {
            self.is_blind = true;
            return true;
        };
        if reading.local > newest.local {
            let hidden = self.hidden_until(&first, &newest, reading);
            self.commands
                .borrow_mut()
                .unsure_by_others(newest.local, hidden);
        }
        false
    }

    /// How far the clock may have been moved otherwise since the newest reading: at most what a wide reading leaves
    /// possible, and what adjustments can do in the time.
    fn hidden_until(&self, first: &Reading, newest: &Reading, wide: &Reading) -> f64 {
        let elapsed = Span::from_nanoseconds((wide.local - newest.local).into());
        let most = Adjusted::most_within(elapsed).saturating_nanoseconds() as f64;
        // the usual one, and slow ones beside it
        let slow = elapsed.nanoseconds() as f64 * SLOW;
        let beside = match &self.beginning {
            Some(beginning) => {
                let expected = self.commands.borrow().shift_at(wide.local);
                (beginning.shift(wide) - expected).abs()
            }
            None => {
                let line = |slope: f64| first.by + slope * (wide.local - first.local) as f64;
                let (low, high) = self.slopes;
                let off = |slope: f64| (wide.by - line(slope)).abs();
                off(low).max(off(high))
            }
        };
        let last = self
            .beginning
            .map_or(0.0, |beginning| beginning.last.unsure);
        let readings = 2.0 * (first.unsure + newest.unsure + last);
        readings + (most + slow).min(beside + 2.0 * (wide.unsure + slow))
    }

    /// Compares a reading with the line from `first` to `newest`.
    fn place(&mut self, first: &Reading, newest: &Reading, reading: &Reading) -> bool {
        let slopes = both(self.slopes, first.slopes_to(reading));
        let is_straight = slopes.0 <= slopes.1;
        let is_expected = is_straight && self.is_as_expected(first, reading);
        let is_begun = self.beginning.is_some();
        if is_expected && !is_begun {
            self.slopes = slopes;
            // after a wide one
            let mut commands = self.commands.borrow_mut();
            commands.confirmed_by_others(newest.local, 0.0);
        } else if is_expected && is_long(first, newest, reading) {
            self.confirmed(first, newest, reading);
            self.slopes = slopes;
        } else if is_straight && !is_begun {
            // all of it is a slew: the beginning is level
            self.slopes = ANY;
            self.adjusted(first, reading, Some(slopes));
            return first.local < newest.local;
        } else {
            self.adjusted(newest, reading, is_straight.then_some(slopes));
        }
        false
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

    /// The adjustment that is in force was that from `before` to `reading`, too, as exactly as readings show.
    fn confirmed(&mut self, first: &Reading, before: &Reading, reading: &Reading) {
        let last = self
            .beginning
            .map_or(0.0, |beginning| beginning.last.unsure);
        let mut commands = self.commands.borrow_mut();
        let usual = self.beginning.map_or(0.0, |beginning| beginning.slope);
        let expected = usual + commands.slope();
        let (low, high) = self.slopes;
        let wrong = (expected - low).abs().max((expected - high).abs());
        // a change just after `before` that readings hide in what they leave open of the slope
        let hidden = wrong * (reading.local - before.local) as f64;
        let readings = first.unsure + first.unsure + before.unsure + reading.unsure + last;
        let unsure = hidden + 2.0 * readings;
        commands.confirmed_by_others(before.local, unsure);
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
        let first = self.first.unwrap_or(*before);
        let readings = [&first, before, reading, &beginning.last];
        let unsure = 2.0 * readings.iter().map(|reading| reading.unsure).sum::<f64>();
        let is_straight = slopes.is_some() && is_long(&first, before, reading);
        // a change just after `before` that readings hide in what the line before left open of the slope
        let hidden = match is_straight {
            true => {
                let open = (usual.1 - usual.0) * (reading.local - before.local) as f64;
                open + 2.0 * (first.unsure + before.unsure)
            }
            false => 0.0,
        };
        self.commands.borrow_mut().moved_by_others(Movement {
            between: (before.local, reading.local),
            reached: beginning.shift(reading),
            after: after - beginning.slope,
            is_straight,
            unsure: unsure + hidden,
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

/// Whether the adjustment before a reading was seen for about as long as from `before` to the reading: readings that are
/// close together lie on a line with any other.
fn is_long(first: &Reading, before: &Reading, reading: &Reading) -> bool {
    let seen = before.local.saturating_sub(first.local);
    seen.saturating_mul(2) >= reading.local.saturating_sub(before.local)
}

fn both(one: (f64, f64), other: (f64, f64)) -> (f64, f64) {
    (one.0.max(other.0), one.1.min(other.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    const SECOND: i64 = 1_000 * MS;

    /// Adjustments by so many parts per million from these times on, and the bounds of readings, in turn.
    struct Clock(Vec<(i64, f64)>, &'static [i64]);

    const EXACT: &[i64] = &[41];

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

        /// A reading that is off by up to a nanosecond less than its bound.
        fn reading(&self, local: i64) -> Bounded<Span> {
            let random = local.wrapping_mul(6_364_136_223_846_793_005);
            let choice = (random >> 40).rem_euclid(self.1.len() as i64);
            let bound = self.1[choice as usize];
            let error = random.rem_euclid(2 * bound - 1) - (bound - 1);
            let by = self.by(local).round() as i64 + error;
            Bounded::new(
                Span::from_nanoseconds(by.into()),
                Span::from_nanoseconds(bound.into()),
            )
        }
    }

    /// Regular readings.
    fn regular(seconds: i64, interval: i64) -> Vec<i64> {
        (0..seconds * SECOND / interval)
            .map(|turn| turn * interval + turn % 7 * 1_000)
            .collect()
    }

    /// Packets are timestamped somewhat before readings; returns the widest range of the shift in each second.
    fn observed(clock: &Clock, readings: &[i64]) -> Vec<i64> {
        let commands = SharedCommands::default();
        let mut observed = Observed::new(SharedCommands::clone(&commands));
        let mut widest = Vec::new();
        let mut last = 0;
        for &read in readings {
            observed.note(read, clock.reading(read));
            let elapsed = read - std::mem::replace(&mut last, read);
            widest.resize((read / SECOND) as usize + 1, 0);
            for before in [20_000, 4 * MS, elapsed * 2 / 3, elapsed / 10] {
                let packet = read - before;
                let (low, high) = commands.borrow().at(packet).expect("remembered").shift;
                let Some(beginning) = observed.beginning else {
                    let is_used = clock.1.iter().all(|bound| *bound as f64 <= TOO_UNSURE);
                    assert!(!is_used || (low, high) == (0, 0));
                    if !is_used {
                        let beside = clock.by(packet) - clock.0[0].1 * 1e-6 * packet as f64;
                        // beside a line that fits; the true one differs from it by as much
                        let unseen = 8.0 * 41.0;
                        let is_inside =
                            low as f64 - unseen <= beside && beside <= high as f64 + unseen;
                        assert!(is_inside, "{packet}: {low} to {high}, really {beside}");
                    }
                    continue;
                };
                if packet < beginning.last.local {
                    continue; // of the line
                }
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
                let clock = Clock(vec![(0, usual), (begun, usual + ppm), (ends, usual)], EXACT);
                for interval in [125 * MS, SECOND] {
                    let widest = observed(&clock, &regular(15, interval));
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
                let clock = Clock(vec![(0, 40.0), (begun, 40.0 + ppm), (ends, 40.0)], EXACT);
                observed(&clock, &regular(7, 125 * MS));
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

    /// A Sync and the delay request after it.
    #[test]
    fn readings_in_pairs_are_no_line() {
        for (apart, step) in [(20_000, 11), (100_000, 9), (200_000, 9), (9 * MS, 13)] {
            let pairs =
                (1..72).flat_map(|turn: i64| [0, apart].map(|after| turn * 125 * MS + after));
            let pairs: Vec<_> = pairs.collect();
            for ppm in [500.0, -500.0, 83_333.0, -83_333.0] {
                for begun in (5_000 * MS..5_125 * MS).step_by(step * MS as usize) {
                    for length in (1..=400).step_by(19) {
                        let ends = begun + length * MS;
                        let changes = vec![(0, 40.0), (begun, 40.0 + ppm), (ends, 40.0)];
                        let widest = observed(&Clock(changes, EXACT), &pairs);
                        assert!(
                            widest[7..].iter().all(|widest| *widest < 1_200),
                            "{apart}, {ppm}: {widest:?}"
                        );
                    }
                }
            }
        }
    }

    /// What the first pair after a change shows may lead to the next reading by chance.
    #[test]
    fn a_pair_that_leads_to_the_next_reading_by_chance_is_no_line() {
        const APART: i64 = 200_000;
        for tenths in 3_000..9_000 {
            let pairs =
                (1..7).flat_map(|turn: i64| [0, APART].map(|after| turn * 125 * MS + after));
            let pairs: Vec<_> = pairs
                .map(|at| at + i64::from(tenths) % 16 * 1_000)
                .collect();
            let begun = 374 * MS;
            let ends = 376 * MS + i64::from(tenths) % 120 * MS;
            let ppm = f64::from(tenths) / 10.0;
            let changes = vec![(0, 40.0), (begun, 40.0 + ppm), (ends, 40.0)];
            observed(&Clock(changes, EXACT), &pairs);
        }
    }

    /// A reading is interrupted at times.
    #[test]
    fn readings_with_wide_bounds_widen_what_they_show() {
        const BOUNDS: &[i64] = &[
            41, 60, 41, 300, 45, 41, 9_000, 41, 41, 50, 60, 41, 45, 41, 2_000, 41, 60, 41, 50, 41,
        ];
        let mut recovered = 0;
        for ppm in [-60.0, 500.0, -500.0, 83_333.0, -83_333.0] {
            for begun in (5_000 * MS..5_130 * MS).step_by(3 * MS as usize) {
                for length in [60, 190, 420, 1_511] {
                    let ends = begun + length * MS;
                    let changes = vec![(0, 40.0), (begun, 40.0 + ppm), (ends, 40.0)];
                    let widest = observed(&Clock(changes, BOUNDS), &regular(15, 125 * MS));
                    assert!(widest.iter().all(|widest| *widest < 150_000), "{widest:?}");
                    let after_wide = widest[5..].iter().skip_while(|widest| **widest < 30_000);
                    recovered += usize::from(after_wide.clone().any(|widest| *widest < 3_000));
                }
            }
        }
        assert!(
            recovered > 20,
            "a wide reading widens what follows: {recovered}"
        );
    }

    /// The reader is interrupted for so long that most readings say nothing.
    #[test]
    fn a_slew_beside_readings_that_are_not_used_is_inside() {
        const BOUNDS: &[i64] = &[41, 15_000, 41, 60_000, 400_000, 41, 3_000_000, 12_000];
        for ppm in [3.0, -60.0, 500.0, -500.0, 83_333.0, -83_333.0] {
            for begun in (2_000 * MS..2_130 * MS).step_by(3 * MS as usize) {
                for length in [5, 60, 190, 1_511] {
                    let ends = begun + length * MS;
                    let changes = vec![(0, 40.0), (begun, 40.0 + ppm), (ends, 40.0)];
                    observed(&Clock(changes, BOUNDS), &regular(6, 125 * MS));
                }
            }
        }
    }

    #[test]
    fn before_the_first_reading_that_is_used_nothing_is_valid() {
        let mut observed = Observed::new(SharedCommands::default());
        let mut note = |second: i64, bound: i128| {
            let by = Bounded::new(Span::ZERO, Span::from_nanoseconds(bound));
            observed.note(second * SECOND, by)
        };
        let valid = [
            (1, 20_000),
            (2, 20_000),
            (3, 41),
            (4, 41),
            (5, 20_000),
            (6, 41),
        ];
        let is_over = valid.map(|(second, bound)| note(second, bound));
        assert_eq!(is_over, [true, true, true, false, false, false]);
    }

    /// It begins just after the second reading of a line, and the third one is off so that it fits the line.
    #[test]
    fn a_slew_that_fits_a_short_line_by_chance_is_inside() {
        const BOUND: i64 = 50;
        let mut random = 1_u64;
        let mut choose = |limit: i64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) as i64 % (limit + 1)
        };
        let mut most = 0.0_f64;
        for _ in 0..60_000 {
            let commands = SharedCommands::default();
            let mut observed = Observed::new(SharedCommands::clone(&commands));
            let mut errors = || (choose(2) - 1) * (BOUND - 1);
            let errors: Vec<_> = (0..24).map(|_| errors()).collect();
            let seen = 20 * MS + choose(100 * MS);
            let gap = seen + choose(seen);
            let slewed = (choose(24 * BOUND) - 12 * BOUND) as f64;
            let changed = 2 * SECOND + choose(100 * MS);
            let second = changed + 100 * MS;
            let slew = second + seen;
            let by = |at: i64| {
                let before = if at > changed { 1e6 } else { 0.0 };
                before + slewed * ((at - slew) as f64 / 1e4).clamp(0.0, 1.0)
            };
            let usual = (0..16).map(|turn| turn * SECOND / 8);
            let after = [second, slew, slew + gap, slew + 2 * gap];
            for (place, at) in usual.chain(after).enumerate() {
                let shown = Span::from_nanoseconds((by(at).round() as i64 + errors[place]).into());
                observed.note(
                    at,
                    Bounded::new(shown, Span::from_nanoseconds(BOUND.into())),
                );
                if at < slew + gap {
                    continue;
                }
                let Some(beginning) = observed.beginning else {
                    continue;
                };
                for packet in [slew + 10_000, slew + gap / 2, at - 20_000] {
                    let (low, high) = commands.borrow().at(packet).expect("remembered").shift;
                    let truth = by(packet)
                        - by(beginning.last.local)
                        - beginning.slope * (packet - beginning.last.local) as f64;
                    let middle = (low + high) as f64 / 2.0;
                    most = most.max((truth - middle).abs());
                    assert!(
                        low as f64 <= truth && truth <= high as f64,
                        "{packet}: {low} to {high}, really {truth}; {slewed}, {seen}, {gap}, {errors:?}"
                    );
                }
            }
        }
        assert!(most > 6.0 * BOUND as f64, "the limit is near: {most}");
    }

    #[test]
    fn changes_each_second_leave_an_older_estimate_its_place() {
        let commands = SharedCommands::default();
        let mut observed = Observed::new(SharedCommands::clone(&commands));
        let changes: Vec<_> = (0..400)
            .map(|second| (second * SECOND, (second % 7 * 20) as f64))
            .collect();
        let clock = Clock(changes, EXACT);
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
            let widest = observed(&Clock(vec![(0, ppm)], EXACT), &regular(6, 125 * MS));
            assert_eq!(widest == [0; 6], is_usual, "{ppm}: {widest:?}");
        }
    }

    /// Two readings that are close together show too little of a slew that began before them.
    #[test]
    fn a_fast_slew_from_the_beginning_on_leaves_the_beginning_level() {
        for ppm in [1_500.0, -1_500.0, 83_333.0] {
            for begun in (SECOND..SECOND + 40).map(|begun| begun * 3) {
                let commands = SharedCommands::default();
                let mut observed = Observed::new(commands);
                let clock = Clock(vec![(0, ppm)], EXACT);
                let mut note = |after: i64| {
                    let is_over = observed.note(begun + after, clock.reading(begun + after));
                    (is_over, observed.beginning)
                };
                note(0);
                // at once, or after a time of which packets may have been used
                let (is_over, seen) = note(100_000);
                assert!(!is_over);
                let (is_over, beginning) = note(125 * MS);
                assert_eq!(is_over, seen.is_none());
                let beginning = beginning.expect("a slew");
                assert_eq!((beginning.slope, beginning.last.local), (0.0, begun));
                assert!(!note(250 * MS).0);
            }
        }
    }

    /// The reference is stepped in each of two slews, which are alike.
    #[test]
    fn steps_in_two_slews_are_no_reason_to_begin_anew() {
        let changes = [0.0, 83_333.0, 0.0, 83_333.0].iter().enumerate();
        let changes = changes.map(|(place, ppm)| (place as i64 * 5 * SECOND, 40.0 + ppm));
        let clock = Clock(changes.collect(), EXACT);
        for interval in [125 * MS, SECOND] {
            let mut observed = Observed::new(SharedCommands::default());
            let mut stepped = 0;
            for read in regular(20, interval) {
                observed.note(read, clock.reading(read));
                if [8, 18].contains(&(read / SECOND)) && read % SECOND < 10 * MS {
                    assert!(!observed.contradicted(200e-6));
                    stepped += 1;
                }
            }
            assert_eq!(stepped, 2);
        }
        // a slew that lasts
        let clock = Clock(vec![(0, 40.0), (5 * SECOND, 20_040.0)], EXACT);
        for (apart, is_same) in [(10, true), (950, false)] {
            let mut observed = Observed::new(SharedCommands::default());
            let note = |from: i64, until: i64, observed: &mut Observed| {
                for read in from..until {
                    observed.note(read * SECOND, clock.reading(read * SECOND));
                }
                observed.contradicted(200e-6)
            };
            assert!(!note(0, 20, &mut observed));
            assert_eq!(note(20, 20 + apart, &mut observed), is_same, "{apart} s");
        }
    }

    #[test]
    fn packets_that_contradict_each_other_beside_a_large_adjustment_begin_anew() {
        let commands = SharedCommands::default();
        let mut observed = Observed::new(SharedCommands::clone(&commands));
        let clock = Clock(vec![(0, 83_333.0), (5 * SECOND, 10.0)], EXACT);
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
