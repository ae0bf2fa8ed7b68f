//! The terminal: taken over, drawn on, given back.

use super::draw;
use super::model::Model;
use super::source::Answer;
use super::style::Palette;
use crate::signals::{self, Unrestored};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// How soon a signal and an answer are noticed.
const STEP: Duration = Duration::from_millis(100);
/// Ages grow on the screen at this pace, even if nothing comes.
const REDRAW: Duration = Duration::from_secs(1);
/// So many keys are taken before it is drawn again: who pastes a book waits.
const MOST_KEYS: usize = 200;

/// The terminal while it is ours. Dropping it, a panic and a signal give it back.
struct Screen {
    terminal: DefaultTerminal,
    _unrestored: Unrestored,
}

impl Screen {
    fn take() -> io::Result<Self> {
        let unrestored = Unrestored::new();
        Ok(Self {
            terminal: ratatui::try_init()?,
            _unrestored: unrestored,
        })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // a terminal that is gone needs nothing
        let _ = ratatui::try_restore();
    }
}

/// Shows what comes until the reader has had enough, a signal comes, or the time is over. Returns whether whoever measures ended.
pub(super) fn show(
    mut model: Model,
    answers: &Receiver<Answer>,
    palette: &Palette,
    duration: Option<Duration>,
) -> io::Result<bool> {
    let mut screen = Screen::take()?;
    let events = listen()?;
    let begun = Instant::now();
    let (mut drawn, mut is_new) = (None::<Instant>, true);
    while !model.is_over && !signals::is_stopping() {
        let now = begun.elapsed();
        if duration.is_some_and(|duration| now >= duration) {
            break;
        }
        match answers.try_recv() {
            Ok(answer) => {
                model.take(answer, now);
                is_new = true;
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return Ok(true),
        }
        if is_new || drawn.is_none_or(|at| at.elapsed() >= REDRAW) {
            screen.terminal.draw(|frame| {
                let area = frame.area();
                draw::draw(&mut model, area, frame.buffer_mut(), now, palette);
            })?;
            (drawn, is_new) = (Some(Instant::now()), false);
        }
        let mut patience = STEP;
        for _ in 0..MOST_KEYS {
            match events.recv_timeout(patience) {
                Ok(event) => {
                    let height = draw::body_height(screen.terminal.size()?.height);
                    is_new |= take_event(&mut model, &event, height, begun.elapsed());
                }
                Err(RecvTimeoutError::Timeout) => break,
                // the terminal is gone
                Err(RecvTimeoutError::Disconnected) => return Ok(false),
            }
            patience = Duration::ZERO;
        }
    }
    Ok(false)
}

/// Keys and new sizes, from a thread of its own: crossterm never returns from a terminal that is gone (0.29), and signals must end the program all the
/// same.
fn listen() -> io::Result<Receiver<Event>> {
    let (sender, events) = sync_channel(MOST_KEYS);
    let read = move || {
        while let Ok(event) = event::read() {
            if sender.send(event).is_err() {
                return;
            }
        }
    };
    let name = "wirestamp-keys".to_owned();
    thread::Builder::new().name(name).spawn(read)?;
    Ok(events)
}

/// Whether there is something else to draw.
fn take_event(model: &mut Model, event: &Event, page: usize, now: Duration) -> bool {
    match event {
        // Windows tells when a key is let go, too
        Event::Key(key) if key.kind != KeyEventKind::Release => {
            model.press(*key, page, now);
            true
        }
        Event::Resize(..) => true,
        _ => false,
    }
}
