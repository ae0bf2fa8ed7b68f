"""The cache of small files' rows: it stays small, nobody else reads it, and whatever is wrong with it, answers are those of the files."""

import contextlib
import os
import pathlib
import shutil
import stat
import time
import unittest
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as parquet

from cached import Cached
from wirestamp_fleet import cache, compact, engine, ordered, places, segments, simulate, small, writing
from wirestamp_fleet.schema import TABLES

EACH = 20
"""Files of an hour."""
COUNT = "SELECT COUNT(*) AS rows, COUNT(DISTINCT peer) AS peers FROM probes"
ROW = {"host": "a", "window": 10**9, "forward": 600, "backward": 600, "forward_middle": 700, "backward_middle": 700, "count": 9}
DAY = 86_400


class Cache(Cached):
    def setUp(self):
        super().setUp()
        self.folder = self.work / "fleet"

    def recorded(self, hour=0, rows=3, folder=None):
        """Files of an hour, whose rows have peers of their own."""
        for number in range(EACH):
            at = simulate.START + hour * simulate.HOUR
            some = pa.Table.from_pylist([ROW | {"peer": f"{hour}-{number}-{row % 50}", "window_start": at} for row in range(rows)], TABLES["probes"])
            writing.write(folder or self.folder, "probes", some, at, name=f"{number:02}")

    def counted(self, *words, folder=None):
        [row] = self.asked("query", folder or self.folder, COUNT, *words)
        return row["rows"], row["peers"]

    def files(self, hour=0):
        return sorted((self.folder / "probes").rglob(f"hour={hour:02}/*.parquet"))

    def aged(self, path, seconds):
        os.utime(path, (time.time() - seconds,) * 2)

    def damage(self, segment):
        """All but the footer."""
        content = segment.read_bytes()
        footer = 8 + int.from_bytes(content[-8:-4], "little")
        segment.write_bytes(bytes(len(content) - footer) + content[-footer:])

    def test_small_files_of_many_rows_are_read_by_themselves(self):
        self.recorded(rows=40_000)
        self.assertLess(max(path.stat().st_size for path in self.files()), small.SMALL)
        with mock.patch.object(small.pa, "concat_tables", side_effect=AssertionError("rows are put together")):
            for _ in range(2):
                self.assertEqual(self.counted(), (EACH * 40_000, EACH * 50))
        self.assertEqual(self.segments(), [])
        # one of them does not keep the others apart
        self.recorded(hour=1)
        shutil.copy(self.files()[0], self.files(1)[0])
        self.assertEqual(self.counted("--only", "day=2026-11-23/hour=01"), (40_000 + (EACH - 1) * 3, 50 + (EACH - 1) * 3))
        self.assertEqual(len(self.segments()), 1)
        self.files(1)[5].write_bytes(b"damaged")
        self.counted("--only", "day=2026-11-23/hour=01", "--skip-unusable")

    def test_a_task_has_so_many_files_and_bytes(self):
        keys = {str(number): [size, 0] for number, size in enumerate([1] * 65 + [1 << 16] * 3 + [5])}
        groups = list(small._groups(list(keys), keys))
        self.assertEqual([len(names) for names in groups], [64, 2, 2, 1])
        self.assertEqual([name for names in groups for name in names], list(keys))

    def test_answers_wait_up_to_a_number(self):
        begun, given = [], 0
        for number in ordered.in_order(lambda number: (begun.append(number), number)[1], range(50), 4, 6):
            self.assertEqual(number, given)
            given += 1
            time.sleep(0.001)
            self.assertLessEqual(len(begun), given + 6)

    def test_compact_reads_one_file_after_the_other(self):
        self.recorded()
        read, write, running, most = compact._read, compact._write, [], []

        def reading(*words):
            running.append(1)
            return read(*words)

        def writes(*words):
            most.append(len(running))
            return write(*words)

        with mock.patch.object(compact, "_read", reading), mock.patch.object(compact, "_write", writes), mock.patch.object(writing, "GROUP", 6):
            compact.run(self.folder, lambda done: None)
        # two files fit, and the third one does not
        self.assertEqual(most, [*range(3, EACH + 1, 2), EACH])

    def test_what_nobody_asks_for_is_removed_after_a_week(self):
        self.recorded()
        self.recorded(hour=5)
        other = self.work / "renamed"
        self.recorded(folder=other)
        self.counted()
        self.counted(folder=other)
        shutil.rmtree(other)
        [used] = segments._folder(places.Folder(self.folder)).rglob("hour=00/*.parquet")
        draft, old = (used.with_name(f".wirestamp-{number}.part") for number in range(2))
        for path in (draft, old):
            path.touch()
        self.aged(old, 2 * DAY)
        self.assertEqual(len(self.segments()), 3)
        first_hour = ["--until", simulate.START + simulate.HOUR]
        for path in [*self.segments(), *(self.work / "cache").rglob(".lock")]:
            self.aged(path, 6 * DAY if path == used else 8 * DAY)
        self.assertEqual(self.counted(*first_hour), (EACH * 3, EACH * 3))
        self.assertEqual((self.segments(), draft.exists(), old.exists()), ([used], True, False))
        self.assertEqual(len(list((self.work / "cache" / "wirestamp-fleet").iterdir())), 1)
        self.assertGreater(used.stat().st_mtime, time.time() - DAY, "asked for just now")

    def test_a_cache_that_can_only_be_read_is_read(self):
        self.recorded()
        self.counted()
        [segment] = self.segments()
        opening, unlink = os.open, pathlib.Path.unlink

        def read_only(path, how, *words, **more):
            if str(path).startswith(str(self.work / "cache")) and how & (os.O_WRONLY | os.O_RDWR):
                raise OSError(30, "Read-only file system", path)
            return opening(path, how, *words, **more)

        def denied(path, *words, **more):
            if str(path).startswith(str(self.work / "cache")):
                raise PermissionError(13, "Permission denied", path)
            return unlink(path, *words, **more)

        refused = mock.patch.object(writing, "write_file", side_effect=places.Refused("no folder"))
        with mock.patch.object(cache.os, "open", read_only), mock.patch.object(pathlib.Path, "unlink", denied), refused:
            with mock.patch.object(small, "_rows", side_effect=AssertionError("files are read")):
                self.assertEqual(self.counted(), (EACH * 3, EACH * 3))
            self.files()[3].unlink()
            self.assertEqual(self.counted(), (EACH * 3 - 3, EACH * 3 - 3))
            segment.write_bytes(b"junk")
            self.assertEqual(self.counted(), (EACH * 3 - 3, EACH * 3 - 3))
        with mock.patch.object(pathlib.Path, "unlink", denied), refused:
            self.assertEqual(self.counted(), (EACH * 3 - 3, EACH * 3 - 3))

    def test_without_a_home_there_is_no_cache(self):
        self.recorded()
        with mock.patch.dict(os.environ), mock.patch.object(pathlib.Path, "home", side_effect=RuntimeError("Could not determine home directory.")):
            del os.environ["XDG_CACHE_HOME"]
            self.assertEqual(self.counted(), (EACH * 3, EACH * 3))

    def test_a_damaged_segment_is_made_again(self):
        self.recorded(rows=300)
        for words in (COUNT, "SELECT COUNT(*) AS rows, COUNT(DISTINCT peer) AS peers FROM (SELECT * FROM probes ORDER BY ALL)"):
            self.counted()
            [segment] = self.segments()
            self.damage(segment)
            [row] = self.asked("query", self.folder, words)
            self.assertEqual(row, {"rows": EACH * 300, "peers": EACH * 50})
            self.assertEqual(self.segments(), [])

    def test_a_damaged_segment_of_timestamps_is_made_again(self):
        simulate.run(self.folder, simulate.Fleet(hosts=8, links=1, windows=1, flows=1, packets=400, wrong=0))
        [path] = (self.folder / "timestamps").rglob("*.parquet")
        rows = parquet.ParquetFile(path).read()
        expected = self.asked("latency", self.folder)
        path.unlink()
        for number in range(EACH):
            part = rows.slice(number * len(rows) // EACH, (number + 1) * len(rows) // EACH - number * len(rows) // EACH)
            writing.write_file(part.replace_schema_metadata(rows.schema.metadata), path.with_name(f"{number:02}.parquet"))
        self.assertEqual(self.asked("latency", self.folder), expected)
        [segment] = self.segments("timestamps")
        self.damage(segment)
        self.assertEqual(self.asked("latency", self.folder), expected)

    def test_another_version_of_the_tables_has_a_cache_of_its_own(self):
        self.recorded()
        with mock.patch.object(segments, "TABLES", TABLES | {"probes": TABLES["probes"].append(pa.field("later", pa.int64()))}):
            self.counted()
        self.assertEqual(self.counted(), (EACH * 3, EACH * 3))
        self.assertEqual(len(self.segments()), 2)

    @unittest.skipIf(cache.fcntl is None, "there are no locks")
    def test_a_segment_stays_while_another_run_reads_it(self):
        self.recorded()
        self.counted()
        [segment] = self.segments()
        # the first in their order
        segment = segment.rename(segment.with_name("0.parquet"))
        running = engine.Duck(self.folder)
        answer = running.stream("SELECT * FROM probes")
        self.files()[3].touch()
        for _ in range(2):
            self.assertEqual(self.counted(), (EACH * 3, EACH * 3))
            self.assertIn(segment, self.segments())
            self.assertEqual(len(self.segments()), 2, "what is written instead is written once")
        self.assertEqual(answer.read_all().num_rows, EACH * 3)
        del running, answer
        self.assertEqual(self.counted(), (EACH * 3, EACH * 3))
        self.assertNotIn(segment, self.segments())
        self.assertEqual(len(self.segments()), 1)

    def test_nobody_else_reads_or_writes_it(self):
        self.recorded()
        self.counted()
        kept = self.work / "cache" / "wirestamp-fleet"
        mode = lambda: stat.S_IMODE(kept.stat().st_mode)
        self.assertEqual(mode(), 0o700)
        kept.chmod(0o755)
        self.counted()
        self.assertEqual((mode(), len(self.segments())), (0o700, 1))
        for change in (lambda: mock.patch.object(cache.os, "getuid", lambda: os.geteuid() + 1), lambda: contextlib.nullcontext(kept.chmod(0o777))):
            before = self.segments()
            with change(), mock.patch.object(segments.parquet, "read_metadata", side_effect=AssertionError("segments are read")):
                self.assertEqual(self.counted(), (EACH * 3, EACH * 3))
            self.assertEqual(self.segments(), before)

    def test_two_segments_of_the_same_files_count_once(self):
        self.recorded()
        self.counted()
        [segment] = self.segments()
        shutil.copy(segment, segment.with_name("copy.parquet"))
        self.assertEqual(self.counted(), (EACH * 3, EACH * 3))
        self.assertEqual(len(self.segments()), 1)

    def test_a_folder_of_many_rows_has_several_segments(self):
        self.recorded()
        with mock.patch.object(small, "HELD", 9), mock.patch.object(small, "TOGETHER", 2):
            for _ in range(2):
                self.assertEqual(self.counted(), (EACH * 3, EACH * 3))
        self.assertEqual(len(self.segments()), EACH // 4)


if __name__ == "__main__":
    unittest.main()
