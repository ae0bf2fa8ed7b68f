//! An exact oracle: the narrowest interval of a timestamp's system time under the cross timestamps
//! and the contract (`docs/error-bound.md`, A1 to A5), found by a solver and not by our arithmetic.
//!
//! The unknowns, at each batch and at the timestamp, are the system clock's lead over a straight
//! line (nanoseconds) and the frequency there (nanoseconds per second). A cross timestamp limits a
//! sum of the two. From one instant to the next, wander limits them to a convex set, which two
//! second-order cones describe without loss (Theorem 8). The solver finds both ends of the
//! remaining interval of the timestamp's offset.

use super::{Assumptions, HardwareTicks};
use crate::cross::CrossTimestamp;
use crate::time::{MonotonicTime, Span};
use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SecondOrderConeT, SolverStatus,
    SupportedConeT,
};
use std::vec::Vec;

/// Cross timestamps closer together than this, in seconds, share a frequency: the wander changes
/// them by less than 0.003 ns, which is subtracted from their limits.
const BATCH: f64 = 12e-3;
/// The largest error of the frequency that the driver states, in nanoseconds per second (A1).
const STATED: f64 = 1e6;
/// Irregular ticks of a counter of nanoseconds (A4).
const IRREGULAR: u64 = 8;
/// The system clock's tick, in nanoseconds (A4).
const SYSTEM_TICK: f64 = 1.0;
/// The solver's defaults fail with gaps of 10 ms next to gaps of a minute.
const REGULARIZATION: f64 = 1e-11;
const REFINEMENTS: u32 = 30;
/// Nanoseconds between the solver's primal and dual values.
const EXACT: f64 = 0.01;

/// A cross timestamp or a timestamp: seconds after its node, and the system clock's lead over the
/// straight line, in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Told {
    since: f64,
    low: f64,
    high: f64,
}

/// An instant, in seconds of the counter, and the cross timestamps taken there.
#[derive(Debug, Clone)]
struct Node {
    at: f64,
    told: Vec<Told>,
    /// The approximate system time: offsets are relative to it.
    near: f64,
}

/// Everything that is known about a clock.
#[derive(Debug)]
pub(super) struct Oracle {
    origin: (HardwareTicks, MonotonicTime),
    hertz: f64,
    /// The frequency of the straight line, in nanoseconds per second.
    slope: f64,
    /// The longest possible tick, in nanoseconds of the counter.
    tick: f64,
    /// Nanoseconds per second, in a second.
    wander: f64,
    nodes: Vec<Node>,
}

