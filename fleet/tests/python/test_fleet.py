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
from unittest import mock

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.parquet as parquet

from wirestamp_fleet import claims, compact, engine, kernel, main, merging, progress, report, schema, simulate, writing

PAGE = pathlib.Path(__file__).parents[3] / "guide" / "fleet.md"
DOCUMENT = pathlib.Path(__file__).parents[3] / "docs" / "parquet" / "schema.json"
FLEET = simulate.Fleet(hosts=120, links=6, windows=6, flows=12, packets=120, wrong=5, seed=7)
NO_CLAIMS = claims.Claims(lambda some: schema.TABLES["estimates"].empty_table())
OPTIONS = ["--delays", "{folder}/delays.parquet"]


def run(*words):
    """Exit code, standard output and standard error of the program."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main.main([str(word) for word in words])
    return code, out.getvalue(), err.getvalue()


def probes_of(folder):
    """The file of the first hour: a host that is days off has its own."""
    [path] = (folder / "probes" / "day=2026-11-23" / "hour=00").glob("*.parquet")
    return path


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
            self.assertEqual(described, schema.written(table["name"]))
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
        self.assertLessEqual({(row["window_start"], row["host"]) for row in self.truth}, set(found))
        wrong = 0
        for truth in self.truth:
            row = found[truth["window_start"], truth["host"]]
            begun = (truth["window_start"] - simulate.START) // simulate.WINDOW >= FLEET.windows // 2
            stepped = truth["wrong"] in (simulate.KINDS[2], simulate.KINDS[4]) and not begun
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
        # what a clock that is three days off files under its own time blames nobody else
        truth = {(row["window_start"], row["host"]) for row in self.truth}
        later = {host: row["reason"] for (start, host), row in found.items() if (start, host) not in truth}
        off = {row["host"] for row in self.truth if row["wrong"] == simulate.KINDS[3]}
        self.assertGreater(len(later), FLEET.links)
        self.assertEqual({host for host, reason in later.items() if reason is not None}, off)

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
        writing.write(folder, "timestamps", pa.Table.from_pylist(rows), at, bucket=schema.bucket_of(flow))
        code, out, err = run("latency", folder, "--packets")
        self.assertEqual((code, err), (0, ""))
        found = [(row["host"], row["peer"], row["delay"], row["error_bound"], row["outcome"]) for row in lines(out)]
        self.assertEqual(found, [("one", "two", 4_000, 20, "in order"), ("two", "one", 4_500, 20, "in order")])

    def test_no_answer_depends_on_the_order_of_files_or_rows(self):
        folder = self.copy()
        path = probes_of(folder)
        rows = parquet.ParquetFile(path).read()
        path.unlink()
        backward = rows.take(list(range(rows.num_rows - 1, -1, -1)))
        for place, part in enumerate([backward.slice(0, 1_000), backward.slice(1_000)]):
            writing.write_file(part.replace_schema_metadata(rows.schema.metadata), path.with_name(f"{place}.parquet"))
        self.assertEqual(self.clocks(folder=folder), self.clocks())

    def test_tables_without_files_are_empty_and_all_can_be_asked(self):
        for table in schema.TABLES:
            code, out, err = run("query", self.folder, f'SELECT COUNT(*) AS rows FROM "{table}"')
            self.assertEqual((code, err), (0, ""))
            self.assertEqual(lines(out)[0]["rows"] > 0, table != "cross")

    def test_two_machines_with_one_name_are_named(self):
        folder = self.copy()
        path = probes_of(folder)
        rows = parquet.ParquetFile(path).read()
        name = next(row["host"] for row in self.truth if row["wrong"] is None)
        other = rows.filter(compute.equal(rows["host"], name))
        other = other.set_column(4, "forward", compute.subtract(other["forward"], 70_000))
        writing.write_file(other.select(rows.schema.names).cast(rows.schema), path.with_name("twin.parquet"))
        found = [row for row in self.clocks(folder=folder) if row["host"] == name]
        self.assertEqual({row["reason"] for row in found}, {"duplicate_name"})
        self.assertEqual({row["offset"] for row in found}, {None})
        # what it says of its peers is left out: none of them suffers
        reasons = lambda rows: {row["host"]: row["reason"] for row in rows if row["host"] != name}
        self.assertEqual(reasons(self.clocks(folder=folder)), reasons(self.clocks()))

    def test_a_bar_is_drawn_for_what_takes_long_and_one_at_a_time(self):
        err, now = io.StringIO(), [0.0]
        err.isatty = lambda: True
        with contextlib.redirect_stderr(err), mock.patch.object(progress.time, "monotonic", lambda: now[0]):
            bars = progress.here()
            quick = bars("quick")
            quick(0.5)
            quick(1)
            self.assertEqual(err.getvalue(), "")
            outer = bars("outer")
            inner = bars("inner")
            for now[0], done in ((1, 0.25), (1.1, 0.3), (2, 0.5), (2.1, 1)):
                inner(done)
                outer(done)
        drawn = [part for part in err.getvalue().split("\r") if part]
        self.assertEqual([part.split()[-1] for part in drawn], ["25%", "50%", "100%"])
        self.assertTrue(all(part.startswith("outer ") for part in drawn))
        self.assertIs(progress.here(), progress.silent)

    def test_packets_of_two_machines_with_one_name_show_as_duplicate(self):
        """Both send the same numbers of a flow: which of them a packet is from cannot be told, and is not made up."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.temporary.name))
        flow, at = schema.flow_of("one", "two", 0), simulate.START
        same = {"interface": "eth0", "flow": flow, "source": "hardware", "generation": 1, "error_bound": 10, "utc_minus_ticks": at, "reason": None}
        rows = [
            {"host": host, "direction": direction, "sequence": number, "ticks": number * 10**6 + machine * 1_000 + late} | same
            for number in range(20)
            for machine in (0, 1)
            for host, direction, late in (("one", "tx", 0), ("two", "rx", 5_000))
        ]
        writing.write(folder, "timestamps", pa.Table.from_pylist(rows), at, bucket=schema.bucket_of(flow))
        [found] = lines(run("latency", folder)[1])
        self.assertEqual((found["sent"], found["missing"], found["duplicate"]), (40, 0, 40))
        outcomes = [row["outcome"] for row in lines(run("latency", folder, "--packets")[1])]
        self.assertEqual(outcomes.count("duplicate"), 40)

    def test_the_name_of_a_folder_means_nothing(self):
        """Neither as a pattern nor as a column: both engines have rules for such names."""
        folder = self.copy()
        named = folder.parent / "flow=7" / "host=nobody" / "fleet[a-z]*?"
        for place in (named, named.with_name("fleetaa")):  # what the pattern would find as well
            shutil.copytree(folder, place)
        for words in (["latency"], ["latency", "--packets"], ["query", "SELECT host, SUM(forward) AS forward FROM probes GROUP BY host ORDER BY host"]):
            self.assertTrue(run(words[0], named, *words[1:]) == run(words[0], folder, *words[1:]), words)  # no difference of long texts

    def test_the_same_file_twice_changes_nothing(self):
        folder = self.copy()
        path = probes_of(folder)
        shutil.copy(path, path.with_name("copy.parquet"))
        self.assertEqual(self.clocks(folder=folder), self.clocks())

    def test_unusable_files_are_named_and_never_counted(self):
        folder = self.copy()
        path = probes_of(folder)
        whole = path.read_bytes()
        rows = parquet.ParquetFile(path).read()
        count = lines(run("query", folder, "SELECT COUNT(*) AS rows FROM probes")[1])[0]["rows"]
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
            writing.write_file(rows.replace_schema_metadata(metadata), path.with_name(f"{name}.parquet"))
        # NULL where the table has none: two of them would otherwise be the same number
        counts = pa.nulls(rows.num_rows, pa.int64())
        writing.write_file(rows.set_column(rows.column_names.index("count"), "count", counts).replace_schema_metadata(rows.schema.metadata), path.with_name("null.parquet"))
        path.with_name(".wirestamp-1.part").write_bytes(whole)
        code, out, err = run("query", folder, "SELECT COUNT(*) AS rows FROM probes")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("7 unusable file(s)", err)
        code, out, err = run("query", folder, "SELECT COUNT(*) AS rows FROM probes", "--skip-unusable")
        self.assertEqual((code, lines(out)), (0, [{"rows": count}]))
        for name in [*wrong, "version", "foreign", "table", "null"]:
            self.assertIn(f"/{name}.parquet: ", err)

    def test_compaction_keeps_every_row_and_survives_an_interruption(self):
        folder = self.copy()
        path = probes_of(folder)
        rows = parquet.ParquetFile(path).read()
        path.unlink()
        for place in range(5):
            part = rows.slice(place * 900, 900 if place < 4 else None)
            writing.write_file(part.replace_schema_metadata(rows.schema.metadata), path.with_name(f"{place}.parquet"))
        # what no question counts, such as a copy on its way, is neither merged nor removed
        hidden = [path.with_name(f"{mark}hidden.parquet") for mark in "._"]
        for place in hidden:
            shutil.copy(path.with_name("0.parquet"), place)
        here = f"SELECT COUNT(*) AS rows FROM probes WHERE window_start < {simulate.START + simulate.DAY}"
        replace = os.replace

        def killed(old, new):
            """After the merged file has its name, and before the old ones go."""
            replace(old, new)
            if pathlib.Path(new).name.startswith("merged-"):
                raise KeyboardInterrupt

        with mock.patch.object(compact.os, "replace", killed):
            self.assertEqual(run("compact", folder)[0], 130)
        self.assertEqual(len(list(path.parent.glob("*.parquet"))), 5 + 1 + len(hidden))
        # the old ones are not counted twice, in a copy of the folder neither, and the next run removes them
        copied = folder.with_name("copied")
        shutil.copytree(folder, copied, copy_function=shutil.copyfile)
        for place in (folder, copied):
            self.assertEqual(lines(run("query", place, here)[1]), [{"rows": rows.num_rows}])
        [merged] = path.parent.glob("merged-*.parquet")
        self.assertEqual(run("compact", folder)[::2], (0, ""))
        for place in hidden:
            place.unlink()
        self.assertEqual(probes_of(folder), merged)
        self.assertEqual(self.clocks(folder=folder), self.clocks())
        self.assertFalse((folder / merging.LIST).exists())

    def test_files_with_and_without_the_condition_of_a_claim_are_merged_and_asked_alike(self):
        folder = self.copy()
        [path] = (folder / "estimates").rglob("*.parquet")
        rows = parquet.ParquetFile(path).read()
        self.assertEqual(rows.schema.names[-1], "right_servers")
        path.unlink()
        of_before = rows.drop_columns(["right_servers"]).slice(0, 7).replace_schema_metadata(rows.schema.metadata)
        writing.write_file(of_before, path.with_name("before.parquet"))
        two = pa.array([2] * (rows.num_rows - 7), pa.int64())
        now = rows.slice(7).set_column(rows.num_columns - 1, rows.schema.field("right_servers"), two)
        writing.write_file(now.replace_schema_metadata(rows.schema.metadata), path.with_name("now.parquet"))
        self.assertEqual(self.clocks(folder=folder), self.clocks())
        conditions = "SELECT right_servers, COUNT(*) AS n FROM estimates GROUP BY 1 ORDER BY 1 NULLS FIRST"
        of_both = [{"right_servers": None, "n": 7}, {"right_servers": 2, "n": rows.num_rows - 7}]
        self.assertEqual(lines(run("query", folder, conditions)[1]), of_both)
        self.assertEqual(run("compact", folder)[::2], (0, ""))
        self.assertEqual(lines(run("query", folder, conditions)[1]), of_both)
        [merged] = (folder / "estimates").rglob("merged-*.parquet")
        merged = parquet.ParquetFile(merged).read()
        self.assertEqual(sorted(merged["right_servers"].to_pylist(), key=str), [2] * (rows.num_rows - 7) + [None] * 7)
        self.assertEqual(self.clocks(folder=folder), self.clocks())

    def test_a_query_has_the_condition_of_a_claim_of_files_that_do_not_have_it(self):
        folder = self.copy()
        [path] = (folder / "estimates").rglob("*.parquet")
        rows = parquet.ParquetFile(path).read()
        for several in (1, 3):
            path.unlink()
            of_before = rows.drop_columns(["right_servers"]).replace_schema_metadata(rows.schema.metadata)
            for number in range(several):
                path = path.with_name(f"before{number}.parquet")
                writing.write_file(of_before, path)
            asked = run("query", folder, "SELECT COUNT(*) AS n, COUNT(right_servers) AS known FROM estimates")
            self.assertEqual(lines(asked[1]), [{"n": several * rows.num_rows, "known": 0}], asked)
            [named] = lines(run("query", folder, "SELECT * FROM estimates LIMIT 1")[1])
            self.assertIn("right_servers", named)

    def bad_delays(self):
        place = pathlib.Path(self.temporary.name) / "bad.csv"
        place.write_text("host,peer,forward,backward\na,b,1,2\na,c,-1,2\n")
        return place

    def test_wrong_input_is_an_error_that_names_it(self):
        for words, text in [
            (["clocks", "/nowhere"], "no such folder"),
            (["query", self.folder, "SELECT nothing FROM probes"], "nothing"),
            (["clocks", self.folder, "--delays", self.bad_delays()], "row 2 is not"),
            (["simulate", self.folder], "not empty"),
            (["clocks", self.folder, "--delays", "/nowhere.parquet"], "/nowhere.parquet"),
            (["clocks", self.folder, "--output", "/nowhere/clocks.csv"], "/nowhere/clocks.csv"),
            (["clocks", self.folder, "--output", "/proc/clocks.parquet"], "/proc/"),
            (["report", self.folder, "--output", "/nowhere/report.html"], "/nowhere/report.html"),
            (["simulate", "/proc/fleet", "--hosts", 2], "/proc/fleet"),
            (["clocks", self.folder, "--reference", "no'body"], "--reference no'body: no probes"),
            (["report", self.folder, "--reference", "nobody"], "--reference nobody: no probes"),
            (["latency", self.bad_delays().parent], "no transmit timestamps"),
            (["latency", self.bad_delays().parent, "--packets"], "no transmit timestamps"),
        ]:
            code, out, err = run(*words)
            self.assertEqual((code, out), (2, ""), words)
            self.assertTrue(err.startswith("error: ") and text in err, err)
        for words in (["clocks", "--output", "clocks.json"], ["query", "SELECT 1", "--output", "answer"]):
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()) as err:
                main.main([words[0], str(self.folder), *words[1:]])
            self.assertIn("ends neither in .parquet nor in .csv", err.getvalue())

    def test_the_report_names_the_wrong_hosts_and_needs_nothing_else(self):
        place = pathlib.Path(self.temporary.name) / "report.html"
        code, _, err = run("report", self.folder, *self.options, "--output", place)
        self.assertEqual((code, err), (0, ""))
        page = place.read_text()
        for host in json.loads((self.folder / "truth" / "fleet.json").read_text())["wrong_hosts"]:
            self.assertIn(f'<tr class="wrong"><td>{host}', page)
        for word in ("http:", "https:", "<script", "src="):
            self.assertNotIn(word, page)
        self.assertIn("<p>Windows from 2026-11-23 00:00:00 to 2026-11-26 00:00:05 UTC", page)
        self.assertRegex(page, r"Made \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC by wirestamp-fleet \d")
        self.assertIn("against UTC, as the hosts claim it", page)
        self.assertIn(f"those of {self.folder}/delays.parquet, others 0 ns (--least-delay)", page)
        # on a narrow screen a table scrolls, not the page
        self.assertEqual(page.count("<table"), 3)
        self.assertEqual(page.count("<div class=wide><table"), 3)

    def test_a_link_that_contradicts_is_named_though_its_hosts_do_not(self):
        """Probes of one link that come back 50 µs sooner than they left: nothing that its hosts are blamed for."""
        folder = self.copy()
        path = probes_of(folder)
        rows = parquet.ParquetFile(path).read()
        honest = sorted({row["host"] for row in self.truth if row["wrong"] is None})
        one, other = next((row["host"], row["peer"]) for row in rows.to_pylist() if row["host"] in honest and row["peer"] in honest and row["forward"])
        lying = [50_000 if (row["host"], row["peer"]) == (one, other) else 0 for row in rows.to_pylist()]
        rows = rows.set_column(rows.schema.get_field_index("forward"), "forward", compute.subtract(rows["forward"], pa.array(lying)))
        path.unlink()
        writing.write_file(rows.cast(schema.TABLES["probes"]).replace_schema_metadata(rows.schema.metadata), path)
        found = self.clocks(folder=folder)
        for host, peer in ((one, other), (other, one)):
            mine = [row for row in found if row["host"] == host]
            self.assertEqual({row["reason"] for row in mine}, {None})
            self.assertTrue(any(peer in (row["links"] or "").split() and row["links_excess"] > 30_000 for row in mine))
        self.assertTrue(all(row["links"] is None for row in self.clocks() if row["host"] in (one, other)))
        first, last = sorted([one, other])
        summary = run("clocks", folder, *self.options, "--summary")[1]
        self.assertRegex(summary, f"1 links contradict the others, and their hosts do not\n  {first} – {last} +in \\d+ of \\d+ windows, by up to 4")
        place = folder / "page.html"
        self.assertEqual(run("report", folder, *self.options, "--output", place)[0], 0)
        self.assertIn(f"<li>{first} – {last}: in", place.read_text())

    def test_a_window_without_others_does_not_hide_a_contradiction(self):
        row = {name: None for name in kernel.CLOCKS.names} | {"window_start": 0, "host": "a", "unclamped": 20_000, "reason": "contradicts", "contradicts": "b", "excess": 7}
        later = row | {"window_start": 1, "unclamped": 5, "earliest": -500, "latest": 500, "reason": None, "contradicts": None, "excess": None}
        clocks = pa.Table.from_pylist([row, later], schema=kernel.CLOCKS)
        self.assertIn("20 µs  in 1 of 2 windows", report.summary(report.Hosts(clocks.to_reader())))
        self.assertIn("<td>20 µs<td>contradicts<td>", report._worst(report.Hosts(clocks.to_reader()).worst_first(), NO_CLAIMS))
        right = pa.Table.from_pylist([later | {"window_start": 0}, later | {"unclamped": 9}], schema=kernel.CLOCKS)
        self.assertIn("<td>9 ns<td>-500 ns and 500 ns<td>", report._worst(report.Hosts(right.to_reader()).worst_first(), NO_CLAIMS))

    def test_the_report_says_which_groups_it_leaves_out(self):
        pairs = pa.table({"host": [f"{number:03}-a" for number in range(61)], "peer": ["000-b"] * 61, "median": [5] * 61})
        self.assertIn("The first 60 of 61 groups", report._matrix(pairs))
        self.assertNotIn("The first", report._matrix(pairs.slice(0, 60)))

    def test_least_delays_are_those_of_each_windows_links(self):
        options = kernel.Options(least_delay=7, delays={("a", "b"): (10, 20), ("b", "c"): (30, 40)})
        for pairs, forward, backward in (("ab bc", [10, 30], [20, 40]), ("ab bc", [10, 30], [20, 40]), ("ab ba", [10, 7], [20, 7]), ("bc", [30], [40]), ("ab ca", [10, 7], [20, 7])):
            links = pa.table({"host": [pair[0] for pair in pairs.split()], "peer": [pair[1] for pair in pairs.split()]})
            self.assertEqual([least.tolist() for least in options.least(links)], [forward, backward], pairs)

    def test_host_names_are_text_in_the_report(self):
        row = {name: None for name in kernel.CLOCKS.names} | {"window_start": 0, "host": "<b>x</b>", "reason": "unreachable"}
        pairs = pa.table({"host": [], "peer": [], "median": []})
        page = report.page(lambda: pa.Table.from_pylist([row], kernel.CLOCKS).to_reader(), pairs, NO_CLAIMS)
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

    def test_numbers_beyond_reason_are_left_out_and_their_host_is_named(self):
        """Clocks of 1970, of the far future, and bounds that say nothing: the answers for the others stay."""
        folder = self.copy()
        path = probes_of(folder)
        rows = parquet.ParquetFile(path).read()
        honest = sorted({row["host"] for row in self.truth if row["wrong"] is None})
        for name, by in ((honest[0], -simulate.START), (honest[1], 2**62)):
            shift = lambda ends, by: pa.array([by if host == name else 0 for host in ends.to_pylist()], pa.int64())
            for side, sign in (("forward", 1), ("backward", -1)):
                by_sender, by_receiver = shift(rows["host"], -sign * by), shift(rows["peer"], sign * by)
                values = compute.add(compute.add(rows[side], by_sender), by_receiver)
                rows = rows.set_column(rows.schema.get_field_index(side), side, values)
        path.unlink()
        writing.write_file(rows.cast(schema.TABLES["probes"]).replace_schema_metadata(rows.schema.metadata), path)
        [path] = (folder / "estimates").rglob("*.parquet")
        table = parquet.ParquetFile(path).read()
        changed = [2**63 - 1 if host == honest[2] else bound for host, bound in zip(table["host"].to_pylist(), table["error_bound"].to_pylist(), strict=True)]
        table = table.set_column(table.schema.get_field_index("error_bound"), "error_bound", pa.array(changed, pa.int64()))
        path.unlink()
        writing.write_file(table.cast(schema.written("estimates")).replace_schema_metadata(table.schema.metadata), path)
        # a bound that says nothing is no claim, not a small one
        said = engine.claimed(engine.Duck(folder)).at(simulate.START, simulate.WINDOW)
        self.assertNotIn(honest[2], said)
        self.assertEqual({said[name] for name in honest[3:]}, {simulate.CLAIM})
        found = self.clocks(folder=folder)
        for name in honest[:2]:
            self.assertEqual({(row["reason"], row["offset"]) for row in found if row["host"] == name}, {("too_far", None)}, name)
        self.assertEqual({row["reason"] for row in found if row["host"] == honest[2]}, {None})
        reasons = lambda rows: {(row["window_start"], row["host"]): row["reason"] for row in rows if row["host"] not in honest[:2]}
        self.assertEqual(reasons(found), reasons(self.clocks()))

    def test_a_receiver_days_off_is_not_taken_for_loss_alone(self):
        folder = self.copy()
        [path] = [path for path in (folder / "timestamps").rglob("*.parquet")][:1]
        rows = parquet.ParquetFile(path).read()
        days = [3 * simulate.DAY if direction == "rx" else 0 for direction in rows["direction"].to_pylist()]
        later = compute.add(rows["utc_minus_ticks"], pa.array(days, pa.int64()))
        received = sum(direction == "rx" for direction in rows["direction"].to_pylist())
        rows = rows.set_column(rows.schema.get_field_index("utc_minus_ticks"), "utc_minus_ticks", later)
        path.unlink()
        writing.write_file(rows.cast(schema.TABLES["timestamps"]).replace_schema_metadata(rows.schema.metadata), path)
        flows = set(rows["flow"].to_pylist())
        _, out, _ = run("latency", folder)
        found = [row for row in lines(out) if row["flow"] in flows]
        self.assertTrue(all(row["missing"] == row["sent"] and row["median"] is None for row in found))
        self.assertEqual(sum(row["unmatched"] for row in found), received)
        # what was not converted at the sender was received all the same
        _, out, _ = run("latency", self.folder)
        self.assertLess(sum(row["unmatched"] for row in lines(out)), 20)

    def test_functions_convert_by_modulo_and_refuse_what_is_no_time(self):
        most, at = 2**63 - 1, simulate.START
        wrapped = lambda number: (number + 2**63) % 2**64 - 2**63
        for ticks, expected in ((0, at), (-6, at), (-(2**63), at), (-(2**63) + 5, at), (most, at), (at, at)):
            words = f"SELECT utc(t, u) AS utc, earliest(t, u, 5) AS first, latest(t, u, 5) AS last, earliest(t, u, NULL) AS none FROM (SELECT '{ticks}'::BIGINT AS t, '{wrapped(at - ticks)}'::BIGINT AS u)"
            _, out, err = run("query", self.folder, words)
            self.assertEqual((lines(out), err), ([{"utc": expected, "first": expected - 5, "last": expected + 5, "none": None}], ""), ticks)
        hour = simulate.HOUR
        for at, expected in ((0, 0), (hour - 1, 0), (hour, hour), (most, most // hour * hour), ("NULL", None)):
            _, out, _ = run("query", self.folder, f"SELECT hour_of({at}) AS hour")
            self.assertEqual(lines(out), [{"hour": expected}], at)
        for ticks, difference in ((most, 1), (-1, -1), (-5, 2), (-(2**63), -1)):
            _, out, _ = run("query", self.folder, f"SELECT utc('{ticks}'::BIGINT, {difference}::BIGINT) AS utc")
            expected = (ticks + difference) % 2**64
            self.assertEqual(lines(out), [{"utc": expected if expected < 2**63 else None}], (ticks, difference))

    def test_latency_in_parts_goes_on_where_it_was_interrupted(self):
        for more in ([], ["--packets"]):
            whole = lines(run("latency", self.folder, *more)[1])
            place = pathlib.Path(tempfile.mkdtemp(dir=self.temporary.name))
            code, out, err = run("latency", self.folder, *more, "--output", place)
            self.assertEqual((code, err), (0, ""))
            parts = sorted(place.glob("*.parquet"))
            self.assertGreater(len(parts), 3)
            found = [row for part in parts for row in parquet.ParquetFile(part).read().to_pylist()]
            order = lambda rows: sorted(rows, key=lambda row: json.dumps(row))
            self.assertEqual(order(found), order(whole))
            # one part was not there yet, another is half of a file
            before = {part: part.stat().st_mtime_ns for part in parts}
            parts[0].unlink()
            parts[1].write_bytes(parts[1].read_bytes()[:100])
            _, out, _ = run("latency", self.folder, *more, "--output", place)
            self.assertIn(f"{len(parts) - 2} of them from an earlier run", out)
            self.assertEqual({part: part.stat().st_mtime_ns for part in parts[2:]}, {part: before[part] for part in parts[2:]})
            found = [row for part in parts for row in parquet.ParquetFile(part).read().to_pylist()]
            self.assertEqual(order(found), order(whole))
        # another question, or other files: nothing is kept
        _, out, _ = run("latency", self.folder, "--most", 5_000, "--packets", "--output", place)
        self.assertIn("0 of them from an earlier run", out)

    def test_a_small_memory_gives_the_same_answer(self):
        more = pathlib.Path(self.temporary.name) / "more"
        simulate.run(more, simulate.Fleet(hosts=20, links=2, windows=2, flows=8, packets=60_000, wrong=0, seed=3))
        few, many = (run("latency", more, "--packets", "--memory", size, "--output", more / f"{size}.parquet") for size in ("60MB", "4GB"))
        self.assertEqual((few, many), ((0, "", ""), (0, "", "")))
        self.assertEqual(parquet.read_table(more / "60MB.parquet"), parquet.read_table(more / "4GB.parquet"))
        code, out, err = run("latency", more, "--memory", "nonsense")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("--memory nonsense", err)

    def test_a_file_that_was_checked_is_checked_again_when_it_changes(self):
        folder = self.copy()
        path = probes_of(folder)
        count = lambda: run("query", folder, "SELECT COUNT(*) AS rows FROM probes")
        self.assertEqual(count()[0], 0)
        self.assertEqual(count()[0], 0)
        whole = path.read_bytes()
        path.write_bytes(whole[:20_000] + bytes(byte ^ 0x55 for byte in whole[20_000:20_400]) + whole[20_400:])
        code, out, err = count()
        self.assertEqual((code, out), (2, ""))
        self.assertIn(path.name, err)
        # only files of the tables that are asked for matter
        self.assertEqual(run("query", folder, "SELECT COUNT(*) AS rows FROM estimates")[0], 0)


if __name__ == "__main__":
    unittest.main()
