"""Reading and writing the tables. A file that is not what it should be is named, and refused or passed over as the user says."""

import concurrent.futures
import dataclasses
import datetime
import os
import pathlib
import sys
import uuid

import pyarrow as pa
import pyarrow.parquet as parquet

from . import checked
from .places import Refused
from .schema import TABLES, VERSION

ROWS = 1 << 20
MERGED = b"wirestamp.merged"


def files(place, table, skip=False, only="", show=lambda done: None):
    """The usable files of a table, sorted, each with what it must still have to be the same. Without `skip`, the first unusable one is an
    error. `only`: below this of the table's folders."""
    below = f"{table}/{only}".rstrip("/")
    keys = place.files(below)
    found = visible(keys)
    known = checked.read(place)
    names = {name: place.relative(name) for name in found}
    looked = []
    with concurrent.futures.ThreadPoolExecutor() as several:
        look = lambda name: _look(place, name, table, keys[name], known.get(names[name]))
        try:
            for seen in several.map(look, found):
                looked.append(seen)
                show(len(looked) / (len(found) + 1))
        finally:
            several.shutdown(cancel_futures=True)
    show(1)
    good = {names[name]: seen.key for name, seen in zip(found, looked, strict=True) if seen.wrong is None and seen.key is not None}
    if good != {name: value for name, value in known.items() if name.startswith(f"{below}/")}:
        rest = {name: value for name, value in known.items() if not name.startswith(f"{below}/")}
        checked.write(place, rest | good)
    # a compaction that was interrupted has left files beside the one that they were merged into
    pairs = list(zip(found, looked, strict=True))
    replaced = {f"{_folder(name)}/{old}" for name, seen in pairs if seen.wrong is None for old in seen.merged}
    pairs = [(name, seen) for name, seen in pairs if name not in replaced]
    unusable = [f"{name}: {seen.wrong}" for name, seen in pairs if seen.wrong is not None]
    if unusable and not skip:
        raise Refused(f"{unusable[0]}; {len(unusable)} unusable file(s); pass over them with --skip-unusable")
    for line in unusable:
        print(f"skipped {line}", file=sys.stderr)
    return {name: keys[name] for name, seen in pairs if seen.wrong is None}


def visible(names):
    """The files that are recordings, sorted. By custom, names with a dot or an underscore at the beginning are not, such as a copy's on its way."""
    return [name for name in sorted(names) if not os.path.basename(name).startswith((".", "_"))]


def _folder(name):
    return name.rpartition("/")[0]


@dataclasses.dataclass(frozen=True)
class _Looked:
    """What is known of a file."""

    wrong: str | None
    merged: list
    key: list | None


def _look(place, name, table, key, known):
    # a key with a third value: the files that were merged into this one
    if known is not None and known[:2] == key:
        return _Looked(None, known[2] if len(known) > 2 else [], known)
    try:
        with place.open(name) as source:
            names = merged(source)
            found = wrong(source, table)
    except OSError as error:
        names, found = [], f"cannot be read ({error})"
    if found is not None:
        place.read_through(name)
    return _Looked(found, names, [*key, names] if key and names else key)


def merged(source):
    """The names of the files that a compaction has merged into this one."""
    try:
        names = (parquet.read_metadata(source).metadata or {}).get(MERGED, b"").decode()
    except (pa.ArrowException, OSError, ValueError):
        return []
    return [name for name in names.split("/") if name and name == os.path.basename(name)]


def wrong(source, table):
    """Why a file cannot be used. Its pages are decoded: a file that is damaged in the middle is found too."""
    try:
        with parquet.ParquetFile(source) as file:
            metadata = file.schema_arrow.metadata or {}
            metadata |= file.metadata.metadata or {}
            version = metadata.get(b"wirestamp.version")
            if version is None:
                return "not written by wirestamp"
            if version != str(VERSION).encode():
                return f"version {version.decode(errors='replace')} of the tables, this program knows {VERSION}"
            if metadata.get(b"wirestamp.table") != table.encode():
                return f"not of the table {table}"
            expected = TABLES[table]
            found = [(field.name, field.type) for field in file.schema_arrow]
            if found != [(field.name, field.type) for field in expected]:
                return "other columns than the table has"
            # text as its dictionary: what every page has is decoded, but no text is made a hundred thousand times
            texts = [field.name for field in expected if field.type == pa.string()]
            with parquet.ParquetFile(source, metadata=file.metadata, read_dictionary=texts, pre_buffer=True) as whole:
                rows = 0
                for batch in (batch for group in range(file.metadata.num_row_groups) for batch in whole.iter_batches(row_groups=[group])):
                    rows += batch.num_rows
                    for field in expected:
                        if not field.nullable and batch[field.name].null_count:
                            return f"NULL in the column {field.name}"
                # memory is shared out by this number
                if rows != file.metadata.num_rows:
                    return f"damaged or incomplete ({rows} rows instead of {file.metadata.num_rows})"
    except (pa.ArrowException, OSError, ValueError) as error:
        return f"damaged or incomplete ({' '.join(str(error).split())})"
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
    """Writes a table, or what a reader of batches gives, under another name, syncs and renames it."""
    place = pathlib.Path(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = place.with_name(f".wirestamp-{uuid.uuid4().hex}.part")
    options = {
        "compression": "zstd",
        "compression_level": 1,
        "use_dictionary": [field.name for field in rows.schema if field.type == pa.string()],
        "column_encoding": {field.name: "DELTA_BINARY_PACKED" for field in rows.schema if field.type == pa.int64()},
    }
    try:
        with open(draft, "wb") as file:
            schema = rows.schema if metadata is None else rows.schema.with_metadata(metadata)
            with parquet.ParquetWriter(file, schema, **options) as writer:
                parts = [rows] if isinstance(rows, pa.Table) else rows
                for part in parts:
                    write = writer.write_table if isinstance(part, pa.Table) else writer.write_batch
                    write(part, row_group_size=ROWS)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, place)
    finally:
        draft.unlink(missing_ok=True)
    folder = os.open(place.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return place
