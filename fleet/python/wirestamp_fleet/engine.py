"""Runs the SQL of this package and its kernels: in this process with DuckDB, or on Spark. Both give the same integers."""

import collections
import itertools
import os
import pathlib
import re
import sys
import tempfile

import pyarrow as pa

from . import flows, kernel, places
from . import progress as bars
from .claims import STATEMENT, Claims
from .schema import TABLES
from .store import Refused, files

SQL = pathlib.Path(__file__).with_name("sql")
PACKETS = " ORDER BY host, flow, sequence, sent, delay, peer, error_bound NULLS FIRST, outcome"
DUCK_QUANTILES = {
    "ranked": "delays",
    # its ranks are exact integers
    "median": "quantile_disc(delay, 0.5) FILTER (WHERE outcome <> 'duplicate')",
    "p99": "quantile_disc(delay, 0.99) FILTER (WHERE outcome <> 'duplicate')",
}
SPARK_QUANTILES = {
    # percentile_disc has ranks in floating point there
    "ranked": """(SELECT *,
        ROW_NUMBER() OVER (PARTITION BY host, flow, delay IS NULL OR outcome = 'duplicate' ORDER BY delay) AS place,
        COUNT(*) OVER (PARTITION BY host, flow, delay IS NULL OR outcome = 'duplicate') AS places FROM delays)""",
    "median": "MIN(CASE WHEN delay IS NOT NULL AND outcome <> 'duplicate' AND place * 2 >= places THEN delay END)",
    "p99": "MIN(CASE WHEN delay IS NOT NULL AND outcome <> 'duplicate' AND place * 100 >= places * 99 THEN delay END)",
}


def text(name, **values):
    """An SQL text of this package."""
    return (SQL / f"{name}.sql").read_text().format(**values)


def functions(divided_by):
    """Name, parameters with their types, and body of each function for queries. `divided_by`: how the engine writes a division of integers."""
    lines = [line.partition("--")[0] for line in text("functions", divided_by=divided_by).splitlines()]
    found = re.findall(r"(\w+)\(([^)]*)\) RETURNS BIGINT AS\s(.*?);\n", "\n".join(lines) + "\n", re.DOTALL)
    return [(name, parameters.split(", "), " ".join(body.split())) for name, parameters, body in found]


NO_CONNECTOR = (
    "Spark reads object stores with Hadoop's connectors, and has none for this one: name it in spark-defaults.conf in the folder that SPARK_CONF_DIR names,"
    " for S3 spark.jars.packages with org.apache.hadoop:hadoop-aws in the version of Spark's Hadoop; or ask without --spark"
)


class Tables:
    """Which tables a statement asks for: only their files are looked at. `only`: of one day, hour or bucket."""

    def __init__(self, folder, skip, only, progress):
        self.place = places.of(folder)
        self.keys = {}
        self._skip, self._only, self._progress, self._known = skip, only, progress, set()

    def needed(self, statement):
        """Table and files of each that is asked for the first time."""
        if not self._known and not self.place.exists():
            raise Refused(f"{self.place}: no such folder")
        for table in TABLES:
            if table not in self._known and re.search(rf"\b{table}\b", statement, re.IGNORECASE):
                if "bucket=" in self._only and table != "timestamps":
                    raise Refused(f"--only {self._only}: {table} has no buckets")
                self._known.add(table)
                found = files(self.place, table, self._skip, self._only, self._progress(f"check {table}"))
                self.keys |= found
                yield table, list(found)


