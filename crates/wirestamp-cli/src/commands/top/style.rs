//! Which tone is drawn how. Without colours, bold, dim and underlined say it; the words beside say it anyway.

use ratatui::style::{Color, Modifier, Style};

/// What a text means to the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Quiet,
    Heading,
    Good,
    Doubtful,
    Bad,
}

/// Whether there are colours, and characters beyond ASCII.
#[derive(Debug, Clone, Copy)]
pub(super) struct Palette {
    pub(super) coloured: bool,
    pub(super) ascii: bool,
}

impl Palette {
    pub(super) fn of(self, tone: Tone) -> Style {
        let plain = Style::new();
        let colour = |colour, otherwise| {
            if self.coloured {
                plain.fg(colour)
            } else {
                plain.add_modifier(otherwise)
            }
        };
        match tone {
            Tone::Plain => plain,
            Tone::Quiet => plain.add_modifier(Modifier::DIM),
            Tone::Heading => plain.add_modifier(Modifier::BOLD),
            Tone::Good => colour(Color::Green, Modifier::empty()),
            Tone::Doubtful => colour(Color::Yellow, Modifier::UNDERLINED),
            Tone::Bad => colour(Color::Red, Modifier::BOLD).add_modifier(Modifier::BOLD),
        }
    }

    /// The selected row.
    pub(super) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}
