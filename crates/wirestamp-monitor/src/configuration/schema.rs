//! The schema of the configuration lists what is read, no more and no less, and the guide has each key. `TRYCMD=overwrite` renews the guide's page.

use super::Configuration;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

/// In the guide's page, what stands below this line is made from the schema.
const MARK: &str = "<!-- made from docs/json/monitor-configuration.json -->\n";

/// A table of the file, with the way to it from the root.
#[derive(Clone)]
struct Table {
    node: Map<String, Value>,
    /// Keys, whether each is a list of tables, and what the table around it needs.
    way: Vec<(String, bool, Map<String, Value>)>,
}

fn schema() -> Value {
    serde_json::from_str(Configuration::SCHEMA).expect("JSON")
}

/// What a `$ref` stands for.
fn resolved<'s>(schema: &'s Value, node: &'s Value) -> &'s Value {
    match node.get("$ref").and_then(Value::as_str) {
        Some(reference) => schema
            .pointer(reference.trim_start_matches('#'))
            .expect("it is there"),
        None => node,
    }
}

impl Table {
    /// As a header of TOML has it.
    fn name(&self) -> String {
        let keys: Vec<_> = self.way.iter().map(|(key, ..)| key.as_str()).collect();
        keys.join(".")
    }

    fn properties(&self) -> &Map<String, Value> {
        self.node["properties"].as_object().expect("an object")
    }

    /// The fields that it cannot be without.
    fn needed(&self) -> Map<String, Value> {
        let names = self.node.get("required").and_then(Value::as_array);
        names
            .into_iter()
            .flatten()
            .map(|name| name.as_str().expect("a name").to_owned())
            .map(|name| {
                let example = self.properties()[&name]["examples"][0].clone();
                assert!(!example.is_null(), "{name} has no example");
                (name, example)
            })
            .collect()
    }

    /// Reads a file that has these fields in this table, beside what is needed.
    fn read(&self, fields: &[(&str, Value)]) -> Result<Configuration, String> {
        let mut whole = self.needed();
        whole.extend(
            fields
                .iter()
                .map(|(key, value)| ((*key).to_owned(), value.clone())),
        );
        for (key, is_list, around) in self.way.iter().rev() {
            let inner = Value::Object(whole);
            whole = around.clone();
            whole.insert(key.clone(), if *is_list { json!([inner]) } else { inner });
        }
        serde_json::from_value(Value::Object(whole)).map_err(|error| error.to_string())
    }

    /// The values that a property is said to take.
    fn values(property: &Value) -> Vec<Value> {
        let lists = ["examples", "enum"].map(|name| property.get(name).and_then(Value::as_array));
        let listed = lists.into_iter().flatten().flatten();
        listed.chain(property.get("default")).cloned().collect()
    }
}

/// Every table, the root first.
fn tables(schema: &Value) -> Vec<Table> {
    let root = Table {
        node: schema.as_object().expect("an object").clone(),
        way: Vec::new(),
    };
    let (mut waiting, mut found) = (vec![root], Vec::new());
    while let Some(table) = waiting.pop() {
        for (key, property) in table.properties().iter().rev() {
            let items = resolved(schema, property.get("items").unwrap_or(property));
            if items.get("properties").is_some() {
                let mut way = table.way.clone();
                way.push((key.clone(), property.get("items").is_some(), table.needed()));
                let mut node = items.as_object().expect("an object").clone();
                if let (None, Some(description)) =
                    (property.get("items"), property.get("description"))
                {
                    node.insert("description".to_owned(), description.clone());
                }
                waiting.push(Table { node, way });
            }
        }
        found.push(table);
    }
    found
}

/// Keys and descriptions of what is no table.
fn fields<'s>(schema: &'s Value, table: &'s Table) -> Vec<(&'s str, &'s Value, &'s Value)> {
    let all = table.properties().iter();
    all.map(|(key, property)| (key.as_str(), property, resolved(schema, property)))
        .filter(|(_, property, resolved)| {
            let items = property
                .get("items")
                .map(|items| self::resolved(schema, items));
            resolved.get("properties").is_none()
                && items.is_none_or(|items| items.get("properties").is_none())
        })
        .collect()
}

