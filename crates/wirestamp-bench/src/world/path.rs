//! How long a reading takes on the way to the counter and back.

use super::Draw;

/// The way between the system and the counter.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    /// From the first reading of the system clock to the counter.
    pub there: Delay,
    /// From the counter to the second reading of the system clock.
    pub back: Delay,
    /// Other traffic on the way.
    pub contention: Contention,
    /// How the driver reports it.
    pub reach: Reach,
}

/// One direction.
#[derive(Debug, Clone, Copy)]
pub struct Delay {
    /// The shortest time, ns.
    pub base: f64,
    /// The delay on top of it.
    pub jitter: Jitter,
}

/// The delay on top of the shortest time.
#[derive(Debug, Clone, Copy)]
pub enum Jitter {
    /// Nothing.
    None,
    /// Exponential with this mean, ns.
    Exponential(f64),
    /// Even up to this, ns.
    Even(f64),
    /// Log-normal: median in ns, deviation of the logarithm.
    LogNormal(f64, f64),
}

/// Other traffic. It delays one direction of a reading by an exponential time.
#[derive(Debug, Clone, Copy)]
pub enum Contention {
    /// None.
    None,
    /// Each reading is hit with the same chance.
    Independent {
        /// Share of the readings.
        share: f64,
        /// Mean delay, ns.
        mean: f64,
        /// Which direction.
        side: Side,
    },
    /// Readings are hit only during bursts.
    Bursty {
        /// Mean time between bursts, s.
        between: f64,
        /// Mean length of a burst, s.
        length: f64,
        /// Share of the readings within a burst.
        share: f64,
        /// Mean delay, ns.
        mean: f64,
        /// Which direction.
        side: Side,
    },
    /// No traffic: for some time all readings take another time.
    Mode {
        /// Mean time between such times, s.
        between: f64,
        /// Their mean length, s.
        length: f64,
        /// The delay on top of the way there, ns.
        there: f64,
        /// And of the way back, ns.
        back: f64,
    },
}

/// The direction that is delayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Either with the same chance.
    Either,
    /// The way back only.
    Back,
}

/// What the driver reports of a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The system clock before and after.
    Bracket,
    /// The system clock before, twice.
    EqualBracket,
    /// Both clocks, latched at one instant.
    Latch,
}

impl Delay {
    fn draw(self, draw: &mut Draw) -> f64 {
        self.base
            + match self.jitter {
                Jitter::None => 0.0,
                Jitter::Exponential(mean) => mean * draw.exponential(),
                Jitter::Even(most) => draw.between(0.0, most),
                Jitter::LogNormal(median, deviation) => median * (deviation * draw.normal()).exp(),
            }
    }
}

impl Path {
    /// The times there and back of one reading, ns.
    pub fn draw(&self, in_burst: bool, draw: &mut Draw) -> (f64, f64) {
        let (mut there, mut back) = (self.there.draw(draw), self.back.draw(draw));
        let (share, mean, side) = match self.contention {
            Contention::Independent { share, mean, side } => (share, mean, side),
            Contention::Bursty {
                share, mean, side, ..
            } if in_burst => (share, mean, side),
            Contention::Mode {
                there: more_there,
                back: more_back,
                ..
            } if in_burst => {
                return (there + more_there, back + more_back);
            }
            _ => return (there, back),
        };
        if draw.chance(share) {
            let extra = mean * draw.exponential();
            match side {
                Side::Either if draw.chance(0.5) => there += extra,
                _ => back += extra,
            }
        }
        (there, back)
    }
}
