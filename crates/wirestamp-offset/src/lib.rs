//! The offset of the local clock to a reference, with an error bound, from the timestamps of
//! packets in both directions. `wirestamp-ptp` and `wirestamp-ntp` use it. It does no I/O and is
//! independent of the protocol.
//!
//! The bound holds for asymmetric paths and for clocks that are stepped. It assumes that no packet
//! takes less than [`Settings::least_delay`], that timestamps are exact to
//! [`Settings::resolution`], and that between steps the frequency offset and its change stay within
//! the [`Assumptions`], beside adjustments of the local clock that this program commanded
//! ([`Commands`]) or observed ([`Observed`]). Packets that contradict each other ([`Contradiction`]) prove that either
//! clock was stepped or that an assumption is wrong.
//!
//! A step that is smaller than the path delay causes no contradiction. The error bound is therefore
//! derived from the newest packet of each direction only: after a step it contains the truth as
//! soon as a packet could show the step, and before that unless a packet waited for longer than the
//! last exchange took. Two limits remain. The frequency is learnt over at most a quarter of an
//! hour, in which there may be one such step (with an infinite `wander` it is not learnt, and there
//! may be any number). A bound for a later instant holds only if no clock was stepped since the
//! newest packet. `docs/error-bound.md`, "Another host's clock", has theorems and proofs.
//!
//! All times are nanoseconds. Offsets are local minus reference (positive: the local clock is
//! ahead). Rates are frequency offsets as fractions: 1e-6 is 1 ppm (positive: the local clock runs
//! fast).
//!
//! ```
//! use wirestamp_offset::{Assumptions, Estimator, Settings, SharedCommands, Told};
//!
//! let settings = Settings {
//!     assumptions: Assumptions { drift: (-100e-6, 100e-6), wander: 30e-9, jump: 0.0 },
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
mod observed;
mod rates;

pub use commands::{Commands, Moment, SharedCommands};
pub use estimate::{Estimate, Settings, Told};
pub use estimator::Estimator;
pub use feasible::{Assumptions, Contradiction};
pub use observed::Observed;
