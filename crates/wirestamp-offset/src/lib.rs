//! The offset of the local clock to a reference, with an error bound, from the timestamps of packets in both
//! directions: what `wirestamp-ptp` and `wirestamp-ntp` have in common. Does no I/O and knows no protocol.
//!
//! The bound assumes no symmetry of the paths, and no clock that is never stepped. It assumes that no packet takes less than
//! [`Settings::least_delay`], that timestamps are within [`Settings::resolution`], and that between steps the frequency offset
//! and its change stay within the [`Assumptions`]. Packets that contradict each other ([`Contradiction`]) prove a step of
//! either clock, or that an assumption is wrong.
//!
//! A smaller step contradicts nothing, so the bound comes from the newest packet of each direction alone: whatever a step's
//! size and sign, the truth is inside once a packet could show it, and before that unless the packet waited for longer
//! than the last exchange took. Two limits remain. The frequency is learnt from a quarter of an hour at most, in
//! which there may be one step that contradicts nothing (with an infinite `wander` nothing is learnt, and there may be
//! any number). And what is carried on to a later instant holds if nobody stepped a clock since the newest packet. Theorems and proofs:
//! `docs/error-bound.md`, "Another host's clock".
//!
//! All times are nanoseconds. Offsets are local minus reference (positive: the local clock is ahead), rates are
//! frequency offsets as shares of 1 (positive: the local clock runs fast).
//!
//! ```
//! use wirestamp_offset::{Assumptions, Estimator, Settings, SharedCommands, Told};
//!
//! let settings = Settings {
//!     assumptions: Assumptions { drift: (-100e-6, 100e-6), wander: 30e-9 },
//!     least_delay: 0,
//!     resolution: 2,
//! };
//! let mut estimator = Estimator::new(settings, SharedCommands::default());
//! // the reference shows 1,000 ns more than the local clock, and each packet takes 300 ns
//! estimator.to_reference(10_000, 10_000 - 11_300)?;
//! estimator.from_reference(20_000, 20_000 - 20_700)?;
//! estimator.to_reference(30_000, 30_000 - 31_300)?;
//! let Told::Estimate(estimate) = estimator.from_reference(40_000, 40_000 - 40_700)? else {
//!     panic!("both directions are known");
//! };
//! assert!((estimate.offset - -1_000).abs() <= estimate.bound && estimate.bound < 400);
//! # Ok::<(), wirestamp_offset::Contradiction>(())
//! ```

#![forbid(unsafe_code)]

mod commands;
mod estimate;
mod estimator;
mod feasible;
mod line;
mod newest;
mod rates;

pub use commands::{Commands, Moment, SharedCommands};
pub use estimate::{Estimate, Settings, Told};
pub use estimator::Estimator;
pub use feasible::{Assumptions, Contradiction};
