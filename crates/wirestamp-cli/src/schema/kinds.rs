//! How numbers and times look that are strings in JSON: for fields with a serialiser of their own.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, json};
use std::borrow::Cow;

/// A kind of string or number.
macro_rules! kind {
    ($(#[$documentation:meta])* $name:ident: $schema:tt) => {
        $(#[$documentation])*
        pub(crate) struct $name;

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

/// An object with these fields, each of this type: a map whose names are known.
pub(crate) fn each(names: impl Iterator<Item = &'static str>, kind: &str) -> Schema {
    let names: Vec<_> = names.collect();
    let field = match kind {
        "integer" => json!({"type": kind, "format": "uint64"}),
        _ => json!({"type": kind}),
    };
    let fields = names.iter().map(|name| ((*name).to_owned(), field.clone()));
    let fields: Map<_, _> = fields.collect();
    json_schema!({"type": "object", "required": names, "properties": fields})
}

kind! {
    /// An integer as a string: [`digits`](crate::output::json::digits).
    Digits: {"type": "string", "pattern": "^-?[0-9]+$"}
}

kind! {
    /// UTC: [`time`](crate::output::json::time).
    Utc: {
        "type": "string",
        "format": "date-time",
        "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{9}Z$"
    }
}
