"""Small files, as monitors write them: opening 10⁵ of them takes longer than reading their rows, so the user's cache has the rows together.

A segment has the rows of small files of one folder, and in its footer their names, sizes and times. It counts as long as these are the same."""

import collections
import concurrent.futures
import contextlib
import dataclasses
import hashlib
import itertools
import json
import os
import pathlib
import uuid

import numpy
import pyarrow as pa
import pyarrow.parquet as parquet

from . import store
from .schema import TABLES

SMALL = 1 << 16
"""Bytes that a small file has at most."""
WORTH = 16
"""New small files of a folder for which a segment is written."""
TOGETHER = 64
"""Files that one task decodes."""
HELD = 1 << 19
"""Rows of a segment, about."""
FILE = "file"
"""A column beside the table's: which of the footer's files a row is of."""
MEMBERS = b"wirestamp.files"


class Segments:
    """Segments of a table, each with the files that it can be read for."""

    def __init__(self, found=()):
        self._found = dict(found)

    def instead(self, names):
        """What is read for some files: those that are in no segment, and segments of which all files are wanted."""
        wanted = set(names)
        used = [path for path, members in self._found.items() if wanted.issuperset(members)]
        within = set(itertools.chain.from_iterable(self._found[path] for path in used))
        return [name for name in names if name not in within] + used

    def remove_gone(self):
        """Forgets those that another run replaced. Whether there were any."""
        gone = [path for path in self._found if not os.path.exists(path)]
        for path in gone:
            del self._found[path]
        return bool(gone)


def keep(place, table, scope, keys, todo, show, cached):
    """The segments of a part of a table, after those of new small files were written if they are `cached`; and what was seen of these files, as far as they
    are among `todo`. `keys`: size and time of each visible file."""
    folder, is_within = _folder(place), scope.within(table)
    relative = {name: place.relative(name) for name in keys}
    named = {short: name for name, short in relative.items()}
    known = _known([folder / below for below in scope.listed(table)], is_within, {short: keys[name] for short, name in named.items()})
    within = {short for members in known.values() for short in members}
    apart = collections.defaultdict(list)
    for name, key in keys.items():
        if name in todo and relative[name] not in within and is_within(relative[name]) and key is not None and key[0] <= SMALL:
            apart[os.path.dirname(relative[name])].append(name)
    groups = [some[start : start + TOGETHER] for some in apart.values() if len(some) >= WORTH for start in range(0, len(some), TOGETHER)]
    seen = {}
    with contextlib.closing(_read(place, table, groups, show)) as read:
        for where, some in itertools.groupby(read, lambda group: os.path.dirname(relative[next(iter(group.seen))])):
            for together in _portions(some):
                for group in together:
                    seen |= group.seen
                members = [(relative[name], keys[name], count) for group in together for name, count in group.good if cached]
                with contextlib.suppress(OSError):  # without it, the files are read by themselves
                    known |= _write(folder / where, [group.rows for group in together], members)
    return Segments({path: [named[short] for short in members] for path, members in known.items()}), seen


def _folder(place):
    """Where segments are: in the user's cache, because whoever writes recordings need not be trusted with those of others."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    number = hashlib.sha256(os.fsencode(os.path.abspath(place.root))).hexdigest()[:32]
    return cache / "wirestamp-fleet" / number


def _known(folders, is_within, keys):
    """The files of each segment, by its path. What has changed or is gone of them is taken out."""
    known, within = {}, set()
    for path in sorted(path for folder in folders for path in folder.rglob("*.parquet")):
        try:
            members = json.loads(parquet.read_metadata(path).metadata[MEMBERS])
            if not is_within(members[0][0]):
                continue
            same = [keys.get(name) == key and name not in within for name, key in members]
            if not all(same):
                path = _without(path, members, same)
            names = [name for (name, _), is_same in zip(members, same, strict=True) if is_same]
        except (pa.ArrowException, OSError, ValueError, LookupError, TypeError):
            path.unlink(missing_ok=True)
            continue
        if names:
            known[str(path)] = names
            within.update(names)
    return known


def _without(path, members, same):
    """Writes a segment anew with the files that are the same."""
    rows, same = parquet.ParquetFile(path).read(), numpy.array(same)
    numbers = numpy.cumsum(same) - 1
    file = rows[FILE].to_numpy()
    rows = rows.set_column(rows.schema.get_field_index(FILE), rows.schema.field(FILE), pa.array(numbers[file], pa.int32())).filter(pa.array(same[file]))
    new = path.with_name(f"{uuid.uuid4().hex}.parquet")
    if same.any():
        store.write_file(rows, new, {MEMBERS: json.dumps(list(itertools.compress(members, same)))})
    path.unlink(missing_ok=True)
    return new


def _write(folder, rows, members):
    """A segment of files: name, size and time, and number of rows."""
    if not members:
        return {}
    counts = [count for _, _, count in members]
    file = pa.array(numpy.repeat(numpy.arange(len(counts)), counts), pa.int32())
    path = folder / f"{uuid.uuid4().hex}.parquet"
    store.write_file(pa.concat_tables(rows).append_column(FILE, file), path, {MEMBERS: json.dumps([[name, key] for name, key, _ in members])})
    return {str(path): [name for name, _, _ in members]}


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


def _read(place, table, groups, show):
    """The groups in their order."""
    for done, group in enumerate(in_order(lambda names: _group(place, table, names), groups, place.at_a_time)):
        yield group
        show((done + 1) / len(groups))


def in_order(work, some, at_a_time):
    """What a function gives for each, so many at a time. Few answers wait in memory."""
    waiting = collections.deque()
    with concurrent.futures.ThreadPoolExecutor(at_a_time) as threads:
        try:
            for each in some:
                waiting.append(threads.submit(work, each))
                if len(waiting) > 2 * at_a_time:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            threads.shutdown(cancel_futures=True)


@dataclasses.dataclass
class _Group:
    """Files that were decoded together."""

    seen: dict
    """Of each file, what is wrong and which rows make no sense."""
    good: list
    """Files with rows, and how many."""
    rows: pa.Table


def _group(place, table, names):
    """What is usual is looked at together, and else each file by itself."""
    with contextlib.suppress(pa.ArrowException, OSError, ValueError):
        tables = [_rows(place, table, name) for name in names]
        rows, refused = pa.concat_tables(tables), collections.Counter()
        if store.unsound(rows, table, refused) is None and not refused:
            return _Group({name: (None, []) for name in names}, list(zip(names, map(len, tables), strict=True)), rows.cast(TABLES[table]))
    seen, good, tables = {}, [], [TABLES[table].empty_table()]
    for name in names:
        seen[name] = store.look(place, name, table)
        try:
            if seen[name][0] is None:
                tables.append(_rows(place, table, name).cast(TABLES[table]))
                good.append((name, len(tables[-1])))
        except (pa.ArrowException, OSError, ValueError) as error:
            seen[name] = f"cannot be read ({error})", []
    return _Group(seen, good, pa.concat_tables(tables))


def _rows(place, table, name):
    """The rows of a file. An error, unless it is one of the table."""
    with place.open(name) as source, parquet.ParquetFile(source) as file:
        wrong = store.described(file, table)
        if wrong is not None:
            raise ValueError(wrong)
        rows = file.read(TABLES[table].names, use_threads=False).replace_schema_metadata(None)
        if len(rows) != file.metadata.num_rows:
            raise ValueError("incomplete")
        return rows
