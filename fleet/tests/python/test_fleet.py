"""The package as users have it: simulated fleets, whose truth is known, and files that are not what they should be."""

import contextlib
import io
import json
import os
import pathlib
import re
import shlex
import shutil
import tempfile
import unittest

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.parquet as parquet

from wirestamp_fleet import engine, kernel, main, schema, simulate, store

PAGE = pathlib.Path(__file__).parents[3] / "guide" / "fleet.md"
DOCUMENT = pathlib.Path(__file__).parents[3] / "docs" / "parquet" / "schema.json"
FLEET = simulate.Fleet(hosts=120, links=6, windows=6, flows=12, packets=120, seed=7)
OPTIONS = ["--delays", "{folder}/delays.parquet"]


def run(*words):
    """Exit code, standard output and standard error of the program."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main.main([str(word) for word in words])
    return code, out.getvalue(), err.getvalue()


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


class Simulated(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name) / "fleet"
        simulate.run(cls.folder, FLEET)
        cls.truth = parquet.read_table(cls.folder / "truth" / "clocks.parquet").to_pylist()
        cls.options = [word.format(folder=cls.folder) for word in OPTIONS]

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def copy(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.temporary.name)) / "fleet"
        shutil.copytree(self.folder, folder)
        return folder

    def clocks(self, *words, folder=None):
        code, out, err = run("clocks", folder or self.folder, *self.options, *words)
        self.assertEqual((code, err), (0, ""))
        return lines(out)

    def test_the_schema_document_is_that_of_this_package(self):
        document = json.loads(DOCUMENT.read_text())
        self.assertEqual((document["version"], document["buckets"]), (schema.VERSION, schema.BUCKETS))
        kinds = {"int64": pa.int64(), "string": pa.string()}
        for table in document["tables"]:
            described = pa.schema(
                [pa.field(column["name"], kinds[column["type"]], column["nullable"]) for column in table["columns"]]
            )
            self.assertEqual(described, schema.TABLES[table["name"]])
        self.assertEqual(len(document["tables"]), len(schema.TABLES))
        # the same numbers as in wirestamp-record's test
        self.assertEqual(schema.flow_of("host1", "host2", 7), 2583698333587365533)
        self.assertEqual(schema.flow_of("host2", "host1", 7), 2583698333587365533)
        self.assertEqual(schema.bucket_of(2583698333587365533), 4)

    def test_the_same_seed_gives_the_same_fleet(self):
        again = pathlib.Path(self.temporary.name) / "again"
        simulate.run(again, FLEET)
        for path in self.folder.rglob("*.parquet"):
            self.assertEqual(path.read_bytes(), (again / path.relative_to(self.folder)).read_bytes(), path)

    def test_bounds_contain_the_truth_and_wrong_hosts_are_named(self):
        found = {(row["window_start"], row["host"]): row for row in self.clocks()}
        self.assertEqual(len(found), FLEET.hosts * FLEET.windows)
        wrong = 0
        for truth in self.truth:
            row = found[truth["window_start"], truth["host"]]
            stepped = truth["wrong"] == simulate.KINDS[2] and abs(truth["offset"]) < simulate.CLAIM
            if truth["wrong"] is None or stepped:
                self.assertIsNone(row["reason"], row)
                self.assertLessEqual(row["earliest"], truth["offset"])
                self.assertLessEqual(truth["offset"], row["latest"])
                self.assertLessEqual(row["earliest"], row["offset"])
                self.assertLessEqual(row["offset"], row["latest"])
            else:
                wrong += 1
                self.assertEqual((row["reason"], row["offset"]), ("contradicts", None), row)
                self.assertTrue(row["contradicts"])
        self.assertGreater(wrong, 3 * FLEET.windows)

    def test_bounds_against_a_host(self):
        """Without any claim; only clocks that contradict each other are out."""
        reference = next(row["host"] for row in self.truth if row["wrong"] is None)
        zero = {row["window_start"]: row["offset"] for row in self.truth if row["host"] == reference}
        found = {(row["window_start"], row["host"]): row for row in self.clocks("--reference", reference)}
        compared = 0
        for truth in self.truth:
            row = found[truth["window_start"], truth["host"]]
            if row["reason"] is None and truth["wrong"] != simulate.KINDS[1]:
                offset = truth["offset"] - zero[truth["window_start"]]
                self.assertLessEqual(row["earliest"], offset)
                self.assertLessEqual(offset, row["latest"])
                compared += 1
        self.assertGreater(compared, 0.95 * len(self.truth))

    def test_packets_are_counted_as_the_truth_has_them(self):
        code, out, _ = run("latency", self.folder)
        self.assertEqual(code, 0)
        found = {row["flow"]: row for row in lines(out)}
        truth = parquet.read_table(self.folder / "truth" / "flows.parquet").to_pylist()
        self.assertEqual(len(found), len(truth))
        for flow in truth:
            row = found[flow["flow"]]
            for name in ("host", "peer", "sent", "missing", "duplicate"):
                self.assertEqual(row[name], flow[name], (name, row, flow))
            self.assertLess(1_000 - 2 * simulate.CLAIM, row["least"])
            self.assertLessEqual(row["least"], row["median"])
            self.assertLessEqual(row["median"], row["p99"])
            self.assertLessEqual(row["p99"], row["most"])
        self.assertGreater(sum(row["reordered"] for row in found.values()), 0)
        self.assertGreater(sum(row["missing"] for row in found.values()), 0)

    def test_an_answer_with_the_same_number_is_not_the_packet(self):
        """Both directions of a flow have its number, and count from zero."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.temporary.name))
        flow, at = schema.flow_of("one", "two", 0), simulate.START
        packets = [("one", "tx", 0), ("two", "rx", 4_000), ("two", "tx", 5_000), ("one", "rx", 9_500)]
        same = {"interface": "eth0", "flow": flow, "sequence": 0, "source": "hardware", "generation": 1, "error_bound": 10}
        same |= {"utc_minus_ticks": at, "reason": None}
        rows = [{"host": host, "direction": direction, "ticks": ticks} | same for host, direction, ticks in packets]
        store.write(folder, "timestamps", pa.Table.from_pylist(rows), at, bucket=schema.bucket_of(flow))
        code, out, err = run("latency", folder, "--packets")
        self.assertEqual((code, err), (0, ""))
        found = [(row["host"], row["peer"], row["delay"], row["error_bound"], row["outcome"]) for row in lines(out)]
        self.assertEqual(found, [("one", "two", 4_000, 20, "in order"), ("two", "one", 4_500, 20, "in order")])

    def test_no_answer_depends_on_the_order_of_files_or_rows(self):
        folder = self.copy()
        [path] = (folder / "probes").rglob("*.parquet")
        rows = parquet.ParquetFile(path).read()
        path.unlink()
        backward = rows.take(list(range(rows.num_rows - 1, -1, -1)))
        for place, part in enumerate([backward.slice(0, 1_000), backward.slice(1_000)]):
            store.write_file(part.replace_schema_metadata(rows.schema.metadata), path.with_name(f"{place}.parquet"))
        self.assertEqual(self.clocks(folder=folder), self.clocks())

    def test_tables_without_files_are_empty_and_all_can_be_asked(self):
        for table in schema.TABLES:
            code, out, err = run("query", self.folder, f'SELECT COUNT(*) AS rows FROM "{table}"')
            self.assertEqual((code, err), (0, ""))
            self.assertEqual(lines(out)[0]["rows"] > 0, table != "cross")

    def test_two_machines_with_one_name_are_named(self):
        folder = self.copy()
        [path] = (folder / "probes").rglob("*.parquet")
        rows = parquet.ParquetFile(path).read()
        name = next(row["host"] for row in self.truth if row["wrong"] is None)
        other = rows.filter(compute.equal(rows["host"], name))
        other = other.set_column(4, "forward", compute.subtract(other["forward"], 70_000))
        store.write_file(other.select(rows.schema.names).cast(rows.schema), path.with_name("twin.parquet"))
        found = [row for row in self.clocks(folder=folder) if row["host"] == name]
        self.assertEqual({row["reason"] for row in found}, {"duplicate_name"})
        self.assertEqual({row["offset"] for row in found}, {None})
        # what it says of its peers is left out: none of them suffers
        reasons = lambda rows: {row["host"]: row["reason"] for row in rows if row["host"] != name}
        self.assertEqual(reasons(self.clocks(folder=folder)), reasons(self.clocks()))

    def test_the_same_file_twice_changes_nothing(self):
        folder = self.copy()
        [path] = (folder / "probes").rglob("*.parquet")
        shutil.copy(path, path.with_name("copy.parquet"))
        self.assertEqual(self.clocks(folder=folder), self.clocks())

    def test_unusable_files_are_named_and_never_counted(self):
        folder = self.copy()
        [path] = (folder / "probes").rglob("*.parquet")
        whole = path.read_bytes()
        rows = parquet.ParquetFile(path).read()
        count = rows.num_rows
        wrong = {
            "truncated": whole[: len(whole) // 2],
            "empty": b"",
            "damaged": whole[:20_000] + bytes(byte ^ 0x55 for byte in whole[20_000:20_400]) + whole[20_400:],
        }
        for name, content in wrong.items():
            path.with_name(f"{name}.parquet").write_bytes(content)
        for name, metadata in {
            "version": {"wirestamp.table": "probes", "wirestamp.version": "2"},
            "foreign": {},
            "table": {"wirestamp.table": "cross", "wirestamp.version": "1"},
        }.items():
            store.write_file(rows.replace_schema_metadata(metadata), path.with_name(f"{name}.parquet"))
        path.with_name(".wirestamp-1.part").write_bytes(whole)
        code, out, err = run("query", folder, "SELECT COUNT(*) AS rows FROM probes")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("6 unusable file(s)", err)
        code, out, err = run("query", folder, "SELECT COUNT(*) AS rows FROM probes", "--skip-unusable")
        self.assertEqual((code, lines(out)), (0, [{"rows": count}]))
        for name in [*wrong, "version", "foreign", "table"]:
            self.assertIn(f"/{name}.parquet: ", err)

    def test_compaction_keeps_every_row_and_survives_an_interruption(self):
        folder = self.copy()
        [path] = (folder / "probes").rglob("*.parquet")
        rows = parquet.ParquetFile(path).read()
        path.unlink()
        for place in range(5):
            part = rows.slice(place * 900, 900 if place < 4 else None)
            store.write_file(part.replace_schema_metadata(rows.schema.metadata), path.with_name(f"{place}.parquet"))
        saved = {path: path.read_bytes() for path in (folder / "probes").rglob("*.parquet")}
        code, out, _ = run("compact", folder)
        self.assertEqual(code, 0, out)
        [merged] = (folder / "probes").rglob("*.parquet")
        self.assertEqual(self.clocks(folder=folder), self.clocks())
        # killed before the old files were removed: they are not counted twice, and the next run removes them
        for place, content in saved.items():
            place.write_bytes(content)
        _, out, _ = run("query", folder, "SELECT COUNT(*) AS rows FROM probes")
        self.assertEqual(lines(out), [{"rows": rows.num_rows}])
        run("compact", folder)
        self.assertEqual(list((folder / "probes").rglob("*.parquet")), [merged])

    def test_wrong_input_is_an_error_that_names_it(self):
        for words, text in [
            (["clocks", "/nowhere"], "no such folder"),
            (["query", self.folder, "SELECT nothing FROM probes"], "nothing"),
            (["simulate", self.folder], "not empty"),
            (["clocks", self.folder, "--delays", "/nowhere.parquet"], "/nowhere.parquet"),
        ]:
            code, out, err = run(*words)
            self.assertEqual((code, out), (2, ""), words)
            self.assertTrue(err.startswith("error: ") and text in err, err)
        found = self.clocks("--reference", "nobody")
        self.assertEqual({row["reason"] for row in found}, {"no_reference"})

    def test_the_report_names_the_wrong_hosts_and_needs_nothing_else(self):
        place = pathlib.Path(self.temporary.name) / "report.html"
        code, _, err = run("report", self.folder, *self.options, "--output", place)
        self.assertEqual((code, err), (0, ""))
        page = place.read_text()
        for host in json.loads((self.folder / "truth" / "fleet.json").read_text())["wrong_hosts"]:
            self.assertIn(f'<tr class="wrong"><td>{host}', page)
        for word in ("http:", "https:", "<script", "src="):
            self.assertNotIn(word, page)

    def test_host_names_are_text_in_the_report(self):
        row = {name: None for name in kernel.CLOCKS.names} | {"window_start": 0, "host": "<b>x</b>", "reason": "unreachable"}
        from wirestamp_fleet import report

        pairs = pa.table({"host": [], "peer": [], "median": []})
        page = report.page(pa.Table.from_pylist([row], kernel.CLOCKS), pairs, {})
        self.assertNotIn("<b>x", page)
        self.assertIn("&lt;b&gt;x", page)

    def test_the_guide_prints_what_the_program_does(self):
        """Every command of the page, in its order and in one folder."""
        text = PAGE.read_text()
        blocks = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
        commands = [part for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
        self.assertGreater(len(commands), 3)
        before = os.getcwd()
        os.chdir(tempfile.mkdtemp(dir=self.temporary.name))
        self.addCleanup(os.chdir, before)
        for command in commands:
            line, _, expected = command.partition("\n")
            words = shlex.split(line)
            self.assertEqual(words[0], "wirestamp-fleet")
            code, out, err = run(*words[1:])
            self.assertEqual((code, err), (0, ""), line)
            out = re.sub(r"^/.*/", "/…/", out, flags=re.MULTILINE)
            if os.environ.get("WRITE_GUIDE"):
                text = text.replace(f"$ {command}", f"$ {line}\n{out}")
            else:
                self.assertEqual(out, expected, line)
        if os.environ.get("WRITE_GUIDE"):
            PAGE.write_text(text)

    @unittest.skipUnless(os.environ.get("SPARK"), "SPARK=1 runs it")
    def test_spark_gives_the_same_integers_row_for_row(self):
        duck, spark = engine.Duck(self.folder), engine.Spark(self.folder)
        self.addCleanup(spark.stop)
        delays = parquet.read_table(self.folder / "delays.parquet").to_pylist()
        known = {(row["host"], row["peer"]): (row["forward"], row["backward"]) for row in delays}
        options = kernel.Options(delays=known)
        self.assertEqual(duck.clocks(options).to_pylist(), spark.clocks(options).to_pylist())
        for running in (duck, spark):
            running.add("delays", running.sql(engine.text("latency", most=10**9)))
        for statement in (engine.text("latency", most=10**9), engine.text("pairs"), engine.text("links")):
            self.assertEqual(duck.sql(statement).to_pylist(), spark.sql(statement).to_pylist())


if __name__ == "__main__":
    unittest.main()
