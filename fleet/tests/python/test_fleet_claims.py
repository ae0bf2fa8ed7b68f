"""What hosts claim of their clocks, and when."""

import pathlib
import tempfile
import unittest

import pyarrow as pa
import pyarrow.parquet as parquet

from wirestamp_fleet import engine, kernel, main, schema, simulate, writing
from wirestamp_fleet.claims import Claims

ROWS = pa.schema([("host", pa.string()), *((name, pa.int64()) for name in ("from", "until", "offset", "error_bound"))])


def claims(*rows):
    table = pa.Table.from_pylist([dict(zip(ROWS.names, row, strict=True)) for row in rows], schema=ROWS)
    return Claims(lambda some: table)


class ClaimsTest(unittest.TestCase):
    def test_the_greatest_claim_of_a_window_counts(self):
        known = claims(
            ("a", 0, 100, 10, 50),
            ("a", 100, 200, -30, 50),
            ("a", 5_000, 6_000, 0, 999),
            ("b", 0, 10_000, 0, 7),
        )
        self.assertEqual(known.at(0, 50), {"a": 60, "b": 7})
        self.assertEqual(known.at(50, 100), {"a": 80, "b": 7}, "both of a's hold in a part of it")
        self.assertEqual(known.at(100, 1), {"a": 80, "b": 7}, "the first one holds until then")
        self.assertEqual(known.at(101, 1), {"a": 80, "b": 7})
        self.assertEqual(known.at(300, 100), {"b": 7}, "a says nothing then")
        first = claims(("a", 0, 100, 0, 90), ("a", 100, 200, 0, 60))
        self.assertEqual([first.at(50, 100), first.at(150, 10)], [{"a": 90}, {"a": 60}], "the greater one came first")
        self.assertEqual(known.at(4_900, 100), {"b": 7}, "not yet")
        self.assertEqual(known.at(4_901, 100), {"a": 999, "b": 7})
        self.assertEqual(known.at(-50, 50), {})
        self.assertEqual(claims().at(0, 1), {})

    def test_a_host_that_once_knows_nothing_claims_nothing_then(self):
        for offset, bound in ((None, None), (0, None), (0, 2**63 - 1), (-(2**63), 5), (0, -1), (kernel.MOST, 1)):
            known = claims(("a", 0, 100, 0, 50), ("a", 100, 200, offset, bound), ("a", 200, 300, 0, 40))
            self.assertEqual([known.at(50, 10), known.at(90, 20), known.at(150, 10), known.at(250, 10)], [{"a": 50}, {}, {}, {"a": 40}], (offset, bound))

    def test_a_claim_for_a_part_of_a_window_holds_in_its_middle_with_drift(self):
        second = 10**9
        known = claims(("a", 0, 2 * second, 0, 50), ("b", 55 * second, 70 * second, 0, 60), ("c", 0, 30 * second, 0, 70), ("d", 0, 29 * second, 0, 80), ("d", 29 * second, 60 * second, 0, 70))
        self.assertEqual(known.at(0, 60 * second), {"a": 50, "b": 60, "c": 70, "d": 80})
        # 28 s, 25 s, none and 1 s away from the middle
        self.assertEqual(known.at(0, 60 * second, 100), {"a": 2_850, "b": 2_560, "c": 70, "d": 180})
        self.assertEqual(known.at(0, 60 * second, kernel.MOST), {"c": 70}, "what says nothing is no claim")
        links = pa.Table.from_pylist([{"window_start": 0, "host": "a", "peer": "c", "forward": 5, "backward": 5, "length": 60 * second, "variants": 1}], schema=kernel.LINKS)
        self.assertEqual(known.of(links, 100)["a"], 2_850)

    def test_times_beyond_reason_hide_nothing(self):
        first, last = -(2**63), 2**63 - 1
        known = claims(("a", first, last, 0, 5), ("b", last, first, 0, 5), ("c", 0, 2**62, 0, 6), ("d", last, last, 0, 7))
        self.assertEqual(known.at(0, 10), {"a": 5, "c": 6})
        self.assertEqual(known.at(2**61, 10), {"a": 5, "c": 6})

    def test_a_peer_is_asked_for_what_it_says_by_its_own_clock(self):
        second, day = 10**9, 86_400 * 10**9
        known = claims(("a", 3 * day, 4 * day, 0, 50), ("b", 0, day, 0, 60), ("c", 0, day, 0, 70), ("c", 3 * day, 4 * day, 0, 90))
        row = {"window_start": 3 * day, "host": "a", "length": second, "variants": 1}
        links = [
            row | {"peer": "b", "forward": 5 - 3 * day, "backward": 5 + 3 * day},
            row | {"peer": "c", "forward": None, "backward": 5 + 3 * day},
        ]
        table = lambda rows: pa.Table.from_pylist(rows, schema=kernel.LINKS)
        self.assertEqual(known.of(table(links)), {"a": 50, "b": 60, "c": 70})
        self.assertEqual(known.of(table([row | {"peer": "c", "forward": 400, "backward": 600}])), {"a": 50, "c": 90})
        # c sends in this window, too: it is of its own time
        links.append(row | {"host": "c", "peer": "a", "forward": 5, "backward": 5})
        self.assertEqual(known.of(table(links)), {"a": 50, "b": 60, "c": 90})

    def test_a_host_is_not_held_to_what_it_claimed_at_another_time(self):
        """The wrong host notices in the middle that it is not synchronised: from then on it contradicts nobody."""
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary) / "fleet"
            simulate.run(folder, simulate.Fleet(hosts=40, windows=4, wrong=1))
            truth = parquet.read_table(folder / "truth" / "clocks.parquet").to_pylist()
            [wrong] = {row["host"] for row in truth if row["wrong"] is not None}
            [path] = (folder / "estimates").rglob("*.parquet")
            table = parquet.ParquetFile(path).read()
            rows = [row for row in table.to_pylist() if row["host"] != wrong]
            [said] = [row for row in table.to_pylist() if row["host"] == wrong]
            middle = simulate.START + 2 * simulate.WINDOW
            rows += [said | {"until": middle - 1}, said | {"from": middle, "offset": None, "error_bound": None, "reason": "not_synchronized"}]
            path.unlink()
            writing.write_file(pa.Table.from_pylist(rows, schema=schema.TABLES["estimates"].with_metadata(table.schema.metadata)), path)
            options = kernel.Options(delays=main._delays(str(folder / "delays.parquet")))
            found = engine.Duck(folder).clocks(options).read_all().to_pylist()
            against = {row["window_start"]: row["contradicts"] is not None for row in found if row["host"] == wrong}
            self.assertEqual(list(dict(sorted(against.items())).values()), [True, True, False, False])


if __name__ == "__main__":
    unittest.main()
