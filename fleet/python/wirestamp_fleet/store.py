"""Reading and writing the tables. A file that is not what it should be is named, and refused or passed over as the user says."""

import collections
import concurrent.futures
import contextlib
import dataclasses
import datetime
import os
import pathlib
import sys
import uuid

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.parquet as parquet

from . import checked, compact, interrupted, small
from .places import Folder, Refused
from .schema import ROWS, TABLES, VERSION
from .scope import ALL

GROUP = 1 << 20
"""Rows of a row group, and of a file."""
DECODED = 1 << 14
"""Rows of a file that are decoded at a time to check it."""
LARGE = 1 << 17
"""Rows of a row group of answers."""
NAMED = 20
"""Files and rows beyond so many are counted and not named."""


class Again(Refused):
    """A file was removed while it was read, and is left out from now on."""

    def __init__(self):
        super().__init__("a file was removed while the answer was written: ask again")


def files(place, table, skip=False, scope=ALL, show=lambda done: None, look_at=None, carried=False, cached=True):
    """The usable files of a table, sorted. Without `skip`, the first unusable one is an error. `scope`: which part is asked for.
    `look_at`: looks at files elsewhere, as Spark's executors. `carried`: also those of before that hold what is true until then. `cached`: whether rows of small files
    are kept in the user's cache."""
    keys, closed = {}, {}
    for below in scope.listed(table):
        listed, unread = place.files(below)
        keys, closed = keys | listed, closed | unread
    if scope.is_time:
        is_within = scope.within(table)
        keys, closed = ({name: value for name, value in some.items() if is_within(place.relative(name))} for some in (keys, closed))
    if carried and scope.begin is not None:
        before, unread = _lasting(place, table, scope)
        keys, closed = keys | before, closed | unread
    pairs, segments = _looked(place, table, scope, keys, show, look_at, cached)
    # `compact` may have named a merged file since the files were listed: its rows are only in those that it replaces
    replaced = compact.replaced(place, lambda: {place.relative(name) for name, seen in pairs if seen.wrong is None})
    if replaced:
        pairs = [(name, seen) for name, seen in pairs if place.relative(name) not in replaced]
    wrong = closed | {name: seen.wrong for name, seen in pairs if seen.wrong is not None}
    unusable = [f"{name}: {why}" for name, why in sorted(wrong.items())]
    if unusable and not skip:
        raise Refused(f"{unusable[0]}; {len(unusable)} unusable file(s) or folder(s); pass over them with --skip-unusable")
    for line in unusable[:NAMED]:
        say(f"skipped {line}")
    if unusable:
        say(f"skipped {len(unusable)} unusable file(s) or folder(s) of {table}")
    good = [(name, seen) for name, seen in pairs if seen.wrong is None]
    _name_rows(good)
    return Files(table, {name: keys[name] for name, _ in good}, any(seen.refused for _, seen in good), len(unusable), segments)


@dataclasses.dataclass
class Files:
    """Usable files of a table, each with what it must still have to be the same."""

    table: str
    keys: dict
    partly: bool
    """Whether some have rows that make no sense, which are to be left out."""
    left: int
    """How many cannot be used."""
    segments: "small.Segments"
    """What is read instead of small files."""

    def remove_gone(self, place, skip):
        """Takes out the files that were removed since they were listed, and names them. Whether there were any."""
        there, _ = place.files(self.table)
        gone = [name for name in self.keys if name not in there]
        if gone and not skip:
            raise Refused(f"{gone[0]}: removed while it was read; {len(gone)} such file(s); pass over them with --skip-unusable")
        for name in gone:
            del self.keys[name]
        for name in gone[:NAMED]:
            say(f"skipped {name}: removed while it was read")
        if gone:
            say(f"skipped {len(gone)} removed file(s) of {self.table}")
        return self.segments.remove_gone() or bool(gone)


def say(line):
    """Prints a line for people."""
    print(terminal(line), file=sys.stderr)


