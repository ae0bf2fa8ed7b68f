"""Merges small files. Can be killed at any time and run again: a merged file takes its name before the old ones go, and a list in
it says which those are."""

import hashlib
import pathlib
import time

import pyarrow as pa
import pyarrow.parquet as parquet

from . import places, store
from .schema import TABLES, VERSION

OLD = 24 * 3_600
"""Drafts of this age belong to nobody any more."""


def run(folder, progress):
    """How many files there were, how many there are, and how many drafts were removed."""
    root = pathlib.Path(folder)
    if not root.is_dir():
        raise store.Refused(f"{root}: no such folder")
    before = after = 0
    folders = sorted({pathlib.Path(name).parent for table in TABLES for name in store.files(places.Folder(root), table)})
    for place, inside in enumerate(folders):
        found = _finish(root, inside)
        before += len(found)
        after += _merge(root, inside, found)
        progress((place + 1) / len(folders))
    drafts = [path for path in root.rglob(".wirestamp-*.part") if time.time() - path.stat().st_mtime > OLD]
    for draft in drafts:
        draft.unlink()
    return before, after, len(drafts)


def _finish(root, inside):
    """Removes what an earlier run had merged already but not removed; returns the rest."""
    for path in store.visible(inside.glob("*.parquet")):
        left = [inside / name for name in store.merged(path) if (inside / name).exists()]
        # a merged file that was damaged since does not replace anything
        if left and store.wrong(path, inside.relative_to(root).parts[0]) is None:
            for old in left:
                old.unlink()
    return store.visible(inside.glob("*.parquet"))


def _merge(root, inside, found):
    table = inside.relative_to(root).parts[0]
    left, some, rows = 0, [], 0
    for path in [*found, None]:
        size = parquet.read_metadata(path).num_rows if path else 0
        if some and (path is None or rows + size > store.ROWS):
            _write(table, inside, some)
            left, some, rows = left + 1, [], 0
        if path:
            some.append(path)
            rows += size
    return left


def _write(table, inside, paths):
    if len(paths) == 1:
        return
    schema = TABLES[table]
    rows = pa.concat_tables([parquet.ParquetFile(path).read().select(schema.names).cast(schema) for path in paths])
    if table == "timestamps":
        # as wirestamp-record does, so that neighbours differ by little
        rows = rows.sort_by([(name, "ascending") for name in ("flow", "host", "direction", "sequence", "ticks")])
    rows = rows.replace_schema_metadata(
        {
            b"wirestamp.table": table,
            b"wirestamp.version": str(VERSION),
            b"wirestamp.host": "several",
            store.MERGED: "/".join(path.name for path in paths),
        }
    )
    # names of merged files would grow with each merge
    number = hashlib.sha256("/".join(path.name for path in paths).encode()).hexdigest()[:16]
    store.write_file(rows, inside / f"merged-{number}.parquet")
    for path in paths:
        path.unlink()
