//! One row group: rows go in, encoded columns come out. Names no file.

use crate::row::Row;
use crate::schema::{Column, Kind, VERSION};
use parquet::basic::{ConvertedType, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{
    SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter,
};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use std::fs::File;
use std::sync::Arc;

/// Values are handed to the encoder in pieces of so many.
const PIECE: usize = 8_192;

/// The columns of some rows on their way into a file.
pub struct Group<'a, 'w, R> {
    rows: &'a [R],
    host: &'a str,
    columns: std::slice::Iter<'static, Column>,
    writer: SerializedRowGroupWriter<'w, File>,
}

/// Writes a whole file of one row group.
pub(crate) fn write<R: Row>(file: File, host: &str, rows: &[R]) -> Result<()> {
    let mut writer = SerializedFileWriter::new(file, schema::<R>()?, properties::<R>(host)?)?;
    columns(rows, host, writer.next_row_group()?)?;
    writer.close().map(drop)
}

fn columns<R: Row>(
    rows: &[R],
    host: &str,
    writer: SerializedRowGroupWriter<'_, File>,
) -> Result<()> {
    let columns = R::TABLE.columns.iter();
    let mut group = Group {
        rows,
        host,
        columns,
        writer,
    };
    R::write(&mut group)?;
    group.writer.close().map(drop)
}

impl<R> Group<'_, '_, R> {
    /// Writes the next column: the name of the recording host, in every row.
    ///
    /// # Errors
    /// As [`text`](Self::text).
    pub fn host(&mut self) -> Result<()> {
        let (host, rows) = (self.host, self.rows);
        let (column, mut writer) = self.next(Kind::Text)?;
        fill_text(rows, column, |_| Some(host), writer.typed())?;
        writer.close()
    }

    /// Writes the next column, which holds integers.
    ///
    /// # Errors
    /// The writer's; a column of another kind; a NULL where the table allows none.
    pub fn integer(&mut self, value: impl Fn(&R) -> Option<i64>) -> Result<()> {
        let rows = self.rows;
        let (column, mut writer) = self.next(Kind::Integer)?;
        fill_integers(rows, column, value, writer.typed())?;
        writer.close()
    }

    /// Writes the next column, which holds text.
    ///
    /// # Errors
    /// As [`integer`](Self::integer).
    pub fn text(&mut self, value: impl Fn(&R) -> Option<&str>) -> Result<()> {
        let rows = self.rows;
        let (column, mut writer) = self.next(Kind::Text)?;
        fill_text(rows, column, value, writer.typed())?;
        writer.close()
    }

    fn next(&mut self, kind: Kind) -> Result<(&'static Column, SerializedColumnWriter<'_>)> {
        let column = self.columns.next().filter(|column| column.kind == kind);
        match (column, self.writer.next_column()?) {
            (Some(column), Some(writer)) => Ok((column, writer)),
            _ => Err(ParquetError::General(format!(
                "the table has no such column: {kind:?}"
            ))),
        }
    }
}

fn fill_integers<R>(
    rows: &[R],
    column: &Column,
    value: impl Fn(&R) -> Option<i64>,
    writer: &mut ColumnWriterImpl<'_, Int64Type>,
) -> Result<()> {
    let mut values = Vec::with_capacity(PIECE);
    let mut present = Vec::with_capacity(PIECE);
    for piece in rows.chunks(PIECE) {
        values.clear();
        values.extend(piece.iter().filter_map(&value));
        if column.nullable {
            present.clear();
            let all = values.len() == piece.len();
            present.extend(
                piece
                    .iter()
                    .map(|row| i16::from(all || value(row).is_some())),
            );
            writer.write_batch(&values, Some(&present), None)?;
        } else if values.len() == piece.len() {
            writer.write_batch(&values, None, None)?;
        } else {
            return Err(null_in(column));
        }
    }
    Ok(())
}

/// The encoder wants a value for each row, though neighbours mostly have the same: a value that is at its place already stays.
fn fill_text<'v, R>(
    rows: &'v [R],
    column: &Column,
    value: impl Fn(&'v R) -> Option<&'v str>,
    writer: &mut ColumnWriterImpl<'_, ByteArrayType>,
) -> Result<()> {
    let mut values = Vec::<ByteArray>::with_capacity(PIECE);
    let mut present = Vec::with_capacity(PIECE);
    let mut last = ByteArray::from("");
    for piece in rows.chunks(PIECE) {
        let mut count = 0;
        present.clear();
        for row in piece {
            let text = value(row);
            present.push(i16::from(text.is_some()));
            let Some(text) = text else { continue };
            if values
                .get(count)
                .is_none_or(|value| value.data() != text.as_bytes())
            {
                if last.data() != text.as_bytes() {
                    last = ByteArray::from(text);
                }
                values.truncate(count);
                values.push(last.clone());
            }
            count += 1;
        }
        if column.nullable {
            writer.write_batch(&values[..count], Some(&present), None)?;
        } else if count == piece.len() {
            writer.write_batch(&values[..count], None, None)?;
        } else {
            return Err(null_in(column));
        }
    }
    Ok(())
}

fn null_in(column: &Column) -> ParquetError {
    ParquetError::General(format!("NULL in {}", column.name))
}

fn schema<R: Row>() -> Result<TypePtr> {
    let columns = R::TABLE.columns.iter().map(|column| {
        let repetition = if column.nullable {
            Repetition::OPTIONAL
        } else {
            Repetition::REQUIRED
        };
        let column = match column.kind {
            Kind::Integer => Type::primitive_type_builder(column.name, Physical::INT64),
            Kind::Text => Type::primitive_type_builder(column.name, Physical::BYTE_ARRAY)
                .with_logical_type(Some(LogicalType::String))
                .with_converted_type(ConvertedType::UTF8),
        };
        column.with_repetition(repetition).build().map(Arc::new)
    });
    let columns = columns.collect::<Result<_>>()?;
    let schema = Type::group_type_builder(R::TABLE.name).with_fields(columns);
    schema.build().map(Arc::new)
}

fn properties<R: Row>(host: &str) -> Result<Arc<WriterProperties>> {
    let named = |name: &str, value: &str| KeyValue::new(name.to_owned(), value.to_owned());
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("wirestamp ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(compression::fastest())
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(None)
        .set_key_value_metadata(Some(vec![
            named("wirestamp.table", R::TABLE.name),
            named("wirestamp.version", &VERSION.to_string()),
            named("wirestamp.host", host),
        ]));
    for column in R::TABLE.columns {
        let path = ColumnPath::from(column.name);
        properties = match column.kind {
            Kind::Text => properties
                .set_column_dictionary_enabled(path.clone(), true)
                .set_column_statistics_enabled(path, text_statistics(column)),
            Kind::Integer => properties
                .set_column_dictionary_enabled(path.clone(), column.has_few_values)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
        };
    }
    Ok(Arc::new(properties.build()))
}

/// Readers pass over files of other hosts by them; those of other text would take a fifth of the time, for no use.
fn text_statistics(column: &Column) -> EnabledStatistics {
    match column.name {
        "host" => EnabledStatistics::Chunk,
        _ => EnabledStatistics::None,
    }
}

#[cfg(not(windows))]
mod compression {
    use parquet::basic::{Compression, ZstdLevel};

    /// zstd's default for this format is level 1: higher ones gain nothing on delta-encoded integers.
    pub(super) fn fastest() -> Compression {
        Compression::ZSTD(ZstdLevel::default())
    }
}

#[cfg(windows)]
mod compression {
    use parquet::basic::Compression;

    pub(super) fn fastest() -> Compression {
        Compression::LZ4_RAW
    }
}