class Duck:
    """The embedded engine. Holds at most `memory`, then spills to disk."""

    name = "embedded"

    def __init__(self, folder, memory="4GB", skip=False, only="", progress=bars.silent):
        import duckdb

        self._spill = tempfile.TemporaryDirectory(prefix="wirestamp-fleet-")
        try:
            self._connection = duckdb.connect(config={"memory_limit": memory, "temp_directory": self._spill.name})
        except duckdb.Error as error:
            raise Refused(f"--memory {memory}: {error}") from error
        [[limit]] = self._connection.sql("SELECT current_setting('memory_limit')").fetchall()
        self._memory = flows.bytes_of(limit)
        self.progress = progress
        self._tables = Tables(folder, skip, only, progress)
        self._place = self._tables.place
        if isinstance(self._place, places.Store):
            self._connection.register_filesystem(self._place.for_duckdb())
        for name, parameters, body in functions("//"):
            names = ", ".join(parameter.split()[0] for parameter in parameters)
            self._connection.execute(f"CREATE MACRO {name}({names}) AS {body}")

    def sql(self, statement):
        """The answer as an Arrow table."""
        answer = self._relation(statement)
        if answer is None:
            return pa.table({})
        with bars.asked(self.progress, "query", self._connection.query_progress):
            return self._guarded(answer.to_arrow_table)

    def _relation(self, statement):
        for table, found in self._tables.needed(statement):
            self._view(table, found)
        return self._guarded(lambda: self._connection.sql(statement))

    def _guarded(self, ask):
        import duckdb

        try:
            return ask()
        except duckdb.Error as error:
            text = str(error).strip()
            # what a store's client says comes as Python prints it
            raise Refused(text.splitlines()[-1] if text.startswith("Traceback") else text) from error

    def _view(self, table, found, where=""):
        if found:
            self._guarded(lambda: self._connection.read_parquet(found, hive_partitioning=False).create_view(f"{table}_files", replace=True))
            self._connection.sql(f'CREATE OR REPLACE VIEW "{table}" AS SELECT {_columns(table)} FROM {table}_files {where}')
        else:
            self.add(table, TABLES[table].empty_table())

    def add(self, name, rows):
        self._connection.register(name, rows)

    def packets(self, most):
        """One row for each packet that was sent."""
        return self.sql(text("latency", most=most) + PACKETS)

    def flows(self, most):
        """One row for each flow. Both directions of one are in one bucket, so each bucket is joined by itself."""
        parts = [part for found in self.buckets().values() for part in self._split(found)]
        rows = pa.concat_tables([kernel.FLOWS.empty_table(), *self._joined(parts, most)])
        return rows.sort_by([("host", "ascending"), ("flow", "ascending")])

    def buckets(self):
        """The files of each bucket of `timestamps`; all of them as one, if some are in no bucket."""
        for _, found in self._tables.needed("timestamps"):
            self._timestamps = found
        apart = collections.defaultdict(list)
        for path in self._timestamps:
            apart[path.split("/")[-2]].append(path)
        whole = not apart or not all(name.startswith("bucket=") for name in apart)
        return {"bucket=all": self._timestamps} if whole else dict(sorted(apart.items()))

    def keys(self):
        """Of the files that were asked for so far, what they must still have to be the same."""
        return self._tables.keys

    def part(self, found, most, packets):
        """The answer from some files of `timestamps`, a table or its batches: a row for each packet, or for each flow."""
        if not packets:
            return pa.concat_tables([kernel.FLOWS.empty_table(), *self._joined(self._split(found), most)])
        self._view("timestamps", found)
        return self._guarded(lambda: self._connection.sql(text("latency", most=most) + PACKETS).to_arrow_reader())

    def _split(self, found):
        """Parts for the kernel that fit into the memory, by flow where the files are too large."""
        _, most = flows.several(self._memory)
        rows = flows.rows_of(self._place, found)
        if rows <= most:
            return [flows.Part(self._place, found, rows)] if found else []
        self._view("timestamps", found)
        counts = self.sql("SELECT flow, COUNT(*) AS rows FROM timestamps GROUP BY flow ORDER BY flow")
        counts = zip(counts["flow"].to_pylist(), counts["rows"].to_pylist(), strict=True)
        return [flows.Part(self._place, found, rows, first, last) for first, last, rows in flows.split(counts, most)]

    def _joined(self, parts, most):
        """The rows of each part. What is larger than the memory is left to SQL, which spills."""
        count, rows = flows.several(self._memory)
        fit = [part for part in parts if part.rows <= rows]
        large = [part for part in parts if part.rows > rows]
        answers = itertools.chain(flows.answers(fit, most, count), (self._spilling(part, most) for part in large))
        show, done, total = self.progress("join"), 0, sum(part.rows for part in parts)
        for part, answer in zip(fit + large, answers, strict=True):
            yield answer
            done += part.rows
            show(done / total)

    def _spilling(self, part, most):
        """The same as `Part.answer`."""
        self._view("timestamps", part.files, f"WHERE flow BETWEEN {part.first} AND {part.last}")
        self._connection.sql(f"CREATE OR REPLACE TEMP VIEW delays AS {text('latency', most=most)}")
        return _exactly(self.sql(text("pairs", **DUCK_QUANTILES)), kernel.FLOWS)

    def clocks(self, options):
        """The mesh of each window."""
        links = _exactly(self.sql(text("links")), kernel.LINKS)
        claims = claimed(self)
        windows, answers, show = list(kernel.windows(links)), [], self.progress("clocks")
        for window in windows:
            answers.append(kernel.window(window, claims.of(window), options))
            show(len(answers) / len(windows))
        return pa.concat_tables(answers) if answers else kernel.CLOCKS.empty_table()