def terminal(text):
    """Text of somebody else, without what moves a terminal's cursor or changes its colours."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else f"\\x{ord(letter):02x}" for letter in text)


def _name_rows(good):
    """Names rows that are left out: of each file, host and reason the first."""
    lines, rows = [], 0
    for name, seen in good:
        for host, reason, count in seen.refused:
            lines.append(f"left out {count} row(s) of {name}, host {host}: {reason}")
            rows += count
    for line in lines[:NAMED]:
        say(line)
    if len(lines) > NAMED:
        say(f"left out {rows} row(s) in all")


def _lasting(place, table, scope):
    """Files of earlier hours with rows that last into a part, by what their footers say of `until`; and what of before was not looked into."""
    begin = scope.begin
    keys, closed = place.files(table)
    is_before = lambda name: scope.is_before(table, place.relative(name))
    before = list(filter(is_before, visible(keys)))

    def lasts(name):
        try:
            with place.open(name) as source:
                groups = parquet.read_metadata(source)
                known = [groups.row_group(number).column(groups.schema.names.index("until")).statistics for number in range(groups.num_row_groups)]
            return any(seen is None or not seen.has_min_max or seen.max >= begin for seen in known)
        except (pa.ArrowException, OSError, ValueError, TypeError):
            return True  # a closer look says why

    with concurrent.futures.ThreadPoolExecutor(place.at_a_time) as several:
        found = {name: keys[name] for name, some in zip(before, several.map(lasts, before), strict=True) if some}
    return found, {name: why for name, why in closed.items() if is_before(name)}


def _looked(place, table, scope, keys, show, look_at, cached):
    """Every file with what is known of it, and the segments that have the rows of small ones. What is good is remembered."""
    found = visible(keys)
    names = {name: place.relative(name) for name in found}
    known = checked.read(place)
    looked = {name: _Looked.remembered(known.get(names[name]), keys[name]) for name in found}
    segments = small.Segments()
    # Spark's executors have no cache, and objects are not stored twice
    if look_at is None and isinstance(place, Folder):
        todo = {name for name in found if cached or looked[name] is None}
        segments, seen = small.keep(place, table, scope, {name: keys[name] for name in found}, todo, show, cached)
        looked |= {name: _Looked(*what) for name, what in seen.items()}
    todo = [name for name in found if looked[name] is None]
    for done, (name, (wrong, refused)) in enumerate((look_at or here)(place, table, todo)):
        looked[name] = _Looked(wrong, refused)
        show(done / len(todo))
    show(1)
    good = {names[name]: seen.value(keys[name]) for name, seen in looked.items() if seen.wrong is None and keys[name] is not None}
    is_within = scope.within(table)
    rest = {name: value for name, value in known.items() if name not in good and not is_within(name)}
    if rest | good != known:
        checked.write(place, rest | good)
    return list(looked.items()), segments


def here(place, table, names):
    """Looks at files in this process. Of each, a row group is in memory: there are no more at a time than the place makes worth it."""
    with concurrent.futures.ThreadPoolExecutor(place.at_a_time) as several:
        try:
            yield from zip(names, several.map(lambda name: look(place, name, table), names), strict=True)
        finally:
            several.shutdown(cancel_futures=True)


def visible(names):
    """The files that are recordings, sorted. By custom, names with a dot or an underscore at the beginning are not, such as a copy's on its way."""
    return [name for name in sorted(names) if not os.path.basename(name).startswith((".", "_"))]


def _folder(name):
    return name.rpartition("/")[0]


@dataclasses.dataclass(frozen=True)
class _Looked:
    """What is known of a file."""

    wrong: str | None
    refused: list
    """Host, reason and number of the rows that make no sense."""

    @classmethod
    def remembered(cls, value, key):
        """`value`: what was remembered, size and time first."""
        return cls(None, value[2] if len(value) > 2 else []) if value is not None and value[:2] == key else None

    def value(self, key):
        return [*key, self.refused] if self.refused else key


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
            expected = TABLES[table]
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
    if len(set(schema.names)) < len(schema.names) or any(
        field.name not in schema.names or schema.field(field.name).type != field.type for field in TABLES[table]
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


def write(folder, table, columns, at, host="fleet", name=None, bucket=None):
    """Writes rows of one hour as one file, complete or absent. `at`: UTC in nanoseconds."""
    time = datetime.datetime.fromtimestamp(at // 10**9, datetime.timezone.utc)
    place = pathlib.Path(folder) / table / f"day={time:%Y-%m-%d}" / f"hour={time:%H}"
    if bucket is not None:
        place = place / f"bucket={bucket:02}"
    schema = TABLES[table]
    rows = pa.table({field.name: columns[field.name] for field in schema}, schema=schema)
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
    with draft(place) as written, open(written, "wb") as file:
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
