//! The worlds: an oscillator, a counter, a system clock and the way between them, with
//! the truth exact to far below 0.01 ns. Measures nothing.
//!
//! The system clock is the time scale. It is counted in whole picoseconds; the counter is a
//! chain of parabolas over it, 0.1 s long at most, so that a float never holds more than the
//! way within one of them.

mod draw;
mod moment;
mod path;
mod sampler;
mod shape;
mod timestamp;
mod truth;

pub use draw::{Draw, Stream};
pub use moment::Moment;
pub use path::{Contention, Delay, Jitter, Path, Reach, Side};
pub use sampler::{Batch, Sampler};
pub use shape::{
    Change, Counter, Disturbance, Gap, Oscillator, Polling, Servo, Shape, Start, Thermal, Wave,
};
pub use timestamp::{Timestamp, timestamps};
pub use truth::{Break, Count, Truth};
