//! A schema of `docs/json`: of an object, of the lines that several objects are, and of a row.

use super::exact::{self, Purpose};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// What a file of `docs/json` says.
pub(crate) struct Document {
    pub(super) name: &'static str,
    title: &'static str,
    purpose: Purpose,
    generator: SchemaGenerator,
    /// Each with its title, if there are several.
    objects: Vec<(Option<&'static str>, Value)>,
    /// The type of the first of them.
    root: String,
    definitions: Map<String, Value>,
    /// Fields of a definition that take fewer words here than their type has.
    narrowed: Vec<(&'static str, &'static [&'static str])>,
}

impl Document {
    /// Of what is always an object of this type.
    pub(crate) fn of<T: JsonSchema>(name: &'static str, title: &'static str) -> Self {
        let mut document = Self::lines(name, title);
        let object = T::json_schema(&mut document.generator);
        document.add(None, object);
        document.root = T::schema_id().into_owned();
        document
    }

    /// Of a TOML file.
    #[cfg(feature = "monitor")]
    pub(crate) fn read<T: JsonSchema>(name: &'static str, title: &'static str) -> Self {
        let mut document = Self::lines(name, title);
        document.purpose = Purpose::Read;
        document.generator = SchemaSettings::draft2020_12().into_generator();
        let object = T::json_schema(&mut document.generator).to_value();
        document.objects.push((None, object));
        document
    }

    /// Of what a library describes.
    #[cfg(feature = "monitor")]
    pub(crate) fn made(
        name: &'static str,
        title: &'static str,
        make: fn(&mut SchemaGenerator) -> Schema,
    ) -> Self {
        let mut document = Self::lines(name, title);
        let object = make(&mut document.generator);
        document.add(None, object);
        document
    }

    /// Of lines of several types: each is added by [`line`](Self::line).
    pub(crate) fn lines(name: &'static str, title: &'static str) -> Self {
        Self {
            name,
            title,
            purpose: Purpose::Printed,
            generator: SchemaSettings::draft2020_12()
                .for_serialize()
                .into_generator(),
            objects: Vec::new(),
            root: String::new(),
            definitions: Map::new(),
            narrowed: Vec::new(),
        }
    }

    /// The field that a JSON pointer names takes these words alone.
    #[cfg(feature = "monitor")]
    pub(crate) fn narrowed(mut self, field: &'static str, words: &'static [&'static str]) -> Self {
        self.narrowed.push((field, words));
        self
    }

    /// One type of line.
    pub(crate) fn line<T: JsonSchema>(mut self, title: &'static str) -> Self {
        let object = T::json_schema(&mut self.generator);
        self.add(Some(title), object);
        self
    }

    /// The type of a row of `--format ndjson`.
    pub(crate) fn row<T: JsonSchema>(mut self) -> Self {
        let mut row = match T::schema_id() == self.root {
            true => json!({"$ref": "#"}),
            false => self.generator.subschema_for::<T>().to_value(),
        };
        row["description"] = json!("A line of --format ndjson, beside \"schema\"");
        self.definitions.insert("row".to_owned(), row);
        self
    }

    fn add(&mut self, title: Option<&'static str>, object: Schema) {
        let mut object = object.to_value();
        self.name(&mut object);
        self.objects.push((title, object));
    }

    /// Adds the name that stands before the fields.
    fn name(&self, object: &mut Value) {
        let name = json!({
            "description": "Name and version of this schema",
            "const": format!("wirestamp.{}/1", self.name),
        });
        object["properties"]["schema"] = name;
        let mut required = vec![json!("schema")];
        let others = object["required"].as_array().cloned().unwrap_or_default();
        required.extend(others.into_iter().filter(|other| other != "schema"));
        object["required"] = required.into();
    }

    /// Makes the schema.
    pub(super) fn schema(mut self) -> Value {
        let mut schema = match self.objects.len() {
            1 => self.objects.remove(0).1,
            _ => json!({"anyOf": self.objects.into_iter().map(titled).collect::<Vec<_>>()}),
        };
        schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
        schema["title"] = json!(self.title);
        let mut definitions = self.generator.take_definitions(true);
        definitions.extend(self.definitions);
        if !definitions.is_empty() {
            schema["$defs"] = definitions.into();
        }
        exact::apply(self.purpose, "", &mut schema);
        for (field, words) in self.narrowed {
            let listed = schema
                .pointer_mut(field)
                .and_then(|field| field.get_mut("enum"));
            *listed.expect("a field with words") = json!(words);
        }
        schema
    }
}

fn titled((title, mut object): (Option<&'static str>, Value)) -> Value {
    object["title"] = json!(title);
    object
}
