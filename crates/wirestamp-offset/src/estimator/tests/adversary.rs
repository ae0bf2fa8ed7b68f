//! Simulated worlds that search for a wrong error bound: queues in both directions, a frequency
//! with the largest allowed wander, late answers, and one step of the other clock of any size and
//! sign at any time (`docs/error-bound.md`, Theorems 9 to 13).
//!
//! `ADVERSARY_CASES` sets the number of worlds per property, `PROPTEST_RNG_SEED` selects them. A
//! campaign of thousands prints the number of checked intervals.

use super::*;
use std::cell::Cell;
use std::io::Write;

const CAMPAIGN: u32 = 10_000;
const WANDER: f64 = 30e-9;
/// In every second world the frequency also jumps by up to this.
const JUMP: f64 = 500e-9;
/// The settings allow 200 ppm.
const DRIFT: f64 = 190e-6;

/// One packet.
#[derive(Debug, Clone, Copy)]
struct Packet {
    /// The time since the previous packet.
    pause: i64,
    is_request: bool,
    queued: i64,
    /// Of a request: its answer arrives after the next packet.
    is_late: bool,
    /// The change of the frequency until then, as a fraction of the allowed change.
    ramp: f64,
    /// The jumping part of the frequency in that time, between -1 and 1.
    jumped: f64,
}

/// The clocks and the packets of a world.
#[derive(Debug, Clone)]
struct Story {
    offset: i64,
    drift: f64,
    /// The delays without a queue, from and to the reference.
    delays: (i64, i64),
    packets: Vec<Packet>,
    /// The packet before which the step is, and its size.
    step: Option<(usize, i64)>,
    jump: f64,
}

fn queue() -> impl Strategy<Value = i64> {
    prop_oneof![4 => 0..2_000i64, 2 => 0..100_000i64, 1 => 0..3_000_000i64, 1 => 0..50_000_000i64]
}

/// One packet in this many is a request.
fn packet(one_of: u32) -> impl Strategy<Value = Packet> {
    let pause = prop_oneof![4 => 1_000i64..1_000_000, 4 => 1_000_000..300_000_000i64, 1 => 300_000_000..3 * SECOND];
    let is_request = (0..one_of).prop_map(|place| place == 0);
    let ramp = prop_oneof![Just(1.0), Just(-1.0), -1.0..1.0f64];
    let is_late = (0..8u8).prop_map(|place| place == 0);
    let jumped = prop_oneof![Just(1.0), Just(-1.0), -1.0..1.0f64];
    (pause, is_request, queue(), is_late, ramp, jumped).prop_map(
        |(pause, is_request, queued, is_late, ramp, jumped)| Packet {
            pause,
            is_request,
            queued,
            is_late,
            ramp,
            jumped,
        },
    )
}

/// 1 µs to 10 s, in either direction.
fn step() -> impl Strategy<Value = i64> {
    (3.0..10.0f64, any::<bool>()).prop_map(|(power, is_back)| {
        let by = 10f64.powf(power) as i64;
        if is_back { -by } else { by }
    })
}

fn story() -> impl Strategy<Value = Story> {
    let packets = (2..17u32).prop_flat_map(|one_of| prop::collection::vec(packet(one_of), 4..200));
    let delays = (0..200_000i64, 0..200_000i64);
    let offset = -10 * SECOND..10 * SECOND;
    (
        offset,
        -DRIFT..DRIFT,
        delays,
        packets,
        any::<prop::sample::Index>(),
        step(),
        prop_oneof![Just(0.0), Just(JUMP)],
    )
        .prop_map(|(offset, drift, delays, packets, place, by, jump)| {
            let step = Some((place.index(packets.len()), by));
            Story {
                offset,
                drift,
                delays,
                packets,
                step,
                jump,
            }
        })
}

/// The offset and the frequency, in true time.
#[derive(Debug)]
struct Truth {
    at: i64,
    offset: f64,
    /// The wandering and the jumping part.
    wandered: f64,
    jumped: f64,
}

impl Truth {
    fn go(&mut self, pause: i64, ramp: f64, jumped: f64) {
        let wanted = self.wandered + ramp * WANDER * pause as f64 / 1e9;
        let reached = wanted.clamp(-DRIFT, DRIFT);
        self.jumped = jumped;
        self.offset += (f64::midpoint(self.wandered, reached) + jumped) * pause as f64;
        self.wandered = reached;
        self.at += pause;
    }

    fn rate(&self) -> f64 {
        self.wandered + self.jumped
    }
}

/// The estimator's inputs since its start that a bound may depend on.
#[derive(Debug, Default)]
struct Given {
    /// The departure of the last answered request, and the arrival of the last Sync.
    newest: [Option<i64>; 2],
    /// The delay of the newest packet.
    delay: i64,
    /// Of the request that no Sync has followed yet.
    asked: Option<i64>,
    /// The ends and durations of the last exchanges, for both orders.
    exchanges: Vec<(i64, i64)>,
    any_late: bool,
}

impl Given {
    fn take(&mut self, at: i64, is_request: bool, delay: i64) {
        let place = usize::from(!is_request);
        self.newest[place] = self.newest[place].max(Some(at));
        self.delay = delay;
        if is_request {
            self.asked = Some(delay);
        }
    }

    /// The last packet was a Sync that was not suspect.
    fn end_exchange(&mut self, at: i64) {
        if let Some(asked) = self.asked.take() {
            self.exchanges.push((at, asked + self.delay));
        }
    }

