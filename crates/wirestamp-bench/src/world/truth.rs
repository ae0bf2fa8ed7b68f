//! The counter as it really runs. Nothing here is visible to an estimator.

use super::{Change, Disturbance, Draw, Moment, Oscillator, Shape, Start, Stream, Wave};
use core::f64::consts::TAU;

/// Longest piece of the chain, ps: 0.1 s.
const NODE: i64 = 100_000_000_000;
const PER_SECOND: f64 = 1e12;
/// When a servo first acts, s: between two nodes.
const SERVO_PHASE: f64 = 0.37;

/// The counter over a whole run.
#[derive(Debug, Clone)]
pub struct Truth {
    pieces: Vec<Piece>,
    /// Times that the system clock left out.
    missing: Vec<(Moment, Moment)>,
    breaks: Vec<Break>,
    end: Moment,
}

/// An event after which earlier readings say nothing any more.
#[derive(Debug, Clone, Copy)]
pub struct Break {
    /// When it happens.
    pub at: Moment,
    /// The first instant whose reading can show it. Later than `at` where the system clock
    /// leaves time out, or where a new rate must first add up to the width of a bracket.
    pub visible: Moment,
}

/// A parabola: `count + rate·t + curve·t²`, t in ps since `start`.
#[derive(Debug, Clone, Copy)]
struct Piece {
    start: i64,
    count: Count,
    rate: f64,
    curve: f64,
}

/// A value of the counter, with what it does not show.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Count {
    /// Whole ticks, run over at 64 bits.
    pub whole: u64,
    /// The rest, in `[0, 1)`.
    pub fraction: f64,
    /// Ticks per picosecond just now.
    pub rate: f64,
}

impl Count {
    fn plus(self, ticks: f64) -> Self {
        let sum = self.fraction + ticks;
        let whole = sum.floor();
        Self {
            whole: self.whole.wrapping_add_signed(whole as i64),
            fraction: sum - whole,
            ..self
        }
    }

    /// The value shown by a counter that advances by `granule` ticks at once.
    pub const fn shown(self, granule: u64) -> u64 {
        self.whole - self.whole % granule
    }

    /// From this instant to the middle of the span in which the counter shows its present
    /// value, ns.
    pub fn to_middle(self, granule: u64) -> f64 {
        let into = (self.whole % granule) as f64 + self.fraction;
        (granule as f64 / 2.0 - into) / self.rate / 1e3
    }
}

impl Truth {
    /// Lets the counter run.
    pub fn new(shape: &Shape, seed: u64, trial: u32) -> Self {
        Builder::new(shape, Draw::new(seed, trial, Stream::Oscillator)).run()
    }

    /// The counter at an instant of the run.
    pub fn at(&self, moment: Moment) -> Count {
        let after = self
            .pieces
            .partition_point(|piece| piece.start <= moment.picoseconds());
        let piece = &self.pieces[after.saturating_sub(1)];
        let way = (moment.picoseconds() - piece.start) as f64;
        let count = piece.count.plus(way * (piece.rate + piece.curve * way));
        Count {
            rate: piece.rate + 2.0 * piece.curve * way,
            ..count
        }
    }

    /// The instant `nanoseconds` of real time later: the times that the system clock leaves
    /// out are passed over.
    pub fn later(&self, moment: Moment, nanoseconds: f64) -> Moment {
        let end = moment.plus_nanoseconds(nanoseconds);
        let jumped = self
            .missing
            .iter()
            .find(|(from, to)| moment < *to && end >= *from);
        jumped.map_or(end, |(from, to)| end + *to - *from)
    }

    /// Whether the system clock ever shows this instant.
    pub fn exists(&self, moment: Moment) -> bool {
        !self
            .missing
            .iter()
            .any(|(from, to)| (*from..*to).contains(&moment))
    }

    /// The events after which earlier readings say nothing any more, in order.
    pub fn breaks(&self) -> &[Break] {
        &self.breaks
    }

    /// When the run ends.
    pub const fn end(&self) -> Moment {
        self.end
    }
}

/// Lets the counter run, piece by piece.
struct Builder<'a> {
    shape: &'a Shape,
    draw: Draw,
    hertz: f64,
    count: Count,
    /// Constant, or changed at an instant.
    offset: f64,
    adjusted: f64,
    walk: f64,
    wander: f64,
    truth: Truth,
}

impl<'a> Builder<'a> {
    fn new(shape: &'a Shape, mut draw: Draw) -> Self {
        let hertz = shape.counter.hertz as f64;
        let offset = draw.between(-1.0, 1.0) * shape.oscillator.offset;
        let whole = first_value(shape, &mut draw);
        let count = Count {
            whole,
            fraction: draw.share(),
            rate: 0.0,
        };
        let end = Moment::from_seconds(shape.duration);
        let truth = Truth {
            pieces: Vec::new(),
            missing: Vec::new(),
            breaks: Vec::new(),
            end,
        };
        Self {
            shape,
            draw,
            hertz,
            count,
            offset,
            adjusted: 0.0,
            walk: 0.0,
            wander: shape.oscillator.wander,
            truth,
        }
    }

