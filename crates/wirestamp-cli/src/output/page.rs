//! A report's text while it is being put together: headings, lines, tables, pictures.
//! Writes to nothing.

use super::colour::{HEADING, QUIET, paint};
use super::picture::{self, Ink};
use super::table::Table;
use super::width::{self, COMFORTABLE};
use wirestamp::latency::Histogram;

/// Text with colours, which the output stream keeps or takes away.
#[derive(Debug, Default)]
pub(crate) struct Page {
    text: String,
    ink: Ink,
}

impl Page {
    pub(crate) fn new(ascii: bool) -> Self {
        Self {
            text: String::new(),
            ink: if ascii { Ink::Ascii } else { Ink::Blocks },
        }
    }

    pub(crate) fn into_text(self) -> String {
        if self.ink == Ink::Ascii {
            self.text.replace('µ', "u").replace('±', "+/-")
        } else {
            self.text
        }
    }

    pub(crate) fn heading(&mut self, text: &str) {
        self.line(&paint(HEADING, text));
    }

    /// A line, broken where it is too long.
    pub(crate) fn line(&mut self, text: &str) {
        let indent = text.len() - text.trim_start().len();
        self.verbatim(&width::broken(text, width::of_prose(), indent + 2));
    }

    /// A line that is not broken: a command to be copied.
    pub(crate) fn verbatim(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    pub(crate) fn quiet(&mut self, text: &str) {
        self.line(&paint(QUIET, text));
    }

    pub(crate) fn gap(&mut self) {
        self.text.push('\n');
    }

    /// A named value, in a column with its neighbours.
    pub(crate) fn field(&mut self, name: &str, value: &str) {
        let columns = width::of_prose();
        let indent = if columns < COMFORTABLE { 4 } else { 21 };
        let line = format!("  {name:<18} {value}");
        self.verbatim(&width::broken(&line, columns, indent));
    }

    pub(crate) fn table(&mut self, table: Table) {
        self.text.push_str(&table.into_text());
    }

    /// A histogram, or nothing if nothing was recorded.
    pub(crate) fn picture(&mut self, histogram: &Histogram) {
        self.text.push_str(&picture::draw(histogram, self.ink));
    }
}
