//! JSON Schemas of types that are serialised by hand.

use super::Failure;
use crate::configuration::ReceiveFilter;
use crate::error::Error;
use crate::interface::InterfaceAddress;
use alloc::borrow::Cow;
use alloc::vec::Vec;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// One of its names.
impl JsonSchema for ReceiveFilter {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ReceiveFilter".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = Self::ALL.iter().map(|filter| filter.name()).collect();
        json_schema!({"type": "string", "enum": names})
    }
}

/// Its text.
impl JsonSchema for InterfaceAddress {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "InterfaceAddress".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        str::json_schema(generator)
    }
}

impl JsonSchema for Error {
    fn schema_name() -> Cow<'static, str> {
        "Error".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Failure::json_schema(generator)
    }
}
