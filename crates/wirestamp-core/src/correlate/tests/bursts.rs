//! When batches come sooner than planned.

use super::*;
use core::time::Duration;

const PLANNED: Duration = Duration::from_secs(5);
const GAP: Duration = Duration::from_millis(10);

/// A counter that is read as a burst wants, with brackets 1.2 µs wide.
struct Run {
    counter: Counter,
    correlation: Correlation,
    burst: Burst,
    now: i64,
}

impl Run {
    fn new(batches: u32) -> Self {
        let counter = Counter::STEADY;
        let correlation =
            Correlation::new(interface(), Some(counter.frequency())).with_assumptions(&FINE);
        Self {
            counter,
            correlation,
            burst: Burst::new(batches, GAP),
            now: SECOND,
        }
    }

    fn read(&mut self) -> MonotonicTime {
        for nth in 0..3 {
            let reading = self.counter.read(self.now + nth * 2_000, 600, 600);
            let _ = self.correlation.push(&reading);
        }
        at(self.now + 4_600)
    }

    /// The milliseconds until the next batch.
    fn next(&mut self, can_afford: bool) -> u128 {
        let ended = self.read();
        let next = self
            .burst
            .next(&self.correlation, ended, can_afford, PLANNED);
        self.now += next.as_nanos() as i64;
        next.as_millis()
    }

    fn gaps<const COUNT: usize>(&mut self) -> [u128; COUNT] {
        core::array::from_fn(|_| self.next(true))
    }

    /// The milliseconds until the attempt after each failure.
    fn failures<const COUNT: usize>(&mut self) -> [u128; COUNT] {
        core::array::from_fn(|_| self.burst.failed(PLANNED).as_millis())
    }

    fn step(&mut self) {
        self.counter.start += 200_000_000;
    }
}

const SERIES: [u128; 11] = [10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 5_000, 5_000];

#[test]
fn a_burst_and_then_as_planned() {
    let mut run = Run::new(3);
    assert_eq!(run.gaps(), [10, 10, 5_000, 5_000]);
    run.burst.restart();
    run.correlation.restart(GenerationCause::Notification);
    assert_eq!(run.gaps(), [10, 10, 5_000, 5_000]);
}

#[test]
fn after_a_contradiction_intervals_double_until_they_are_as_planned() {
    let mut run = Run::new(3);
    let _: [u128; 5] = run.gaps();
    run.step();
    assert_eq!(run.gaps(), SERIES);
    assert_eq!(run.correlation.cause(), Some(GenerationCause::HardwareStep));
}

/// With ±18 µs and ±505 ppm, batches less than 71 ms apart say nothing new.
#[test]
fn the_first_interval_says_something_new() {
    let mut run = Run::new(3);
    let _: [u128; 5] = run.gaps();
    run.step();
    let wide = run.counter.read(run.now, 18_000, 18_000);
    let _ = run.correlation.push(&wide);
    let (now, soon) = (at(run.now + 20_000), |run: &mut Run, now| {
        run.burst.next(&run.correlation, now, true, PLANNED)
    });
    let first = soon(&mut run, now).as_millis();
    assert!((70..73).contains(&first), "{first}");
}

/// Two may begin at once; the third waits for the rest of ten seconds.
#[test]
fn a_third_series_in_ten_seconds_is_put_off() {
    let mut run = Run::new(3);
    let _: [u128; 5] = run.gaps();
    run.step();
    assert_eq!(run.gaps(), [10, 20, 40]);
    run.step();
    assert_eq!(run.gaps(), [10, 20, 40, 80, 160, 320, 640]);
    run.step();
    // 70 ms and 1.27 s after the first one began: goes on, until ten seconds are over
    assert_eq!(run.gaps(), [1_280, 2_560]);
    run.step();
    assert_eq!(run.next(true), 10_000 - 70 - 1_270 - 1_280 - 2_560);
    assert_eq!(run.gaps(), [5_000], "by then the frequency is known");
    let quiet: [u128; 2] = run.gaps();
    assert_eq!(quiet, [5_000; 2]);
    run.step();
    assert_eq!(run.gaps(), SERIES);
}

/// The third contradiction is shown just before the ten seconds are over.
#[test]
fn a_series_that_was_put_off_begins() {
    let mut run = Run::new(3);
    let _: [u128; 5] = run.gaps();
    for _ in 0..2 {
        run.step();
        assert_eq!(run.gaps(), [10, 20, 40, 80, 160, 320, 640, 1_280]);
    }
    let _: [u128; 1] = run.gaps();
    run.now += 2 * SECOND;
    run.step();
    let until: [u128; 1] = run.gaps();
    assert!(until[0] < 1_000, "{until:?}");
    run.step();
    assert_eq!(run.gaps(), [10, 20, 40]);
}

/// It begins once it can be afforded, unless the frequency is known by then.
#[test]
fn a_series_that_cannot_be_afforded_is_put_off() {
    let mut run = Run::new(3);
    let _: [u128; 5] = run.gaps();
    run.step();
    assert_eq!(run.next(false), 5_000, "too expensive");
    assert_eq!(run.gaps(), [5_000; 2], "known");
    run.step();
    let _ = run
        .burst
        .next(&run.correlation, at(run.now), false, PLANNED);
    let ended = run.read();
    assert!(!run.burst.besides(&run.correlation, ended, false));
    run.now += MILLISECOND;
    assert_eq!(run.gaps(), [10, 20, 40]);
}

