"""Many small files: their rows are read from segments in the cache, and every answer is that of the files."""

import os
import shutil
import unittest
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as parquet

from cached import Cached
from test_fleet import lines, run
from wirestamp_fleet import places, simulate, small, writing

FLEET = simulate.Fleet(hosts=20, links=3, windows=4, flows=2, packets=60, wrong=0, seed=3)
EACH = 20
"""Files that each file becomes."""
COUNT = "SELECT COUNT(*) AS rows FROM probes"
ASKED = (["clocks"], ["latency"], ["latency", "--packets"], ["query", "SELECT * FROM probes ORDER BY ALL"], ["query", "SELECT * FROM timestamps ORDER BY ALL"])


class Small(Cached):
    def setUp(self):
        super().setUp()
        self.whole, self.folder = self.work / "whole", self.work / "small"
        simulate.run(self.whole, FLEET)
        shutil.copytree(self.whole, self.folder)
        for table in ("probes", "estimates", "timestamps"):
            for path in list((self.folder / table).rglob("*.parquet")):
                self.split(path)

    def split(self, path):
        rows = parquet.ParquetFile(path).read()
        path.unlink()
        for number in range(EACH):
            first, last = (len(rows) * end // EACH for end in (number, number + 1))
            part = rows.slice(first, last - first).replace_schema_metadata(rows.schema.metadata)
            writing.write_file(part, path.with_name(f"{number:02}.parquet"))

    def asked(self, *words):
        """Answer and messages."""
        code, out, err = run(*words)
        self.assertEqual(code, 0, err)
        return sorted(map(str, lines(out))), err

    def rows(self, *words):
        return lines(run("query", self.folder, COUNT, *words)[1])[0]["rows"]

    @property
    def place(self):
        return self.folder / "probes" / "day=2026-11-23" / "hour=00"

    def opened(self, *words):
        """The answer, and which files were opened for it in Python."""
        names, opening = [], places.Folder.open
        with mock.patch.object(places.Folder, "open", lambda place, name: (names.append(name), opening(place, name))[1]):
            return self.asked(*words), names

    def test_every_answer_is_that_of_the_files_and_none_is_opened_again(self):
        for words in ASKED:
            with self.subTest(words):
                expected = self.asked(words[0], self.whole, *words[1:])
                self.assertTrue(self.asked(words[0], self.folder, *words[1:]) == expected)  # no difference of long texts
                found, names = self.opened(words[0], self.folder, *words[1:])
                self.assertTrue(found == expected)
                self.assertEqual([name for name in names if name.startswith(str(self.folder)) and name.endswith(".parquet")], [])
        self.assertEqual(len(self.segments()), 1)
        # nor by the engine: their bytes are others now
        for path in self.place.glob("*.parquet"):
            known = path.stat()
            path.write_bytes(bytes(known.st_size))
            os.utime(path, ns=(known.st_atime_ns, known.st_mtime_ns))
        self.assertTrue(self.asked("clocks", self.folder) == self.asked("clocks", self.whole))

    def test_what_is_new_changed_or_gone_is_noticed(self):
        rows = self.rows()
        path, other = self.place / "05.parquet", self.place / "09.parquet"
        here = [parquet.read_metadata(name).num_rows for name in (path, other)]
        shutil.copy(path, self.place / "new.parquet")
        self.assertEqual(self.rows(), rows + here[0])
        path.unlink()
        self.assertEqual(self.rows(), rows)
        table = parquet.ParquetFile(other).read()
        other.unlink()
        writing.write_file(pa.concat_tables([table, table]).replace_schema_metadata(table.schema.metadata), other)
        self.assertEqual(self.rows(), rows + here[1])
        # what was rewritten has the rows of the right files
        for name in self.place.glob("*.parquet"):
            if name.name > "12":
                name.unlink()
        left = sum(parquet.read_metadata(name).num_rows for name in self.place.glob("*.parquet"))
        self.assertEqual((self.rows(), len(self.segments())), (left, 1))
        direct = [row for name in sorted(self.place.glob("*.parquet")) for row in parquet.ParquetFile(name).read().to_pylist()]
        self.assertEqual(self.asked("query", self.folder, "SELECT * FROM probes")[0], sorted(map(str, direct)))
        shutil.rmtree(self.place)
        self.assertEqual((self.rows(), self.segments()), (0, []))

    def test_a_part_leaves_the_segments_of_others(self):
        shutil.copytree(self.place, self.place.with_name("hour=07"))
        rows, segments = self.rows(), self.segments()
        self.assertEqual(len(segments), 2)
        self.assertEqual(self.rows("--only", "day=2026-11-23/hour=07"), rows // 2)
        self.assertEqual(self.segments(), segments)

    def test_a_file_or_row_that_is_wrong_is_named_each_time(self):
        rows = self.rows()
        (self.work / "cache").rename(self.work / "forgotten")
        (self.folder / ".wirestamp-checked.json").unlink()
        damaged, odd = self.place / "03.parquet", self.place / "07.parquet"
        lost = parquet.read_metadata(damaged).num_rows
        damaged.write_bytes(damaged.read_bytes()[:-99])
        table = parquet.ParquetFile(odd).read()
        odd.unlink()
        changed = [row | ({"window": -5} if number == 1 else {}) for number, row in enumerate(table.to_pylist())]
        writing.write_file(pa.Table.from_pylist(changed, table.schema), odd)
        together = mock.patch.object(small, "TOGETHER", 2)
        together.start()
        self.addCleanup(together.stop)
        for _ in range(2):
            code, _, err = run("query", self.folder, COUNT)
            self.assertEqual(code, 2)
            self.assertIn(f"{damaged}: damaged", err)
            found, err = self.asked("query", self.folder, COUNT, "--skip-unusable")
            self.assertEqual(found, [str({"rows": rows - lost - 1})])
            self.assertIn(f"skipped {damaged}: damaged", err)
            self.assertIn(f"left out 1 row(s) of {odd}, host {changed[1]['host']}: window is -5", err)
        self.assertEqual(len(self.segments()), 1)

    def test_a_segment_that_another_run_has_removed_is_not_missed(self):
        for words in ASKED[:2]:
            self.asked(words[0], self.folder, *words[1:])
            keep = small.keep
            removed = lambda *words: (keep(*words), shutil.rmtree(self.work / "cache", ignore_errors=True))[0]
            with mock.patch.object(small, "keep", removed):
                self.assertTrue(self.asked(words[0], self.folder, *words[1:]) == self.asked(words[0], self.whole, *words[1:]))

    def test_a_cache_that_cannot_be_written_or_read_is_done_without(self):
        (self.work / "cache").write_text("no folder")
        rows = self.rows()
        self.assertEqual(self.asked("clocks", self.folder), self.asked("clocks", self.whole))
        (self.work / "cache").unlink()
        self.rows()
        for content in (b"junk", self.segments()[0].read_bytes()[:-50], (self.place / "00.parquet").read_bytes()):
            self.segments()[0].write_bytes(content)
            self.assertEqual(self.rows(), rows)

    def test_files_with_added_columns_are_together_too(self):
        expected = self.asked("query", self.whole, "SELECT * FROM probes ORDER BY ALL")
        for name in ("00", "15"):
            path = self.place / f"{name}.parquet"
            table = parquet.ParquetFile(path).read()
            path.unlink()
            writing.write_file(table.append_column("file", pa.array(["x"] * len(table))), path)
        for _ in range(2):
            self.assertEqual(self.asked("query", self.folder, "SELECT * FROM probes ORDER BY ALL"), expected)
        shutil.copy(self.place / "00.parquet", self.place / "alone.parquet")
        self.assertEqual(self.rows(), len(expected[0]) + parquet.read_metadata(self.place / "00.parquet").num_rows)

    def test_merged_files_are_read_instead(self):
        code, out, err = run("compact", self.folder)
        self.assertEqual((code, err), (0, ""))
        self.assertIn(f"{EACH * len(list((self.folder).rglob('merged-*')))} files are now", out)
        self.assertEqual(self.segments(), [], "what is merged is not kept together as well")
        self.assertEqual(self.asked("query", self.folder, COUNT), self.asked("query", self.whole, COUNT))


if __name__ == "__main__":
    unittest.main()