    fn run(mut self) -> Truth {
        let disturbances = self.disturbances();
        let mut due = disturbances.iter().peekable();
        // a little longer than the run: the last readings and timestamps end after it
        let nodes = self.truth.end.picoseconds() / NODE + 20;
        let phase = self.draw.share();
        let mut resumes = 0;
        for node in 0..nodes {
            let (from, to) = (node * NODE, (node + 1) * NODE);
            let first = self.slow(from, phase);
            self.walk += self.draw.normal() * self.wander * (NODE as f64 / PER_SECOND).sqrt();
            let last = self.slow(to, phase);
            let mut at = from;
            while let Some(next) =
                due.next_if(|next| Moment::from_seconds(next.at).picoseconds() < to)
            {
                let stop = Moment::from_seconds(next.at).picoseconds().max(at);
                self.piece((at, stop), (from, first, last), resumes);
                at = stop;
                resumes = self.apply(next.change, at).max(resumes);
            }
            self.piece((at, to), (from, first, last), resumes);
        }
        self.truth
    }

    /// Everything that happens, in order, the servo included.
    fn disturbances(&mut self) -> Vec<Disturbance> {
        let mut all = self.shape.disturbances.clone();
        if let Some(servo) = self.shape.oscillator.servo {
            let times = (0..).map(|n| SERVO_PHASE + f64::from(n) * servo.every);
            for at in times.take_while(|at| *at < self.shape.duration) {
                let change = Change::Adjust(servo.amplitude * self.draw.between(-1.0, 1.0));
                all.push(Disturbance { at, change });
            }
        }
        all.sort_by(|a, b| a.at.total_cmp(&b.at));
        all
    }

    /// The part of the relative frequency that changes without a jump.
    fn slow(&self, at: i64, phase: f64) -> f64 {
        self.walk + thermal(&self.shape.oscillator, at as f64 / PER_SECOND, phase)
    }

    /// Appends the counter over `from..to`, part of the node that starts at `node` and whose
    /// slow frequency goes from `first` to `last`. It stands still until `resumes`.
    fn piece(
        &mut self,
        (from, to): (i64, i64),
        (node, first, last): (i64, f64, f64),
        resumes: i64,
    ) {
        let still = resumes.clamp(from, to);
        if still > from {
            self.truth.pieces.push(Piece {
                start: from,
                count: self.count,
                rate: 0.0,
                curve: 0.0,
            });
        }
        if to > still {
            let slope = (last - first) / NODE as f64;
            let relative =
                1.0 + self.offset + self.adjusted + first + slope * (still - node) as f64;
            let per_picosecond = self.hertz / PER_SECOND;
            let (rate, curve) = (per_picosecond * relative, per_picosecond * slope / 2.0);
            self.truth.pieces.push(Piece {
                start: still,
                count: self.count,
                rate,
                curve,
            });
            let way = (to - still) as f64;
            self.count = self.count.plus(way * (rate + curve * way));
        }
    }

    /// The width of the narrowest bracket, ns.
    fn bracket(&self) -> f64 {
        self.shape.path.there.base + self.shape.path.back.base
    }

    /// Makes a change; returns the instant at which the counter runs on.
    fn apply(&mut self, change: Change, at: i64) -> i64 {
        let moment = Moment::from_picoseconds(at);
        if change.breaks() {
            let visible = match change {
                Change::SystemJump(seconds) => moment + Moment::from_seconds(seconds),
                Change::Rate(relative) => moment.plus_nanoseconds(self.bracket() / relative.abs()),
                _ => moment,
            };
            self.truth.breaks.push(Break {
                at: moment,
                visible,
            });
        }
        match change {
            Change::Step(nanoseconds) => {
                self.count = self.count.plus(nanoseconds * self.hertz / 1e9);
            }
            Change::Reset(value) => self.count.whole = value,
            Change::SystemJump(seconds) => {
                let resumes = moment + Moment::from_seconds(seconds);
                self.truth.missing.push((moment, resumes));
                return resumes.picoseconds();
            }
            Change::Rate(relative) => self.offset += relative,
            Change::Wander(factor) => self.wander *= factor,
            Change::Adjust(relative) => self.adjusted = relative,
        }
        0
    }
}

fn first_value(shape: &Shape, draw: &mut Draw) -> u64 {
    let hertz = shape.counter.hertz;
    match shape.counter.start {
        Start::Hours => hertz * 7_200 + draw.bits() % (hertz * 3_600),
        Start::BeforeWrap(seconds) => 0u64.wrapping_sub((seconds * hertz as f64) as u64),
        Start::Utc => 1_780_000_000_000_000_000 + draw.bits() % 1_000_000_000_000_000,
    }
}

fn thermal(oscillator: &Oscillator, seconds: f64, phase: f64) -> f64 {
    let one = |thermal: &super::Thermal| {
        let turn = (seconds / thermal.period + phase).fract();
        thermal.amplitude
            * match thermal.wave {
                Wave::Sine => (TAU * turn).sin(),
                Wave::Triangle => 1.0 - 4.0 * (turn - 0.5).abs(),
                Wave::Charge => {
                    let (half, sign) = if turn < 0.5 {
                        (turn, 1.0)
                    } else {
                        (turn - 0.5, -1.0)
                    };
                    sign * (1.0 - 2.0 * (-half * 20.0).exp())
                }
            }
    };
    oscillator.thermal.iter().map(one).sum()
}