/// What serde names in back quotes after "expected".
fn expected(said: &str) -> BTreeSet<&str> {
    let (_, list) = said.split_once("expected").expect("a list");
    list.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_schema_has_the_keys_that_are_read() {
    let schema = schema();
    let tables = tables(&schema);
    assert!(tables.len() > 12, "{}", tables.len());
    for table in tables {
        let said = table.read(&[("nonsense", json!(1))]).expect_err("unknown");
        assert!(said.starts_with("unknown field `nonsense`"), "{said}");
        let known: BTreeSet<_> = table.properties().keys().map(String::as_str).collect();
        assert_eq!(expected(&said), known, "[{}]", table.name());
        assert_eq!(table.node["additionalProperties"], false);
        table.read(&[]).expect("the rest has defaults");
    }
}

#[test]
fn each_key_takes_the_values_of_the_schema_and_no_others() {
    let schema = schema();
    for table in tables(&schema) {
        for (key, property, kind) in fields(&schema, &table) {
            let name = format!("[{}] {key}", table.name());
            let values = Table::values(property);
            assert!(!values.is_empty(), "{name} has neither default nor example");
            for value in values {
                table
                    .read(&[(key, value.clone())])
                    .unwrap_or_else(|error| panic!("{name} = {value}: {error}"));
            }
            let mut wrong = vec![json!({"nonsense": 1}), json!(null)];
            match kind["type"].as_str() {
                Some("string") => wrong.extend([json!(1), json!(true)]),
                Some("integer") => wrong.extend([json!("1"), json!(1.5), json!(true)]),
                Some("boolean") => wrong.extend([json!("true"), json!(1)]),
                Some("array") => wrong.extend([json!("one"), json!([{"nonsense": 1}])]),
                None => wrong.push(json!("nonsense")),
                other => panic!("{name}: {other:?}"),
            }
            for value in wrong {
                let is_absent = value.is_null();
                match table.read(&[(key, value.clone())]) {
                    // TOML has no null; an option reads it as left out
                    Ok(_) if is_absent => {}
                    Ok(_) => panic!("{name} = {value} is read"),
                    Err(said) if said.contains("unknown variant") && key != "clock" => {
                        let listed = property.get("enum").unwrap_or(&property["items"]["enum"]);
                        let listed = listed.as_array().expect("a list");
                        let listed = listed.iter().filter_map(Value::as_str).collect();
                        assert_eq!(expected(&said), listed, "{name}");
                    }
                    Err(_) => {}
                }
            }
        }
    }
}

#[test]
fn limits_and_defaults_are_those_of_the_schema() {
    let schema = schema();
    let mut limits = 0;
    for table in tables(&schema) {
        for (key, property, _) in fields(&schema, &table) {
            let name = format!("[{}] {key}", table.name());
            // refused as a whole by a program that is built without it
            if table.name() == "recording" && cfg!(not(feature = "parquet")) {
                continue;
            }
            let is_right = |value: i64| {
                let read = table.read(&[(key, json!(value))]);
                read.is_ok_and(|read| read.check().is_ok())
            };
            for (limit, beyond) in [("minimum", -1), ("maximum", 1)] {
                if let Some(value) = property.get(limit).and_then(Value::as_i64) {
                    assert!(is_right(value), "{name} = {value}");
                    assert!(!is_right(value + beyond), "{name} = {}", value + beyond);
                    limits += 1;
                }
            }
            if let Some(default) = property.get("default") {
                let said = table.read(&[(key, default.clone())]);
                assert_eq!(said, table.read(&[]), "{name} = {default}");
            }
        }
    }
    assert!(limits > 40, "{limits}");
}

fn page(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../guide")
        .join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(page(name)).expect("the guide is there")
}

#[test]
fn the_example_of_the_guide_has_every_key() {
    let text = read("monitor.md");
    let (_, block) = text.split_once("```toml\n").expect("an example");
    let (block, _) = block.split_once("```").expect("its end");
    let example: toml::Value = toml::from_str(block).expect("TOML");
    toml::from_str::<Configuration>(block).expect("it is right");
    let schema = schema();
    for table in tables(&schema) {
        let mut place = Some(&example);
        for (key, is_list, _) in &table.way {
            place = place.and_then(|table| table.get(key));
            if *is_list {
                place = place.and_then(|list| list.get(0));
            }
        }
        // options of PTP have a page of their own
        if table.name().starts_with("ptp.") {
            continue;
        }
        let place = place.unwrap_or_else(|| panic!("no [{}]", table.name()));
        for key in table.properties().keys() {
            assert!(
                place.get(key).is_some(),
                "[{}] {key} is missing",
                table.name()
            );
        }
    }
}

/// The tables of the guide's page.
fn reference(schema: &Value) -> String {
    let mut page = String::new();
    for table in tables(schema) {
        let name = table.name();
        let description = table.node.get("description").and_then(Value::as_str);
        let is_list = table.way.last().is_some_and(|(_, is_list, _)| *is_list);
        let _ = match (name.as_str(), is_list) {
            ("", _) => writeln!(page, "\n## Before the first table\n"),
            (name, true) => writeln!(page, "\n## `[[{name}]]`\n"),
            (name, false) => writeln!(page, "\n## `[{name}]`\n"),
        };
        // the page says it of the whole
        if let Some(description) = description.filter(|_| !name.is_empty()) {
            let _ = writeln!(page, "{description}.\n");
        }
        page.push_str("| key | default | what |\n|---|---|---|\n");
        let needed = table.needed();
        for (key, property, _) in fields(schema, &table) {
            let default = match property.get("default") {
                Some(default) => format!("`{default}`"),
                None if needed.contains_key(key) => "needed".to_owned(),
                None => String::new(),
            };
            let mut what = property["description"].as_str().expect("a text").to_owned();
            if let Some(names) = property.get("enum").and_then(Value::as_array) {
                let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
                let _ = write!(what, ": {}", names.join(", "));
            }
            let limits = ["minimum", "maximum"].map(|limit| property.get(limit));
            let _ = match limits {
                // what the number's type allows says nothing
                [_, Some(most)] if most.as_u64() > Some(65_536) => Ok(()),
                [Some(least), Some(most)] => write!(what, "; {least} to {most}"),
                [Some(least), None] if *least != json!(0) => write!(what, "; at least {least}"),
                _ => Ok(()),
            };
            let _ = writeln!(
                page,
                "| `{key}` | {default} | {} |",
                what.replace('|', "\\|")
            );
        }
    }
    page
}

#[test]
fn the_guide_lists_every_key() {
    let name = "monitor-configuration.md";
    let text = read(name);
    let (head, listed) = text.split_once(MARK).expect("a mark");
    let made = reference(&schema());
    if std::env::var_os("TRYCMD").is_some_and(|how| how == "overwrite") {
        std::fs::write(page(name), format!("{head}{MARK}{made}")).expect("written");
        return;
    }
    assert_eq!(listed, made, "TRYCMD=overwrite renews the page");
}