/// The interval of the timestamp's system time, in nanoseconds after a given one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Knowable {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Oracle {
    /// An oracle of `readings`, in their order, of a counter whose driver states `hertz`.
    pub(super) fn new(hertz: f64, readings: &[CrossTimestamp], assumptions: &Assumptions) -> Self {
        let (first, last) = (&readings[0], &readings[readings.len() - 1]);
        let origin = (first.hardware(), first.monotonic_before());
        let seconds = last.hardware().since(origin.0) as f64 / hertz;
        let gained = nanoseconds(last.monotonic_before() - origin.1) - seconds * 1e9;
        let slope = if seconds > 1.0 { gained / seconds } else { 0.0 };
        let wander = assumptions.wander_per_second * 1e9;
        let tick = longest_tick(hertz, readings, assumptions.largest_tick);
        let mut oracle = Self {
            origin,
            hertz,
            slope,
            tick,
            wander,
            nodes: Vec::new(),
        };
        for reading in readings {
            oracle.know(reading);
        }
        oracle
    }

    fn know(&mut self, reading: &CrossTimestamp) {
        let at = self.seconds(reading.hardware());
        let low = self.beyond(at, reading.monotonic_before());
        let high = self.beyond(at, reading.monotonic_after()) + SYSTEM_TICK;
        match self.nodes.last_mut().filter(|node| at - node.at < BATCH) {
            Some(node) => node.told.push(Told {
                since: at - node.at,
                low,
                high,
            }),
            None => {
                let told = Vec::from([Told {
                    since: 0.0,
                    low,
                    high,
                }]);
                self.nodes.push(Node {
                    at,
                    told,
                    near: low.midpoint(high),
                });
            }
        }
    }

    fn seconds(&self, ticks: HardwareTicks) -> f64 {
        ticks.since(self.origin.0) as f64 / self.hertz
    }

    fn line(&self, seconds: f64) -> f64 {
        seconds * (1e9 + self.slope)
    }

    fn beyond(&self, seconds: f64, system: MonotonicTime) -> f64 {
        nanoseconds(system - self.origin.1) - self.line(seconds)
    }

    /// The possible times of a timestamp that shows `ticks`, in nanoseconds after `from`; `None` if
    /// the solver finds no solution or no clock meets the contract.
    pub(super) fn knowable(&self, ticks: HardwareTicks, from: MonotonicTime) -> Option<Knowable> {
        let at = self.seconds(ticks);
        let mut nodes = self.nodes.clone();
        let after = nodes.partition_point(|node| node.at <= at);
        let place = match after.checked_sub(1) {
            Some(before) if at - nodes[before].at < BATCH => before,
            _ => {
                nodes.insert(
                    after,
                    Node {
                        at,
                        told: Vec::new(),
                        near: near(&nodes, after, at),
                    },
                );
                after
            }
        };
        let since = at - nodes[place].at;
        let shift = nodes[place].near - self.beyond(at, from);
        let ends = self.program(&nodes).ends(place, since, self.half_tick())?;
        let shared = self.bent(since);
        Some(Knowable {
            low: ends.low + shift + shared,
            high: ends.high + shift - shared,
        })
    }

    /// The largest effect of wander on a straight line in this many seconds.
    fn bent(&self, since: f64) -> f64 {
        self.wander * since * since / 2.0
    }

    /// Half of a tick in nanoseconds of the system clock: the part that does not depend on the
    /// frequency, and the part that is multiplied by it.
    fn half_tick(&self) -> (f64, f64) {
        (self.tick / 2.0 * (1.0 + self.slope / 1e9), self.tick / 2e9)
    }

    fn program(&self, nodes: &[Node]) -> Program {
        let mut program = Program {
            columns: nodes.len() * 2,
            ..Program::default()
        };
        let (half, half_by_frequency) = self.half_tick();
        let widest = nodes
            .windows(2)
            .map(|pair| pair[1].at - pair[0].at)
            .fold(0.0, f64::max);
        // half a gap away from its ends it can be this much more
        let limit = STATED - self.wander * widest / 2.0;
        for (place, node) in nodes.iter().enumerate() {
            let (offset, frequency) = (place * 2, place * 2 + 1);
            for told in &node.told {
                let half = half - self.bent(told.since);
                let (low, high) = (told.low - half - node.near, told.high + half - node.near);
                program.row(
                    -low,
                    &[(offset, 1.0), (frequency, told.since + half_by_frequency)],
                );
                program.row(
                    high,
                    &[(offset, -1.0), (frequency, half_by_frequency - told.since)],
                );
            }
            program.row(limit + self.slope, &[(frequency, 1.0)]);
            program.row(limit - self.slope, &[(frequency, -1.0)]);
        }
        program.first_cone = program.constants.len();
        for (place, pair) in nodes.windows(2).enumerate() {
            let (this, next) = (place * 2, place * 2 + 2);
            let (seconds, ahead) = (pair[1].at - pair[0].at, pair[1].near - pair[0].near);
            // the greatest frequency change, and the most that it moves the next offset at equal ends
            let (change, arc) = (self.wander * seconds, self.wander * seconds * seconds / 4.0);
            let mean = -seconds / 2.0 / arc;
            let moved = [
                (this, -1.0 / arc),
                (next, 1.0 / arc),
                (this + 1, mean),
                (next + 1, mean),
            ];
            let changed = [(this + 1, -2.0 / change), (next + 1, 2.0 / change)];
            for sign in [1.0, -1.0] {
                program.row(
                    2.0 - sign * ahead / arc,
                    &moved.map(|(column, value)| (column, -sign * value)),
                );
                program.row(0.0, &changed);
                program.row(ahead / arc, &moved);
            }
        }
        program
    }
}

/// The expected system time at a new node.
fn near(nodes: &[Node], after: usize, at: f64) -> f64 {
    match (
        after.checked_sub(1).map(|before| &nodes[before]),
        nodes.get(after),
    ) {
        (Some(before), Some(next)) => {
            before.near + (next.near - before.near) * (at - before.at) / (next.at - before.at)
        }
        (Some(node), None) | (None, Some(node)) => node.near,
        (None, None) => 0.0,
    }
}

fn nanoseconds(span: Span) -> f64 {
    span.nanoseconds() as f64
}

/// All differences of the values so far are multiples of it.
fn longest_tick(hertz: f64, readings: &[CrossTimestamp], largest: Span) -> f64 {
    let unit = 1e9 / hertz;
    let differences = readings
        .windows(2)
        .map(|pair| pair[1].hardware().since(pair[0].hardware()).unsigned_abs());
    let divisor = differences.fold(0, |mut a: u64, mut b| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    });
    let seen = if divisor == 0 {
        f64::INFINITY
    } else {
        divisor as f64 * unit
    };
    let least = if (unit - 1.0).abs() < 0.01 {
        IRREGULAR as f64
    } else {
        unit
    };
    seen.min(nanoseconds(largest)).max(least)
}

/// Rows `constant + Σ coefficient · variable`: first the rows that are not negative, then cones of
/// three rows, of which the first is at least the length of the other two.
#[derive(Debug, Default)]
struct Program {
    columns: usize,
    constants: Vec<f64>,
    /// Row, column, coefficient.
    entries: (Vec<usize>, Vec<usize>, Vec<f64>),
    first_cone: usize,
}

impl Program {
    fn row(&mut self, constant: f64, terms: &[(usize, f64)]) {
        for (column, value) in terms {
            self.entries.0.push(self.constants.len());
            self.entries.1.push(*column);
            self.entries.2.push(-value); // the solver's rows are constants less the matrix' products
        }
        self.constants.push(constant);
    }

