"""The part of the recordings that a command asks for: a folder by its name, or a time."""

import datetime
import re

HOUR = 3_600 * 10**9
DIGITS = 16
"""Of a time in nanoseconds, at least: `20261123` is a day."""
BOUNDS = {
    "probes": ("window_start", "window_start"),
    "timestamps": ("utc(ticks, utc_minus_ticks)", "utc(ticks, utc_minus_ticks)"),
    "estimates": ('"until"', '"from"'),
}
"""For each table, what is not before the first time, and what is before the last one. `cross` has no UTC: its part is that of its hours."""


class Scope:
    """`only`: `day=2026-11-23/hour=06`, or as much of it. `first` and `last`: nanoseconds of UTC, the last one excluded."""

    def __init__(self, only="", first=None, last=None):
        self.only, self._first, self._last = only, first, last
        self.is_time = first is not None or last is not None
        # hosts file rows by the hour of their clocks; one hour more for what lasts into the next
        self._earliest = "" if first is None else _hour(first - HOUR)
        self._latest = "~" if last is None else _hour(last - 1 + HOUR)

    @property
    def begin(self):
        """When it begins; None: there is nothing before it."""
        if self.only:
            day, hour = re.match(r"day=([-\d]+)(?:/hour=(\d\d))?", self.only).groups()
            return int(datetime.datetime.fromisoformat(f"{day}T{hour or '00'}:00+00:00").timestamp()) * 10**9
        return self._first

    def listed(self, table):
        """The folder that has its files of a table, and others."""
        return f"{table}/{self.only}".rstrip("/")

    def within(self, table):
        """A function that says whether a file or folder, by its name below the place, can have rows of it. What is in no folder of a day can."""
        listed = f"{self.listed(table)}/"

        def is_within(name):
            if not f"{name}/".startswith(listed):
                return False
            day, hour = _filed(name)
            if not self.is_time or day is None:
                return True
            return self._earliest[:10] <= day <= self._latest[:10] if hour is None else self._earliest <= f"{day}/{hour}" <= self._latest

        return is_within

    def is_before(self, table, name):
        """Whether a file is of an earlier hour."""
        if self.only:
            below = name.removeprefix(table).removeprefix("/")
            return below < self.only and not below.startswith(self.only)
        day, hour = _filed(name)
        return day is not None and f"{day}/{hour or '~'}" < self._earliest

    def rows(self, table):
        """A condition in SQL for the rows of it; none for all."""
        if table not in BOUNDS:
            return ""
        begins, ends = BOUNDS[table]
        parts = [] if self._first is None else [f"{begins} >= {self._first}"]
        return " AND ".join(parts + ([] if self._last is None else [f"{ends} < {self._last}"]))


ALL = Scope()


def _hour(time):
    """Day and hour as text, which sorts by time."""
    return f"{datetime.datetime.fromtimestamp(time // 10**9, datetime.timezone.utc):%Y-%m-%d/%H}"


def _filed(name):
    """Day and hour of a file or folder below a table."""
    found = re.match(r"[^/]*/day=(\d{4}-\d\d-\d\d)(?:/hour=(\d\d))?(?:/|$)", name)
    return (found[1], found[2]) if found else (None, None)


def time(text):
    """Nanoseconds of UTC: `2026-11-23T06:30`, with an offset if it is not UTC, or the number itself."""
    if text.isdecimal() and len(text) != len("20261123"):
        if len(text) < DIGITS:
            raise ValueError(text)
        nanoseconds = int(text)
    else:
        found = datetime.datetime.fromisoformat(text)
        found = found if found.tzinfo else found.replace(tzinfo=datetime.timezone.utc)
        nanoseconds = (found - datetime.datetime.fromtimestamp(0, datetime.timezone.utc)) // datetime.timedelta(microseconds=1) * 1_000
    if not 0 <= nanoseconds < 2**63 - 24 * HOUR:
        raise ValueError(text)
    return nanoseconds
