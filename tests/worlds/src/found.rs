//! What all worlds of a kind had.

use crate::{FEW, worlds};
use std::io::Write as _;
use wirestamp_core::time::Span;

/// So many are shown of what is wrong.
const EXAMPLES: usize = 5;

/// Numbers that were held against the truth.
#[derive(Debug, Default)]
pub struct Found {
    /// How many there were.
    pub values: u64,
    /// How many were withheld, with a reason.
    pub lost: u64,
    outside: u64,
    /// The first of these.
    examples: Vec<String>,
}

impl Found {
    /// Holds a number that is stated with an error bound against what it really was.
    pub fn hold(&mut self, stated: Span, bound: Span, real: Span, world: impl Fn() -> String) {
        let off = (stated - real).abs();
        self.check(off <= bound, || {
            let world = world();
            format!("{stated} ± {bound}, really {real}, off by {off}; {world}")
        });
    }

    /// Counts a number, which is right or not.
    pub fn check(&mut self, is_right: bool, what: impl FnOnce() -> String) {
        self.values += 1;
        if is_right {
            return;
        }
        self.outside += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(what());
        }
    }

    /// Says what a campaign found; nothing may be outside.
    ///
    /// # Panics
    /// If something is.
    pub fn report(self, what: &str) {
        let worlds = worlds();
        if worlds.end - worlds.start > FEW {
            let line = format!("{what}: worlds {worlds:?}, {self:?}");
            writeln!(std::io::stdout(), "{line}").expect("written");
        }
        assert_eq!(self.outside, 0, "{what}: {self:#?}");
        assert!(self.values > self.lost, "{what}: {self:?}");
    }
}
