"""`--from` and `--until`: the rows of a time, whatever the other hours have."""

import os
import shutil
import unittest
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as parquet

from cached import Cached
from test_fleet import run
from wirestamp_fleet import places, schema, scope, simulate, writing

START, HOUR, DAY, SECOND = simulate.START, simulate.HOUR, simulate.DAY, 10**9
ROW = {"window": SECOND, "forward": 600, "backward": 600, "forward_middle": 700, "backward_middle": 700, "count": 9}
SAID = {"clock": "utc", "generation": None, "offset": 0, "frequency_ppt": None, "error_bound": 50, "reason": None}
WINDOWS = "SELECT window_start // 3600000000000 - 498720 AS hour, COUNT(*) AS n FROM probes GROUP BY 1 ORDER BY 1"
EACH = 20


class Times(Cached):
    def setUp(self):
        super().setUp()
        self.folder = self.work / "fleet"

    def probes(self, hours, files=1):
        """So many files for each hour, each with a row for another window."""
        for hour in hours:
            for number in range(files):
                at = START + hour * HOUR + number * SECOND
                writing.write(self.folder, "probes", pa.Table.from_pylist([ROW | {"host": "a", "peer": "b", "window_start": at}]), at, name=f"{number:02}")

    def path(self, hour):
        day = "2026-11-23" if hour < 24 else "2026-11-24"
        return self.folder / "probes" / f"day={day}" / f"hour={hour % 24:02}"

    def asked(self, *words, code=0):
        return super().asked(words[0], self.folder, *words[1:], code=code)

    def test_the_windows_of_a_time_are_those_of_the_whole(self):
        simulate.run(self.folder, simulate.Fleet(hosts=20, links=3, windows=8, flows=0, wrong=0))
        whole = self.asked("clocks")
        for first, last in ((2, 5), (None, 5), (2, None), (0, 8), (5, 6)):
            words = ([] if first is None else ["--from", f"2026-11-23T00:00:0{first}"]) + ([] if last is None else ["--until", START + last * SECOND])
            expected = [row for row in whole if (first or 0) <= (row["window_start"] - START) // SECOND < (8 if last is None else last)]
            self.assertEqual(self.asked("clocks", *words), expected, words)
        self.assertIn("no probes", self.asked("clocks", "--from", "2026-11-23T00:00:08", code=2))

    def test_a_host_whose_clock_is_days_off_is_named_in_a_part_too(self):
        """It files its claims under other days, as monitors do: in a file of each host and hour."""
        simulate.run(self.folder, simulate.Fleet(hosts=40, links=6, windows=4, flows=0, wrong=5))
        [path] = (self.folder / "estimates").rglob("*.parquet")
        rows = parquet.ParquetFile(path).read()
        path.unlink()
        for row in rows.to_pylist():
            writing.write(self.folder, "estimates", pa.Table.from_pylist([row], schema.TABLES["estimates"]), row["from"], host=row["host"])
        self.assertEqual(len(list((self.folder / "estimates").iterdir())), 2)
        whole = [row for row in self.asked("clocks") if row["window_start"] < START + DAY]
        off = {row["host"] for row in whole if (row["unclamped"] or 0) > DAY}
        self.assertEqual(len(off), 1)
        self.assertEqual({row["reason"] for row in whole if row["host"] in off}, {"contradicts"})
        for number in range(4):
            found = self.asked("clocks", "--from", START + number * SECOND, "--until", START + (number + 1) * SECOND)
            self.assertEqual(found, [row for row in whole if row["window_start"] == START + number * SECOND])

    def test_a_file_may_have_rows_of_the_hour_before(self):
        """A window that begins before an hour and ends in it."""
        at = START + 6 * HOUR
        writing.write(self.folder, "probes", pa.Table.from_pylist([ROW | {"host": "a", "peer": "b", "window_start": at - 1}]), at)
        for words in (["--until", at], ["--from", at - SECOND, "--until", at]):
            self.assertEqual(self.asked("query", WINDOWS, *words), [{"hour": 5, "n": 1}])

    def test_a_file_in_no_folder_of_a_day_counts(self):
        self.probes([5])
        for name in ("loose.parquet", "elsewhere/loose.parquet"):
            (self.folder / "probes" / name).parent.mkdir(exist_ok=True)
            shutil.copy(self.path(5) / "00.parquet", self.folder / "probes" / name)
        both = ["--from", "2026-11-23T05:00", "--until", "2026-11-23T06:00"]
        for words in (both, both[:2], both[2:], []):
            self.assertEqual(self.asked("query", WINDOWS, *words), [{"hour": 5, "n": 3}], words)

    def test_files_of_other_hours_are_not_looked_at(self):
        self.probes([0, 4, 5, 6, 7, 30, 32])
        for hour in (0, 30):
            [path] = self.path(hour).glob("*")
            path.write_bytes(b"junk")
        between = ["--from", "2026-11-23T05:00", "--until", "2026-11-23T07:00Z"]
        self.assertEqual(self.asked("query", WINDOWS, *between), [{"hour": 5, "n": 1}, {"hour": 6, "n": 1}])
        self.assertIn("damaged", self.asked("query", WINDOWS, code=2))
        # one that lasts into the next hour may have been filed there
        self.assertIn("damaged", self.asked("query", WINDOWS, "--from", "2026-11-23T01:00", "--until", "2026-11-23T05:00", code=2))
        # what is beyond one end is not looked at either, if the other is open
        self.assertEqual([row["hour"] for row in self.asked("query", WINDOWS, "--from", "2026-11-24T08:30+00:30")], [32])
        self.assertIn("hour=06", self.asked("query", WINDOWS, "--from", "2026-11-24T07:30", code=2))

    def test_a_folder_of_the_time_that_cannot_be_read_is_an_error(self):
        self.probes([0, 5, 30])
        scandir = os.scandir
        cases = ((self.path(5), True), (self.path(5).parent, True), (self.path(0), False), (self.path(30).parent, False), (self.path(30), False))
        for closed, counts in cases:

            def denied(place):
                if str(place) == str(closed):
                    raise PermissionError(13, "Permission denied", place)
                return scandir(place)

            for words in (["--from", "2026-11-23T05:00", "--until", "2026-11-23T06:00"], ["--from", START + 5 * HOUR, "--until", START + 6 * HOUR]):
                with self.subTest(closed), mock.patch.object(places.os, "scandir", denied):
                    if counts:
                        self.assertIn(str(closed), self.asked("query", WINDOWS, *words, code=2))
                    else:
                        self.assertEqual(self.asked("query", WINDOWS, *words), [{"hour": 5, "n": 1}])

    def test_each_table_has_the_rows_of_the_time(self):
        at = START + 5 * HOUR
        same = {"host": "a", "interface": "eth0", "flow": 1, "direction": "tx", "source": "hardware", "generation": 1, "error_bound": 9, "reason": None}
        ticks = [-5, 7, 2**63 - 1, 3, 4]
        utc = [at, at + SECOND - 1, at + 10, at - 1, at + SECOND]
        rows = [same | {"sequence": number, "ticks": tick, "utc_minus_ticks": (time - tick + 2**63) % 2**64 - 2**63} for number, (tick, time) in enumerate(zip(ticks, utc, strict=True))]
        rows.append(same | {"sequence": 9, "ticks": 5, "utc_minus_ticks": None})
        writing.write(self.folder, "timestamps", pa.Table.from_pylist(rows, schema.TABLES["timestamps"]), at, bucket=3)
        for number, (first, last) in enumerate(((-DAY, 0), (-DAY, -1), (0, 5), (SECOND - 1, 2 * SECOND), (SECOND, 2 * SECOND))):
            said = SAID | {"host": str(number), "from": at + first, "until": at + last}
            writing.write(self.folder, "estimates", pa.Table.from_pylist([said], schema.TABLES["estimates"]), at + min(first, 0), name=str(number))
        words = ["--from", at, "--until", at + SECOND]
        self.assertEqual([row["sequence"] for row in self.asked("query", "SELECT sequence FROM timestamps ORDER BY 1", *words)], [0, 1, 2])
        self.assertEqual([row["host"] for row in self.asked("query", "SELECT host FROM estimates ORDER BY 1", *words)], ["0", "2", "3"])

    def test_a_claim_that_began_before_holds(self):
        self.probes([26])
        writing.write(self.folder, "estimates", pa.Table.from_pylist([SAID | {"host": host, "from": START, "until": START + 27 * HOUR} for host in "ab"]), START)
        [a, b] = self.asked("clocks", "--from", "2026-11-24T02:00", "--until", "2026-11-24T03:00")
        self.assertEqual((a["latest"], b["latest"], a["reason"]), (50, 50, None))

    def test_what_is_kept_of_other_hours_stays(self):
        self.probes([0, 5, 9], EACH)
        self.asked("query", WINDOWS)
        segments = sorted((self.work / "cache").rglob("*.parquet"))
        known = (self.folder / ".wirestamp-checked.json").read_text()
        self.assertEqual(len(segments), 3)
        self.assertEqual(self.asked("query", WINDOWS, "--from", "2026-11-23T05:00", "--until", "2026-11-23T06:00"), [{"hour": 5, "n": EACH}])
        self.assertEqual(self.asked("query", WINDOWS, "--from", "2026-11-23T05:00"), [{"hour": 5, "n": EACH}, {"hour": 9, "n": EACH}])
        self.assertEqual(sorted((self.work / "cache").rglob("*.parquet")), segments)
        self.assertEqual((self.folder / ".wirestamp-checked.json").read_text(), known)

    def test_what_is_no_time_is_an_error(self):
        self.probes([0])
        for words in (["--from", "yesterday"], ["--from", "-5"], ["--from", "2026"], ["--from", "1795392000"], ["--from", "1795392000000"], ["--until", "1969-12-31"], ["--until", 2**63 - 1]):
            with self.assertRaises(SystemExit):
                run("query", self.folder, WINDOWS, *words)
        self.assertIn("use one of both", self.asked("query", WINDOWS, "--only", "day=2026-11-23", "--from", START, code=2))
        self.assertIn("not before", self.asked("query", WINDOWS, "--until", START, "--from", START, code=2))
        self.assertEqual([scope.time(text) for text in ("2026-11-23", "20261123", str(START), "2026-11-23T00:00:00.000001Z", "2026-11-23T01:00+01:00")], [START, START, START, START + 1_000, START])


if __name__ == "__main__":
    unittest.main()
