//! What keys do.

use super::{NOW, frame, model, press, sample, text};
use crate::commands::top::model::{Model, Screen};
use crate::commands::top::sections::Kind;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Modifier;
use std::sync::Arc;
use std::time::Duration;

/// The names of the clocks, in the order of the page.
fn clocks(model: &Model) -> Vec<String> {
    let sections = model.sections(NOW);
    let rows = sections.iter().flat_map(|section| &section.rows);
    let clocks = rows.filter(|row| row.subject.kind == Kind::Clock);
    clocks.map(|row| row.subject.name.clone()).collect()
}

/// The text of the row that is drawn as selected.
fn selected(model: &mut Model) -> String {
    let buffer = frame(model, 100, 30, NOW);
    let rows = buffer.content().chunks(100);
    let reversed = rows.filter(|row| row[0].modifier.contains(Modifier::REVERSED));
    let texts: Vec<String> = reversed
        .map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect())
        .collect();
    assert!(texts.len() <= 1, "{texts:?}");
    texts.concat().trim_end().to_owned()
}

#[test]
fn sorting_puts_what_is_not_known_last() {
    let mut model = model();
    assert_eq!(clocks(&model), ["eth0", "realtime", "eth1"]);
    press(&mut model, KeyCode::Char('s'));
    assert_eq!(clocks(&model), ["eth0", "eth1", "realtime"]);
    press(&mut model, KeyCode::Char('s'));
    assert_eq!(clocks(&model), ["realtime", "eth0", "eth1"]);
    press(&mut model, KeyCode::Char('s'));
    press(&mut model, KeyCode::Char('s'));
    assert_eq!(clocks(&model), ["realtime", "eth0", "eth1"]);
    press(&mut model, KeyCode::Char('s'));
    assert_eq!(clocks(&model), ["eth0", "realtime", "eth1"]);
}

#[test]
fn the_selected_row_stays_selected_when_the_order_changes() {
    let mut model = model();
    assert_eq!(selected(&mut model), "");
    press(&mut model, KeyCode::Down);
    assert!(
        selected(&mut model).starts_with("db9"),
        "{}",
        selected(&mut model)
    );
    press(&mut model, KeyCode::Tab);
    assert!(selected(&mut model).starts_with("eth0"));
    press(&mut model, KeyCode::Char('s'));
    press(&mut model, KeyCode::Char('s'));
    assert!(selected(&mut model).starts_with("eth0"));
    assert_eq!(clocks(&model)[1], "eth0");
    press(&mut model, KeyCode::Up);
    assert!(selected(&mut model).starts_with("realtime"));
    press(&mut model, KeyCode::BackTab);
    assert!(selected(&mut model).starts_with("db9"));
}

#[test]
fn two_rows_of_the_same_name_can_both_be_selected() {
    let mut snapshot = sample::snapshot(0);
    let twin = snapshot.clocks[0].clone();
    snapshot.clocks.insert(0, twin);
    snapshot.tasks.clear();
    let mut model = Model::new("here".to_owned());
    model.take(Ok(Arc::new(snapshot)), Duration::ZERO);
    for _ in 0..3 {
        press(&mut model, KeyCode::Down);
    }
    assert!(
        selected(&mut model).starts_with("realtime"),
        "{}",
        selected(&mut model)
    );
}

#[test]
fn the_filter_keeps_the_rows_with_its_words() {
    let mut model = model();
    press(&mut model, KeyCode::Char('/'));
    for key in "QReal".chars() {
        press(&mut model, KeyCode::Char(key));
    }
    assert!(!model.is_over, "q is a letter of the filter");
    for _ in 0..5 {
        press(&mut model, KeyCode::Backspace);
    }
    for key in "Real".chars() {
        press(&mut model, KeyCode::Char(key));
    }
    press(&mut model, KeyCode::Enter);
    assert_eq!(clocks(&model), ["realtime"]);
    assert_eq!(model.sections(NOW).len(), 2, "the clock and its event");
    assert!(text(&frame(&mut model, 100, 20, NOW)).contains("only \"Real\""));
    press(&mut model, KeyCode::Esc);
    assert_eq!(clocks(&model).len(), 3);
    model.filter = "nowhere".to_owned();
    let shown = text(&frame(&mut model, 100, 20, NOW));
    assert!(shown.contains("nothing matches \"nowhere\""), "{shown}");
    press(&mut model, KeyCode::Enter);
    assert_eq!(model.screen, Screen::Overview);
}

#[test]
fn while_paused_the_values_stay_and_their_age_grows() {
    let mut model = model();
    press(&mut model, KeyCode::Char('p'));
    model.take(Ok(Arc::new(sample::snapshot(40))), NOW);
    let later = NOW + Duration::from_secs(5);
    let shown = text(&frame(&mut model, 100, 20, later));
    assert!(shown.contains("PAUSED, values are 5 s old"), "{shown}");
    assert!(shown.contains("06:30:19 UTC"), "{shown}");
    press(&mut model, KeyCode::Char('p'));
    let shown = text(&frame(&mut model, 100, 20, NOW));
    assert!(
        shown.contains("live") && shown.contains("06:30:40 UTC"),
        "{shown}"
    );
}

#[test]
fn enter_shows_all_of_a_row_and_escape_leads_back() {
    let mut model = model();
    press(&mut model, KeyCode::Tab);
    press(&mut model, KeyCode::Tab);
    press(&mut model, KeyCode::Enter);
    let shown = text(&frame(&mut model, 100, 50, NOW));
    assert!(shown.contains("clock eth0"), "{shown}");
    assert!(shown.contains("+37.0 s (37000000256 ns)"), "{shown}");
    assert!(shown.contains("± 642 ns"), "{shown}");
    assert!(shown.contains("the interface is up"), "{shown}");
    // it goes away while it is shown
    let mut without = sample::snapshot(20);
    without.clocks.clear();
    model.take(Ok(Arc::new(without)), NOW);
    let shown = text(&frame(&mut model, 100, 50, NOW));
    assert!(shown.contains("eth0 is no longer there"), "{shown}");
    press(&mut model, KeyCode::Esc);
    assert_eq!(model.screen, Screen::Overview);
    press(&mut model, KeyCode::Char('?'));
    assert!(text(&frame(&mut model, 100, 50, NOW)).contains("Ctrl-C"));
    press(&mut model, KeyCode::Char('?'));
    assert_eq!(model.screen, Screen::Overview);
}

#[test]
fn q_and_control_c_end_it_everywhere() {
    for before in [KeyCode::Null, KeyCode::Enter, KeyCode::Char('?')] {
        let mut model = model();
        press(&mut model, before);
        press(&mut model, KeyCode::Char('q'));
        assert!(model.is_over, "{before:?}");
    }
    let mut model = model();
    press(&mut model, KeyCode::Char('/'));
    let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    model.press(key, 20, NOW);
    assert!(model.is_over);
}
