//! Tables: headings, alignment, width. Knows nothing of what the cells mean.

use super::width;
use comfy_table::presets::NOTHING;
use comfy_table::{Attribute, Cell, CellAlignment, ColumnConstraint, ContentArrangement, Width};
use std::fmt::Write as _;

/// How a column's cells stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// Words.
    Left(&'static str),
    /// Numbers.
    Right(&'static str),
}

impl Column {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Left(name) | Self::Right(name) => name,
        }
    }
}

/// Rows under a heading.
pub(crate) struct Table {
    table: comfy_table::Table,
    names: Vec<&'static str>,
    /// Which of them hold numbers: a number and its unit stay on one line.
    numbers: Vec<bool>,
    columns: usize,
}

impl Table {
    pub(crate) fn new(columns: &[Column]) -> Self {
        Self::within(width::columns(), columns)
    }

    fn within(width: usize, columns: &[Column]) -> Self {
        let mut table = comfy_table::Table::new();
        table
            .load_style(NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(u16::try_from(width).unwrap_or(u16::MAX));
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
        let name = |column: &Column| match column {
            Column::Left(name) | Column::Right(name) => *name,
        };
        Self {
            table,
            names: columns.iter().map(name).collect(),
            numbers: columns
                .iter()
                .map(|column| matches!(column, Column::Right(_)))
                .collect(),
            columns: width,
        }
    }

    pub(crate) fn row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.table
            .add_row(cells.into_iter().map(Into::into).collect::<Vec<Cell>>());
    }

    /// Columns beside each other if no word need be torn, else a row's values below each other.
    pub(crate) fn into_text(mut self) -> String {
        let longest = self.longest_words();
        let needed: usize = longest.iter().map(|word| word + 2).sum();
        if needed.saturating_sub(1) > self.columns {
            return self.stacked();
        }
        for (index, word) in longest.into_iter().enumerate() {
            let least = u16::try_from(word + if index == 0 { 1 } else { 2 }).unwrap_or(u16::MAX);
            if let Some(column) = self.table.column_mut(index) {
                column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
            }
        }
        self.table
            .lines()
            .map(|line| trimmed(&line) + "\n")
            .collect()
    }
}

impl Table {
    /// Of each column, heading included.
    fn longest_words(&self) -> Vec<usize> {
        let mut longest: Vec<usize> = self.names.iter().map(|name| longest_word(name)).collect();
        for row in self.table.row_iter() {
            let cells = row.cell_iter().zip(&self.numbers);
            for (most, (cell, is_number)) in longest.iter_mut().zip(cells) {
                let content = cell.content();
                let whole = |line: &str| line.chars().count();
                let found = if *is_number {
                    content.lines().map(whole).max().unwrap_or(0)
                } else {
                    longest_word(&content)
                };
                *most = (*most).max(found);
            }
        }
        longest
    }

    /// The first value of each row, and below it the others with their names.
    fn stacked(&self) -> String {
        let widest = self.names.iter().skip(1).map(|name| name.len()).max();
        let (widest, mut text) = (widest.unwrap_or(0), String::new());
        for row in self.table.row_iter() {
            for (index, (name, cell)) in self.names.iter().zip(row.cell_iter()).enumerate() {
                let content = cell.content();
                let mut lines = content.lines().map(str::trim_end);
                let first = lines.next().unwrap_or_default();
                if index > 0 && content.trim().is_empty() {
                    continue;
                }
                let line = if index == 0 {
                    first.to_owned()
                } else {
                    format!("  {name:<widest$}  {}", first.trim_start())
                };
                let indent = if index == 0 { 2 } else { widest + 4 };
                for line in std::iter::once(line)
                    .chain(lines.map(|line| format!("{:indent$}{}", "", line.trim_start())))
                {
                    // a string takes everything
                    let _ = writeln!(
                        text,
                        "{}",
                        width::broken(&line, self.columns, indent.min(self.columns / 2))
                    );
                }
            }
        }
        text
    }
}

fn longest_word(text: &str) -> usize {
    let words = text.split_whitespace().map(|word| word.chars().count());
    words.max().unwrap_or(0)
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

    const COLUMNS: [Column; 3] = [
        Column::Left("name"),
        Column::Right("index"),
        Column::Left("addresses"),
    ];

    fn of(width: usize) -> String {
        let mut table = Table::within(width, &COLUMNS);
        table.row(["lo", "1", "127.0.0.1/8\n::1/128"]);
        table.row(["eth0", "12", "2001:db8:1111:2222:3333:4444:5555:6666/64"]);
        table.into_text()
    }

    #[test]
    fn no_line_is_longer_than_the_width_and_no_address_is_torn() {
        for width in [40, 50, 60, 80, 140, 200] {
            let text = of(width);
            assert!(
                text.lines().all(|line| line.chars().count() <= width),
                "{width}:\n{text}"
            );
            let address = "2001:db8:1111:2222:3333:4444:5555:6666/64";
            assert!(width < 60 || text.contains(address), "{width}:\n{text}");
            assert!(text.contains("127.0.0.1/8"), "{width}:\n{text}");
        }
    }

    #[test]
    fn where_the_columns_do_not_fit_the_values_stand_below_each_other() {
        assert!(of(80).lines().count() == 4, "{}", of(80));
        assert!(
            of(50).starts_with(
                "lo\n  index      1\n  addresses  127.0.0.1/8\n             ::1/128\neth0\n"
            ),
            "{}",
            of(50)
        );
    }

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
