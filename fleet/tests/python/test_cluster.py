"""The same integers from DuckDB, Spark in one process and a Spark cluster of three workers in network namespaces of their own, also if workers are killed with -9.

SPARK=1 runs this; it takes Java 17 or later."""

import contextlib
import io
import os
import pathlib
import shutil
import tempfile
import threading
import time
import unittest
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as parquet

from wirestamp_fleet import engine, flows, kernel, main, schema, scope, simulate, sound, store, writing

FLEET = simulate.Fleet(hosts=100, links=6, windows=12, flows=60, packets=int(os.environ.get("PACKETS", 3_000)), wrong=5, seed=9)
WORKERS = 3
MOST = 10**9
WAIT = 300
"""Seconds after which a job that never came to the part in question is given up."""


@unittest.skipUnless(os.environ.get("SPARK"), "SPARK=1 runs it")
class Clusters(unittest.TestCase):
    maxDiff = 1_000

    @classmethod
    def setUpClass(cls):
        from cluster import SPARK, Loopback, Network

        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.work = pathlib.Path(temporary.name)
        cls.folder = cls.work / "fleet"
        simulate.run(cls.folder, FLEET)
        delays = parquet.read_table(cls.folder / "delays.parquet").to_pylist()
        cls.options = kernel.Options(delays={(row["host"], row["peer"]): (row["forward"], row["backward"]) for row in delays})
        cls.marks = cls.work / "marks"
        cls.marks.mkdir()
        (cls.marks / "go").touch()
        workers = pathlib.Path(__file__).with_name("workers")
        path = os.environ.get("PYTHONPATH", "")
        settings = cls.work / "conf"
        settings.mkdir()
        # a lost worker's shuffle files are given up sooner than after the default 15 s
        (settings / "spark-defaults.conf").write_text(
            "spark.shuffle.io.maxRetries 1\nspark.shuffle.io.retryWait 1s\n"
            # a task for each file, so that there are tasks enough to lose one of
            "spark.sql.files.maxPartitionBytes 5m\nspark.sql.adaptive.coalescePartitions.enabled false\n"
            # neither is what a session would have if nothing was said
            "spark.sql.shuffle.partitions 11\nspark.sql.session.timeZone America/New_York\n"
            f"spark.executorEnv.PYTHONPATH {workers}{':' * bool(path)}{path}\nspark.executorEnv.WIRESTAMP_FLEET_MARKS {cls.marks}\n"
        )
        cls.network = Network() if os.geteuid() == 0 else Loopback()
        cls.addClassCleanup(cls.network.remove)
        os.environ |= {"SPARK_CONF_DIR": str(settings), "SPARK_LOCAL_IP": cls.network.address, "SPARK_HOME": str(SPARK)}
        # a dozen Java programs that each live for some seconds: most of their time would be the optimising compiler's
        os.environ["JAVA_TOOL_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
        cls.embedded = {name: ask(engine.Duck(cls.folder)) for name, ask in cls.asked().items()}

    @classmethod
    def asked(cls):
        """Every query and kernel of the package, and SQL as users write it."""
        return {
            "clocks": lambda running: running.clocks(cls.options).read_all(),
            "packets": lambda running: running.packets(MOST).read_all(),
            "flows": lambda running: running.flows(MOST),
            "links": lambda running: running.sql(engine.text("links", some="TRUE")),
            "claims": lambda running: engine.claimed(running).at(simulate.START, simulate.WINDOW),
            "functions": lambda running: running.sql(
                "SELECT host, hour_of(utc(ticks, utc_minus_ticks)) AS hour, COUNT(*) AS n,"
                " MIN(earliest(ticks, utc_minus_ticks, error_bound)) AS first, MAX(latest(ticks, utc_minus_ticks, error_bound)) AS last,"
                " percentile_disc(0.5) WITHIN GROUP (ORDER BY error_bound) AS median, SUM(error_bound) AS bounds,"
                " percentile_disc(0.5) WITHIN GROUP (ORDER BY utc(ticks, utc_minus_ticks)) AS middle,"
                " Percentile_Disc(0.99) within group (order by utc(ticks, utc_minus_ticks) DESC) FILTER (WHERE direction = 'tx') AS early"
                " FROM timestamps WHERE utc(ticks, utc_minus_ticks) IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2"
            ),
        }

    def same(self, running, name):
        answer, expected = self.asked()[name](running), self.embedded[name]
        if name == "claims":
            self.assertEqual(answer, expected)
            return
        self.assertEqual(answer.schema.names, expected.schema.names)
        self.assertGreater(expected.num_rows, 50)
        self.assertEqual(answer.num_rows, expected.num_rows, name)
        for column in expected.schema.names:
            self.assertEqual(answer[column].type, expected[column].type, column)
            if not answer[column].cast(expected[column].type).equals(expected[column]):
                self.assertEqual(answer[column].to_pylist(), expected[column].to_pylist(), (name, column))

    def test_spark_in_one_process(self):
        running = engine.Spark(self.folder)
        self.addCleanup(running.stop)
        for name in self.embedded:
            with self.subTest(name):
                self.same(running, name)
        with self.subTest("flows by the kernel in many parts"):
            with mock.patch.object(engine, "PART", 1_000), mock.patch.object(engine, "text", side_effect=AssertionError("SQL joins")):
                self.same(running, "flows")
        with self.subTest("flows by SQL"):
            with mock.patch.object(engine, "LARGEST_PART", 0), mock.patch.object(flows, "Joined", side_effect=AssertionError("the kernel joins")):
                self.same(running, "flows")
        with self.subTest("a time"):
            part = scope.Scope(first=simulate.START + 3 * simulate.WINDOW, last=simulate.START + 7 * simulate.WINDOW)
            answers = [ask(self.folder, scope=part) for ask in (engine.Duck, engine.Spark)]
            rows = [answer.clocks(self.options).read_all().to_pylist() for answer in answers]
            self.assertEqual(len({row["window_start"] for row in rows[0]}), 4)
            self.assertEqual(rows[1], rows[0])
            counts = [answer.sql("SELECT COUNT(*) AS n FROM timestamps").to_pylist() for answer in answers]
            self.assertEqual(counts[1], counts[0])

    def test_the_configuration_decides(self):
        running = engine.Spark(self.folder, "local[1]")
        self.addCleanup(running.stop)
        said = running._session.conf
        self.assertEqual([said.get(name) for name in ("spark.sql.shuffle.partitions", "spark.driver.host")], ["11", self.network.address])
        self.assertEqual(said.get("spark.sql.session.timeZone"), "UTC", "statements mean the same everywhere")
        self.assertEqual(engine._session(engine.CONFIGURED).sparkContext.master, "local[1]", "what is configured, and else running")

    def test_executors_look_at_files_and_the_driver_reads_none(self):
        """A damaged file, a row that makes no sense and a file that is removed are named as by the embedded engine."""
        folder = self.work / "odd"
        shutil.copytree(self.folder, folder)
        (folder / ".wirestamp-checked.json").unlink(missing_ok=True)
        [path] = (folder / "probes" / "day=2026-11-23" / "hour=00").glob("*.parquet")
        rows = parquet.ParquetFile(path).read()
        first = rows.slice(0, 1).set_column(rows.schema.get_field_index("window"), "window", pa.array([-5]))
        writing.write_file(first.cast(rows.schema), path.with_name("row.parquet"))
        path.with_name("damaged.parquet").write_bytes(path.read_bytes()[:-99])
        gone = path.with_name("gone.parquet")
        shutil.copy(path, gone)
        files = store.files
        removed = lambda *words: (files(*words), words[1] == "probes" and gone.unlink())[0]
        out, err = io.StringIO(), io.StringIO()
        with mock.patch.object(sound, "look", side_effect=AssertionError("the driver reads")), mock.patch.object(engine, "files", removed):
            running = engine.Spark(folder, "local[1]", skip=True)
            self.addCleanup(running.stop)
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                answer = running.clocks(self.options).read_all()
        self.assertEqual(answer.to_pylist(), self.embedded["clocks"].to_pylist())
        for text in ("damaged.parquet: damaged", "window is -5, not between", f"skipped {gone}: removed"):
            self.assertIn(text, err.getvalue())

    def test_a_store_without_a_connector_is_an_error_that_says_so(self):
        running = engine.Spark(self.folder, "local[1]")
        self.addCleanup(running.stop)
        for url in ("s3://bucket/file.parquet", "gs://bucket/file.parquet"):
            with self.assertRaisesRegex(store.Refused, "spark-defaults.conf"):
                running._read([url], schema.TABLES["probes"])

    def test_an_answer_that_the_driver_may_not_hold_is_refused(self):
        before = engine.Spark(self.folder)
        system = before._session.sparkContext._jvm.java.lang.System
        before.stop()
        system.setProperty("spark.driver.maxResultSize", "10k")
        self.addCleanup(system.clearProperty, "spark.driver.maxResultSize")
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main.main(["latency", str(self.folder), "--packets", "--spark", "local[1]"])
        self.addCleanup(engine.Spark(self.folder, "local[1]").stop)
        self.assertEqual((code, out.getvalue()), (2, ""))
        self.assertRegex(err.getvalue(), "^error: Spark: .*maxResultSize")

    def test_killed_workers_change_nothing(self):
        from cluster import Cluster

        cluster = Cluster(self.work, WORKERS, self.network)
        self.addCleanup(cluster.stop)
        running = engine.Spark(self.folder, cluster.master)
        self.addCleanup(running.stop)
        with self.subTest("nobody killed"):
            for name in self.embedded:
                self.same(running, name)
        writes = lambda stage: stage.inputBytes() > 0 and stage.shuffleWriteBytes() > 0
        reads = lambda stage: stage.shuffleReadBytes() > 0
        for what, part in (("shuffle write", writes), ("shuffle read", reads)):
            with self.subTest(what):
                self.assertTrue(any(self.lost_a_task(running, cluster, part) for _ in range(5)), f"no task was lost during {what}")
        with self.subTest("kernels"):
            (self.marks / "go").unlink()
            for mark in self.marks.iterdir():
                mark.unlink()
            killed = []
            killer = threading.Thread(target=self.kill_a_kernel, args=(cluster, killed), daemon=True)
            killer.start()
            self.same(running, "clocks")
            killer.join()
            self.assertEqual(len(killed), 1)
            # another executor solved the windows again
            self.assertGreater(len([mark for mark in self.marks.iterdir() if mark.name not in ("go", str(killed[0]))]), 0)

    def lost_a_task(self, running, cluster, part):
        """Whether a worker was killed that was at work on such a stage: it may have ended its task a moment before. The answer is
        the same in any case."""
        status = running._session.sparkContext._jsc.sc().getExecutorMemoryStatus
        end = time.monotonic() + WAIT
        while status().size() < WORKERS + 1 and time.monotonic() < end:  # and the driver
            time.sleep(0.1)
        watch = Watch(running, part, cluster)
        self.same(running, "packets")
        lost = watch.killed()
        if watch.stage is not None:
            cluster.add()
        return lost

    def kill_a_kernel(self, cluster, killed):
        end = time.monotonic() + WAIT
        while time.monotonic() < end and not killed:
            for mark in self.marks.iterdir():
                killed.append(int(mark.name))
                cluster.kill_of(killed[0])
                break
            time.sleep(0.05)
        (self.marks / "go").touch()


class Watch(threading.Thread):
    """Kills a worker as soon as every one is at work on a stage of a kind, some of whose tasks are done."""

    def __init__(self, running, part, cluster):
        super().__init__(daemon=True)
        self._store = running._session.sparkContext._jsc.sc().statusStore()
        self._part, self._cluster, self.stage, self._over = part, cluster, None, False
        self.start()

    def run(self):
        end = time.monotonic() + WAIT
        while time.monotonic() < end and self.stage is None and not self._over:
            active = self._store.activeStages()
            for stage in (active.apply(place) for place in range(active.size())):
                if stage.numActiveTasks() >= WORKERS and stage.numCompleteTasks() > 0 and self._part(stage):
                    self._cluster.kill_one()
                    self.stage = stage.stageId()
                    break
            time.sleep(0.01)

    def killed(self):
        """Ends the watch. Whether a task of that stage was lost."""
        self._over = True
        self.join()
        if self.stage is None:
            return False
        attempts = self._store.stageData(self.stage, False, *[getattr(self._store, f"stageData$default${n}")() for n in (3, 4, 5)])
        return any(attempts.apply(place).numFailedTasks() > 0 for place in range(attempts.size()))


if __name__ == "__main__":
    unittest.main()
