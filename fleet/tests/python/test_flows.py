"""The one-way join: the kernel in Rust against the SQL that Spark runs, on packets to which everything happens."""

import pathlib
import random
import tempfile
import unittest
from unittest import mock

import numpy
import pyarrow as pa

from wirestamp_fleet import engine, flows, kernel, schema, simulate, writing

HOSTS = ["a", "b", "ü", "Z"]
MOST = 1_000


def rows(chance, count):
    """Few flows, hosts, numbers and times, so that packets meet in every way."""
    found = []
    for _ in range(count):
        at, ticks = simulate.START + chance.randrange(4_000), chance.choice([5, 2**63 - 1, -1, -(2**63)])
        utc = chance.choice([at] * 9 + [None, 0, -5])
        found.append(
            {
                "host": chance.choice(HOSTS),
                "interface": "eth0",
                "flow": chance.choice([-(2**62), -1, 0, 3, 2**62]),
                "sequence": chance.choice([0, 1, 2, 3, -1]),
                "direction": chance.choice(["tx", "rx", "rx", "other"]),
                "source": "hardware",
                "generation": 1,
                "ticks": chance.choice([ticks] * 19 + [None]),
                "utc_minus_ticks": None if utc is None else (utc - ticks + 2**63) % 2**64 - 2**63,
                "error_bound": chance.choice([None, 0, 10, 2**53]),
                "reason": None,
            }
        )
    return found


class Flows(unittest.TestCase):
    def recorded(self, seed, bucket_of=schema.bucket_of):
        """A folder of several files, some sorted and some not."""
        chance = random.Random(seed)
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        folder = pathlib.Path(temporary.name)
        for _ in range(3):
            some = rows(chance, 150)
            if chance.random() < 0.5:
                some.sort(key=lambda row: (row["flow"], row["direction"], row["sequence"]))
            for bucket in {bucket_of(row["flow"]) for row in some}:
                here = [row for row in some if bucket_of(row["flow"]) == bucket]
                writing.write(folder, "timestamps", pa.Table.from_pylist(here, schema.TABLES["timestamps"]), simulate.START, bucket=bucket)
        return folder

    def spilled(self, folder):
        """The answer of SQL alone."""
        with mock.patch.object(flows, "BYTES", 2**40):
            return engine.Duck(folder).flows(MOST)

    def test_the_kernel_says_what_sql_says(self):
        seen = dict.fromkeys(("missing", "duplicate", "reordered", "unmatched"), 0)
        for seed in range(12):
            folder = self.recorded(seed)
            expected = self.spilled(folder)
            self.assertGreater(expected.num_rows, 15)
            with mock.patch.object(engine.Duck, "_spilling") as spilling:
                self.assertEqual(engine.Duck(folder).flows(MOST), expected, seed)
            spilling.assert_not_called()
            for name in seen:
                seen[name] += sum(expected[name].to_pylist())
        self.assertGreater(min(seen.values()), 100, seen)

    def test_parts_by_flow_say_the_same(self):
        """So little memory that each part is one flow."""
        for seed in range(3):
            folder = self.recorded(seed, lambda flow: None)
            whole = engine.Duck(folder).flows(MOST)
            running = engine.Duck(folder)
            with mock.patch.object(flows, "several", return_value=(3, 120)):
                parts = [part for found in running.buckets().values() for part in running._split(found)]
                self.assertEqual(running.flows(MOST), whole)
            self.assertGreater(len({(part.first, part.last) for part in parts}), 3)
            # SQL has each of them by itself as well
            self.assertEqual(self.spilled(folder), whole)
        self.assertEqual(whole.schema, kernel.FLOWS)

    def test_quantiles_are_of_ranks(self):
        """Delays of 1 to 300 ns."""
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        row = {"interface": "eth0", "flow": 0, "source": "hardware", "generation": 1, "utc_minus_ticks": 0, "error_bound": 1, "reason": None}
        sides = (("a", "tx", 0), ("b", "rx", 1))
        some = [row | {"host": host, "direction": side, "sequence": number, "ticks": simulate.START + number * 5_000 + late * (number * 7 % 300 + 1)} for host, side, late in sides for number in range(300)]
        writing.write(temporary.name, "timestamps", pa.Table.from_pylist(some, schema.TABLES["timestamps"]), simulate.START)
        for found in (engine.Duck(temporary.name).flows(MOST), self.spilled(temporary.name)):
            [flow] = found.to_pylist()
            self.assertEqual([flow[name] for name in ("sent", "least", "median", "p99", "most")], [300, 1, 150, 297, 300])

    def test_the_least_number_is_a_flow_like_others(self):
        """It stands for NULL in the kernel's columns."""
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        row = {"interface": "eth0", "flow": -(2**63), "source": "hardware", "generation": 1, "utc_minus_ticks": 0, "error_bound": 1, "reason": None, "sequence": 1}
        some = [row | {"host": host, "direction": side, "ticks": simulate.START + late} for host, side, late in (("a", "tx", 0), ("b", "rx", 70))]
        writing.write(temporary.name, "timestamps", pa.Table.from_pylist(some, schema.TABLES["timestamps"]), simulate.START)
        [flow] = engine.Duck(temporary.name).flows(MOST).to_pylist()
        self.assertEqual((flow["flow"], flow["peer"], flow["median"]), (-(2**63), "b", 70))
        self.assertEqual(self.spilled(temporary.name).to_pylist(), [flow])

    def test_flows_are_put_together_up_to_a_number_of_rows(self):
        counts = [(-9, 3), (-1, 3), (0, 1), (4, 20), (5, 1)]
        self.assertEqual(list(flows.split(counts, 7)), [(-9, 0, 7), (4, 4, 20), (5, 5, 1)])
        self.assertEqual(list(flows.split([], 7)), [])

    def test_spark_joins_no_more_at_a_time_than_an_executor_holds(self):
        """Flows that share a part are told apart by more parts; one that is too large is left to SQL."""
        parts = lambda *sizes: engine.parts_of(*(numpy.array([size[side] for size in sizes], numpy.int64) for side in (0, 1)))
        large = engine.LARGEST_PART
        self.assertEqual(parts(), 1)
        self.assertEqual(parts((3, engine.PART)), 1)
        self.assertEqual(parts((3, engine.PART), (4, engine.PART)), 2)
        self.assertEqual(parts((3, large), (3 + 64, large), (5, 1)), 128)
        self.assertEqual(parts((3, large), (3 + engine.MOST_PARTS // 2, large)), engine.MOST_PARTS)
        self.assertIsNone(parts((3, large + 1)))

    def test_memory_is_what_duckdb_says(self):
        self.assertEqual([flows.bytes_of(text) for text in ("512 bytes", "1.0 KiB", "3.5 GiB")], [512, 1024, 7 * 2**29])
        for text, bytes_there in (("60MB", 60e6), ("4GB", 4e9), ("1.5GiB", 1.5 * 2**30), ("100MB", 1e8)):
            running = engine.Duck(".", text)
            self.assertAlmostEqual(running._memory / bytes_there, 1, delta=0.1)


if __name__ == "__main__":
    unittest.main()
