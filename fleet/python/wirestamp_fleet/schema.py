"""The tables as docs/parquet describes them. A test compares both."""

import functools
import operator

import pyarrow as pa
import pyarrow.compute as compute

VERSION = 1
BUCKETS = 16


def _table(text):
    fields = []
    for word in text.split():
        name, _, kind = word.partition(":")
        nullable = kind.endswith("?")
        fields.append(pa.field(name, pa.string() if kind.startswith("s") else pa.int64(), nullable))
    return pa.schema(fields)


TABLES = {
    "timestamps": _table(
        "host:s interface:s flow:i sequence:i direction:s source:s generation:i? ticks:i? utc_minus_ticks:i?"
        " error_bound:i? reason:s?"
    ),
    "cross": _table("host:s interface:s monotonic_before:i bracket:i ticks_minus_before:i method:s"),
    "estimates": _table(
        "host:s clock:s from:i until:i generation:i? offset:i? frequency_ppt:i? error_bound:i? reason:s?"
    ),
    "probes": _table(
        "host:s peer:s window_start:i window:i forward:i? backward:i? forward_middle:i? backward_middle:i? count:i"
    ),
}

ADDED = {"estimates": [pa.field("right_servers", pa.int64())]}
"""Columns that files of before do not have: they are NULL there. No analysis needs them."""


def written(table):
    """The columns that are written."""
    return pa.schema([*TABLES[table], *ADDED.get(table, [])])


def had(table, names):
    """Those columns that are written which a file with these names has."""
    return pa.schema([field for field in written(table) if field.name in names])


def filled(rows, table):
    """Rows with all columns that are written: of files of before, those that they do not have are NULL."""
    for field in ADDED.get(table, []):
        if field.name not in rows.schema.names:
            rows = rows.append_column(field, pa.nulls(rows.num_rows, field.type))
    return rows.select(written(table).names)


def complete(rows, table):
    """The same, of the types that are written."""
    return filled(rows, table).cast(written(table))


MOST = 2**53
"""Greatest number of nanoseconds that is computed with: 104 days."""
YEARS = 2**62

ROWS = {
    "timestamps": [("error_bound", 0, MOST)],
    "cross": [("bracket", 0, MOST)],
    "estimates": [],
    "probes": [("window_start", -YEARS, YEARS), ("window", 1, MOST), ("count", 0, YEARS)],
}
"""For each table: column, least and greatest value. A row with another value makes no sense and is left out; NULL is none. Of `estimates` every row
says something: with a bound beyond reason, that its host claims nothing."""


def sound_condition(table):
    """The rows of a table that make sense, as a condition in SQL; none for all."""
    return " AND ".join(f'("{column}" IS NULL OR "{column}" BETWEEN {least} AND {most})' for column, least, most in ROWS[table])


def sound_rows(table):
    """The same as an expression of Arrow."""
    conditions = [compute.field(column).is_null() | ((compute.field(column) >= least) & (compute.field(column) <= most)) for column, least, most in ROWS[table]]
    return functools.reduce(operator.and_, conditions)


def flow_of(one, other, stream):
    """The number of the flow between two endpoints, the same for both directions."""
    number = 0xCBF29CE484222325
    first, second = min(one, other), max(one, other)
    for byte in first.encode() + b"\0" + second.encode() + b"\0" + stream.to_bytes(8, "little"):
        number = ((number ^ byte) * 0x100000001B3) % 2**64
    return number - 2**64 if number >= 2**63 else number


def bucket_of(flow):
    """The part of an hour in which a flow's timestamps are stored."""
    return (flow % 2**64) * 0x9E3779B97F4A7C15 % 2**64 >> 60
