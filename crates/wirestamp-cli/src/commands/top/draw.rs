//! The page on a screen of any size. Draws into a buffer, asks nothing.

use super::model::Model;
use super::page::{self, Page};
use super::style::{Palette, Tone};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;
use std::time::Duration;

/// The lines of header and footer.
const HEADER: usize = 2;
const FOOTER: usize = 1;

/// How many lines of the body a screen of this height shows.
pub(super) fn body_height(height: u16) -> usize {
    usize::from(height).saturating_sub(HEADER + FOOTER).max(1)
}

/// Draws the model, scrolled so that the selected row is seen.
pub(super) fn draw(
    model: &mut Model,
    area: Rect,
    buffer: &mut Buffer,
    now: Duration,
    palette: &Palette,
) {
    let page = page::of(model, usize::from(area.width), now, palette);
    let height = body_height(area.height);
    model.scroll = scrolled(model.scroll, &page, height);
    let lines = page.header.iter().take(HEADER);
    for (row, line) in lines.enumerate() {
        line.render(at(area, row), buffer);
    }
    if page.is_old {
        let below = at(area, HEADER).union(at(area, HEADER + height - 1));
        buffer.set_style(below, palette.of(Tone::Quiet));
    }
    let shown = page.body.iter().enumerate().skip(model.scroll).take(height);
    for (place, line) in shown {
        let row = at(area, HEADER + place - model.scroll);
        line.render(row, buffer);
        if page.selected == Some(place) {
            buffer.set_style(row, palette.selected());
        }
    }
    page.footer.render(at(area, HEADER + height), buffer);
}

/// Where the body begins: as before, unless the selected row or the end of the body asks for another place.
fn scrolled(before: usize, page: &Page, height: usize) -> usize {
    let last = page.body.len().saturating_sub(height);
    let scroll = match page.selected {
        // the titles of its table stand above the first row
        Some(line) if line < before + 2 => line.saturating_sub(2),
        Some(line) if line >= before + height => line + 1 - height,
        _ => before,
    };
    scroll.min(last)
}

/// One row of the screen; nothing beyond its end.
fn at(area: Rect, row: usize) -> Rect {
    let row = u16::try_from(row).unwrap_or(u16::MAX);
    let line = Rect {
        x: area.x,
        y: area.y.saturating_add(row),
        width: area.width,
        height: 1,
    };
    line.intersection(area)
}
