//! Schemas as JSON has them: integers as the program's layout writes them, descriptions without Rust's notation.

use serde_json::{Map, Value, json};

/// The largest integer that, like its neighbours, a double holds exactly.
const LARGEST: i64 = (1 << 53) - 1;

/// What schemars calls the types of integers: with their least and their largest value.
const INTEGERS: [(&str, i64, i64); 11] = [
    ("uint8", 0, u8::MAX as i64),
    ("uint16", 0, u16::MAX as i64),
    ("uint32", 0, u32::MAX as i64),
    ("uint64", 0, LARGEST),
    ("uint", 0, LARGEST),
    ("uint128", 0, LARGEST),
    ("int8", i8::MIN as i64, i8::MAX as i64),
    ("int16", i16::MIN as i64, i16::MAX as i64),
    ("int32", i32::MIN as i64, i32::MAX as i64),
    ("int64", -LARGEST, LARGEST),
    ("int128", -LARGEST, LARGEST),
];

/// What a schema is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// What the program prints.
    Printed,
    /// A TOML file that it reads.
    Read,
}

/// Makes a schema and all within it what is printed or read. `name`: of the field that it describes.
pub(super) fn apply(purpose: Purpose, name: &str, schema: &mut Value) {
    let Value::Object(schema) = schema else {
        return;
    };
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = plain(text);
    }
    number(purpose, name, schema);
    words(schema);
    match purpose {
        Purpose::Printed => drop(schema.remove("default")), // everything is printed
        Purpose::Read => without_null(schema),
    }
    for (keyword, value) in schema.iter_mut() {
        match (keyword.as_str(), value) {
            ("properties" | "$defs", Value::Object(fields)) => {
                for (name, field) in fields {
                    apply(purpose, name, field);
                }
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(parts)) => {
                parts.iter_mut().for_each(|part| apply(purpose, name, part));
            }
            ("items" | "additionalProperties", part) => apply(purpose, name, part),
            _ => {}
        }
    }
}

/// The limits of a number. Nanoseconds in 64 bits, and seeds, may exceed what a double holds: they are printed as a string
/// then.
fn number(purpose: Purpose, name: &str, schema: &mut Map<String, Value>) {
    let Some(format) = schema.get("format").and_then(Value::as_str) else {
        return;
    };
    let found = INTEGERS.iter().find(|(integer, ..)| *integer == format);
    let Some(&(_, least, largest)) = found else {
        // JSON Schema does not define the formats that schemars gives to numbers and addresses
        if format != "date-time" {
            schema.remove("format");
        }
        return;
    };
    schema.remove("format");
    let is_large = largest == LARGEST;
    if !(is_large && purpose == Purpose::Read) {
        for (limit, value) in [("minimum", least), ("maximum", largest)] {
            schema.entry(limit).or_insert_with(|| value.into());
        }
    }
    if is_large && purpose == Purpose::Printed && (name.ends_with("_ns") || name == "seed") {
        may_be_digits(schema, least);
    }
}

/// The words of an enum, as one list: those that its field allows.
fn words(schema: &mut Map<String, Value>) {
    let all = schema.get("oneOf").and_then(Value::as_array);
    let Some(all) = all.and_then(|all| all.iter().map(listed).collect::<Option<Vec<_>>>()) else {
        return;
    };
    schema.remove("oneOf");
    schema.insert("type".to_owned(), "string".into());
    schema.entry("enum").or_insert_with(|| all.concat().into());
}

/// The words of some variants.
fn listed(part: &Value) -> Option<Vec<Value>> {
    let one = part.get("const").map(|word| vec![word.clone()]);
    one.or_else(|| part.get("enum")?.as_array().cloned())
}

/// TOML has no null: what may be left out is no null either.
fn without_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|one| one != "null");
        if let [one] = &types[..] {
            let one = one.clone();
            schema.insert("type".to_owned(), one);
        }
    }
    let other = |parts: &Value| match &parts.as_array()?[..] {
        [one, null] if null["type"] == "null" => one.as_object().cloned(),
        _ => None,
    };
    if let Some(one) = schema.get("anyOf").and_then(other) {
        schema.remove("anyOf");
        schema.extend(one);
    }
    let is_said_elsewhere = |default: &Value| {
        let is_of_tables = schema
            .get("items")
            .is_some_and(|items| items.get("$ref").is_some());
        default.is_null() || default.is_object() || is_of_tables
    };
    if schema.get("default").is_some_and(is_said_elsewhere) {
        schema.remove("default");
    }
}

fn may_be_digits(schema: &mut Map<String, Value>, least: i64) {
    let mut types = match schema.remove("type") {
        Some(Value::Array(types)) => types,
        Some(one) => vec![one],
        None => Vec::new(),
    };
    types.insert(1, json!("string"));
    schema.insert("type".to_owned(), types.into());
    let sign = if least < 0 { "-?" } else { "" };
    schema.insert(
        "pattern".to_owned(),
        format!("^{sign}[0-9]{{16,20}}$").into(),
    );
}

