"""Reading and writing the tables. A file that is not what it should be is named, and refused or passed over as the user says."""

import datetime
import os
import pathlib
import sys
import uuid

import pyarrow as pa
import pyarrow.parquet as parquet

from .schema import TABLES, VERSION

ROWS = 1 << 20
MERGED = b"wirestamp.merged"


class Refused(Exception):
    """What the user can do something about."""


def files(folder, table, skip=False):
    """The usable files of a table, sorted. Without `skip`, the first unusable one is an error."""
    root = pathlib.Path(folder) / table
    if not pathlib.Path(folder).is_dir():
        raise Refused(f"{folder}: no such folder")
    good, wrong = [], []
    found = [path for path in sorted(root.rglob("*.parquet")) if not path.name.startswith((".", "_"))]
    # a compaction that was interrupted has left files beside the one that they were merged into
    replaced = {path.with_name(name) for path in found for name in merged(path)}
    for path in found:
        if path in replaced:
            continue
        reason = _wrong(path, table)
        if reason is None:
            good.append(str(path))
        else:
            wrong.append(f"{path}: {reason}")
    if wrong and not skip:
        raise Refused(f"{wrong[0]}; {len(wrong)} unusable file(s); pass over them with --skip-unusable")
    for line in wrong:
        print(f"skipped {line}", file=sys.stderr)
    return good


def merged(path):
    """The names of the files that a compaction has merged into this one."""
    try:
        names = (parquet.read_metadata(path).metadata or {}).get(MERGED, b"").decode()
    except (pa.ArrowException, OSError, ValueError):
        return []
    return [name for name in names.split("/") if name and name == os.path.basename(name)]


def _wrong(path, table):
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
            for _ in file.iter_batches():
                pass
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


def write_file(rows, place):
    """Writes a file under another name, syncs and renames it."""
    place = pathlib.Path(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = place.with_name(f".wirestamp-{uuid.uuid4().hex}.part")
    text = [field.name for field in rows.schema if field.type == pa.string()]
    numbers = {field.name: "DELTA_BINARY_PACKED" for field in rows.schema if field.type == pa.int64()}
    try:
        with open(draft, "wb") as file:
            parquet.write_table(
                rows,
                file,
                compression="zstd",
                compression_level=1,
                use_dictionary=text,
                column_encoding=numbers,
                row_group_size=ROWS,
            )
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
