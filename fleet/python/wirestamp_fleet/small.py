"""Small files, as monitors write them: many are read and checked together, and their rows go into segments of the user's cache."""

import collections
import contextlib
import dataclasses
import itertools
import os

import pyarrow as pa
import pyarrow.parquet as parquet

from . import sound
from .ordered import in_order
from .schema import filled, had, written
from .segments import Segments

SMALL = 1 << 16
"""Bytes that a small file has at most."""
DENSE = 2
"""Bytes of a small file for each of its rows, at least. One with more rows is read by itself: their memory would be without a limit."""
WORTH = 16
"""New small files of a folder for which a segment is written."""
TOGETHER = 64
"""Files that one task decodes."""
BYTES = 1 << 17
"""Bytes of these files, if there are several."""
AT_A_TIME = 8
"""Tasks at the same time. With those whose rows wait, that is a million rows at most."""
HELD = 1 << 19
"""Rows of a segment, about."""


def keep(place, table, scope, keys, unseen, show, cached):
    """The segments of a part of a table, after those of new small files were written; and what was seen of these files. `keys`: size and time of each
    file. `unseen`: those that have to be looked at. Unless `cached`, or if nothing can be kept, only they are."""
    is_within = scope.within(table)
    keys = {name: key for name, key in keys.items() if is_within(place.relative(name))}
    segments = Segments(place, table) if cached else Segments()
    segments.find(is_within, keys)
    apart = collections.defaultdict(list)
    for name, key in keys.items():
        if (segments.grows or name in unseen) and name not in segments and key is not None and key[0] <= SMALL:
            apart[os.path.dirname(name)].append(name)
    groups = [group for names in apart.values() if len(names) >= WORTH for group in _groups(names, keys)]
    seen = {}
    with contextlib.closing(_read(place, table, groups, keys, show)) as read:
        for _, some in itertools.groupby(read, lambda group: group.folder):
            for together in _portions(some):
                for group in together:
                    seen |= group.seen
                segments.add([group.rows for group in together], [(name, keys[name], count) for group in together for name, count in group.good])
    return segments, seen


def _groups(names, keys):
    """As many files together as one task decodes."""
    some, size = [], 0
    for name in names:
        if some and (len(some) == TOGETHER or size + keys[name][0] > BYTES):
            yield some
            some, size = [], 0
        some.append(name)
        size += keys[name][0]
    yield some


def _portions(groups):
    """As many groups together as have about `HELD` rows."""
    some, held = [], 0
    for group in groups:
        some.append(group)
        held += len(group.rows)
        if held >= HELD:
            yield some
            some, held = [], 0
    if some:
        yield some


def _read(place, table, groups, keys, show):
    """The groups in their order."""
    at_a_time = min(place.at_a_time, AT_A_TIME)
    for done, group in enumerate(in_order(lambda names: _group(place, table, names, keys), groups, at_a_time, 2 * at_a_time)):
        yield group
        show((done + 1) / len(groups))


@dataclasses.dataclass
class _Group:
    """Files of a folder that were decoded together."""

    folder: str
    seen: dict
    """Of each file, what is wrong and which rows make no sense."""
    good: list
    """Files with rows, and how many."""
    rows: pa.Table


def _group(place, table, names, keys):
    """What is usual is looked at together, and else each file by itself. Those with too many rows are left to others."""
    folder, nothing = os.path.dirname(names[0]), written(table).empty_table()
    with contextlib.suppress(pa.ArrowException, OSError, ValueError):
        found = [(name, rows) for name in names if (rows := _rows(place, table, name, keys)) is not None]
        if not found:
            return _Group(folder, {}, [], nothing)
        rows, refused = pa.concat_tables([rows for _, rows in found]), collections.Counter()
        if sound.unsound(rows, table, refused) is None and not refused:
            return _Group(folder, {name: (None, []) for name, _ in found}, [(name, len(rows)) for name, rows in found], rows.cast(written(table)))
    seen, good, tables = {}, [], [nothing]
    for name in names:
        try:
            rows = _rows(place, table, name, keys)
            if rows is None:
                continue
            seen[name] = sound.look(place, name, table)
            if seen[name][0] is None:
                tables.append(rows.cast(written(table)))
                good.append((name, len(rows)))
        except (pa.ArrowException, OSError, ValueError) as error:
            wrong, refused = sound.look(place, name, table)
            seen[name] = wrong or f"cannot be read ({error})", refused
    return _Group(folder, seen, good, pa.concat_tables(tables))


def _rows(place, table, name, keys):
    """The rows of a file; None if they are too many. An error, unless it is one of the table."""
    with place.open(name) as source, parquet.ParquetFile(source) as file:
        wrong = sound.described(file, table)
        if wrong is not None:
            raise ValueError(wrong)
        if file.metadata.num_rows * DENSE > keys[name][0]:
            return None
        names = had(table, file.schema_arrow.names).names
        rows = file.read(names, use_threads=False).replace_schema_metadata(None)
        if len(rows) != file.metadata.num_rows:
            raise ValueError("incomplete")
        return filled(rows, table)
