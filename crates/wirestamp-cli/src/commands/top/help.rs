//! What `?` shows.

use super::page::wrapped;
use super::style::{Palette, Tone};
use ratatui::text::{Line, Span};

const KEYS: [(&str, &str); 9] = [
    ("up, down, k, j", "select a row"),
    ("PgUp, PgDn, g, G", "a screen, the first, the last"),
    ("Tab, Shift-Tab", "next table, table before"),
    ("Enter", "all of the selected row; again: back"),
    (
        "s",
        "sort: as configured, by name, largest, most lost, oldest first",
    ),
    ("/", "show only rows that contain what you type; Esc: all"),
    ("p, space", "pause; again: go on"),
    ("?, h", "this page"),
    ("q, Ctrl-C", "quit"),
];

const WORDS: [(&str, &str); 10] = [
    ("-", "not known; never shown as 0"),
    (
        "offset",
        "local minus reference; positive: the local clock is ahead",
    ),
    (
        "error bound",
        "the true offset is within this distance, if the reference keeps what it claims",
    ),
    ("may be right", "the offset is within its error bound"),
    (
        "is off",
        "the offset is beyond its error bound: the clock is wrong, not merely unsure",
    ),
    (
        "bound alone",
        "nothing measures the offset; the kernel says how far it may be off",
    ),
    (
        "age",
        "since the last reading or exchange; it grows while nobody answers",
    ),
    ("lost", "packets without an answer in time, and their share"),
    (
        "missing",
        "transmit timestamps that were asked for and did not come",
    ),
    (
        "trend",
        "the last 60 values between the lowest and the highest of them; a blank: not known",
    ),
];

pub(super) fn lines(width: usize, palette: &Palette) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled("keys", palette.of(Tone::Heading))];
    list(&mut lines, &KEYS, width, palette);
    lines.push(Line::default());
    lines.push(Line::styled("words", palette.of(Tone::Heading)));
    list(&mut lines, &WORDS, width, palette);
    lines
}

fn list(
    lines: &mut Vec<Line<'static>>,
    pairs: &[(&'static str, &str)],
    width: usize,
    palette: &Palette,
) {
    let widest = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, meaning) in pairs {
        let room = width.saturating_sub(widest + 4);
        for (place, part) in wrapped(meaning, room).into_iter().enumerate() {
            let name = if place == 0 { name } else { "" };
            lines.push(Line::from(vec![
                Span::raw("  "),
                Span::styled(format!("{name:widest$}"), palette.of(Tone::Good)),
                Span::raw("  "),
                Span::raw(part),
            ]));
        }
    }
}
