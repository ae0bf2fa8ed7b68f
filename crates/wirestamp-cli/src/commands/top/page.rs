//! The page as lines of a given width: header, body, footer.

use super::columns::{self, Cell, Kind as ColumnKind};
use super::detail;
use super::help;
use super::model::{Model, Screen};
use super::sections::Section;
use super::series;
use super::style::{Palette, Tone};
use super::text;
use ratatui::text::{Line, Span};
use std::time::Duration;

/// How long it is said that the monitor began anew.
const RESTART_SHOWN: Duration = Duration::from_secs(60);

/// The page to draw.
pub(super) struct Page {
    pub(super) header: Vec<Line<'static>>,
    pub(super) body: Vec<Line<'static>>,
    pub(super) footer: Line<'static>,
    /// The line of the body whose row is selected.
    pub(super) selected: Option<usize>,
    /// Whether the values are not those of now.
    pub(super) is_old: bool,
}

/// Makes it from the model.
pub(super) fn of(model: &Model, width: usize, now: Duration, palette: &Palette) -> Page {
    let header = vec![
        first(model, width, palette),
        second(model, width, now, palette),
    ];
    let (mut body, mut selected) = (Vec::new(), None);
    match (&model.screen, model.shown()) {
        (Screen::Help, _) => body = help::lines(width, palette),
        (_, None) => body = nothing(model, width, palette),
        (Screen::Detail(subject), Some(taken)) => {
            body = detail::lines(model, taken, subject, width, now, palette);
        }
        (Screen::Overview, Some(_)) => {
            let sections = model.sections(now);
            let place = model.selected_place(&sections);
            let mut rows = 0;
            for section in &sections {
                let before = body.len() + heading_height(section);
                if let Some(place) =
                    place.filter(|place| (rows..rows + section.rows.len()).contains(place))
                {
                    selected = Some(before + place - rows);
                }
                rows += section.rows.len();
                body.extend(table(section, model, width, palette));
                body.push(Line::default());
            }
            body.pop();
            if sections.is_empty() {
                let text = format!("nothing matches \"{}\"", text::clean(&model.filter));
                body.push(Line::styled(text, palette.of(Tone::Doubtful)));
            }
        }
    }
    Page {
        header,
        body,
        footer: footer(model, width, palette),
        selected,
        is_old: model.silence.is_some(),
    }
}

/// The lines above the first row of a table.
fn heading_height(section: &Section) -> usize {
    1 + usize::from(!section.rows.is_empty())
}

/// A table: its title, the titles of its columns, its rows.
pub(super) fn table(
    section: &Section,
    model: &Model,
    width: usize,
    palette: &Palette,
) -> Vec<Line<'static>> {
    let title = Span::styled(section.title, palette.of(Tone::Heading));
    let mut title = Line::from(title);
    if let Some((note, tone)) = &section.note {
        let note = columns::cut(note, width.saturating_sub(section.title.len() + 2));
        title.push_span(Span::raw("  "));
        title.push_span(Span::styled(note, palette.of(*tone)));
    }
    let mut lines = vec![title];
    if section.rows.is_empty() {
        return lines;
    }
    let cells: Vec<&[Cell]> = section
        .rows
        .iter()
        .map(|row| row.cells.as_slice())
        .collect();
    let widths = columns::widths(section.columns, &cells, width);
    lines.push(columns::titles(section.columns, &widths, palette));
    let trend = section
        .columns
        .iter()
        .position(|column| column.kind == ColumnKind::Trend);
    for row in &section.rows {
        let mut cells = row.cells.clone();
        if let Some(place) = trend.filter(|place| widths[*place] > 0) {
            cells[place].text =
                series::drawn(model.series.of(&row.subject), widths[place], palette.ascii);
        }
        lines.push(columns::line(section.columns, &widths, &cells, palette));
    }
    lines
}

/// The host, and the monitor that reports.
fn first(model: &Model, width: usize, palette: &Palette) -> Line<'static> {
    let mut parts = vec![("wirestamp top".to_owned(), Tone::Heading)];
    if let Some(taken) = model.shown() {
        let simulated = if taken.snapshot.simulated {
            " (simulated)"
        } else {
            ""
        };
        let host = text::word(Some(&taken.snapshot.host));
        parts.push((format!("{host}{simulated}"), Tone::Heading));
    }
    parts.push((text::clean(&model.source), Tone::Quiet));
    joined(parts, width, palette)
}

