//! Worlds in which somebody steps, slews or exchanges the clocks at any time, as scenarios of the simulator, and what is found when every
//! number that a measurement states in them is held against what really happened.
//!
//! `WORLDS` sets how many worlds are tried (by default a few), `WORLDS_FROM` the number of the first.

mod chance;
mod found;
mod scenario;

pub use chance::Chance;
pub use found::Found;
pub use scenario::{Change, Changed, Clocks};

/// Worlds of each kind where nothing else is asked for.
pub const FEW: u64 = 40;

/// Returns the numbers of the worlds to try.
///
/// # Panics
/// For what is no number.
pub fn worlds() -> std::ops::Range<u64> {
    let number = |name: &str, usual| {
        let given = std::env::var(name).ok();
        given.map_or(usual, |value| value.parse().expect("a number"))
    };
    let first = number("WORLDS_FROM", 1);
    first..first + number("WORLDS", FEW)
}
