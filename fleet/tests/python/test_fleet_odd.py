"""Folders and files that are not as they should be: nothing is left out unsaid, and one bad row, file or folder does not stop the rest."""

import contextlib
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as parquet

from test_fleet import lines, probes_of, run
from wirestamp_fleet import checked, compact, engine, flows, main, merging, places, quantiles, report, schema, simulate, store, writing

FLEET = simulate.Fleet(hosts=30, links=3, windows=4, flows=6, packets=60, wrong=0, seed=3)
COUNT = "SELECT COUNT(*) AS rows FROM probes"


class Odd(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name) / "fleet"
        simulate.run(cls.folder, FLEET)
        cls.rows = lines(run("query", cls.folder, COUNT)[1])[0]["rows"]

    def copy(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.temporary.name)) / "fleet"
        shutil.copytree(self.folder, folder)
        return folder

    def changed(self, folder, table, change):
        """Changes the rows of the only file of a table, or of its first bucket."""
        path = sorted((folder / table).rglob("*.parquet"))[0]
        old = parquet.ParquetFile(path).read()
        rows = [row | change(number, row) for number, row in enumerate(old.to_pylist())]
        path.unlink()
        writing.write_file(pa.Table.from_pylist(rows, old.schema), path)
        return path

    def asked(self, words, *, code=0):
        found, out, err = run(*words)
        self.assertEqual(found, code, err)
        return lines(out), err

    def refused(self, words, *texts):
        _, err = self.asked(words, code=2)
        self.assertEqual(len(err.splitlines()), 1, err)
        for text in texts:
            self.assertIn(text, err)

    def test_a_link_to_a_folder_is_an_error_or_counted(self):
        for link in ("probes/day=2026-11-23", "probes/day=2026-11-23/hour=00", "probes/day=2026-11-24"):
            folder = self.copy()
            place, elsewhere = folder / link, folder.parent / "elsewhere"
            if place.exists():
                shutil.move(place, elsewhere)
            else:
                shutil.copytree(folder / "probes" / "day=2026-11-23", elsewhere)
            place.symlink_to(elsewhere)
            self.refused(["query", folder, COUNT], str(place), "symbolic link", "--skip-unusable")
            self.refused(["clocks", folder], str(place))
            found, err = self.asked(["query", folder, COUNT, "--skip-unusable"])
            self.assertEqual(found, [{"rows": 0 if link != "probes/day=2026-11-24" else self.rows}])
            self.assertIn("skipped 1 unusable", err)
            self.refused(["query", folder, COUNT, "--only", link.removeprefix("probes/")], str(place))
            # nothing elsewhere is merged
            before = sorted(elsewhere.rglob("*"))
            _, err = self.asked_compact(folder)
            self.assertIn("symbolic link", err)
            self.assertEqual(sorted(elsewhere.rglob("*")), before)

    def asked_compact(self, folder):
        code, out, err = run("compact", folder)
        self.assertEqual(code, 0, err)
        return out, err

    def test_a_table_may_be_a_link(self):
        folder = self.copy()
        shutil.move(folder / "probes", folder.parent / "elsewhere")
        (folder / "probes").symlink_to(folder.parent / "elsewhere")
        self.assertEqual(self.asked(["query", folder, COUNT]), ([{"rows": self.rows}], ""))

    def test_a_folder_that_cannot_be_read_is_an_error_or_counted(self):
        folder, scandir = self.copy(), os.scandir
        closed = folder / "probes" / "day=2026-11-24"
        shutil.copytree(folder / "probes" / "day=2026-11-23", closed)

        def denied(place):
            """As for a user who may not: tests run as root."""
            if str(place) == str(closed):
                raise PermissionError(13, "Permission denied", place)
            return scandir(place)

        with mock.patch.object(places.os, "scandir", denied):
            self.refused(["query", folder, COUNT], str(closed), "Permission denied")
            found, err = self.asked(["query", folder, COUNT, "--skip-unusable"])
        self.assertEqual(found, [{"rows": self.rows}])
        self.assertIn(f"skipped {closed}: cannot be read", err)
        self.assertIn("skipped 1 unusable", err)

    def test_a_pipe_is_not_waited_for(self):
        folder = self.copy()
        os.mkfifo(probes_of(folder).with_name("pipe.parquet"))
        self.refused(["query", folder, COUNT], "pipe.parquet", "not a regular file")
        self.assertEqual(self.asked(["query", folder, COUNT, "--skip-unusable"])[0], [{"rows": self.rows}])

    def test_a_row_that_makes_no_sense_is_named_and_the_rest_goes_on(self):
        """Each with a value that stopped everything before: an overflow, a division by zero, a negative window."""
        most = 2**63 - 1
        for table, column, value, words in (
            ("probes", "window", -5, ["clocks"]),
            ("probes", "window", 0, ["clocks"]),
            ("probes", "window", most, ["clocks"]),
            ("probes", "window_start", most, ["clocks"]),
            ("probes", "window_start", -(2**63), ["clocks"]),
            ("probes", "count", -1, ["clocks"]),
            ("probes", "count", most, ["clocks"]),
            ("timestamps", "error_bound", most, ["latency"]),
            ("timestamps", "error_bound", most, ["latency", "--packets"]),
            ("timestamps", "error_bound", -(2**63), ["latency"]),
        ):
            with self.subTest(f"{table} {column} {value} {words}"):
                folder, host = self.copy(), []
                path = self.changed(folder, table, lambda number, row: (host.append(row["host"]), {column: value})[1] if number == 3 else {})
                # named each time, and not only by the first question
                for _ in range(2):
                    found, err = self.asked([words[0], folder, *words[1:]])
                    self.assertIn(f"left out 1 row(s) of {path}, host {host[0]}: {column} is {value}, not between", err)
                self.assertGreater(len(found), len(self.asked([words[0], self.folder, *words[1:]])[0]) - 2)
                self.assertEqual(run("report", folder, "--output", folder / "page.html")[0], 0)

    def test_the_row_is_left_out_wherever_it_is_read(self):
        folder = self.copy()
        self.changed(folder, "timestamps", lambda number, row: {"error_bound": 2**63 - 1} if number % 7 == 3 else {})
        quiet = contextlib.redirect_stderr(io.StringIO())
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)
        running = engine.Duck(folder)
        whole, packets = running.flows(10**9), running.packets(10**9).read_all()
        self.assertEqual(sum(whole["sent"].to_pylist()), len(packets) - sum(whole["duplicate"].to_pylist()))
        with mock.patch.object(flows, "several", lambda memory: (1, 1)):
            self.assertEqual(engine.Duck(folder).flows(10**9), whole)
        running = engine.Duck(folder)
        names = list(running.buckets().values())[0]
        apart = flows.Part(running._place, names, 10**6, True)
        self.assertEqual(running._spilling(apart, 10**9).sort_by("flow"), apart.answer(10**9).sort_by("flow"))

    def test_estimates_beyond_reason_say_nothing_and_stop_nothing(self):
        most = 2**63 - 1
        for name, value in (("error_bound", most), ("error_bound", -5), ("offset", -most - 1), ("from", most), ("until", -most - 1), ("from", -most - 1), ("until", most)):
            folder = self.copy()
            self.changed(folder, "estimates", lambda number, row: {name: value} if number == 2 else {})
            found, err = self.asked(["clocks", folder])
            self.assertEqual(({row["reason"] for row in found}, err), ({None}, ""), name)

    def test_many_counts_do_not_overflow(self):
        """Distinct rows of the same pair and window, each with a large count."""
        folder = self.copy()
        self.changed(folder, "probes", lambda number, row: {"host": "a", "peer": "b", "window_start": simulate.START, "count": 2**62 - number})
        found, err = self.asked(["clocks", folder])
        self.assertEqual(({row["host"] for row in found}, err), ({"a", "b"}, ""))

    def test_tables_without_rows(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.temporary.name))
        for table, bucket in (("timestamps", 3), ("probes", None), ("estimates", None), ("cross", None)):
            writing.write(folder, table, schema.TABLES[table].empty_table(), simulate.START, bucket=bucket)
        self.refused(["clocks", folder], "no probes")
        self.refused(["latency", folder], "no transmit timestamps")
        self.refused(["latency", folder, "--packets"], "no transmit timestamps")
        self.refused(["clocks", folder, "--output", folder / "clocks.csv"], "no probes")
        self.assertFalse((folder / "clocks.csv").exists())
        code, out, err = run("latency", folder, "--output", f"{folder}/parts/")
        self.assertEqual((code, err), (0, ""), out)
        self.asked_compact(folder)

    def vanishing(self, folder, path):
        """Files are checked, and then a monitor removes one of them."""
        files = store.files

        def removed(*words):
            found = files(*words)
            path.unlink(missing_ok=True)
            return found

        return mock.patch.object(engine, "files", removed)

    def test_a_file_that_vanishes_is_named_or_counted(self):
        for table, words in (
            ("probes", ["clocks"]),
            ("probes", ["query", COUNT]),
            ("probes", ["query", "SELECT * FROM probes"]),
            ("timestamps", ["latency"]),
            ("timestamps", ["latency", "--packets"]),
            ("timestamps", ["query", "SELECT flow, COUNT(*) AS n FROM timestamps GROUP BY flow"]),
            ("probes", ["clocks", "--output", "{folder}/answer.csv"]),
            ("timestamps", ["latency", "--output", "{folder}/answer.parquet"]),
            ("timestamps", ["latency", "--output", "{folder}/parts/"]),
            ("probes", ["report", "--output", "{folder}/page.html"]),
        ):
            with self.subTest(words):
                folder = self.copy()
                words = [word.format(folder=folder) for word in words]
                path = sorted((folder / table).rglob("*.parquet"))[0]
                twin = path.with_name("twin.parquet")
                shutil.copy(path, twin)
                with self.vanishing(folder, twin):
                    code, out, err = run(words[0], folder, *words[1:])
                self.assertEqual(code, 2, err)
                self.assertTrue(err.startswith(f"error: {twin}: removed while it was read"), err)
                shutil.copy(path, twin)
                with self.vanishing(folder, twin):
                    code, out, err = run(words[0], folder, *words[1:], "--skip-unusable")
                self.assertEqual(code, 0, err)
                self.assertIn(f"skipped {twin}: removed while it was read", err)
                self.assertIn(f"skipped 1 removed file(s) of {table}", err)
                if "--output" not in words:
                    self.assertEqual(sorted(out.splitlines()), sorted(run(words[0], self.folder, *words[1:])[1].splitlines()))

    def test_on_a_terminal_a_file_that_vanishes_is_left_out_as_well(self):
        folder = self.copy()
        twin = probes_of(folder).with_name("twin.parquet")
        shutil.copy(probes_of(folder), twin)
        screen = io.StringIO()
        screen.isatty = lambda: True
        with self.vanishing(folder, twin), contextlib.redirect_stdout(screen), contextlib.redirect_stderr(io.StringIO()):
            code = main.main(["query", str(folder), COUNT, "--skip-unusable"])
        self.assertEqual((code, screen.getvalue().split()), (0, ["rows", str(self.rows)]))

    def test_a_file_that_vanishes_before_it_is_checked(self):
        folder = self.copy()
        gone = probes_of(folder).with_name("gone.parquet")
        files = places.Folder.files
        listed = lambda place, *words: (lambda found: ({**found[0], str(gone): [1, 1]}, found[1]))(files(place, *words))
        with mock.patch.object(places.Folder, "files", listed):
            self.refused(["query", folder, COUNT], str(gone), "No such file")
            found, err = self.asked(["query", folder, COUNT, "--skip-unusable"])
        self.assertEqual(found, [{"rows": self.rows}])

    def test_compact_goes_on_after_a_damaged_file_and_a_removed_one(self):
        folder = self.copy()
        path = probes_of(folder)
        shutil.copy(path, path.with_name("twin.parquet"))
        damaged = path.with_name("damaged.parquet")
        damaged.write_bytes(path.read_bytes()[:-400])
        out, err = self.asked_compact(folder)
        self.assertIn("; 1 left as they are", out)
        self.assertIn(f"skipped {damaged}: damaged", err)
        self.assertEqual({file.name[:6] for file in path.parent.glob("*.parquet")}, {"damage", "merged"})
        read = compact._read
        for name in ("one", "two"):
            shutil.copy(next(path.parent.glob("merged-*")), path.with_name(f"{name}.parquet"))
        with mock.patch.object(compact, "_read", lambda place, table, name: (name.endswith("/one.parquet") and os.unlink(name), read(place, table, name))[1]):
            self.asked_compact(folder)
        self.assertEqual(len(list(path.parent.glob("*.parquet"))), 2)

    def in_two_files(self, folder, rows):
        """Puts rows into the two files `a` and `b`."""
        path = probes_of(self.folder)
        place = folder / path.parent.relative_to(self.folder)
        for name, start in (("a", 0), ("b", len(rows) // 2)):
            half = rows.slice(start, len(rows) - len(rows) // 2)
            writing.write_file(half.replace_schema_metadata(rows.schema.metadata), place / f"{name}.parquet")
        return place

    def test_other_rows_under_the_same_names_are_another_merged_file(self):
        folder = self.copy()
        path = probes_of(folder)
        rows = parquet.ParquetFile(path).read()
        path.unlink()
        with mock.patch.object(writing, "GROUP", 100):
            for count, start in enumerate((0, 100), 1):
                place = self.in_two_files(folder, rows.slice(start, 100))
                self.asked_compact(folder)
                self.assertEqual(len(list(place.glob("merged-*.parquet"))), count)
        self.assertEqual(self.asked(["query", folder, COUNT])[0], [{"rows": 200}])

    @unittest.skipIf(sys.platform == "win32", "there folders have no locks")
    def test_a_second_compaction_is_refused_while_one_is_at_work(self):
        folder = self.copy()
        path = probes_of(folder)
        rows = parquet.ParquetFile(path).read()
        path.unlink()
        self.in_two_files(folder, rows)
        write, seconds = compact._write, []

        def beside(*arguments):
            with mock.patch.object(compact, "_write", write):
                seconds.append(run("compact", folder))
            return write(*arguments)

        with mock.patch.object(compact, "_write", beside):
            self.asked_compact(folder)
        code, _, err = seconds[0]
        self.assertEqual(code, 2)
        self.assertIn("another compact is at work", err)
        self.assertEqual(self.asked(["query", folder, COUNT])[0], [{"rows": self.rows}])
        self.asked_compact(folder)

    def test_what_a_file_says_of_others_removes_and_hides_nothing(self):
        folder = self.copy()
        path = probes_of(folder)
        rows = parquet.ParquetFile(path).read()
        hostile = path.with_name("hostile.parquet")
        told = rows.schema.metadata | {b"wirestamp.merged": path.name.encode()}
        writing.write_file(rows.slice(0, 1).replace_schema_metadata(told), hostile)
        self.assertEqual(self.asked(["query", folder, COUNT])[0], [{"rows": self.rows + 1}])
        self.asked_compact(folder)
        self.assertEqual(self.asked(["query", folder, COUNT])[0], [{"rows": self.rows + 1}])

    def test_a_list_of_somebody_else_removes_nothing(self):
        folder = self.copy()
        path = probes_of(folder)
        outside = folder.parent / "outside.parquet"
        outside.write_bytes(b"")
        name, place = str(path.relative_to(folder)), places.Folder(folder)
        good = {"merged": [name, merging.content_of(place, name)], "replaced": {}}
        for written in (
            "junk",
            "[" * 100_000,
            json.dumps([1]),
            json.dumps(good | {"replaced": {"../outside.parquet": merging.content_of(place, "../outside.parquet")}}),
            json.dumps(good | {"replaced": {name: good["merged"][1]}}),
            json.dumps(good | {"merged": [name, "other"], "replaced": {name: good["merged"][1]}}),
            json.dumps(good | {"merged": [["x"], 1], "replaced": {"probes/x.parquet": 5}}),
        ):
            (folder / merging.LIST).write_text(written)
            self.assertEqual(self.asked(["query", folder, COUNT])[0], [{"rows": self.rows}], written[:80])
            self.asked_compact(folder)
            self.assertTrue(path.exists() and outside.exists(), written[:80])

    def test_added_columns_are_left_out(self):
        folder = self.copy()
        path = probes_of(folder)
        rows = parquet.ParquetFile(path).read()
        path.unlink()
        halves = [rows.slice(0, 50), rows.slice(50)]
        more = halves[1].add_column(0, "temperature", pa.array([1.5] * len(halves[1]))).append_column("later", pa.array(["x"] * len(halves[1])))
        for name, half in (("old", halves[0]), ("new", more)):
            writing.write_file(half.replace_schema_metadata(rows.schema.metadata), path.with_name(f"{name}.parquet"))
        self.assertEqual(self.asked(["query", folder, "SELECT * FROM probes ORDER BY ALL"]), self.asked(["query", self.folder, "SELECT * FROM probes ORDER BY ALL"]))
        self.asked_compact(folder)
        self.assertEqual(self.asked(["clocks", folder]), self.asked(["clocks", self.folder]))

    def test_compact_leaves_files_with_added_columns_as_they_are(self):
        folder = self.copy()
        path = probes_of(folder)
        rows = parquet.ParquetFile(path).read()
        path.unlink()
        parts = {"a": rows.slice(0, 50), "c": rows.slice(50, 50), "b": rows.slice(100).append_column("later", pa.array(["x"] * len(rows.slice(100))))}
        parts["d"] = parts["b"].slice(0, 0)
        for name, part in parts.items():
            # in another order they are the same columns
            part = part.select(part.schema.names[::-1]) if name == "c" else part
            writing.write_file(part.replace_schema_metadata(rows.schema.metadata), path.with_name(f"{name}.parquet"))
        before = {name: path.with_name(f"{name}.parquet").read_bytes() for name in "bd"}
        out, err = self.asked_compact(folder)
        self.assertEqual({name: path.with_name(f"{name}.parquet").read_bytes() for name in "bd"}, before)
        self.assertEqual(sorted(file.name[:7] for file in path.parent.glob("*.parquet")), ["b.parqu", "d.parqu", "merged-"])
        self.assertEqual(err.splitlines(), [f"left {path.with_name(f'{name}.parquet')}: columns that this version does not know" for name in "bd"])
        self.assertIn("; 2 left as they are", out)
        self.assertEqual(self.asked(["query", folder, COUNT])[0], [{"rows": self.rows}])
        self.assertRegex(self.asked_compact(folder)[0], r"^(\d+) files are now \1; .* 2 left as they are\n$")

    def killed_compact(self, folder):
        """A compaction that ends before it removes the first of the files that it has merged."""
        replace = os.replace

        def killed(old, new):
            replace(old, new)
            if pathlib.Path(new).name.startswith("merged-"):
                raise KeyboardInterrupt

        with mock.patch.object(compact.os, "replace", killed), self.assertRaises(KeyboardInterrupt):
            compact.run(folder, lambda done: None)

    def meanwhile(self, happens):
        """Something happens once the first files were checked."""
        looked, begun = store._looked, []

        def checked(*words):
            found = looked(*words)
            if not begun:
                begun.append(True)
                happens()
            return found

        return mock.patch.object(store, "_looked", checked)

    def halves(self, folder):
        """Two files instead of one."""
        path = probes_of(folder)
        rows = parquet.ParquetFile(path).read()
        for name, part in (("a", rows.slice(0, 50)), ("b", rows.slice(50))):
            writing.write_file(part, path.with_name(f"{name}.parquet"))
        path.unlink()
        return path.parent

    def test_a_query_while_files_are_merged_has_every_row(self):
        for words in (["query", COUNT], ["clocks"]):
            folder = self.copy()
            place = self.halves(folder)
            expected = self.asked([words[0], self.folder, *words[1:]])[0]
            with self.meanwhile(lambda folder=folder: self.killed_compact(folder)):
                self.assertEqual(self.asked([words[0], folder, *words[1:]])[0], expected)
            self.assertEqual(len(list(place.glob("*.parquet"))), 3)
            self.assertEqual(self.asked([words[0], folder, *words[1:]])[0], expected)

    def test_a_query_needs_no_file_that_a_merged_one_has_replaced(self):
        for words in (["query", COUNT], ["clocks"]):
            folder = self.copy()
            place = self.halves(folder)
            expected = self.asked([words[0], self.folder, *words[1:]])[0]
            self.killed_compact(folder)
            # it went on: the first one is removed after the query has listed it
            with self.meanwhile((place / "a.parquet").unlink):
                self.assertEqual(self.asked([words[0], folder, *words[1:]])[0], expected)
            self.assertEqual(len(list(place.glob("*.parquet"))), 2)

    def test_junk_among_what_was_checked_is_forgotten(self):
        folder = self.copy()
        self.asked(["query", folder, COUNT])
        name, key = next(iter(json.loads((folder / ".wirestamp-checked.json").read_text()).items()))
        for junk in (5, None, "x", [], [1], ["a", "b"], [*key, 5], [*key, [5]], [*key, [["a", "b", "c"]]], [*key, [["a", "b"]]], {"a": 1}, [*key, [], []]):
            (folder / ".wirestamp-checked.json").write_text(json.dumps({name: junk, "x": junk}))
            self.assertEqual(self.asked(["query", folder, COUNT]), ([{"rows": self.rows}], ""), junk)
        (folder / ".wirestamp-checked.json").write_text("[" * 100_000)
        self.assertEqual(checked.read(places.Folder(folder)), {})

    def test_answers_are_complete_or_absent(self):
        folder = self.copy()
        for name in ("clocks.csv", "clocks.parquet"):
            place = folder / name
            place.write_text("as it was")
            rows = engine.Duck.clocks

            def interrupted(running, options):
                yield rows(running, options).read_next_batch()
                raise KeyboardInterrupt

            clocks = lambda running, options: pa.RecordBatchReader.from_batches(engine.kernel.CLOCKS, interrupted(running, options))
            with mock.patch.object(engine.Duck, "clocks", clocks), mock.patch.object(writing, "LARGE", 1):
                self.assertEqual(run("clocks", folder, "--output", place)[0], 130)
            self.assertEqual(place.read_text(), "as it was")
        place = folder / "page.html"
        place.write_text("as it was")

        def full(place, text, **how):
            place.write_bytes(text.encode()[:100])
            raise OSError(28, "No space left on device")

        with mock.patch.object(pathlib.Path, "write_text", full):
            self.assertEqual(run("report", folder, "--output", place)[0], 2)
        self.assertEqual(place.read_text(), "as it was")
        self.assertEqual(list(folder.glob(".wirestamp-*.part")), [])

    def test_names_of_others_move_no_cursor(self):
        self.assertEqual(store.terminal("a\x1b[31mb\u202ec\td\n"), "a\\x1b[31mb\\x202ec\td\n")
        folder = self.copy()
        self.changed(folder, "probes", lambda number, row: {"host": "\x1b[2J"} | ({"window": 0} if number == 0 else {}))
        code, out, err = run("clocks", folder, "--summary")
        self.assertEqual(code, 0)
        self.assertNotIn("\x1b", out + err)
        self.assertIn("\\x1b[2J", out)
        self.assertIn("\\x1b[2J", err)

    def test_the_estimate_that_is_shown_is_within_the_bounds(self):
        row = {"window_start": 0, "host": "a", "offset": 200, "earliest": -200, "latest": 200, "unclamped": 4_000, "reason": None, "contradicts": None, "excess": None}
        clocks = pa.Table.from_pylist([row, row | {"host": "b", "offset": 210, "latest": 300, "unclamped": 210}], schema=engine.kernel.CLOCKS)
        text = report.summary(report.Hosts(clocks.to_reader()))
        self.assertIn("200 ns  between -200 ns and 200 ns", text)
        self.assertNotIn("4 µs", text)
        self.assertLess(text.index("  b "), text.index("  a "))
        page = report.page(lambda: clocks.to_reader(), pa.table({name: [] for name in engine.kernel.FLOWS.names}), mock.Mock(at=lambda start, length: {}))
        self.assertNotIn("4 µs", page)

    def test_an_interrupt_ends_what_computes(self):
        """While the engine is at work and Python does not run; nothing is left behind."""
        folder, work = self.copy(), pathlib.Path(tempfile.mkdtemp(dir=self.temporary.name))
        endless = "SELECT SUM(a.range * b.range % 7) AS n FROM range(10000000) a, range(10000000) b"
        for more in ([], ["--output", str(folder / "answer.parquet")]):
            command = [sys.executable, "-m", "wirestamp_fleet", "query", str(folder), endless, *more]
            # what a shell starts in the background ignores SIGINT, and so do its children
            heed = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
            environment = os.environ | {"TMPDIR": str(work)}
            begun = subprocess.Popen(command, env=environment, preexec_fn=heed, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(begun.kill)
            ticks = lambda: sum(map(int, pathlib.Path(f"/proc/{begun.pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
            while ticks() < 3 * os.sysconf("SC_CLK_TCK"):
                self.assertIsNone(begun.poll())
                time.sleep(0.05)
            self.assertEqual(len(list(work.iterdir())), 1)
            begun.send_signal(signal.SIGINT)
            out, err = begun.communicate(timeout=120)
            self.assertEqual((begun.returncode, out, err.decode()), (130, b"", ""))
            self.assertEqual(list(work.iterdir()) + list(folder.glob(".wirestamp-*.part")), [])

    def test_every_value_of_an_answer_is_json(self):
        statement = "SELECT 'NaN'::DOUBLE AS a, ['inf'::DOUBLE, 1.5] AS b, {'x': 'NaN'::FLOAT} AS c, 1.25::DECIMAL(9,2) AS d, SUM(n) AS e FROM (VALUES (5), (6)) t(n)"
        strict = lambda text: json.loads(text, parse_constant=lambda name: self.fail(name))
        code, out, err = run("query", self.folder, statement)
        self.assertEqual((code, err, strict(out)), (0, "", {"a": None, "b": [None, 1.5], "c": {"x": None}, "d": 1.25, "e": 11}))
        self.refused(["query", self.folder, "SELECT host, host FROM probes"], "several columns are named host", "AS")
        self.refused(["query", self.folder, "SELECT host, host FROM probes", "--output", self.folder / "x.parquet"], "several columns are named host")
        self.refused(["query", self.folder, f"SELECT SUM(n) AS n FROM (VALUES ({2**63 - 1}), (1)) t(n)"], "64 bits")

    def test_an_answer_is_not_in_memory_as_a_whole(self):
        running = engine.Duck(self.folder)
        rows = running.stream("SELECT range AS n FROM range(100000000000)")
        self.assertLessEqual(rows.read_next_batch().num_rows, engine.BATCH)

    def test_quantiles_for_spark(self):
        self.assertEqual(quantiles.exact("SELECT 'percentile_disc(0.5) WITHIN GROUP (ORDER BY a)' AS t"), "SELECT 'percentile_disc(0.5) WITHIN GROUP (ORDER BY a)' AS t")
        self.assertEqual(quantiles.exact("SELECT percentile_cont(0.5) FROM t"), "SELECT percentile_cont(0.5) FROM t")
        found = quantiles.exact("SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY f(a, ')')) FILTER (WHERE b IN (1, 2)) AS m, 1")
        value = "f(a, ')')"
        some = " FILTER (WHERE b IN (1, 2))"
        self.assertEqual(found, f"SELECT try_element_at(array_sort(collect_list({value}){some}), CAST(GREATEST(CEIL((0.5) * COUNT({value}){some}), 1) AS INT)) AS m, 1")

    def test_claims_from_before_are_carried_into_the_part_that_is_asked_for(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.temporary.name))
        start, hour, second = simulate.START, simulate.HOUR, 10**9
        row = {"window_start": start + hour, "window": second, "forward": 600, "backward": 600, "forward_middle": 700, "backward_middle": 700, "count": 9}
        writing.write(folder, "probes", pa.Table.from_pylist([row | {"host": "a", "peer": "b"}]), start + hour)
        said = {"clock": "utc", "generation": None, "offset": 0, "frequency_ppt": None, "error_bound": 50, "reason": None}
        for number, (host, first, until) in enumerate((("a", 0, 2 * hour), ("b", hour - second, hour + 2 * second))):
            writing.write(folder, "estimates", pa.Table.from_pylist([said | {"host": host, "from": start + first, "until": start + until}]), start, name=str(number))
        # what ended before is not read any more than its footer
        over = writing.write(folder, "estimates", pa.Table.from_pylist([said | {"host": "c", "from": start, "until": start + second}]), start, name="over")
        content = bytearray(over.read_bytes())
        content[8:40] = bytes(32)
        over.write_bytes(content)
        for part in ("day=2026-11-23/hour=01", "day=2026-11-23/hour=01"):
            found, err = self.asked(["clocks", folder, "--only", part])
            self.assertEqual([(row["host"], row["reason"], row["latest"]) for row in found], [("a", None, 50), ("b", None, 50)], err)
        self.assertEqual(self.asked(["query", folder, "SELECT COUNT(*) AS n FROM estimates", "--only", part])[0], [{"n": 0}])
        self.refused(["clocks", folder], "over.parquet")

    def test_claims_from_before_that_cannot_be_read_are_an_error_or_counted(self):
        start, day, second, scandir = simulate.START, simulate.DAY, 10**9, os.scandir
        row = {"window_start": start + day, "window": second, "forward": 600, "backward": 600, "forward_middle": 700, "backward_middle": 700, "count": 9}
        said = {"clock": "utc", "generation": None, "offset": 0, "frequency_ppt": None, "error_bound": 50, "reason": None}
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.temporary.name))
        writing.write(folder, "probes", pa.Table.from_pylist([row | {"host": "a", "peer": "b"}]), start + day)
        for at in (start, start + day, start + 2 * day):
            writing.write(folder, "estimates", pa.Table.from_pylist([said | {"host": "a", "from": at, "until": at + 2 * day}]), at)
        whole, estimates = self.asked(["clocks", folder, "--only", "day=2026-11-24"]), folder / "estimates"
        for closed, counts in ((estimates, True), (estimates / "day=2026-11-23", True), (estimates / "day=2026-11-23/hour=00", True), (estimates / "day=2026-11-25", False)):

            def denied(place):
                if str(place) == str(closed):
                    raise PermissionError(13, "Permission denied", place)
                return scandir(place)

            with self.subTest(closed), mock.patch.object(places.os, "scandir", denied):
                asked = ["clocks", folder, "--only", "day=2026-11-24"]
                if not counts:
                    self.assertEqual(self.asked(asked), whole)
                    continue
                self.refused(asked, str(closed), "Permission denied")
                err = self.asked([*asked, "--skip-unusable"])[1]
                self.assertIn(f"skipped {closed}: cannot be read", err)
                self.assertIn("skipped 1 unusable file(s) or folder(s) of estimates", err)
        # nor is one whose claims end at no number
        [path] = (estimates / "day=2026-11-23").rglob("*.parquet")
        rows = parquet.ParquetFile(path).read()
        place = rows.schema.names.index("until")
        writing.write_file(rows.set_column(place, "until", rows["until"].cast(pa.string())), path)
        self.refused(["clocks", folder, "--only", "day=2026-11-24"], str(path), "other columns than the table has")

    def test_windows_are_solved_and_written_as_they_come(self):
        """No more are in memory than fit, however many there are."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.temporary.name)) / "fleet"
        simulate.run(folder, simulate.Fleet(hosts=20, links=3, windows=30, flows=0, wrong=0))
        whole = engine.Duck(folder).clocks(engine.kernel.Options()).read_all()
        solved, window, held, windows = [], engine.kernel.window, [], engine.kernel.windows
        counted = lambda links, said, options: solved.append(1) or window(links, said, options)
        read = lambda links: held.append(len(links)) or windows(links)
        with mock.patch.object(engine.kernel, "window", counted), mock.patch.object(engine.kernel, "windows", read), mock.patch.object(engine, "LINK", 2 * 2**29):
            rows = engine.Duck(folder, "4GB").clocks(engine.kernel.Options())
            first = rows.read_next_batch()
            self.assertLessEqual(len(solved), 2 + (os.cpu_count() or 1))
            rest = rows.read_all()
        self.assertEqual((len(solved), len(held)), (30, 30))
        self.assertLessEqual(max(held), 20 * 3)
        self.assertEqual(pa.concat_tables([pa.Table.from_batches([first]), rest]), whole)


if __name__ == "__main__":
    unittest.main()