/// The parts beside each other; the one that does not fit is cut, and those after it are left out.
fn joined(parts: Vec<(String, Tone)>, width: usize, palette: &Palette) -> Line<'static> {
    let (mut line, mut room) = (Line::default(), width);
    for (place, (text, tone)) in parts.into_iter().enumerate() {
        let gap = if place == 0 { 0 } else { 2 };
        // of less than this nobody learns anything
        if room < gap + 8 && columns::width(&text) + gap > room {
            break;
        }
        let text = columns::cut(&text, room - gap);
        room -= gap + columns::width(&text);
        line.push_span(Span::raw(" ".repeat(gap)));
        line.push_span(Span::styled(text, palette.of(tone)));
    }
    line
}

/// Whether the values are those of now, and how they are shown.
fn second(model: &Model, width: usize, now: Duration, palette: &Palette) -> Line<'static> {
    let mut parts: Vec<(String, Tone)> = Vec::new();
    let seconds = |age: i64| format!("{} s", age / 1_000_000_000);
    let shown = model.shown();
    let age = shown.map(|taken| seconds(taken.age(now)));
    if let (Some(_), Some(age)) = (&model.silence, &age) {
        parts.push((format!("NO ANSWER, values are {age} old"), Tone::Bad));
    } else if model.silence.is_some() {
        parts.push(("NO ANSWER".to_owned(), Tone::Bad));
    } else if let (true, Some(age)) = (model.is_paused(), &age) {
        parts.push((format!("PAUSED, values are {age} old"), Tone::Doubtful));
    } else if shown.is_some() {
        parts.push(("live".to_owned(), Tone::Good));
    }
    if model.silence.is_some() && model.is_paused() {
        parts.push(("paused".to_owned(), Tone::Doubtful));
    }
    if let Some(silence) = &model.silence {
        parts.push((text::clean(&silence.why), Tone::Bad));
    }
    let lately = |at: &Duration| now.saturating_sub(*at) < RESTART_SHOWN;
    if let Some(at) = model.restarted.filter(lately) {
        let ago = now.saturating_sub(at).as_secs();
        parts.push((format!("the monitor restarted {ago} s ago"), Tone::Doubtful));
    }
    if !model.filter.is_empty() {
        parts.push((
            format!("only \"{}\"", text::clean(&model.filter)),
            Tone::Doubtful,
        ));
    }
    if let Some(taken) = shown {
        let snapshot = &taken.snapshot;
        parts.push((
            format!("{} UTC", text::time_of_day(&snapshot.time)),
            Tone::Plain,
        ));
        parts.push((
            format!("up {}", text::uptime(snapshot.uptime_ns)),
            Tone::Plain,
        ));
        parts.push((format!("sorted {}", model.sort.name()), Tone::Quiet));
    }
    joined(parts, width, palette)
}

fn nothing(model: &Model, width: usize, palette: &Palette) -> Vec<Line<'static>> {
    let text = match &model.silence {
        Some(silence) => format!("no values yet: {}", text::clean(&silence.why)),
        None => "waiting for the first values".to_owned(),
    };
    wrapped(&text, width)
        .into_iter()
        .map(|line| Line::styled(line, palette.of(Tone::Doubtful)))
        .collect()
}

/// The text in lines of this width.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    textwrap::wrap(text, width.max(10))
        .into_iter()
        .map(std::borrow::Cow::into_owned)
        .collect()
}

fn footer(model: &Model, width: usize, palette: &Palette) -> Line<'static> {
    if model.is_typing {
        let end = "  Enter: keep, Esc: all";
        return Line::from(vec![
            Span::styled("filter: ", palette.of(Tone::Heading)),
            Span::raw(text::clean(&model.filter)),
            Span::styled("_", palette.of(Tone::Heading)),
            Span::styled(end, palette.of(Tone::Quiet)),
        ]);
    }
    let keys = match model.screen {
        Screen::Overview if width < 80 => "?: help  Enter: all of it  q: quit",
        Screen::Overview => {
            "?: help  Enter: all of it  Tab: next table  s: sort  /: filter  p: pause  q: quit"
        }
        Screen::Detail(_) | Screen::Help => "Esc: back  p: pause  q: quit",
    };
    Line::styled(columns::cut(keys, width), palette.of(Tone::Quiet))
}