/// Nothing but the first batch contradicts anything: a series in debt is remembered while it cannot
/// be afforded, and begins with the first batch that can be.
#[test]
fn a_series_in_debt_is_not_forgotten() {
    let mut run = Run::new(3);
    let _: [u128; 5] = run.gaps();
    run.step();
    let generation = run.correlation.generation();
    let mut in_debt = || {
        let ended = run.read();
        run.now += MILLISECOND;
        let next = run.burst.next(&run.correlation, ended, false, PLANNED);
        assert_eq!(next, PLANNED, "too expensive");
    };
    in_debt();
    in_debt();
    in_debt();
    assert_eq!(run.gaps(), [10, 20, 40, 80]);
    let later = run.correlation.generation();
    assert_eq!(
        later,
        generation.map(|before| ClockGeneration(before.0 + 1))
    );
}

#[test]
fn an_event_ends_a_series_with_a_burst() {
    let mut run = Run::new(3);
    let _: [u128; 5] = run.gaps();
    run.step();
    assert_eq!(run.gaps(), [10, 20, 40]);
    run.burst.restart();
    assert_eq!(run.gaps(), [10, 10, 5_000]);
}

/// A step that one of a burst's last batches shows: the series follows, with the first interval in
/// which brackets as wide as these say more than the rest of the burst.
#[test]
fn a_contradiction_within_a_burst_begins_a_series_after_it() {
    let mut run = Run::new(6);
    assert_eq!(run.gaps(), [10; 4]);
    run.step();
    assert_eq!(run.gaps(), [10, 10, 20, 40, 80, 160]);
    let mut early = Run::new(6);
    assert_eq!(early.gaps(), [10]);
    early.step();
    assert_eq!(early.gaps(), [10, 10, 10, 10]);
    let after = early.next(true);
    assert!((35..=45).contains(&after), "{after}: as long as the burst");
}

/// It is tried again soon, but not for ever, and what was begun goes on.
#[test]
fn a_batch_that_fails_does_not_end_a_burst_or_a_series() {
    let mut run = Run::new(3);
    assert_eq!(run.gaps(), [10]);
    assert_eq!(run.failures(), [10, 20]);
    assert_eq!(run.gaps(), [10]);
    assert_eq!(
        run.failures(),
        [10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 5_000, 5_000]
    );
    run.burst.restart();
    assert_eq!(run.failures(), [5_000], "a clock that is gone, and again");
    assert_eq!(run.gaps(), [10, 10, 5_000]);
    assert_eq!(run.failures(), [5_000], "as planned");
    run.step();
    assert_eq!(run.gaps(), [10, 20]);
    assert_eq!(run.failures(), [20, 40]);
    assert_eq!(run.gaps(), [40, 80]);
}

/// As long as the last interval, if that was shorter than the longest one.
#[test]
fn a_batch_that_fails_is_tried_again_as_soon_as_it_was_due() {
    let mut run = Run::new(1);
    let ended = run.read();
    let paced = Duration::from_millis(700);
    let next = run.burst.next(&run.correlation, ended, true, paced);
    assert_eq!(next, paced);
    assert_eq!(run.failures(), [700, 1_400, 2_800, 5_000]);
}

/// A batch that was taken in addition says so, and counts for none of the burst.
#[test]
fn a_batch_in_addition_begins_a_series() {
    let mut run = Run::new(3);
    let ended = run.read();
    assert!(!run.burst.besides(&run.correlation, ended, true));
    run.now += SECOND;
    assert_eq!(run.gaps(), [10, 10, 5_000]);
    run.step();
    let ended = run.read();
    assert!(run.burst.besides(&run.correlation, ended, true));
    run.now += MILLISECOND;
    assert_eq!(run.gaps(), [10, 20, 40]);
}

/// Frequencies that contradict each other begin no generation, and a series all the same.
#[test]
fn a_changed_frequency_begins_a_series() {
    let mut run = Run::new(3);
    let _: [u128; 12] = run.gaps();
    let since = run.now - 2 * SECOND;
    run.counter = Counter {
        since,
        start: run.counter.ticks(since).raw(),
        fast: 0.5,
        ..run.counter
    };
    assert_eq!(run.gaps(), [5_000, 10, 20, 40, 80]);
    assert_eq!(run.correlation.generation(), Some(ClockGeneration(0)));
}

/// Neither a failure nor a contradiction has the clock read all the time.
#[test]
fn without_a_gap_there_is_a_short_one() {
    let mut run = Run::new(1);
    run.burst = Burst::new(1, Duration::ZERO);
    assert_eq!(run.failures(), [1, 2, 4, 8]);
    assert_eq!(run.gaps(), [5_000]);
    run.step();
    assert!(run.next(true) >= 1);
}

#[test]
fn without_batches_nothing_comes_sooner() {
    let mut run = Run::new(0);
    assert_eq!(run.failures(), [5_000]);
    assert_eq!(run.gaps(), [5_000; 3]);
    run.step();
    assert_eq!(run.gaps(), [5_000; 3]);
    assert_eq!(run.failures(), [5_000]);
}
