"""The one-way join with the kernel in Rust: reads timestamps file by file, so that their columns are never in memory together."""

import concurrent.futures
import os
import re

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.parquet as parquet

from . import kernel
from . import wirestamp_fleet_kernels as rust
from .schema import sound_rows

COLUMNS = ["flow", "sequence", "ticks", "utc_minus_ticks", "error_bound", "host", "direction"]
SIDES = {"tx": 0, "rx": 1}
BYTES = 160
"""Of memory for each timestamp: columns, rows, and half of the rows again for sorting."""
ENOUGH = 1 << 22
"""Timestamps for which a processor of its own is worth it: smaller parts would decode row groups several times."""


class Part:
    """Some files, and the flows of them that one run of the kernel joins."""

    def __init__(self, place, files, rows, partly=False, first=-(2**63), last=2**63 - 1):
        """`partly`: some rows make no sense and are left out."""
        self.place, self.files, self.rows, self.first, self.last = place, files, rows, first, last
        self.condition = sound_rows("timestamps") if partly else None

    def answer(self, most):
        """Rows of kernel.FLOWS."""
        joined = Joined(self.rows)
        for name in self.files:
            with self.place.open(name) as source, parquet.ParquetFile(source, read_dictionary=["host", "direction"], pre_buffer=True) as file:
                for group in range(file.metadata.num_row_groups):
                    if self._may_have(file.metadata.row_group(group)):
                        rows = file.read_row_group(group, COLUMNS, use_threads=False)
                        joined.add(rows if self.condition is None else rows.filter(self.condition), self.first, self.last)
        return joined.flows(most)

    def _may_have(self, group):
        known = group.column(_place(group, "flow")).statistics
        return known is None or not known.has_min_max or (known.min <= self.last and known.max >= self.first)


class Joined:
    """The kernel, with about so many timestamps."""

    def __init__(self, rows):
        self._packets, self._numbers = rust.Packets(rows), {}

    def add(self, rows, first=-(2**63), last=2**63 - 1):
        """Takes the timestamps of a table whose flow is between two numbers."""
        if rows["ticks"].null_count or rows["utc_minus_ticks"].null_count:
            rows = rows.filter(compute.and_(rows["ticks"].is_valid(), rows["utc_minus_ticks"].is_valid()))
        for batch in rows.to_batches():
            columns = [_numbers(batch[name]) for name in COLUMNS[:5]]
            host, direction = (_dictionary(batch[name]) for name in COLUMNS[5:])
            hosts = [self._numbers.setdefault(name, len(self._numbers)) for name in host.dictionary.to_pylist()]
            sides = bytes(SIDES.get(name, 2) for name in direction.dictionary.to_pylist())
            self._packets.add(columns, host.indices.to_numpy(), hosts, direction.indices.to_numpy(), sides, first, last)

    def flows(self, most):
        """Rows of kernel.FLOWS."""
        names = sorted(self._numbers, key=str.encode)
        places = {name: place for place, name in enumerate(names)}
        return _flows(self._packets.flows([places[name] for name in self._numbers], most), names)


def several(memory):
    """How many parts are joined at a time, and how many timestamps each of them has at most, within so many bytes."""
    count = max(min(os.cpu_count() or 1, memory // (BYTES * ENOUGH)), 1)
    return count, max(memory // BYTES // count, 1)


def answers(parts, most, count):
    """The rows of each part; so many of them are joined at a time."""
    with concurrent.futures.ThreadPoolExecutor(count) as threads:
        yield from threads.map(lambda part: part.answer(most), parts)


def rows_of(place, files):
    def rows(name):
        with place.open(name) as source:
            return parquet.read_metadata(source).num_rows

    with concurrent.futures.ThreadPoolExecutor() as several:
        return sum(several.map(rows, files))


def split(counts, most):
    """Ranges of flows with their timestamps, of at most so many where a flow has no more. `counts`: for each flow, in their order."""
    first, last, rows = None, None, 0
    for flow, count in counts:
        if rows and rows + count > most:
            yield first, last, rows
            first, rows = None, 0
        first, last, rows = flow if first is None else first, flow, rows + count
    if rows:
        yield first, last, rows


def bytes_of(text):
    """The number of bytes that DuckDB writes as `3.7 GiB`."""
    number, unit = re.fullmatch(r"([\d.]+) (bytes?|[KMGT]iB)", text).groups()
    return int(float(number) * 1024 ** "bKMGT".index(unit[0]))


def _numbers(column):
    """The memory of a column, NULL as the kernel knows it."""
    return (column.fill_null(rust.NULL) if column.null_count else column).to_numpy()


def _dictionary(column):
    return column if pa.types.is_dictionary(column.type) else column.dictionary_encode()


def _place(group, name):
    return next(place for place in range(group.num_columns) if group.column(place).path_in_schema == name)


def _flows(found, names):
    names = pa.array(names, pa.string())
    # every number is a flow's
    columns = {name: kernel.column(found[name], nullable=name != "flow") for name in kernel.FLOWS.names}
    columns |= {name: names.take(columns[name]) for name in ("host", "peer")}
    return pa.table(columns, schema=kernel.FLOWS)
