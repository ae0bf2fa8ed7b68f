//! Owns the stamps to convert, with their truth.

use super::{Draw, Moment, Shape, Stream, Truth};
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::stamp::HardwareStamp;
use wirestamp_core::time::HardwareTicks;

/// From the event until a program has its stamp: at least, and mean of the rest, ns.
const FETCH: (f64, f64) = (2_000.0, 10_000.0);

/// An event at a known instant and the stamp that the adapter made of it.
#[derive(Debug, Clone, Copy)]
pub struct Stamp {
    /// When it happened.
    pub at: Moment,
    /// What the adapter says.
    pub stamp: HardwareStamp,
    /// From the event to the middle of its tick, ns.
    pub to_middle: f64,
}

/// About `per_second` stamps a second, at random instants, in order.
pub fn stamps(shape: &Shape, truth: &Truth, per_second: f64, seed: u64, trial: u32) -> Vec<Stamp> {
    let mut draw = Draw::new(seed, trial, Stream::Stamps);
    let count = (shape.duration * per_second) as u32;
    let mut one = |n: u32| {
        let at = Moment::from_seconds((f64::from(n) + draw.share()) / per_second);
        let fetched = truth.later(at, FETCH.0 + FETCH.1 * draw.exponential());
        let count = truth.at(at);
        let granule = shape.counter.granule;
        let ticks = HardwareTicks::new(count.shown(granule));
        let interface = InterfaceIndex::new(1);
        let stamp = HardwareStamp {
            ticks,
            interface,
            read_at: fetched.read(shape.quantum),
        };
        // zero means "no stamp", and nothing happens while the system clock leaves time out
        (ticks.raw() != 0 && truth.exists(at)).then(|| Stamp {
            at,
            stamp,
            to_middle: count.to_middle(granule),
        })
    };
    (0..count).filter_map(&mut one).collect()
}
