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

/// Stay on the line of their number.
const UNITS: [&str; 9] = ["ns", "µs", "ms", "s", "ppb", "ppm", "%", "bytes", "packets"];
/// Between a number and its unit while a line is broken.
const NO_BREAK: &str = "\u{a0}";

/// The columns of the terminal, else what COLUMNS says.
pub(crate) fn columns() -> usize {
    known().unwrap_or(USUAL)
}

/// The same for text that may be of any length where nobody has a width: programs look for words in a pipe.
pub(crate) fn of_prose() -> usize {
    known().unwrap_or(usize::MAX)
}

fn known() -> Option<usize> {
    let terminal = comfy_table::Table::new().width().map(usize::from);
    let said = || std::env::var("COLUMNS").ok()?.parse().ok();
    let columns = terminal.or_else(said)?;
    Some(columns.clamp(NARROWEST, WIDEST))
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
    textwrap::fill(&with_units(line), options).replace(NO_BREAK, " ")
}

/// With blanks between numbers and units that are no place for a break.
fn with_units(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    for word in line.split(' ') {
        let unit = word.trim_end_matches([',', '.', ';', ')']);
        if UNITS.contains(&unit) && text.ends_with(|c: char| c.is_ascii_digit()) {
            text.push_str(NO_BREAK);
        } else if !text.is_empty() || line.starts_with(' ') {
            text.push(' ');
        }
        text.push_str(word);
    }
    if line.starts_with(' ') {
        text.remove(0);
    }
    text
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
    fn a_number_keeps_its_unit() {
        let line = "  offset  median -787 ns, median of the absolute 787 ns, largest 1.30 µs, and";
        let columns = line.find("µs").expect("there") - 1;
        let expected =
            "  offset  median -787 ns, median of the absolute 787 ns, largest\n    1.30 µs, and";
        assert_eq!(broken(line, columns, 4), expected);
        assert_eq!(with_units("  a  1 ns b"), "  a  1\u{a0}ns b");
    }

    #[test]
    fn colours_take_no_room() {
        let line = "\u{1b}[1m1234567890 1234567890 1234567890 1234567\u{1b}[0m";
        assert_eq!(broken(line, 40, 0), line);
    }
}
