"""Runs the SQL of this package and its kernels: in this process with DuckDB, or on Spark. Both give the same integers."""

import os
import pathlib
import sys

import pyarrow as pa

from . import kernel
from .schema import TABLES
from .store import Refused, files

SQL = pathlib.Path(__file__).with_name("sql")


def text(name, **values):
    """An SQL text of this package."""
    return (SQL / f"{name}.sql").read_text().format(**{key: int(value) for key, value in values.items()})


class Duck:
    """The embedded engine. Holds at most `memory`, then spills to disk."""

    name = "embedded"

    def __init__(self, folder, memory="4GB", skip=False):
        import duckdb

        self._connection = duckdb.connect(config={"memory_limit": memory, "preserve_insertion_order": "true"})
        for table in TABLES:
            found = files(folder, table, skip)
            if found:
                self._connection.read_parquet(found, hive_partitioning=True).create_view(f"{table}_files")
                self._connection.sql(f'CREATE VIEW "{table}" AS SELECT {_columns(table)} FROM {table}_files')
            else:
                self.add(table, TABLES[table].empty_table())

    def sql(self, statement):
        """The answer as an Arrow table."""
        import duckdb

        try:
            answer = self._connection.sql(statement)
            return answer.to_arrow_table() if answer is not None else pa.table({})
        except duckdb.Error as error:
            raise Refused(str(error)) from error

    def add(self, name, rows):
        self._connection.register(name, rows)

    def clocks(self, options):
        """The mesh of each window."""
        links = _exactly(self.sql(text("links")), kernel.LINKS)
        claims = claimed(self)
        answers = [kernel.window(window, claims, options) for window in kernel.windows(links)]
        return pa.concat_tables(answers) if answers else kernel.CLOCKS.empty_table()


class Spark:
    """Apache Spark: local, or a cluster whose address `master` is."""

    name = "spark"

    def __init__(self, folder, master="local[2]", skip=False):
        from pyspark.sql import SparkSession

        # the workers' Python is this one, with this package
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.appName("wirestamp-fleet").master(master)
        for key, value in {
            "spark.ui.enabled": "false",
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
        for table in TABLES:
            found = files(folder, table, skip)
            if found:
                rows = self._session.read.parquet(*found)
            else:
                rows = self._session.createDataFrame([], _spark_schema(TABLES[table]))
            rows.select(*TABLES[table].names).createOrReplaceTempView(table)

    def sql(self, statement):
        return self._session.sql(statement).toArrow()

    def add(self, name, rows):
        self._session.createDataFrame(rows).createOrReplaceTempView(name)

    def clocks(self, options):
        claims = claimed(self)

        def solve(window):
            return kernel.window(_exactly(window, kernel.LINKS), claims, options)

        groups = self._session.sql(text("links")).groupBy("window_start")
        answer = groups.applyInArrow(solve, _spark_schema(kernel.CLOCKS)).toArrow()
        return _exactly(answer, kernel.CLOCKS).sort_by([("window_start", "ascending"), ("host", "ascending")])

    def stop(self):
        self._session.stop()


def claimed(engine):
    """What each host says of its clock, within how many nanoseconds of UTC it is: the largest bound beside the offset."""
    rows = engine.sql(
        'SELECT host, MAX(ABS("offset") + error_bound) AS claim FROM estimates'
        " WHERE clock = 'utc' AND \"offset\" IS NOT NULL GROUP BY host ORDER BY host"
    )
    return dict(zip(rows["host"].to_pylist(), (int(claim) for claim in rows["claim"].to_pylist()), strict=True))


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
