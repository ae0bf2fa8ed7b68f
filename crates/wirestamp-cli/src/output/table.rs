//! Tables: headings, alignment, width. Knows nothing of what the cells mean.

use comfy_table::presets::NOTHING;
use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement};

/// A table is no wider than this, and no wider than the terminal,
const WIDTH: u16 = 80;
/// unless that is narrower than this.
const NARROWEST: u16 = 40;

/// How a column's cells stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// Words.
    Left(&'static str),
    /// Numbers.
    Right(&'static str),
}

/// Rows under a heading.
pub(crate) struct Table {
    table: comfy_table::Table,
}

impl Table {
    pub(crate) fn new(columns: &[Column]) -> Self {
        let mut table = comfy_table::Table::new();
        let width = table
            .width()
            .map_or(WIDTH, |terminal| terminal.clamp(NARROWEST, WIDTH));
        table
            .load_style(NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width);
        // the output stream takes colours away where nobody wants them
        table.force_no_tty().enforce_styling();
        table.set_header(columns.iter().map(|column| {
            let (Column::Left(name) | Column::Right(name)) = column;
            Cell::new(name).add_attribute(Attribute::Bold)
        }));
        for (index, column) in columns.iter().enumerate() {
            if let Some(made) = table.column_mut(index) {
                made.set_padding(if index == 0 { (0, 1) } else { (1, 1) });
                let right = matches!(column, Column::Right(_));
                made.set_cell_alignment(if right {
                    CellAlignment::Right
                } else {
                    CellAlignment::Left
                });
            }
        }
        Self { table }
    }

    pub(crate) fn row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.table
            .add_row(cells.into_iter().map(Into::into).collect::<Vec<Cell>>());
    }

    pub(crate) fn into_text(self) -> String {
        self.table
            .lines()
            .map(|line| trimmed(&line) + "\n")
            .collect()
    }
}

/// Without the blanks that fill the last cell, which may stand before the end of its style.
fn trimmed(line: &str) -> String {
    let (mut text, mut styles) = (line, String::new());
    loop {
        text = text.trim_end();
        match text.rfind('\u{1b}').filter(|_| text.ends_with('m')) {
            Some(start) if text[start..].matches('m').count() == 1 => {
                styles.insert_str(0, &text[start..]);
                text = &text[..start];
            }
            _ => return format!("{text}{styles}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_at_the_end_go_and_styles_stay() {
        assert_eq!(trimmed("a  b  "), "a  b");
        assert_eq!(
            trimmed("a \u{1b}[1mb   \u{1b}[0m  "),
            "a \u{1b}[1mb\u{1b}[0m"
        );
        assert_eq!(trimmed("\u{1b}[1mhum"), "\u{1b}[1mhum");
        assert_eq!(trimmed("  "), "");
    }
}
