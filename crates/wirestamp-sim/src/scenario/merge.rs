//! How a scenario file stands on a preset. Checks syntax and names, not ranges.

use super::document::Document;
use super::presets;
use toml::{Table, Value};
use wirestamp_core::{Error, ErrorKind, Result};

const OPERATION: &str = "read the scenario";

/// A preset with everything it stands on.
pub(super) fn preset(name: &str) -> Result<Table> {
    let text = presets::text(name).ok_or_else(|| {
        let known: Vec<&str> = presets::LIST.iter().map(|(known, _)| *known).collect();
        Error::new(
            ErrorKind::InvalidInput,
            "choose a preset",
            name,
            "no such preset",
        )
        .with_remedy(format!("known are {}", known.join(", ")))
    })?;
    complete(text).map(|(table, _)| table)
}

/// A file with everything it stands on, and the name of its preset.
pub(super) fn complete(text: &str) -> Result<(Table, String)> {
    // first as the user wrote it: only so do errors have their lines
    toml::from_str::<Document>(text).map_err(|error| refuse(&error, text))?;
    let mut own: Table = toml::from_str(text).map_err(|error| refuse(&error, text))?;
    let base = own
        .remove("preset")
        .and_then(|name| name.as_str().map(str::to_owned));
    let mut table = match &base {
        Some(name) => preset(name)?,
        None => Table::new(),
    };
    overlay(&mut table, own);
    complete_nics(&mut table);
    Ok((table, base.unwrap_or_else(|| String::from("custom"))))
}

/// Tables are merged field by field; anything else is replaced, and so are delays (a delay
/// without a jitter has none, whatever the preset's has).
fn overlay(under: &mut Table, over: Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Value::Table(under)), Value::Table(over)) if !over.contains_key("base") => {
                overlay(under, over);
            }
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}

/// `[nic]` has the values that `[sim0]` lacks.
fn complete_nics(table: &mut Table) {
    for own in ["sim0", "sim1"] {
        let Some(Value::Table(differing)) = table.remove(own) else {
            continue;
        };
        let mut whole = table
            .get("nic")
            .and_then(Value::as_table)
            .cloned()
            .unwrap_or_default();
        overlay(&mut whole, differing);
        table.insert(own.to_owned(), Value::Table(whole));
    }
}

fn refuse(error: &toml::de::Error, text: &str) -> Error {
    let place = error.span().map_or_else(
        || String::from("the file"),
        |span| format!("line {}", line(text, span.start)),
    );
    let cause = error.message().trim().replace('\n', ", ");
    Error::new(ErrorKind::InvalidInput, OPERATION, place, cause)
}

/// The line of a byte in a text, from 1.
pub(super) fn line(text: &str, byte: usize) -> usize {
    text.bytes()
        .take(byte)
        .filter(|byte| *byte == b'\n')
        .count()
        + 1
}
