//! One row group: rows go in, encoded columns come out. Names no file.

use crate::row::Row;
use crate::schema::{Column, Kind, VERSION};
use parquet::basic::{ConvertedType, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
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
        let host = ByteArray::from(self.host);
        self.column::<ByteArrayType>(Kind::Text, |_| Some(host.clone()))
    }

    /// Writes the next column, which holds integers.
    ///
    /// # Errors
    /// The writer's; a column of another kind; a NULL where the table allows none.
    pub fn integer(&mut self, value: impl Fn(&R) -> Option<i64>) -> Result<()> {
        self.column::<Int64Type>(Kind::Integer, value)
    }

    /// Writes the next column, which holds text.
    ///
    /// # Errors
    /// As [`integer`](Self::integer).
    pub fn text(&mut self, value: impl Fn(&R) -> Option<&str>) -> Result<()> {
        let mut last = ByteArray::from("");
        self.column::<ByteArrayType>(Kind::Text, |row| {
            let text = value(row)?;
            if last.data() != text.as_bytes() {
                last = ByteArray::from(text);
            }
            Some(last.clone())
        })
    }

    fn column<T: DataType>(
        &mut self,
        kind: Kind,
        value: impl FnMut(&R) -> Option<T::T>,
    ) -> Result<()> {
        let column = self.columns.next().filter(|column| column.kind == kind);
        let (Some(column), Some(mut writer)) = (column, self.writer.next_column()?) else {
            return Err(ParquetError::General(format!(
                "the table has no such column: {kind:?}"
            )));
        };
        fill(self.rows, column, value, writer.typed::<T>())?;
        writer.close()
    }
}

fn fill<R, T: DataType>(
    rows: &[R],
    column: &Column,
    mut value: impl FnMut(&R) -> Option<T::T>,
    writer: &mut ColumnWriterImpl<'_, T>,
) -> Result<()> {
    let mut values = Vec::with_capacity(PIECE);
    let mut present = Vec::with_capacity(PIECE);
    for piece in rows.chunks(PIECE) {
        values.clear();
        present.clear();
        for row in piece {
            let value = value(row);
            present.push(i16::from(value.is_some()));
            values.extend(value);
        }
        if column.nullable {
            writer.write_batch(&values, Some(&present), None)?;
        } else if values.len() == piece.len() {
            writer.write_batch(&values, None, None)?;
        } else {
            return Err(ParquetError::General(format!("NULL in {}", column.name)));
        }
    }
    Ok(())
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
            Kind::Text => properties.set_column_dictionary_enabled(path, true),
            Kind::Integer => properties
                .set_column_dictionary_enabled(path.clone(), column.has_few_values)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
        };
    }
    Ok(Arc::new(properties.build()))
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
