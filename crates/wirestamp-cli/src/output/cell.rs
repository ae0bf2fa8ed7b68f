//! Cells with a meaning. Knows no table.

use comfy_table::{Attribute, Cell, Color};

/// A cell that is as it should be.
pub(crate) fn good(text: impl ToString) -> Cell {
    Cell::new(text).fg(Color::Green)
}

/// A cell that deserves a look.
pub(crate) fn doubtful(text: impl ToString) -> Cell {
    Cell::new(text).fg(Color::Yellow)
}

/// A cell that nobody needs to look at.
pub(crate) fn quiet(text: impl ToString) -> Cell {
    Cell::new(text).add_attribute(Attribute::Dim)
}
