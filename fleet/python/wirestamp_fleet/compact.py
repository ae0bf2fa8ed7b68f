"""Merges small files. Can be killed at any time and run again: a list of its own says which files a merged one replaces, before it takes its name."""

import contextlib
import dataclasses
import hashlib
import os
import pathlib
import time
import uuid

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

import pyarrow as pa
import pyarrow.parquet as parquet

from . import merging, places, sound, store, writing
from .schema import TABLES, VERSION, complete, written

OLD = 24 * 3_600
"""Drafts of this age belong to nobody any more."""


@dataclasses.dataclass
class Done:
    """Files before and after, drafts that were removed, and files that are left as they are."""

    before: int = 0
    after: int = 0
    drafts: int = 0
    left: int = 0


def run(folder, progress):
    """Merges the files of each folder. Those that cannot be used or have columns of a later release stay, and are named."""
    place = places.Folder(folder)
    if not place.exists():
        raise places.Refused(f"{place}: no such folder")
    with _alone(place):
        return _run(place, progress)


@contextlib.contextmanager
def _alone(place):
    """Two compactions at once would merge the same rows into two files. The folder itself is locked: nothing is left behind."""
    if fcntl is None:
        yield
        return
    folder = os.open(place.root, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(folder)
        raise places.Refused(f"{place}: another compact is at work in this folder; try again when it has ended") from None
    except OSError as error:
        store.say(f"{place}: cannot be locked ({error.strerror}): run no other compact in it meanwhile")
    try:
        yield
    finally:
        os.close(folder)


def _run(place, progress):
    for name in merging.replaced(place):
        (place.root / name).unlink(missing_ok=True)
    (place.root / merging.LIST).unlink(missing_ok=True)
    done, folders, kept = Done(), {}, []
    for table in TABLES:
        found = store.files(place, table, skip=True, cached=False)
        done.left += found.left
        for name in found.keys:
            folders.setdefault((table, pathlib.Path(name).parent), []).append(name)
    for number, ((table, _), names) in enumerate(sorted(folders.items())):
        after, more = _merge(place, table, names)
        done.before += len(names) - len(more)
        done.after += after
        kept += more
        progress((number + 1) / len(folders))
    for name in kept[: sound.NAMED]:
        store.say(f"left {name}: columns that this version does not know")
    done.left += len(kept)
    for draft in place.root.rglob(".wirestamp-*.part"):
        if time.time() - draft.stat().st_mtime > OLD:
            draft.unlink(missing_ok=True)
            done.drafts += 1
    return done


def _merge(place, table, names):
    """How many files there are then, and which others stay because a merged one would not have all of their columns."""
    after, kept, some, held = 0, [], [], 0
    for name in [*names, None]:
        # one after the other: files are of any size
        rows = _read(place, table, name) if name else None
        if rows and rows[0] is None:
            kept.append(name)
            continue
        if some and (name is None or (rows and held + rows[0].num_rows > writing.GROUP)):
            after += _write(place, table, some)
            some, held = [], 0
        if rows:
            some.append((name, *rows))
            held += rows[0].num_rows
    return after, kept


def _read(place, table, name):
    """The rows of a file, none if it has more columns than the table, and the hash of its content; None if it was removed."""
    try:
        content = place.read(place.relative(name))
    except FileNotFoundError:
        return None
    file = parquet.ParquetFile(pa.BufferReader(content))
    is_known = set(TABLES[table].names) <= set(file.schema_arrow.names) <= set(written(table).names)
    rows = complete(file.read(use_threads=False), table) if is_known else None
    return rows, hashlib.sha256(content).hexdigest()


def _write(place, table, some):
    if len(some) == 1:
        return 1
    names = [place.relative(name) for name, _, _ in some]
    rows = pa.concat_tables([part for _, part, _ in some])
    if table == "timestamps":
        # as wirestamp-record does, so that neighbours differ by little
        rows = rows.sort_by([(name, "ascending") for name in ("flow", "host", "direction", "sequence", "ticks")])
    rows = rows.replace_schema_metadata({b"wirestamp.table": table, b"wirestamp.version": str(VERSION), b"wirestamp.host": "several"})
    # names of merged files would grow with each merge; of other rows under the same names it is another one
    number = hashlib.sha256("/".join(name + content for name, (_, _, content) in zip(names, some, strict=True)).encode()).hexdigest()[:16]
    file = pathlib.Path(some[0][0]).with_name(f"merged-{number}.parquet")
    draft = file.with_name(f".wirestamp-{uuid.uuid4().hex}.part")
    try:
        writing.write_file(rows, draft)
        merged = place.relative(str(file))
        contents = {name: content for name, (_, _, content) in zip(names, some, strict=True)}
        merging.write(place, [merged, merging.content_of(place, place.relative(str(draft)))], contents)
        os.replace(draft, file)
    finally:
        draft.unlink(missing_ok=True)
    writing.sync(file.parent)
    for name in names:
        if name != merged:
            (place.root / name).unlink(missing_ok=True)
    (place.root / merging.LIST).unlink()
    return 1
