//! How wide the text may be, and how lines are broken so that it fits.

use textwrap::{Options, WordSplitter};

/// Without a terminal, and if COLUMNS says nothing.
const USUAL: usize = 80;
/// Narrower terminals get lines of so many columns,
const NARROWEST: usize = 40;
/// and wider ones of so many.
const WIDEST: usize = 200;
/// From here on no word is torn.
pub(crate) const COMFORTABLE: usize = 60;

/// The columns of the terminal, else what COLUMNS says.
pub(crate) fn columns() -> usize {
    let terminal = comfy_table::Table::new().width().map(usize::from);
    let said = || std::env::var("COLUMNS").ok()?.parse().ok();
    let columns = terminal.or_else(said).unwrap_or(USUAL);
    columns.clamp(NARROWEST, WIDEST)
}

/// Breaks a line where it is too long; what follows stands `indent` columns from the left.
pub(crate) fn broken(line: &str, columns: usize, indent: usize) -> String {
    if textwrap::core::display_width(line) <= columns {
        return line.to_owned();
    }
    let indent = " ".repeat(indent);
    let options = Options::new(columns)
        .subsequent_indent(&indent)
        .word_splitter(WordSplitter::NoHyphenation)
        .break_words(columns < COMFORTABLE);
    textwrap::fill(line, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_broken_between_words_and_what_follows_is_indented() {
        let line = "  offset    median 5 ns, largest 17 ns of 2001:db8::1";
        assert_eq!(broken(line, 80, 12), line);
        let expected = "  offset    median 5 ns, largest 17 ns\n            of 2001:db8::1";
        assert_eq!(broken(line, 40, 12), expected);
    }

    #[test]
    fn colours_take_no_room() {
        let line = "\u{1b}[1m1234567890 1234567890 1234567890 1234567\u{1b}[0m";
        assert_eq!(broken(line, 40, 0), line);
    }
}
