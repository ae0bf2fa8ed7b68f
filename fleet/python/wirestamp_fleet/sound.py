"""Whether a file is what it should be, and which of its rows make no sense."""

import collections
import contextlib

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.parquet as parquet

from .schema import ROWS, TABLES, VERSION, had, written

DECODED = 1 << 14
"""Rows of a file that are decoded at a time to check it."""
NAMED = 20
"""Files and rows beyond so many are counted and not named."""


def look(place, name, table):
    """Why a file cannot be used, and which of its rows cannot: host, reason, number. Its pages are decoded: damage in the middle is found too."""
    try:
        with place.open(name) as source:
            found, refused = wrong(source, table)
    except OSError as error:
        return f"cannot be read ({error})", []
    if found is not None:
        place.read_through(name)
    return found, refused


def wrong(source, table):
    """The same of an open file."""
    refused = collections.Counter()
    try:
        with parquet.ParquetFile(source) as file:
            found = described(file, table)
            if found is not None:
                return found, []
            expected = had(table, file.schema_arrow.names)
            # text as its dictionary: what every page has is decoded, but no text is made a hundred thousand times; of few rows it is not worth it
            texts = [field.name for field in expected if field.type == pa.string()] if file.metadata.num_rows > DECODED else []
            with parquet.ParquetFile(source, metadata=file.metadata, read_dictionary=texts) if texts else contextlib.nullcontext(file) as whole:
                rows = 0
                for batch in whole.iter_batches(DECODED, columns=expected.names, use_threads=False):
                    rows += batch.num_rows
                    found = unsound(batch, table, refused)
                    if found is not None:
                        return found, []
                # memory is shared out by this number
                if rows != file.metadata.num_rows:
                    return f"damaged or incomplete ({rows} rows instead of {file.metadata.num_rows})", []
    except (pa.ArrowException, OSError, ValueError) as error:
        return f"damaged or incomplete ({' '.join(str(error).split())})", []
    return None, [[host, reason, count] for (host, reason), count in sorted(refused.items())[:NAMED]]


def described(file, table):
    """Why a file is not one of a table, by its metadata."""
    schema = file.schema_arrow
    metadata = schema.metadata or {}
    metadata |= file.metadata.metadata or {}
    version = metadata.get(b"wirestamp.version")
    if version is None:
        return "not written by wirestamp"
    if version != str(VERSION).encode():
        return f"version {version.decode(errors='replace')} of the tables, this program knows {VERSION}"
    if metadata.get(b"wirestamp.table") != table.encode():
        return f"not of the table {table}"
    # columns that a later release adds are left out: the version changes if those that are known mean something else
    if (
        len(set(schema.names)) < len(schema.names)
        or set(TABLES[table].names) - set(schema.names)
        or any(field.name in schema.names and schema.field(field.name).type != field.type for field in written(table))
    ):
        return "other columns than the table has"
    return None


def unsound(batch, table, refused):
    """Why rows are not of a table. Counts those that make no sense by host and reason."""
    for field in TABLES[table]:
        if not field.nullable and batch[field.name].null_count:
            return f"NULL in the column {field.name}"
    for column, least, most in ROWS[table]:
        values = batch[column]
        seen = compute.min_max(values).as_py()
        if seen["min"] is None or (seen["min"] >= least and seen["max"] <= most):
            continue
        beyond = compute.or_(compute.less(values, least), compute.greater(values, most))
        some = batch.filter(compute.fill_null(beyond, False))
        first = {host: value for host, value in zip(reversed(some["host"].to_pylist()), reversed(some[column].to_pylist()), strict=True)}
        for host, count in collections.Counter(some["host"].to_pylist()).items():
            refused[host, f"{column} is {first[host]}, not between {least} and {most}"] += count
    return None
