//! The list of behaviours that every backend of wirestamp has, written once against the
//! facade's public types. Which backends there are is in [`rig`]; who runs the list and prints
//! it is `tests/conformance.rs`.
//!
//! A behaviour that a rig cannot show is skipped with the reason, never passed in silence.
//! "Where do I add…": a behaviour is one function and one line in the list at the top of
//! its row's file; a backend is one more variant of [`rig::Rig`].

mod behaviours;
mod exchange;
mod notes;
mod outcome;
mod refusal;
pub mod rig;
mod table;

pub use behaviours::{Behaviour, all};
pub use notes::notes;
pub use outcome::{Outcome, Stop};
pub use table::{ROWS, Table, Verdict};

use notes::note;
