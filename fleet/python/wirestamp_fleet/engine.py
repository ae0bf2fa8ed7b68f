"""Runs the SQL of this package and its kernels: in this process with DuckDB, or on Spark. Both give the same integers."""

import collections
import contextlib
import itertools
import os
import pathlib
import re
import sys
import tempfile

import numpy
import pyarrow as pa
import pyarrow.compute as compute

from . import flows, interrupted, kernel, places, quantiles, sound
from . import progress as bars
from .claims import Claims
from .ordered import in_order
from .schema import ADDED, TABLES, sound_condition, written
from .scope import ALL
from .store import Again, Refused, files

CONFIGURED = "configured"
BATCH = 1 << 14
"""Rows of an answer that are on their way together."""
LEAST = 64 << 20
"""Bytes without which the embedded engine does not work."""
LINK = 2_000
"""Of memory for each row of `probes` that is held: the rows are a sixteenth of it."""
SOLVED = 64 << 20
"""Of memory for each window that is solved at the same time."""
PART = 1 << 20
"""Timestamps that Spark's executors join at a time, about."""
LARGEST_PART = 1 << 22
"""Timestamps that they join at a time at most: 0.7 GB for the kernel."""
MOST_PARTS = 1 << 16
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
    """Which tables a statement asks for: only their files are looked at. `scope`: which part of them. `look_at`: as of store.files."""

    def __init__(self, folder, skip, scope, progress, look_at=None):
        self.place = places.of(folder)
        self.known = {}
        self.carried = False
        """Whether `estimates` are to have what was said before the part that is asked for and holds in it."""
        self._skip, self._scope, self._progress, self._look_at = skip, scope, progress, look_at

    def needed(self, statement):
        """The files of each table that is asked for the first time."""
        if not self.known and not self.place.exists():
            raise Refused(f"{self.place}: no such folder")
        for table in TABLES:
            if table not in self.known and re.search(rf"\b{table}\b", statement, re.IGNORECASE):
                if "bucket=" in self._scope.only and table != "timestamps":
                    raise Refused(f"--only {self._scope.only}: {table} has no buckets")
                carried = table == "estimates" and (self.carried or self._scope.is_time)
                # a host whose clock is days off files its claims under other days
                scope = ALL if carried and self.carried and self._scope.is_time else self._scope
                self.known[table] = files(self.place, table, self._skip, scope, self._progress(f"check {table}"), self._look_at, carried)
                yield self.known[table]

    def condition(self, found):
        """Which rows of a table count, in SQL; none for all."""
        # a window may last longer than the time that is asked for: of claims, those count that hold in it
        times = "" if self.carried and found.table == "estimates" else self._scope.rows(found.table)
        return " AND ".join(filter(None, [times, sound_condition(found.table) if found.partly else ""]))

    def remove_gone(self):
        """The tables of which files were removed since they were listed. An error, unless they are to be passed over."""
        return [found for found in self.known.values() if found.remove_gone(self.place, self._skip)]


