//! The timestamps to convert, with their truth.

use super::{Draw, Moment, Shape, Stream, Truth};
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::time::HardwareTicks;
use wirestamp_core::timestamp::HardwareTimestamp;

/// From the event until a program has its timestamp: at least, and mean of the rest, ns.
const FETCH: (f64, f64) = (2_000.0, 10_000.0);

/// An event at a known instant and the timestamp that the NIC made of it.
#[derive(Debug, Clone, Copy)]
pub struct Timestamp {
    /// When it happened.
    pub at: Moment,
    /// What the NIC says.
    pub timestamp: HardwareTimestamp,
    /// From the event to the middle of its tick, ns.
    pub to_middle: f64,
}

/// About `per_second` timestamps a second, at random instants, in order.
pub fn timestamps(
    shape: &Shape,
    truth: &Truth,
    per_second: f64,
    seed: u64,
    trial: u32,
) -> Vec<Timestamp> {
    let mut draw = Draw::new(seed, trial, Stream::Timestamps);
    let count = (shape.duration * per_second) as u32;
    let mut one = |n: u32| {
        let at = Moment::from_seconds((f64::from(n) + draw.share()) / per_second);
        let fetched = truth.later(at, FETCH.0 + FETCH.1 * draw.exponential());
        let count = truth.at(at);
        let granule = shape.counter.granule;
        let ticks = HardwareTicks::new(count.shown(granule));
        let interface = InterfaceIndex::new(1);
        let timestamp = HardwareTimestamp {
            ticks,
            interface,
            read_at: fetched.read(shape.quantum),
        };
        // zero means "no timestamp", and nothing happens while the system clock leaves time out
        (ticks.raw() != 0 && truth.exists(at)).then(|| Timestamp {
            at,
            timestamp,
            to_middle: count.to_middle(granule),
        })
    };
    (0..count).filter_map(&mut one).collect()
}
