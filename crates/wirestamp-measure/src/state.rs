//! The state of all measurements at one instant: counts, estimates with their error bounds, ages.
//!
//! Estimates, error bounds and ages are evaluated when the state is requested. Offsets are local minus reference
//! (positive: the local clock is ahead); frequencies are positive if the local clock runs fast. A value that was not
//! measured is `None`, never 0.

mod all;
mod clock;
mod interface;
mod ntp;
mod path;
mod ptp;
mod reasons;
mod reflector;
mod stamp;
mod task;
mod timestamps;

pub(crate) use all::Reference;
pub use all::State;
pub use clock::ClockState;
pub use interface::InterfaceState;
pub use ntp::{NtpServerState, NtpState};
pub use path::PathState;
pub use ptp::PtpState;
pub use reasons::Reasons;
pub(crate) use reasons::by_source;
pub use reflector::ReflectorState;
pub use stamp::PeerState;
pub use task::TaskState;
pub use timestamps::TimestampCounts;
