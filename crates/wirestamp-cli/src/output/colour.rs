//! Which colours mean what. Whether any reach the reader is the output stream's decision.

use anstyle::{AnsiColor, Style};

pub(crate) const HEADING: Style = Style::new().bold();
pub(crate) const QUIET: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const DOUBTFUL: Style = AnsiColor::Yellow.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();

/// The text in this style.
pub(crate) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}
