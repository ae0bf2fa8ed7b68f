//! Tables as lines of a given width: columns that are worth least are left out where there is no room.

use super::series;
use super::style::{Palette, Tone};
use ratatui::text::{Line, Span};

/// Between two columns.
const GAP: usize = 2;
/// A column that takes what is left has so many columns at least.
const LEAST: usize = 8;

/// How a column is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Left,
    Right,
    /// Takes what is left; its text is cut.
    Rest,
    /// A picture of values over time; takes what is left.
    Trend,
}

/// A column of a table. Those of the least worth go first where there is no room; 255 stays.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    pub(super) title: &'static str,
    pub(super) kind: Kind,
    pub(super) worth: u8,
}

impl Column {
    pub(super) const fn left(title: &'static str, worth: u8) -> Self {
        let kind = Kind::Left;
        Self { title, kind, worth }
    }

    pub(super) const fn right(title: &'static str, worth: u8) -> Self {
        let kind = Kind::Right;
        Self { title, kind, worth }
    }

    pub(super) const fn rest(title: &'static str, worth: u8) -> Self {
        let kind = Kind::Rest;
        Self { title, kind, worth }
    }

    pub(super) const fn trend(worth: u8) -> Self {
        let (title, kind) = ("trend", Kind::Trend);
        Self { title, kind, worth }
    }
}

/// A cell: its text is clean.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) tone: Tone,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        let tone = Tone::Plain;
        Self { text, tone }
    }
}

impl From<(String, Tone)> for Cell {
    fn from((text, tone): (String, Tone)) -> Self {
        Self { text, tone }
    }
}

/// How wide each column is; 0: it is left out.
pub(super) fn widths(columns: &[Column], rows: &[&[Cell]], room: usize) -> Vec<usize> {
    let natural: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(place, column)| {
            let cells = rows.iter().filter_map(|row| row.get(place));
            let widest = cells.map(|cell| width(&cell.text)).max().unwrap_or(0);
            widest.max(width(column.title))
        })
        .collect();
    let least = |place: usize| match columns[place].kind {
        Kind::Left | Kind::Right => natural[place],
        Kind::Rest => natural[place].min(LEAST),
        Kind::Trend => LEAST,
    };
    let mut kept: Vec<usize> = (0..columns.len()).collect();
    let needed = |kept: &[usize]| {
        let gaps = GAP * kept.len().saturating_sub(1);
        kept.iter().map(|place| least(*place)).sum::<usize>() + gaps
    };
    while needed(&kept) > room {
        let dispensable = kept.iter().filter(|place| columns[**place].worth < 255);
        let Some(out) = dispensable
            .min_by_key(|place| columns[**place].worth)
            .copied()
        else {
            break;
        };
        kept.retain(|place| *place != out);
    }
    let mut widths = vec![0; columns.len()];
    for place in &kept {
        widths[*place] = least(*place);
    }
    // the name gives way before numbers are cut, and what is cut ends in "…"
    let mut over = needed(&kept).saturating_sub(room);
    let ends = kept.first().map(|first| (*first, LEAST)).into_iter();
    for (place, least) in ends.chain(kept.iter().rev().map(|place| (*place, 1))) {
        let less = over.min(widths[place].saturating_sub(least));
        widths[place] -= less;
        over -= less;
    }
    let mut left = room.saturating_sub(needed(&kept));
    for place in kept {
        let wanted = match columns[place].kind {
            Kind::Left | Kind::Right => continue,
            Kind::Rest => natural[place],
            Kind::Trend => series::KEPT,
        };
        let more = wanted.saturating_sub(widths[place]).min(left);
        widths[place] += more;
        left -= more;
    }
    widths
}

/// The titles as a line.
pub(super) fn titles(columns: &[Column], widths: &[usize], palette: &Palette) -> Line<'static> {
    let cells: Vec<_> = columns
        .iter()
        .map(|column| Cell::from((column.title.to_owned(), Tone::Quiet)))
        .collect();
    line(columns, widths, &cells, palette)
}

/// A row as a line.
pub(super) fn line(
    columns: &[Column],
    widths: &[usize],
    cells: &[Cell],
    palette: &Palette,
) -> Line<'static> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    for ((column, room), cell) in columns.iter().zip(widths).zip(cells) {
        if *room == 0 {
            continue;
        }
        let text = cut(&cell.text, *room);
        let blanks = " ".repeat(room.saturating_sub(width(&text)));
        let style = palette.of(cell.tone);
        if !spans.is_empty() {
            spans.push(Span::raw(" ".repeat(GAP)));
        }
        if column.kind == Kind::Right {
            spans.push(Span::raw(blanks));
            spans.push(Span::styled(text, style));
        } else {
            spans.push(Span::styled(text, style));
            spans.push(Span::raw(blanks));
        }
    }
    Line::from(spans)
}

/// How many columns of a terminal the text takes.
pub(super) fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// The text in so many columns: its end is left out where there is no room.
pub(super) fn cut(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let (mut short, mut taken) = (String::new(), 0);
    for part in Span::raw(text).styled_graphemes(ratatui::style::Style::default()) {
        let more = width(part.symbol);
        if taken + more + 1 > room {
            break;
        }
        short.push_str(part.symbol);
        taken += more;
    }
    if room > 0 {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters_however_wide() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("漢字漢字", 6), "漢字…");
        assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
        assert_eq!(cut("abc", 0), "");
    }

    #[test]
    fn the_columns_of_the_least_worth_go_first() {
        let columns = [
            Column::left("name", 255),
            Column::right("offset", 255),
            Column::right("age", 5),
            Column::trend(1),
        ];
        let cells: Vec<Cell> = ["a-long-name", "+99.5 µs", "100 ms", ""]
            .map(|text| Cell::from(text.to_owned()))
            .into();
        let of = |room| widths(&columns, &[&cells], room);
        assert_eq!(of(100), [11, 8, 6, 60]);
        assert_eq!(of(40), [11, 8, 6, 9]);
        assert_eq!(of(38), [11, 8, 6, 0]);
        assert_eq!(of(25), [11, 8, 0, 0]);
        assert_eq!(of(19), [9, 8, 0, 0]);
        assert_eq!(of(14), [8, 4, 0, 0]);
        let palette = Palette {
            coloured: false,
            ascii: false,
        };
        let line = line(&columns, &of(14), &cells, &palette);
        assert_eq!(line.to_string(), "a-long-…  +99…");
    }
}