class Spark:
    """Apache Spark: local, or a cluster whose address `master` is."""

    name = "spark"

    def __init__(self, folder, master="local[2]", skip=False, only="", progress=bars.silent):
        from pyspark.sql import SparkSession

        # the workers' Python is this one, with this package
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.appName("wirestamp-fleet").master(master)
        for key, value in {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower(),
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": "8",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.ansi.enabled": "true",
            "spark.sql.ansi.doubleQuotedIdentifiers": "true",
        }.items():
            builder = builder.config(key, value)
        self._session = builder.getOrCreate()
        self._session.sparkContext.setLogLevel("ERROR")
        self._tables = Tables(folder, skip, only, progress)
        for name, parameters, body in functions("DIV"):
            self._session.sql(f"CREATE OR REPLACE TEMPORARY FUNCTION {name}({', '.join(parameters)}) RETURNS BIGINT RETURN {body}")

    def sql(self, statement):
        return self._guarded(lambda: self._frame(statement).toArrow())

    def _frame(self, statement):
        for table, found in self._tables.needed(statement):
            if found:
                rows = self._read(found)
            else:
                rows = self._session.createDataFrame([], _spark_schema(TABLES[table]))
            rows.select(*TABLES[table].names).createOrReplaceTempView(table)
        return self._session.sql(statement)

    def _read(self, found):
        return self._guarded(lambda: self._session.read.parquet(*map(places.for_spark, found)))

    def _guarded(self, ask):
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        try:
            return ask()
        except PySparkException as error:
            raise Refused(str(error).partition("\n\nJVM stacktrace")[0]) from error
        except Py4JJavaError as error:
            lines = str(error).splitlines()
            if any(re.search(r"Class org\.apache\.hadoop\.fs\.\S+ not found|No FileSystem for scheme", line) for line in lines):
                raise Refused(NO_CONNECTOR) from error
            causes = [line for line in lines if line.startswith("Caused by: ")]
            raise Refused(f"Spark: {(causes or lines)[-1]}") from error

    def add(self, name, rows):
        self._session.createDataFrame(rows).createOrReplaceTempView(name)

    def packets(self, most):
        return self.sql(text("latency", most=most) + PACKETS)

    def flows(self, most):
        self._guarded(lambda: self._frame(text("latency", most=most)).createOrReplaceTempView("delays"))
        return self.sql(text("pairs", **SPARK_QUANTILES))

    def clocks(self, options):
        claims = claimed(self)

        def solve(window):
            links = _exactly(window, kernel.LINKS)
            return kernel.window(links, claims.of(links), options)

        def answer():
            groups = self._frame(text("links")).groupBy("window_start")
            return groups.applyInArrow(solve, _spark_schema(kernel.CLOCKS)).toArrow()

        return _exactly(self._guarded(answer), kernel.CLOCKS).sort_by([("window_start", "ascending"), ("host", "ascending")])

    def stop(self):
        self._session.stop()


def claimed(engine):
    """What each host says of its clock."""
    return Claims(engine.sql(STATEMENT))


def _columns(table):
    return ", ".join(f'"{name}"' for name in TABLES[table].names)


def _exactly(rows, schema):
    """The columns of a schema, in its order; integers of other widths become 64 bits, and a value that does not fit is an error."""
    return rows.select(schema.names).cast(schema)


def _spark_schema(schema):
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    return StructType(
        [StructField(field.name, StringType() if field.type == pa.string() else LongType()) for field in schema]
    )