/// A comment as a description: on one line, without the last full stop, null for `None`, and links as their text.
fn plain(comment: &str) -> String {
    let one_line = comment.split_whitespace().collect::<Vec<_>>().join(" ");
    let with_null = one_line.replace("`None`", "null");
    let mut text = String::new();
    let mut rest = with_null.as_str();
    while let Some((before, from)) = rest.find(['`', '[']).map(|at| rest.split_at(at)) {
        text.push_str(before);
        let (part, after) = quoted(from)
            .or_else(|| link(from))
            .unwrap_or(from.split_at(1));
        text.push_str(part);
        rest = after;
    }
    text.push_str(rest);
    text.trim_end_matches('.').to_owned()
}

/// What stands between back quotes, with them, and what follows.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let end = text.strip_prefix('`')?.find('`')? + 2;
    Some(text.split_at(end))
}

/// The text of a link, and what follows it.
fn link(text: &str) -> Option<(&str, &str)> {
    let (label, after) = text.strip_prefix('[')?.split_once(']')?;
    let target = after
        .strip_prefix('(')
        .and_then(|target| target.split_once(')'));
    (!label.contains('[')).then_some((label, target.map_or(after, |(_, after)| after)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(name: &str, mut schema: Value) -> Value {
        apply(Purpose::Printed, name, &mut schema);
        schema
    }

    #[test]
    fn nanoseconds_that_a_double_may_not_hold_are_digits() {
        let count = json!({"type": "integer", "format": "uint64", "minimum": 0});
        let limits = json!({"type": "integer", "minimum": 0, "maximum": LARGEST});
        assert_eq!(applied("packets", count.clone()), limits);
        let time = applied("all_ns", count);
        assert_eq!(time["type"], json!(["integer", "string"]));
        assert_eq!(time["pattern"], "^[0-9]{16,20}$");
        let signed = json!({"type": ["integer", "null"], "format": "int64"});
        let signed = applied("offset_ns", signed);
        assert_eq!(signed["type"], json!(["integer", "string", "null"]));
        assert_eq!(signed["pattern"], "^-?[0-9]{16,20}$");
        let small = json!({"type": "integer", "format": "uint8", "minimum": 1, "maximum": 128});
        let small = applied("few_ns", small);
        assert_eq!(small["type"], "integer");
        assert_eq!(
            (&small["minimum"], &small["maximum"]),
            (&json!(1), &json!(128))
        );
    }

    #[test]
    fn what_is_within_is_printed_the_same_way() {
        let number = json!({"type": "integer", "format": "int64"});
        let listed = json!({"type": "array", "items": number});
        let map = json!({"type": "object", "additionalProperties": number});
        let within =
            json!({"properties": {"a_ns": number, "b_ns": listed, "c_ns": map}, "default": 1});
        let within = applied("", within);
        assert!(within.get("default").is_none());
        for pointer in ["a_ns", "b_ns/items", "c_ns/additionalProperties"] {
            let number = &within
                .pointer(&format!("/properties/{pointer}"))
                .expect("there");
            assert_eq!(number["type"], json!(["integer", "string"]), "{pointer}");
        }
    }

    #[test]
    fn a_comment_is_a_description() {
        for (comment, description) in [
            (
                "When it was\nnoticed; `None`: never.",
                "When it was noticed; null: never",
            ),
            (
                "Of a [`Thing`](crate::Thing), or [`none`].",
                "Of a `Thing`, or `none`",
            ),
            ("From [0, 1)", "From [0, 1)"),
            ("From [0, 1) to [`End`]", "From [0, 1) to `End`"),
            ("`[i, count]` of [each](Each)", "`[i, count]` of each"),
            ("`a[0]` of `[[ntp]]`, not `", "`a[0]` of `[[ntp]]`, not `"),
        ] {
            assert_eq!(plain(comment), description);
        }
    }

    #[test]
    fn a_file_has_no_null_and_no_limits_but_its_own() {
        let mut read = json!({"properties": {
            "a_ns": {"type": ["integer", "null"], "format": "uint64", "minimum": 0, "default": null},
            "b": {"anyOf": [{"$ref": "#"}, {"type": "null"}], "default": null},
            "c": {"oneOf": [{"const": "x", "description": "X"}, {"enum": ["y"]}], "default": "x"},
            "d": {"type": "array", "items": {"$ref": "#"}, "default": []},
            "e": {"oneOf": [{"const": "x"}, {"const": "y"}], "enum": ["y"]},
        }});
        apply(Purpose::Read, "", &mut read);
        let expected = json!({"properties": {
            "a_ns": {"type": "integer", "minimum": 0},
            "b": {"$ref": "#"},
            "c": {"type": "string", "enum": ["x", "y"], "default": "x"},
            "d": {"type": "array", "items": {"$ref": "#"}},
            "e": {"type": "string", "enum": ["y"]},
        }});
        assert_eq!(read, expected);
    }
}
