//! Schemas as text, and whether `docs/json` has them.

use crate::commands;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Map, Value};
use std::path::Path;

/// In this order; others stand behind them.
const KEYWORDS: [&str; 12] = [
    "$schema",
    "title",
    "description",
    "$ref",
    "type",
    "const",
    "enum",
    "required",
    "properties",
    "items",
    "additionalProperties",
    "anyOf",
];

/// A schema whose keywords and fields stand in a reader's order.
struct Ordered<'a>(&'a Value);

/// Its fields, in the order of the list of those that are required.
struct Fields<'a>(&'a Map<String, Value>, &'a [Value]);

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(schema) => {
                let rank = |name: &String| KEYWORDS.iter().position(|keyword| keyword == name);
                let mut parts: Vec<_> = schema.iter().collect();
                parts.sort_by_key(|(name, _)| rank(name).unwrap_or(KEYWORDS.len()));
                let required = schema.get("required").and_then(Value::as_array);
                let required = required.map_or(&[][..], Vec::as_slice);
                let mut map = serializer.serialize_map(Some(parts.len()))?;
                for (name, part) in parts {
                    match (name.as_str(), part) {
                        ("properties", Value::Object(fields)) => {
                            map.serialize_entry(name, &Fields(fields, required))?;
                        }
                        _ => map.serialize_entry(name, &Ordered(part))?,
                    }
                }
                map.end()
            }
            Value::Array(parts) => {
                let mut list = serializer.serialize_seq(Some(parts.len()))?;
                for part in parts {
                    list.serialize_element(&Ordered(part))?;
                }
                list.end()
            }
            other => other.serialize(serializer),
        }
    }
}

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let place = |name: &String| self.1.iter().position(|required| required == name);
        let mut fields: Vec<_> = self.0.iter().collect();
        fields.sort_by_key(|(name, _)| place(name).unwrap_or(self.1.len()));
        let mut map = serializer.serialize_map(Some(fields.len()))?;
        for (name, field) in fields {
            map.serialize_entry(name, &Ordered(field))?;
        }
        map.end()
    }
}

fn text(schema: &Value) -> String {
    serde_json::to_string_pretty(&Ordered(schema)).expect("is written") + "\n"
}

/// `TRYCMD=overwrite` writes them.
#[test]
fn the_schemas_in_docs_are_those_of_what_is_printed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json");
    let is_to_write = std::env::var("TRYCMD").is_ok_and(|mode| mode == "overwrite");
    let mut wrong = Vec::new();
    for document in commands::schemas() {
        let path = folder.join(document.name).with_extension("json");
        let made = text(&document.schema());
        if is_to_write {
            std::fs::write(&path, &made).expect("is written");
        } else if std::fs::read_to_string(&path).ok().as_ref() != Some(&made) {
            wrong.push(path);
        }
    }
    assert!(wrong.is_empty(), "scripts/schemas --write: {wrong:#?}");
}

/// Descriptions that begin so need the field before them.
const LEANING: [&str; 17] = [
    "The same",
    "To those",
    "Those ",
    "It is ",
    "Both are ",
    "Its error bound",
    "Of these",
    "Of the ",
    "All of them",
    "There;",
    "Back;",
    "Each of them",
    "Error bound of that",
    "Replies without one",
    "As the ",
    "Since the ",
    "Against ",
];

/// Where a schema has such descriptions.
fn leaning(place: &str, schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(parts) => {
            let description = parts.get("description").and_then(Value::as_str);
            if let Some(text) =
                description.filter(|text| LEANING.iter().any(|start| text.starts_with(start)))
            {
                found.push(format!("{place}: {text}"));
            }
            for (name, part) in parts {
                leaning(&format!("{place}/{name}"), part, found);
            }
        }
        Value::Array(parts) => parts.iter().for_each(|part| leaning(place, part, found)),
        _ => {}
    }
}

/// Editors show them alone, beside the field.
#[test]
fn descriptions_stand_alone() {
    let mut found = Vec::new();
    for document in commands::schemas() {
        leaning(document.name, &document.schema(), &mut found);
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn no_schema_is_written_by_hand() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json");
    let made: Vec<_> = commands::schemas().iter().map(|made| made.name).collect();
    for file in std::fs::read_dir(folder).expect("is there") {
        let path = file.expect("is read").path();
        let name = path.file_stem().and_then(|name| name.to_str());
        assert!(name.is_some_and(|name| made.contains(&name)), "{path:?}");
    }
}
