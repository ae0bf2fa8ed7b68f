"""Writing tables and other files: complete or absent."""

import contextlib
import datetime
import os
import pathlib
import uuid

import pyarrow as pa
import pyarrow.parquet as parquet

from . import interrupted
from .places import Refused
from .schema import VERSION, complete, written

GROUP = 1 << 20
"""Rows of a row group, and of a file."""
LARGE = 1 << 17
"""Rows of a row group of answers."""


def write(folder, table, columns, at, host="fleet", name=None, bucket=None):
    """Writes rows of one hour as one file, complete or absent. `at`: UTC in nanoseconds."""
    time = datetime.datetime.fromtimestamp(at // 10**9, datetime.timezone.utc)
    place = pathlib.Path(folder) / table / f"day={time:%Y-%m-%d}" / f"hour={time:%H}"
    if bucket is not None:
        place = place / f"bucket={bucket:02}"
    names = columns.column_names if isinstance(columns, pa.Table) else columns
    schema = pa.schema([field for field in written(table) if field.name in names])
    rows = complete(pa.table({field.name: columns[field.name] for field in schema}, schema=schema), table)
    rows = rows.replace_schema_metadata(
        {"wirestamp.table": table, "wirestamp.version": str(VERSION), "wirestamp.host": host}
    )
    return write_file(rows, place / f"{name or f'{host}-{at}-{uuid.uuid4().hex}'}.parquet")


def write_file(rows, place, metadata=None):
    """Writes a table, or what a reader of batches gives, complete or not at all."""
    options = {
        "compression": "zstd",
        "compression_level": 1,
        "use_dictionary": [field.name for field in rows.schema if field.type == pa.string()],
        "column_encoding": {field.name: "DELTA_BINARY_PACKED" for field in rows.schema if field.type == pa.int64()},
    }
    place = pathlib.Path(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    with draft(place) as drafted, open(drafted, "wb") as file:
        schema = rows.schema if metadata is None else rows.schema.with_metadata(metadata)
        with parquet.ParquetWriter(file, schema, **options) as writer:
            parts = [rows] if isinstance(rows, pa.Table) else rows
            for part in parts:
                write = writer.write_table if isinstance(part, pa.Table) else writer.write_batch
                write(part, row_group_size=GROUP)
    return place


@contextlib.contextmanager
def draft(place):
    """A file under another name, which is synced and renamed at the end."""
    if not place.parent.is_dir():
        raise Refused(f"{place}: there is no folder {place.parent}")
    written = place.with_name(f".wirestamp-{uuid.uuid4().hex}.part")
    interrupted.left.add(written)
    try:
        yield written
        with open(written, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(written, place)
    finally:
        written.unlink(missing_ok=True)
        interrupted.left.discard(written)
    sync(place.parent)


def large(rows):
    """The same rows in batches of many, for row groups that readers like."""

    def batches():
        held, count = [], 0
        for batch in rows:
            held.append(batch)
            count += batch.num_rows
            if count >= LARGE:
                yield from pa.Table.from_batches(held).combine_chunks().to_batches()
                held, count = [], 0
        if held:
            yield from pa.Table.from_batches(held).combine_chunks().to_batches()

    return pa.RecordBatchReader.from_batches(rows.schema, batches())


def sync(folder):
    """Makes names in a folder last."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
