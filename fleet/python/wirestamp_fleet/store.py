"""Which files of a table are read. One that is not what it should be is named, and refused or passed over as the user says."""

import concurrent.futures
import dataclasses
import os
import sys

import pyarrow as pa
import pyarrow.parquet as parquet

from . import checked, merging, small, sound
from .places import Folder, Refused
from .scope import ALL
from .segments import Segments
from .sound import NAMED


class Again(Refused):
    """A file was removed while it was read, and is left out from now on."""

    def __init__(self):
        super().__init__("a file was removed while the answer was written: ask again")


def files(place, table, skip=False, scope=ALL, show=lambda done: None, look_at=None, carried=False, cached=True):
    """The usable files of a table, sorted. Without `skip`, the first unusable one is an error. `scope`: which part is asked for.
    `look_at`: looks at files elsewhere, as Spark's executors. `carried`: also those of before that hold what is true until then. `cached`: whether rows of small files
    are kept in the user's cache."""
    keys, closed = place.files(scope.listed(table), scope.within(table) if scope.is_time else None)
    if carried and scope.begin is not None:
        before, unread = _lasting(place, table, scope)
        keys, closed = keys | before, closed | unread
    pairs, segments = _looked(place, table, scope, keys, show, look_at, cached)
    # `compact` may have named a merged file since the files were listed: its rows are only in those that it replaces
    replaced = merging.replaced(place, lambda: {place.relative(name) for name, seen in pairs if seen.wrong is None})
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
    segments: Segments
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
        return self.segments.remove_unusable() or bool(gone)


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
    segments = Segments()
    # Spark's executors have no cache, and objects are not stored twice
    if look_at is None and isinstance(place, Folder):
        unseen = {name for name in found if looked[name] is None}
        segments, seen = small.keep(place, table, scope, {name: keys[name] for name in found}, unseen, show, cached)
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
            yield from zip(names, several.map(lambda name: sound.look(place, name, table), names), strict=True)
        finally:
            several.shutdown(cancel_futures=True)


def visible(names):
    """The files that are recordings, sorted. By custom, names with a dot or an underscore at the beginning are not, such as a copy's on its way."""
    return [name for name in sorted(names) if not os.path.basename(name).startswith((".", "_"))]


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
