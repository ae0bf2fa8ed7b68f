//! Frames beside their golden files. `TRYCMD=overwrite` renews those; read the difference.

use super::{NOW, PLAIN, frame, model, page, press, sample, text};
use crate::commands::top::columns;
use crate::commands::top::model::Model;
use ratatui::crossterm::event::KeyCode;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

fn is_golden(name: &str, found: &str) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("src/commands/top/tests/golden")
        .join(format!("{name}.txt"));
    if std::env::var_os("TRYCMD").is_some_and(|value| value == "overwrite") {
        std::fs::write(&file, found).expect("it can be written");
    }
    // a checkout on Windows may have other ends of lines
    let expected = std::fs::read_to_string(&file)
        .expect("it is there")
        .replace("\r\n", "\n");
    assert_eq!(found, expected, "{name}; TRYCMD=overwrite renews it");
}

#[test]
fn the_overview_is_as_it_was_at_every_width() {
    for (width, height) in [(40, 24), (60, 30), (100, 40), (200, 60)] {
        let shown = text(&frame(&mut model(), width, height, NOW));
        is_golden(&format!("overview-{width}"), &shown);
    }
}

#[test]
fn each_row_has_a_cell_for_each_column_of_its_table() {
    for section in model().sections(NOW) {
        for row in &section.rows {
            let (cells, columns) = (row.cells.len(), section.columns.len());
            assert_eq!(cells, columns, "top/sections: {}", section.title);
        }
    }
}

#[test]
fn the_page_of_a_peer_has_everything_that_is_known_of_it() {
    let mut model = model();
    model.filter = "192.0.2.8".to_owned();
    press(&mut model, KeyCode::Enter);
    let shown = text(&frame(&mut model, 100, 60, NOW));
    is_golden("peer-100", &shown);
    let narrow = text(&frame(&mut model, 40, 60, NOW));
    is_golden("peer-40", &narrow);
}

#[test]
fn the_help_is_as_it_was() {
    let mut model = model();
    press(&mut model, KeyCode::Char('?'));
    is_golden("help-60", &text(&frame(&mut model, 60, 40, NOW)));
}

#[test]
fn text_for_pipes_has_every_row_and_no_line_is_too_long() {
    let model = model();
    for width in [40, 80, 200] {
        let shown = crate::commands::top::page_text(&model, width, &PLAIN);
        assert!(
            shown.lines().all(|line| columns::width(line) <= width),
            "{width}:\n{shown}"
        );
        for row in model.sections(NOW).iter().flat_map(|section| &section.rows) {
            let first: String = row.cells[0].text.chars().take(4).collect();
            assert!(shown.contains(&first), "{width}: {first}:\n{shown}");
        }
    }
}

/// Neither a name of the network's nor one of a configuration may steer the terminal.
#[test]
fn no_control_character_is_ever_drawn() {
    const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\r\n\u{202e}\0x";
    let json = serde_json::to_string(&sample::snapshot(0)).expect("it can be written");
    let mut value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    replace(&mut value, HOSTILE);
    value["schema"] = "wirestamp.monitor/1".into();
    let mut model = Model::new(HOSTILE.to_owned());
    let snapshot = Arc::new(serde_json::from_value(value).expect("a snapshot"));
    model.take(Ok(snapshot), NOW);
    let rows = model
        .sections(NOW)
        .iter()
        .map(|section| section.rows.len())
        .sum::<usize>();
    assert!(rows > 10, "{rows}");
    let harmless = |model: &mut Model| {
        for line in page::of(model, 200, NOW, &PLAIN).body {
            for span in line.spans {
                let bad = |c: char| c.is_control() || c == '\u{202e}';
                assert!(!span.content.contains(bad), "{:?}", span.content);
            }
        }
        let shown = text(&frame(model, 200, 100, NOW));
        assert!(
            !shown.contains(|c: char| c.is_control() && c != '\n'),
            "{shown:?}"
        );
    };
    harmless(&mut model);
    for _ in 0..rows {
        press(&mut model, KeyCode::Char('j'));
        press(&mut model, KeyCode::Enter);
        harmless(&mut model);
        press(&mut model, KeyCode::Esc);
    }
    model.take(Err(HOSTILE.to_owned()), NOW);
    harmless(&mut model);
}

/// Every text and every name of a map becomes this one.
fn replace(value: &mut serde_json::Value, text: &str) {
    match value {
        serde_json::Value::String(old) => text.clone_into(old),
        serde_json::Value::Array(parts) => parts.iter_mut().for_each(|part| replace(part, text)),
        serde_json::Value::Object(fields) => {
            let is_map = fields.keys().any(|name| {
                ["reset", "wrong_hmac", "none_generated", "round_trip"].contains(&name.as_str())
            });
            fields.values_mut().for_each(|part| replace(part, text));
            if is_map && let Some(part) = fields.values().next().cloned() {
                fields.insert(text.to_owned(), part);
            }
        }
        _ => {}
    }
}

/// No size of the screen breaks anything, and nothing is drawn beyond it.
#[test]
fn every_size_of_the_screen_can_be_drawn_on() {
    for width in [1, 2, 7, 20, 40, 300] {
        for height in [1, 2, 3, 4, 24] {
            let mut model = model();
            for key in [
                KeyCode::Tab,
                KeyCode::End,
                KeyCode::Enter,
                KeyCode::End,
                KeyCode::Char('?'),
                KeyCode::End,
            ] {
                press(&mut model, key);
                let shown = frame(&mut model, width, height, NOW);
                assert_eq!((shown.area.width, shown.area.height), (width, height));
            }
        }
    }
}

#[test]
fn ten_thousand_peers_are_no_more_than_the_screen_shows() {
    let mut snapshot = sample::snapshot(0);
    let one = snapshot.peers[0].clone();
    snapshot.peers = (0..10_000)
        .map(|number| {
            let mut peer = one.clone();
            peer.name = format!("peer{number}");
            peer
        })
        .collect();
    let mut model = Model::new("here".to_owned());
    model.take(Ok(Arc::new(snapshot)), Duration::ZERO);
    press(&mut model, KeyCode::End);
    let shown = text(&frame(&mut model, 100, 24, NOW));
    assert_eq!(shown.lines().count(), 24);
    assert!(shown.contains("live"), "{shown}");
}
