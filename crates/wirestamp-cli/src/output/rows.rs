//! Rows: an object a line (NDJSON), or comma-separated values under a heading. Decides no row's fields.

use super::json;
use serde::Serialize;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use std::fmt;
use std::io;

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// An object a line, with the name of its schema.
    Lines,
    /// A heading, and a line for each row.
    Csv,
}

/// Rows on their way out.
#[derive(Debug)]
pub(crate) struct Rows {
    form: Form,
    schema: String,
    /// Names of the columns, once there is a row.
    columns: Vec<String>,
    text: String,
    failed: Option<io::Error>,
}

impl Rows {
    pub(super) fn new(form: Form, schema: &str) -> Self {
        Self {
            form,
            schema: format!("{schema}-row"),
            columns: Vec::new(),
            text: String::new(),
            failed: None,
        }
    }

    /// Adds a row. All rows of a command have the same fields.
    pub(crate) fn row(&mut self, row: &impl Serialize) {
        let written = match self.form {
            Form::Lines => json::line(&self.schema, row),
            Form::Csv => self.csv(row),
        };
        match written {
            Ok(line) => self.text.push_str(&line),
            Err(error) => self.failed = Some(error),
        }
    }

    /// What has been added since the last time.
    pub(super) fn take(&mut self) -> io::Result<String> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => Ok(std::mem::take(&mut self.text)),
        }
    }

    fn csv(&mut self, row: &impl Serialize) -> io::Result<String> {
        let Fields(fields) = serde_json::from_str(&json::bare(row)?)?;
        let mut writer = csv::Writer::from_writer(Vec::new());
        if self.columns.is_empty() {
            self.columns = fields.iter().map(|(name, _)| name.clone()).collect();
            writer.write_record(&self.columns)?;
        }
        // the columns are fixed by the first row: a field that is not there is empty
        let cells = self.columns.iter().map(|column| {
            let field = fields.iter().find(|(name, _)| name == column);
            field.map_or_else(String::new, |(_, value)| cell(value))
        });
        writer.write_record(cells)?;
        let bytes = writer
            .into_inner()
            .map_err(csv::IntoInnerError::into_error)?;
        String::from_utf8(bytes).map_err(io::Error::other)
    }
}

/// Nothing where nothing is known; a list or an object as its JSON.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The fields of an object in their order.
struct Fields(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Serialize)]
    struct Row {
        zone: &'static str,
        count: Option<u64>,
        list: [u8; 2],
    }

    const ROWS: [Row; 2] = [
        Row {
            zone: "a, \"b\"",
            count: Some(u64::MAX),
            list: [1, 2],
        },
        Row {
            zone: "c",
            count: None,
            list: [3, 4],
        },
    ];

    fn written(form: Form) -> String {
        let mut rows = Rows::new(form, "test");
        ROWS.iter().for_each(|row| rows.row(row));
        rows.take().expect("writes")
    }

    #[test]
    fn csv_has_one_heading_and_quotes_what_needs_it() {
        let expected =
            "zone,count,list\n\"a, \"\"b\"\"\",18446744073709551615,\"[1,2]\"\nc,,\"[3,4]\"\n";
        assert_eq!(written(Form::Csv), expected);
    }

    #[test]
    fn each_line_is_an_object_with_the_name_of_its_schema() {
        let text = written(Form::Lines);
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("an object"))
            .collect();
        assert_eq!(
            lines[1],
            json!({"schema": "wirestamp.test-row/1", "zone": "c", "count": null, "list": [3, 4]})
        );
        assert_eq!(lines.len(), 2);
    }
}
