"""The rows of small files together, in the user's cache: opening 10⁵ files takes longer than reading their rows.

A segment has the rows of small files of one folder, and in its footer their names, sizes and times. It counts as long as these are the same.
Whatever is wrong with the cache, files are read by themselves instead."""

import contextlib
import hashlib
import itertools
import json
import os
import pathlib
import uuid

import numpy
import pyarrow as pa
import pyarrow.parquet as parquet

from . import cache, writing
from .places import Refused
from .schema import ADDED, TABLES, VERSION

FILE = "file"
"""A column beside the table's: which of the footer's files a row is of."""
MEMBERS = b"wirestamp.files"
FAULTS = (pa.ArrowException, OSError, ValueError, LookupError, TypeError, Refused)
"""What a damaged segment causes, or a folder that cannot be written."""


class Segments:
    """Segments of a table, each with the files that it can be read for. Without a place, there are none."""

    def __init__(self, place=None, table=""):
        self._place, self._table, self._found, self._within = place, table, {}, set()
        self._folder = place and _folder(place)
        self._lock = self._folder and cache.Lock(self._folder / table)
        self.grows = bool(self._lock and self._lock.is_open)
        """Whether segments can be added."""

    def __contains__(self, name):
        return name in self._within

    def instead(self, names):
        """What is read for some files: those that are in no segment, and segments of which all files are wanted."""
        wanted = set(names)
        used = [path for path, members in self._found.items() if wanted.issuperset(members)]
        within = set(itertools.chain.from_iterable(self._found[path] for path in used))
        return [name for name in names if name not in within] + used

    def find(self, is_within, keys):
        """Takes the segments of a part of the table. `keys`: size and time of each of its files. Files that have changed or are gone are taken out."""
        if self._folder is None:
            return
        changed, over, above = {}, [], os.path.join(self._place.root, "")
        for path in self._paths(is_within):
            try:
                members = [(above + name, key) for name, key in json.loads(parquet.read_metadata(path).metadata[MEMBERS])]
                if all(self._same(members, keys)):
                    self._take(path, members)
                else:
                    changed[path] = members
            except FAULTS:
                over.append(path)
        # last: if an old one could not be removed, the files that were taken out of it are in a new one
        for path, members in changed.items():
            with contextlib.suppress(*FAULTS):
                self._write_without(path, members, self._same(members, keys))
        for path in self._found:
            with contextlib.suppress(OSError):
                os.utime(path)
        cache.remove_unused(self._folder.parent)
        self._lock.remove_and_share([*over, *changed])

    def add(self, rows, members):
        """Writes a segment of files of one folder: name, size and time, and number of rows."""
        if not members or not self.grows:
            return
        counts = [count for _, _, count in members]
        file = pa.array(numpy.repeat(numpy.arange(len(counts)), counts), pa.int32())
        try:
            self._write(pa.concat_tables(rows).append_column(FILE, file), [(name, key) for name, key, _ in members])
        except FAULTS:
            self.grows = False

    def remove_unusable(self):
        """Forgets those that another run removed, and removes those that cannot be read. Whether there were any."""
        unusable = [path for path in self._found if not _decodes(path)]
        for path in unusable:
            del self._found[path]
            with contextlib.suppress(OSError):
                os.unlink(path)
        return bool(unusable)

    def _paths(self, is_within):
        """The segments of a part, sorted. A folder that cannot be read has none."""
        names = (os.path.join(below, name) for below, _, names in os.walk(self._folder / self._table) for name in names if name.endswith(".parquet"))
        return [pathlib.Path(name) for name in sorted(names) if is_within(os.path.relpath(name, self._folder))]

    def _same(self, members, keys):
        """For each file, whether it is as it was, and in no other segment."""
        return [keys.get(name) == key and name not in self._within for name, key in members]

    def _take(self, path, members):
        self._found[str(path)] = [name for name, _ in members]
        self._within.update(self._found[str(path)])

    def _write_without(self, path, members, same):
        """Writes a segment anew with the files that are the same."""
        if not any(same):
            return
        rows, same = parquet.ParquetFile(path).read(), numpy.array(same)
        numbers, file = numpy.cumsum(same) - 1, rows[FILE].to_numpy()
        rows = rows.set_column(rows.schema.get_field_index(FILE), FILE, pa.array(numbers[file], pa.int32())).filter(pa.array(same[file]))
        self._write(rows, list(itertools.compress(members, same)))

    def _write(self, rows, members):
        relative = [(self._place.relative(name), key) for name, key in members]
        path = self._folder / os.path.dirname(relative[0][0]) / f"{uuid.uuid4().hex}.parquet"
        writing.write_file(rows, path, {MEMBERS: json.dumps(relative)})
        self._take(path, members)


def _folder(place):
    """In the user's cache, because whoever writes recordings need not be trusted with those of others. Another version of the tables has another one."""
    caches = cache.folder()
    known = os.fsencode(os.path.abspath(place.root)) + f"\0{VERSION}\0{TABLES}{ADDED}".encode()
    return caches and caches / hashlib.sha256(known).hexdigest()[:32]


def _decodes(path):
    try:
        with parquet.ParquetFile(path) as file:
            return sum(batch.num_rows for batch in file.iter_batches()) == file.metadata.num_rows
    except FAULTS:
        return False
