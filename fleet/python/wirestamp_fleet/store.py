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
from .schema import TABLES, VERSION

ROWS = 1 << 20
MERGED = b"wirestamp.merged"


class Refused(Exception):
    """What the user can do something about."""


def files(folder, table, skip=False):
    """The usable files of a table, sorted. Without `skip`, the first unusable one is an error."""
    folder = pathlib.Path(folder)
    if not folder.is_dir():
        raise Refused(f"{folder}: no such folder")
    found = visible((folder / table).rglob("*.parquet"))
    known = checked.read(folder)
    names = {path: str(path.relative_to(folder)) for path in found}
    with concurrent.futures.ThreadPoolExecutor() as several:
        looked = list(several.map(lambda path: _look(path, table, known.get(names[path])), found))
    good = {names[path]: seen.key for path, seen in zip(found, looked, strict=True) if seen.wrong is None}
    if good != {name: value for name, value in known.items() if name.startswith(f"{table}/")}:
        rest = {name: value for name, value in known.items() if not name.startswith(f"{table}/")}
        checked.write(folder, rest | good)
    # a compaction that was interrupted has left files beside the one that they were merged into
    pairs = list(zip(found, looked, strict=True))
    replaced = {path.with_name(name) for path, seen in pairs if seen.wrong is None for name in seen.merged}
    pairs = [(path, seen) for path, seen in pairs if path not in replaced]
    unusable = [f"{path}: {seen.wrong}" for path, seen in pairs if seen.wrong is not None]
    if unusable and not skip:
        raise Refused(f"{unusable[0]}; {len(unusable)} unusable file(s); pass over them with --skip-unusable")
    for line in unusable:
        print(f"skipped {line}", file=sys.stderr)
    return [str(path) for path, seen in pairs if seen.wrong is None]


def visible(paths):
    """The paths that are recordings, sorted. By custom, names with a dot or an underscore at the beginning are not, such as a copy's on its way."""
    return [path for path in sorted(paths) if not path.name.startswith((".", "_"))]


@dataclasses.dataclass(frozen=True)
class _Looked:
    """What is known of a file."""

    wrong: str | None
    merged: list
    key: list


def _look(path, table, known):
    try:
        key = checked.key(path)
    except OSError as error:
        return _Looked(f"cannot be read ({error.strerror})", [], [])
    # a key with a third value: the files that were merged into this one
    if known is not None and known[:2] == key:
        return _Looked(None, known[2] if len(known) > 2 else [], known)
    names = merged(path)
    return _Looked(wrong(path, table), names, [*key, names] if names else key)


def merged(path):
    """The names of the files that a compaction has merged into this one."""
    try:
        names = (parquet.read_metadata(path).metadata or {}).get(MERGED, b"").decode()
    except (pa.ArrowException, OSError, ValueError):
        return []
    return [name for name in names.split("/") if name and name == os.path.basename(name)]


def wrong(path, table):
    """Why a file cannot be used. Its pages are decoded: a file that is damaged in the middle is found too."""
    try:
        with parquet.ParquetFile(path) as file:
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
            with parquet.ParquetFile(path, metadata=file.metadata, read_dictionary=texts) as whole:
                rows = 0
                for batch in whole.iter_batches():
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
