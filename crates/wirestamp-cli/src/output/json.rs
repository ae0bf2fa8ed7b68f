//! The JSON form of everything that the program prints: names of schemas, times, large integers. Decides no
//! report's fields.
//!
//! Readers such as jq 1.6 and JavaScript hold numbers as doubles, which are exact up to 2⁵³ only. So integers
//! that count from an epoch, ticks and identifiers are always strings (`digits`), times of day are RFC 3339 strings
//! (`time`), and any other integer becomes a string beyond ±(2⁵³ − 1) (`Exact`).

use serde::{Serialize, Serializer};
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};
use std::fmt::Display;
use std::io::{self, Write};
use wirestamp::{Error, UtcTime};

/// The version in every schema's name. It changes when a field is renamed or removed or changes its meaning.
const VERSION: u32 = 1;
/// The largest integer that, like its neighbours, a double holds exactly.
const LARGEST: u64 = (1 << 53) - 1;
/// The schema of errors.
pub(super) const ERROR: &str = "error";

/// An object behind the name of its schema.
#[derive(Serialize)]
struct Named<'a, T> {
    schema: String,
    #[serde(flatten)]
    object: &'a T,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Failed<'a> {
    /// Why the command failed.
    pub(super) error: &'a Error,
}

/// The schema of what is printed if a command fails.
#[cfg(all(test, feature = "schema"))]
pub(crate) fn schema() -> crate::schema::Document {
    crate::schema::Document::of::<Failed<'_>>(
        ERROR,
        "Output of every command with --json if it fails",
    )
}

/// One object over several lines.
pub(super) fn pretty(schema: &str, object: &impl Serialize) -> io::Result<String> {
    written(schema, object, PrettyFormatter::new())
}

/// One object on a line.
pub(super) fn line(schema: &str, object: &impl Serialize) -> io::Result<String> {
    written(schema, object, CompactFormatter)
}

fn written(schema: &str, object: &impl Serialize, layout: impl Formatter) -> io::Result<String> {
    let schema = format!("wirestamp.{schema}/{VERSION}");
    text(&Named { schema, object }, layout).map(|text| text + "\n")
}

/// One object without the name of a schema.
pub(super) fn bare(object: &impl Serialize) -> io::Result<String> {
    text(object, CompactFormatter)
}

fn text(object: &impl Serialize, layout: impl Formatter) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Exact(layout));
    object.serialize(&mut serializer)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// Writes a number as a string: ticks, identifiers and nanoseconds since an epoch may exceed 2⁵³.
pub(crate) fn digits<T: Display, S: Serializer>(
    number: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

/// As [`digits`]; `None` is null.
pub(crate) fn some_digits<T: Display, S: Serializer>(
    number: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => serializer.collect_str(number),
        None => serializer.serialize_none(),
    }
}

/// Writes UTC in nanoseconds since 1970 as RFC 3339 with nanoseconds.
pub(crate) fn time<S: Serializer>(nanoseconds: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&UtcTime::from_nanoseconds(*nanoseconds).rfc3339())
}

/// As [`time`]; `None` is null.
pub(crate) fn some_time<S: Serializer>(
    nanoseconds: &Option<i64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match nanoseconds {
        Some(nanoseconds) => time(nanoseconds, serializer),
        None => serializer.serialize_none(),
    }
}

/// A layout in which an integer that a double may not hold is a string.
struct Exact<F>(F);

/// Passes a part of the layout on.
macro_rules! as_laid_out {
    ($($name:ident($($argument:ident: $kind:ty),*)),* $(,)?) => {
        $(fn $name<W: ?Sized + Write>(&mut self, writer: &mut W $(, $argument: $kind)*) -> io::Result<()> {
            self.0.$name(writer $(, $argument)*)
        })*
    };
}

impl<F: Formatter> Formatter for Exact<F> {
    as_laid_out!(
        begin_array(),
        end_array(),
        begin_array_value(first: bool),
        end_array_value(),
        begin_object(),
        end_object(),
        begin_object_key(first: bool),
        end_object_key(),
        begin_object_value(),
        end_object_value(),
    );

    fn write_i64<W: ?Sized + Write>(&mut self, writer: &mut W, value: i64) -> io::Result<()> {
        integer(writer, value, value.unsigned_abs() <= LARGEST)
    }

    fn write_u64<W: ?Sized + Write>(&mut self, writer: &mut W, value: u64) -> io::Result<()> {
        integer(writer, value, value <= LARGEST)
    }

    fn write_i128<W: ?Sized + Write>(&mut self, writer: &mut W, value: i128) -> io::Result<()> {
        integer(writer, value, value.unsigned_abs() <= u128::from(LARGEST))
    }

    fn write_u128<W: ?Sized + Write>(&mut self, writer: &mut W, value: u128) -> io::Result<()> {
        integer(writer, value, value <= u128::from(LARGEST))
    }
}

fn integer<W: ?Sized + Write>(
    writer: &mut W,
    value: impl Display,
    is_exact: bool,
) -> io::Result<()> {
    if is_exact {
        write!(writer, "{value}")
    } else {
        write!(writer, "\"{value}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirestamp::ErrorKind;

    #[test]
    fn an_error_says_everything_it_knows_and_null_for_the_rest() {
        let refused =
            Error::new(ErrorKind::NotPermitted, "enable", "eth0", "not permitted").with_code(1);
        let text = pretty(ERROR, &Failed { error: &refused }).expect("writes");
        let value: serde_json::Value = serde_json::from_str(&text).expect("is JSON");
        let expected = serde_json::json!({"schema": "wirestamp.error/1", "error": {
            "kind": "not_permitted", "operation": "enable", "target": "eth0", "cause": "not permitted",
            "code": 1, "remedy": null, "message": "eth0: cannot enable: not permitted (code 1)",
        }});
        assert_eq!(value, expected);
    }

    #[test]
    fn integers_that_a_double_may_not_hold_are_strings() {
        #[derive(Serialize)]
        struct Numbers {
            exact: [i64; 2],
            large: (i64, i64, u64, u128),
            #[serde(serialize_with = "digits")]
            ticks: u64,
            #[serde(serialize_with = "some_digits")]
            none: Option<u64>,
        }
        let largest = LARGEST as i64;
        let numbers = Numbers {
            exact: [largest, -largest],
            large: (largest + 1, i64::MIN, u64::MAX, u128::MAX),
            ticks: 5,
            none: None,
        };
        let expected = r#"{"schema":"wirestamp.test/1","exact":[9007199254740991,-9007199254740991],"large":["9007199254740992","-9223372036854775808","18446744073709551615","340282366920938463463374607431768211455"],"ticks":"5","none":null}"#;
        assert_eq!(line("test", &numbers).expect("writes").trim_end(), expected);
    }

    #[test]
    fn a_pretty_object_is_laid_out_as_serde_json_does_it() {
        let object = serde_json::json!({"a": [1, {}, []], "b": {"c": "d"}});
        let expected = serde_json::to_string_pretty(&object).expect("writes");
        assert_eq!(
            text(&object, PrettyFormatter::new()).expect("writes"),
            expected
        );
    }
}
