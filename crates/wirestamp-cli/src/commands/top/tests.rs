//! The model and its pages: frames at several widths, keys, a monitor that goes and returns.

mod frames;
mod keys;
mod sample;
mod silence;

use super::model::Model;
use super::style::Palette;
use super::{draw, page};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::sync::Arc;
use std::time::Duration;

const PLAIN: Palette = Palette {
    coloured: false,
    ascii: false,
};

/// A model that has seen some snapshots, a second apart.
fn model() -> Model {
    let mut model = Model::new("http://127.0.0.1:9862".to_owned());
    for second in 0..20 {
        let snapshot = Arc::new(sample::snapshot(second));
        model.take(Ok(snapshot), Duration::from_secs(second));
    }
    model
}

/// When the last of these snapshots came.
const NOW: Duration = Duration::from_secs(19);

fn frame(model: &mut Model, width: u16, height: u16, now: Duration) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a backend");
    let drawn = terminal.draw(|frame| {
        let area = frame.area();
        draw::draw(model, area, frame.buffer_mut(), now, &PLAIN);
    });
    drawn.expect("it draws").buffer.clone()
}

/// The characters of a frame, without the blanks at the ends of lines.
fn text(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width);
    let mut text = String::new();
    for row in buffer.content().chunks(width) {
        let mut skip = 0;
        let mut line = String::new();
        for cell in row {
            // a wide character covers the next cell
            if skip == 0 {
                line.push_str(cell.symbol());
                skip = super::columns::width(cell.symbol()).saturating_sub(1);
            } else {
                skip -= 1;
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn press(model: &mut Model, code: KeyCode) {
    model.press(KeyEvent::new(code, KeyModifiers::NONE), 20, NOW);
}