    /// Whether an interval may miss the truth: no packet in the direction that shows the step has
    /// shown it yet, and the newest one took longer than those of the last two exchanges that ended
    /// before; or there was none.
    fn may_miss(&self, stepped_at: i64, by: i64) -> bool {
        let showing = self.newest[usize::from(by > 0)];
        let last = self.exchanges.iter().rev().take(2);
        let before = last.filter(|(ended, _)| *ended < stepped_at);
        let is_slow = before
            .map(|(_, took)| *took)
            .max()
            .is_none_or(|widest| self.delay > widest);
        showing.is_none_or(|at| at < stepped_at) && (is_slow || self.any_late)
    }
}

/// The number of checked intervals, and the number that missed the truth where that is allowed.
#[derive(Debug, Default)]
struct Seen {
    intervals: Cell<u64>,
    outside: Cell<u64>,
    contradictions: Cell<u64>,
}

impl Seen {
    fn count(place: &Cell<u64>) {
        place.set(place.get() + 1);
    }
}

/// Whether the offset has moved since the newest packet as estimated, regardless of its value.
fn moves(estimator: &Estimator, unstepped: &[(i64, f64)]) -> Result<(), TestCaseError> {
    let then = unstepped.iter().find(|(at, _)| *at == estimator.newest());
    let (Some((from, before)), Some((to, now))) = (then, unstepped.last()) else {
        return Ok(());
    };
    let (down, up) = estimator.movement(*from, *to).expect("remembered");
    let moved = now - before;
    let is_inside = down as f64 - 1e-3 <= moved && moved <= up as f64 + 1e-3;
    prop_assert!(is_inside, "{moved}: {down} to {up} from {from} to {to}");
    Ok(())
}

fn holds(story: &Story, seen: &Seen) -> Result<(), TestCaseError> {
    let assumptions = Assumptions {
        jump: story.jump,
        ..SETTINGS.assumptions
    };
    let settings = Settings {
        assumptions,
        ..SETTINGS
    };
    let mut estimator = Estimator::new(settings, SharedCommands::default());
    let mut truth = Truth {
        at: 0,
        offset: story.offset as f64,
        wandered: story.drift,
        jumped: 0.0,
    };
    // the offset at each packet, without the step
    let mut unstepped = Vec::new();
    let (mut given, mut stepped_at, mut late) = (Given::default(), None, None);
    for (place, packet) in story.packets.iter().enumerate() {
        truth.go(packet.pause, packet.ramp, packet.jumped * story.jump / 2.0);
        let whole = stepped_at.map_or(0.0, |(_, by): (i64, i64)| by as f64);
        unstepped.push((truth.at, truth.offset - whole));
        moves(&estimator, &unstepped)?;
        if let Some((_, by)) = story.step.filter(|step| step.0 == place) {
            truth.offset += by as f64;
            stepped_at = Some((truth.at, by));
        }
        let offset = truth.offset.round() as i64;
        let (from, to) = story.delays;
        let delay = packet.queued + if packet.is_request { to } else { from };
        let difference = if packet.is_request {
            offset - delay
        } else {
            offset + delay
        };
        let this = (truth.at, packet.is_request, difference, delay);
        let is_late = packet.is_request && packet.is_late;
        let waiting = std::mem::replace(&mut late, is_late.then_some(this));
        let now = (!is_late).then_some(this);
        for (at, is_request, difference, delay) in now.into_iter().chain(waiting) {
            given.take(at, is_request, delay);
            given.any_late |= at < truth.at;
            let told = if is_request {
                estimator
                    .to_reference(at, difference)
                    .map(|()| Told::Nothing)
            } else {
                estimator.from_reference(at, difference)
            };
            let Ok(told) = told else {
                prop_assert!(stepped_at.is_some(), "contradicts without a step");
                Seen::count(&seen.contradictions);
                estimator.reset();
                given = Given::default();
                continue;
            };
            if !is_request && told != Told::Suspect {
                given.end_exchange(at);
            }
            if let Told::Estimate(told) = told {
                if let Some(rate) = told.free_rate {
                    prop_assert!(
                        (rate - truth.rate()).abs() <= told.rate_bound + 1e-12,
                        "{told:?}: {truth:?}"
                    );
                }
            }
            let Some((low, high)) = estimator.possible_at(truth.at) else {
                continue;
            };
            Seen::count(&seen.intervals);
            if !(low..=high).contains(&offset) {
                Seen::count(&seen.outside);
                let may = stepped_at.is_some_and(|(at, by)| given.may_miss(at, by));
                prop_assert!(
                    may,
                    "{offset} is outside of {low} to {high}: {place}, {given:?}, {stepped_at:?}"
                );
            }
        }
    }
    Ok(())
}

fn run(stories: impl Strategy<Value = Story>) -> Result<Seen, String> {
    let cases = std::env::var("ADVERSARY_CASES").ok();
    let cases = cases.and_then(|cases| cases.parse().ok()).unwrap_or(150);
    let mut config = ProptestConfig::with_cases(cases);
    config.failure_persistence = None;
    config.max_shrink_iters = 500;
    let seen = Seen::default();
    let mut runner = proptest::test_runner::TestRunner::new(config);
    runner
        .run(&stories, |story| holds(&story, &seen))
        .map_err(|error| error.to_string())?;
    if cases >= CAMPAIGN {
        let _written = writeln!(std::io::stderr(), "{cases} worlds: {seen:?}");
    }
    Ok(seen)
}

#[test]
fn a_step_of_any_size_leaves_the_truth_inside_once_a_packet_could_show_it() {
    let seen = run(story()).unwrap_or_else(|error| panic!("{error}"));
    assert!(
        seen.contradictions.get() > 0 && seen.intervals.get() > 0,
        "{seen:?}"
    );
}

#[test]
fn without_a_step_nothing_contradicts_and_nothing_is_outside() {
    let quiet = story().prop_map(|story| Story {
        step: None,
        ..story
    });
    let seen = run(quiet).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((seen.outside.get(), seen.contradictions.get()), (0, 0));
}