    /// The terms of node `place`'s offset `since` seconds later, and half a tick before and after.
    fn ends(self, place: usize, since: f64, half_tick: (f64, f64)) -> Option<Knowable> {
        let cones: Vec<SupportedConeT<f64>> = core::iter::once(NonnegativeConeT(self.first_cone))
            .chain(core::iter::repeat_n(
                SecondOrderConeT(3),
                (self.constants.len() - self.first_cone) / 3,
            ))
            .collect();
        let (rows, columns, values) = self.entries;
        let matrix =
            CscMatrix::new_from_triplets(self.constants.len(), self.columns, rows, columns, values);
        let none = CscMatrix::zeros((self.columns, self.columns));
        let end = |sign: f64| {
            let mut cost = std::vec![0.0; self.columns];
            (cost[place * 2], cost[place * 2 + 1]) = (-sign, -sign * since - half_tick.1);
            let settings = DefaultSettings {
                verbose: false,
                static_regularization_constant: REGULARIZATION,
                iterative_refinement_max_iter: REFINEMENTS,
                ..DefaultSettings::default()
            };
            let solver =
                DefaultSolver::new(&none, &cost, &matrix, &self.constants, &cones, settings);
            let mut solver = solver.expect("the sizes fit");
            solver.solve();
            let solution = &solver.solution;
            // the primal value is reached by a clock within the contract; the dual one is a limit
            let solved = solution.status == SolverStatus::Solved;
            let exact = (solution.obj_val - solution.obj_val_dual).abs() < EXACT;
            (solved && exact).then_some(sign * (half_tick.0 - solution.obj_val))
        };
        Some(Knowable {
            low: end(-1.0)?,
            high: end(1.0)?,
        })
    }
}

/// The oracle compared with results by hand: the extremes of the theorems.
mod by_hand {
    use super::super::{SECOND, at};
    use super::*;
    use crate::cross::CrossMethod;

    const FINE: Assumptions = Assumptions {
        wander_per_second: 3e-8,
        largest_tick: Span::from_nanoseconds(8),
        ..Assumptions::USUAL
    };
    /// Half of both ticks of 8 ns, the cross timestamp's and the timestamp's.
    const TICKS: f64 = 8.0;

    /// A cross timestamp of 1000 ns, of a counter of nanoseconds that shows the system time.
    fn oracle(seconds: &[i64]) -> Oracle {
        let reading = |second: &i64| {
            let middle = second * SECOND;
            let ticks = HardwareTicks::new(middle as u64);
            CrossTimestamp::new(
                at(middle - 500),
                ticks,
                at(middle + 499),
                CrossMethod::Extended,
            )
            .expect("valid")
        };
        let readings: Vec<_> = seconds.iter().map(reading).collect();
        Oracle::new(1e9, &readings, &FINE)
    }

    #[track_caller]
    fn ends(oracle: &Oracle, time: i64, expected: f64) {
        let found = oracle
            .knowable(HardwareTicks::new(time as u64), at(time))
            .expect("solved");
        // in half a tick, the counter may also run 1000 ppm slower or faster than stated
        assert!(
            (found.low + expected).abs() < 0.02 && (found.high - expected).abs() < 0.02,
            "{found:?}, {expected}"
        );
    }

    #[test]
    fn at_a_reading_only_its_bracket_counts() {
        ends(&oracle(&[100]), 100 * SECOND, 500.0 + TICKS + 0.004 * 2.0);
    }

    #[test]
    fn between_two_readings_wander_bends_the_line() {
        for seconds in [1, 8, 60] {
            let (middle, gap) = (100 * SECOND + seconds * SECOND / 2, seconds as f64);
            ends(
                &oracle(&[100, 100 + seconds]),
                middle,
                500.0 + TICKS + 30.0 * gap * gap / 8.0,
            );
        }
    }

    #[test]
    fn later_the_frequency_counts_and_how_it_may_change() {
        for (gap, later) in [(1, 1), (8, 2), (8, 60)] {
            let (d, e) = (gap as f64, later as f64);
            let expected = 500.0
                + TICKS / 2.0
                + (1_000.0 + TICKS) / d * e
                + 30.0 * e * (e + d) / 2.0
                + TICKS / 2.0;
            ends(
                &oracle(&[100, 100 + gap]),
                (100 + gap + later) * SECOND,
                expected,
            );
        }
    }

    #[test]
    fn more_readings_never_leave_more() {
        let (few, many) = (oracle(&[100, 110]), oracle(&[100, 103, 106, 110]));
        for time in [98, 102, 105, 112] {
            let ticks = HardwareTicks::new(time * SECOND as u64);
            let [few, many] = [&few, &many].map(|oracle| {
                oracle
                    .knowable(ticks, at(time as i64 * SECOND))
                    .expect("solved")
            });
            assert!(
                few.low <= many.low + 0.02 && few.high >= many.high - 0.02,
                "{few:?} {many:?}"
            );
        }
    }
}