class Duck:
    """The embedded engine. Holds at most `memory`, then spills to disk."""

    name = "embedded"

    def __init__(self, folder, memory="4GB", skip=False, scope=ALL, progress=bars.silent):
        import duckdb

        self._spill = tempfile.TemporaryDirectory(prefix="wirestamp-fleet-")
        interrupted.left.add(self._spill.name)
        try:
            self._connection = duckdb.connect(config={"memory_limit": memory, "temp_directory": self._spill.name})
        except duckdb.Error as error:
            raise Refused(f"--memory {memory}: {error}") from error
        [[limit]] = self._connection.sql("SELECT current_setting('memory_limit')").fetchall()
        self._memory = flows.bytes_of(limit)
        # the rest is for the answer on its way and the kernels
        self._connection.execute(f"SET memory_limit = '{max(self._memory // 2, min(self._memory, LEAST))}B'")
        self.progress = progress
        self._tables = Tables(folder, skip, scope, progress)
        self._place = self._tables.place
        if isinstance(self._place, places.Store):
            self._connection.register_filesystem(self._place.for_duckdb())
        for name, parameters, body in functions("//"):
            names = ", ".join(parameter.split()[0] for parameter in parameters)
            self._connection.execute(f"CREATE MACRO {name}({names}) AS {body}")

    def sql(self, statement):
        """The answer as an Arrow table."""
        while True:
            with contextlib.suppress(Again):
                return self.stream(statement).read_all()

    def stream(self, statement):
        """The answer as it comes, in batches. Again: a file was removed meanwhile, which is left out the next time."""
        for found in self._tables.needed(statement):
            self._view(found)
        return self._reader(statement)

    def _reader(self, statement):
        answer = self._guarded(lambda: self._connection.sql(statement))
        if answer is None:
            return pa.RecordBatchReader.from_batches(pa.schema([]), [])
        reader = self._guarded(lambda: answer.to_arrow_reader(BATCH))
        schema = whole_numbers(reader.schema)
        return pa.RecordBatchReader.from_batches(schema, self._batches(reader, schema))

    def _batches(self, reader, schema):
        with bars.asked(self.progress, "query", self._connection.query_progress):
            while True:
                try:
                    batch = self._guarded(reader.read_next_batch)
                except StopIteration:
                    return
                yield fitting(batch, schema)

    def _guarded(self, ask):
        import duckdb

        try:
            return ask()
        except duckdb.InterruptException as error:
            raise KeyboardInterrupt from error
        except RuntimeError as error:
            if "interrupted" in str(error).lower():
                raise KeyboardInterrupt from error
            raise
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            if gone := self._tables.remove_gone():
                for found in gone:
                    self._view(found)
                raise Again from error
            text = str(error).strip()
            # what a store's client says comes as Python prints it
            raise Refused(text.splitlines()[-1] if text.startswith("Traceback") else text) from error

    def _view(self, found, names=None, where=""):
        """A table as a view of its files, or of those named."""
        table, names = found.table, found.segments.instead(found.keys if names is None else names)
        if not names:
            self.add(table, written(table).empty_table())
            return
        conditions = " AND ".join(filter(None, [where, self._tables.condition(found)]))
        added = ADDED.get(table, [])
        self._guarded(lambda: self._connection.read_parquet(names, hive_partitioning=False, union_by_name=bool(added)).create_view(f"{table}_files", replace=True))
        source = f"{table}_files"
        if added:
            # where no file has a column, it is NULL all the same
            nothing = ", ".join(f'NULL::BIGINT AS "{field.name}"' for field in added)
            source = f"(SELECT * FROM {source} UNION ALL BY NAME SELECT {nothing} WHERE false)"
        self._connection.sql(f'CREATE OR REPLACE VIEW "{table}" AS SELECT {_columns(table)} FROM {source} {conditions and "WHERE "}{conditions}')

    def quoted(self, text):
        """A text in a statement."""
        return "'" + text.replace("'", "''") + "'"

    @contextlib.contextmanager
    def _only_of(self, names, where=""):
        """Has `timestamps` be some files and rows for what is asked meanwhile."""
        known = self._tables.known["timestamps"]
        self._view(known, names, where)
        try:
            yield
        finally:
            self._view(known)

    def add(self, name, rows):
        self._connection.sql(f'DROP VIEW IF EXISTS "{name}"')
        self._connection.register(name, rows)

    def packets(self, most):
        """One row for each packet that was sent."""
        return self.stream(text("latency", most=most) + PACKETS)

    def flows(self, most):
        """One row for each flow. Both directions of one are in one bucket, so each bucket is joined by itself."""
        while True:
            with contextlib.suppress(Again):
                parts = [part for found in self.buckets().values() for part in self._split(found)]
                rows = pa.concat_tables([kernel.FLOWS.empty_table(), *self._joined(parts, most)])
                return rows.sort_by([("host", "ascending"), ("flow", "ascending")])

    def buckets(self):
        """The files of each bucket of `timestamps`; all of them as one, if some are in no bucket."""
        for found in self._tables.needed("timestamps"):
            self._view(found)
        apart = collections.defaultdict(list)
        for path in self.keys():
            apart[path.split("/")[-2]].append(path)
        whole = not apart or not all(name.startswith("bucket=") for name in apart)
        return {"bucket=all": list(self.keys())} if whole else dict(sorted(apart.items()))

    def keys(self):
        """The files of `timestamps`, with what they must still have to be the same."""
        return self._tables.known["timestamps"].keys

    def part(self, found, most, packets):
        """The answer from some files of `timestamps`, a table or its batches: a row for each packet, or for each flow."""
        if not packets:
            return pa.concat_tables([kernel.FLOWS.empty_table(), *self._joined(self._split(found), most)])
        self._view(self._tables.known["timestamps"], found)
        return self._reader(text("latency", most=most) + PACKETS)

    def _split(self, found):
        """Parts for the kernel that fit into the memory, by flow where the files are too large."""
        _, most = flows.several(self._memory)
        known = self._tables.known["timestamps"]
        found = known.segments.instead(found)
        rows = self._guarded(lambda: flows.rows_of(self._place, found))
        if rows <= most:
            return [flows.Part(self._place, found, rows, known.partly)] if found else []
        with self._only_of(found):
            counts = self._reader("SELECT flow, COUNT(*) AS rows FROM timestamps GROUP BY flow ORDER BY flow").read_all()
        counts = zip(counts["flow"].to_pylist(), counts["rows"].to_pylist(), strict=True)
        return [flows.Part(self._place, found, rows, known.partly, first, last) for first, last, rows in flows.split(counts, most)]

    def _joined(self, parts, most):
        """The rows of each part. What is larger than the memory is left to SQL, which spills."""
        count, rows = flows.several(self._memory)
        fit = [part for part in parts if part.rows <= rows]
        large = [part for part in parts if part.rows > rows]
        answers = itertools.chain(flows.answers(fit, most, count), (self._spilling(part, most) for part in large))
        show, done, total = self.progress("join"), 0, sum(part.rows for part in parts)
        answers = iter(answers)
        for part in fit + large:
            yield self._guarded(lambda: next(answers))
            done += part.rows
            show(done / max(total, 1))

    def _spilling(self, part, most):
        """The same as `Part.answer`."""
        with self._only_of(part.files, f"flow BETWEEN {part.first} AND {part.last}"):
            self._connection.sql(f"CREATE OR REPLACE TEMP VIEW delays AS {text('latency', most=most)}")
            return _exactly(self._reader(text("pairs", **DUCK_QUANTILES)).read_all(), kernel.FLOWS)

    def clocks(self, options):
        """The mesh of each window, in their order, as they are solved."""
        return pa.RecordBatchReader.from_batches(kernel.CLOCKS, self._clocks(options))

    def _clocks(self, options):
        """So many windows are in memory as are solved at a time, and those that the engine gave beside."""
        several = max(min(os.cpu_count() or 1, self._memory // SOLVED), 1)
        for solved in in_order(lambda window: kernel.window(*window, options), self._windows(options), several, several):
            yield from solved.to_batches()

    def _windows(self, options):
        """Of each window, in their order, the links and what hosts claim of their clocks."""
        show = self.progress("clocks")
        ranges = list(self._ranges())
        for number, (first, last) in enumerate(ranges):
            links = _exactly(self._reader(text("links", some=f"window_start BETWEEN {first} AND {last}")).read_all(), kernel.LINKS)
            length = compute.max(links["length"]).as_py() or 0
            said = claimed(self, first, last + length)
            for window in kernel.windows(links):
                yield window, said.of(window, options.drift_ppb)
            show((number + 1) / len(ranges))

    def _ranges(self):
        """First and last window of several that fit into the memory together; one at least."""
        held, first, last = 0, None, None
        for batch in self.stream("SELECT window_start, COUNT(*) AS rows FROM probes GROUP BY window_start ORDER BY window_start"):
            for start, rows in zip(batch["window_start"].to_pylist(), batch["rows"].to_pylist(), strict=True):
                if first is not None and held + rows > self._memory // LINK:
                    yield first, last
                    held, first = 0, None
                held, first, last = held + rows, start if first is None else first, start
        if first is not None:
            yield first, last


class Spark:
    """Apache Spark: local, or a cluster whose address `master` is."""

    name = "spark"

    def __init__(self, folder, master="local[2]", skip=False, scope=ALL, progress=bars.silent):
        """`master`: CONFIGURED for what spark-submit or spark-defaults.conf says."""
        self._session = _session(master)
        self._skip, self._named = skip, folder if places.is_url(folder) else os.path.abspath(folder)
        self._tables = Tables(self._named, skip, scope, progress, self._look_at)
        for name, parameters, body in functions("DIV"):
            self._session.sql(f"CREATE OR REPLACE TEMPORARY FUNCTION {name}({', '.join(parameters)}) RETURNS BIGINT RETURN {body}")

    def _look_at(self, place, table, names):
        """Has the executors look at the files: there may be more than one machine reads."""
        if not names:
            return
        context, named = self._session.sparkContext, self._named

        def look(some):
            there = places.of(named)
            return [sound.look(there, name, table) for name in some]

        parts = min(len(names), 4 * context.defaultParallelism)
        yield from zip(names, self._guarded(context.parallelize(names, parts).mapPartitions(look).collect), strict=True)

    def sql(self, statement):
        answer = self._guarded(lambda: self._frame(statement).toArrow())
        # with `skip`, Spark passes over them
        self._tables.remove_gone()
        return answer

    def stream(self, statement):
        """The answer as one batch reader; the driver holds it."""
        return self.sql(statement).to_reader(BATCH)

    def _frame(self, statement):
        for found in self._tables.needed(statement):
            table = found.table
            rows = self._rows(found)
            if condition := self._tables.condition(found):
                rows = rows.filter(condition)
            rows.select(*written(table).names).createOrReplaceTempView(table)
        return self._session.sql(quantiles.exact(statement))

    def _rows(self, found):
        """A table as Spark reads it, without files that were removed meanwhile."""
        schema = written(found.table)
        while found.keys:
            with contextlib.suppress(Again):
                return self._read(found.keys, schema)
        return self._session.createDataFrame([], _spark_schema(schema))

    def _read(self, names, schema):
        reader = self._session.read.schema(_spark_schema(schema)).option("ignoreMissingFiles", str(self._skip).lower())
        return self._guarded(lambda: reader.parquet(*map(places.for_spark, names)))

    def _guarded(self, ask):
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        try:
            return ask()
        except PySparkException as error:
            if self._tables.remove_gone():
                raise Again from error
            raise Refused(str(error).partition("\n\nJVM stacktrace")[0]) from error
        except Py4JJavaError as error:
            self._tables.remove_gone()
            lines = str(error).splitlines()
            if any(re.search(r"Class org\.apache\.hadoop\.fs\.\S+ not found|No FileSystem for scheme", line) for line in lines):
                raise Refused(NO_CONNECTOR) from error
            causes = [line for line in lines if line.startswith("Caused by: ")]
            raise Refused(f"Spark: {(causes or lines)[-1]}") from error

    def add(self, name, rows):
        self._session.createDataFrame(rows).createOrReplaceTempView(name)

    def quoted(self, text):
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def packets(self, most):
        return self.stream(text("latency", most=most) + PACKETS)

    def flows(self, most):
        """One row for each flow, by the kernel; by SQL, which spills, if flows are too large for an executor."""
        sizes = self.sql(f"SELECT pmod(xxhash64(flow), {MOST_PARTS}) AS part, COUNT(*) AS n FROM timestamps GROUP BY 1")
        parts = parts_of(sizes["part"].to_numpy(), sizes["n"].to_numpy())
        if parts is None:
            self._guarded(lambda: self._frame(text("latency", most=most)).createOrReplaceTempView("delays"))
            return self.sql(text("pairs", **SPARK_QUANTILES))

        def join(some):
            joined = flows.Joined(some.num_rows)
            joined.add(some)
            return joined.flows(most)

        def answer():
            statement = f"SELECT {', '.join(flows.COLUMNS)}, pmod(xxhash64(flow), {parts}) AS part FROM timestamps"
            return self._frame(statement).groupBy("part").applyInArrow(join, _spark_schema(kernel.FLOWS)).toArrow()

        found = _exactly(self._guarded(answer), kernel.FLOWS).sort_by([("host", "ascending"), ("flow", "ascending")])
        self._tables.remove_gone()
        return found

    def clocks(self, options):
        claims = claimed(self)

        def solve(window):
            links = _exactly(window, kernel.LINKS)
            return kernel.window(links, claims.of(links, options.drift_ppb), options)

        def answer():
            groups = self._frame(text("links", some="TRUE")).groupBy("window_start")
            return groups.applyInArrow(solve, _spark_schema(kernel.CLOCKS)).toArrow()

        rows = _exactly(self._guarded(answer), kernel.CLOCKS).sort_by([("window_start", "ascending"), ("host", "ascending")])
        self._tables.remove_gone()
        return rows.to_reader(BATCH)

    def stop(self):
        self._session.stop()


def _session(master):
    """A session whose configuration is the user's: only where it says nothing, a master on this machine gets what suits it."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    SparkContext._ensure_initialized()  # reads spark-defaults.conf, and what spark-submit was told
    conf = SparkConf(_jvm=SparkContext._jvm)
    if master != CONFIGURED:
        conf.setMaster(master)
    unless = {"spark.app.name": "wirestamp-fleet", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower()}
    if conf.get("spark.master").startswith("local"):
        unless["spark.sql.shuffle.partitions"] = "8"
        if not {"SPARK_LOCAL_IP", "SPARK_LOCAL_HOSTNAME"} & set(os.environ):
            unless |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    for key, value in unless.items():
        conf.setIfMissing(key, value)
    # unless something is said, the workers' Python is this one, with this package
    os.environ.setdefault("PYSPARK_PYTHON", conf.get("spark.pyspark.python") or sys.executable)
    session = SparkSession.builder.config(conf=conf).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    # what the statements of this package mean
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set("spark.sql.ansi.enabled", "true")
    session.conf.set("spark.sql.ansi.doubleQuotedIdentifiers", "true")
    return session


def parts_of(numbers, counts):
    """Into how many parts Spark divides flows by their hash; None if one of `MOST_PARTS` would be too large. A power of two. `numbers`: parts of as many as
    there can be, with their timestamps."""
    parts = 1
    while parts < MOST_PARTS and int(counts.sum()) // parts > PART:
        parts *= 2
    while parts <= MOST_PARTS:
        if numpy.bincount(numbers % parts, counts, 1).max() <= LARGEST_PART:
            return parts
        parts *= 2
    return None


def claimed(engine, first=None, last=None):
    """What each host says of its clock; with `first` and `last`, what is said of other times is read when it is asked for."""
    engine._tables.carried = True
    return Claims(lambda some: engine.sql(text("claims", some=some)), first, last)


def whole_numbers(schema):
    """A schema in which sums of integers, which DuckDB makes of 128 bits, have 64, as in Spark."""
    fits = lambda kind: pa.types.is_decimal(kind) and kind.scale == 0 and kind.precision > 18
    return pa.schema([field.with_type(pa.int64()) if fits(field.type) else field for field in schema])


def fitting(batch, schema):
    """A batch with the types of a schema."""
    try:
        columns = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
    except pa.ArrowInvalid as error:
        raise Refused(f"{error}: 64 bits do not hold a sum of the answer; CAST(... AS DOUBLE) what is summed") from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _columns(table):
    return ", ".join(f'"{name}"' for name in written(table).names)


def _exactly(rows, schema):
    """The columns of a schema, in its order; integers of other widths become 64 bits, and a value that does not fit is an error."""
    return rows.select(schema.names).cast(schema)


def _spark_schema(schema):
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    return StructType(
        [StructField(field.name, StringType() if field.type == pa.string() else LongType()) for field in schema]
    )
