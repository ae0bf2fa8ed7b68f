"""Many timestamps: their size, and how long questions take, beside plain SQL in DuckDB on the same files. `scripts/slow fleet` runs it.

usage: scale.py TIMESTAMPS FOLDER      the folder's files are made if they are not there"""

import json
import pathlib
import resource
import subprocess
import sys
import time

import numpy
import pyarrow as pa

from wirestamp_fleet import engine, places, simulate, store, writing
from wirestamp_fleet.schema import TABLES, bucket_of, flow_of

HOURS, MEMORY = 24, "6GB"
EACH = 100_000
"""Timestamps of a flow."""
JITTER = 20_000
PLAIN_JOIN = 2 * 10**8
"""Beyond so many timestamps, the join of plain DuckDB is left out: it spilled with a tenth of 10^9 already."""
MOST = 10**9

SUMMARY = """SELECT host, flow, hour_of(utc(ticks, utc_minus_ticks)) AS hour, COUNT(*) AS packets, MAX(error_bound) AS worst
FROM timestamps GROUP BY host, flow, hour_of(utc(ticks, utc_minus_ticks))"""
PLAIN_SUMMARY = """SELECT host, flow, (ticks + utc_minus_ticks) // 3600000000000 AS hour, COUNT(*) AS packets, MAX(error_bound) AS worst
FROM read_parquet('{folder}/timestamps/**/*.parquet', hive_partitioning=false) GROUP BY host, flow, hour"""
PLAIN_DELAYS = """WITH both_ends AS (
    SELECT host, flow, sequence, direction, error_bound, ticks + utc_minus_ticks AS utc FROM read_parquet('{folder}/timestamps/**/*.parquet', hive_partitioning=false)
)
SELECT s.host, r.host AS peer, s.flow, COUNT(*) AS received, MIN(r.utc - s.utc) AS least, quantile_disc(r.utc - s.utc, 0.5) AS median,
    quantile_disc(r.utc - s.utc, 0.99) AS p99, MAX(r.utc - s.utc) AS most, MAX(s.error_bound + r.error_bound) AS error_bound
FROM (SELECT * FROM both_ends WHERE direction = 'tx') s JOIN (SELECT * FROM both_ends WHERE direction = 'rx') r
    ON s.flow = r.flow AND s.sequence = r.sequence AND s.host <> r.host AND r.utc - s.utc BETWEEN -1000000000 AND 1000000000
GROUP BY s.host, r.host, s.flow"""


def generate(folder, count):
    """Probes between pairs of hosts over a day, at a steady rate but for a timer's jitter, in files as `compact` leaves them. One
    in a hundred is lost."""
    chance = numpy.random.Generator(numpy.random.PCG64(18))
    buckets, flows = {}, max(count // EACH, 10)
    for number in range(flows):
        one, other = simulate._name(number % 2_000), simulate._name((7 * number + 1) % 2_003)
        buckets.setdefault(bucket_of(flow_of(one, other, number)), []).append((flow_of(one, other, number), one, other))
    packets = max(count // 2 // flows // HOURS, 1)
    some = max(writing.GROUP // (2 * packets), 1)
    for hour in range(HOURS):
        for bucket, flows in sorted(buckets.items()):
            flows = sorted(flows)
            for first in range(0, len(flows), some):
                rows = _rows(chance, flows[first : first + some], hour, packets)
                writing.write(folder, "timestamps", rows, simulate.START + hour * simulate.HOUR, bucket=bucket)
        print(f"\rgenerate {hour + 1} of {HOURS} hours", end="\n" * (hour + 1 == HOURS), file=sys.stderr, flush=True)


def _rows(chance, flows, hour, packets):
    """Transmit and receive timestamps, sorted by flow and sequence."""
    each, count = simulate.HOUR // packets, len(flows) * packets
    start = hour * simulate.HOUR + each * numpy.tile(numpy.arange(packets), len(flows))
    sent = start + chance.normal(0, JITTER, count).astype(numpy.int64)
    received = sent + 4_000 + chance.exponential(300, count).astype(numpy.int64)
    # of each flow, first what was sent and then what was received
    apart = lambda one, other: numpy.concatenate([one.reshape(len(flows), packets), other.reshape(len(flows), packets)], axis=1).ravel()
    keep = apart(numpy.ones(count, bool), chance.random(count) > 0.01)
    at, size = apart(sent, received)[keep], int(keep.sum())
    flow = numpy.repeat([number for number, *_ in flows], 2 * packets)[keep]
    side = apart(numpy.zeros(count, int), numpy.ones(count, int))[keep]
    hosts = pa.array([name for _, *both in flows for name in both])
    # frequencies are learnt anew each second; the bound is quantised, as wirestamp-record does it
    drift = at // 10**9 * 40 + flow % 1_000 * 1_000
    same = pa.array(numpy.zeros(size, numpy.int8))
    return pa.table(
        {
            "host": hosts.take(pa.array((2 * numpy.repeat(numpy.arange(len(flows)), 2 * packets))[keep] + side)),
            "interface": pa.array(["eth0"]).take(same),
            "flow": flow,
            "sequence": numpy.tile(numpy.arange(packets) + hour * packets, 2 * len(flows))[keep],
            "direction": pa.array(["tx", "rx"]).take(pa.array(side)),
            "source": pa.array(["hardware"]).take(same),
            "generation": numpy.full(size, 1),
            "ticks": 5 * 10**9 + at + drift,
            "utc_minus_ticks": simulate.START - 5 * 10**9 - drift,
            "error_bound": 120 + 8 * (at // 10**10 % 4),
            "reason": pa.nulls(size, pa.string()),
        },
        schema=TABLES["timestamps"],
    )


def plain(folder, statement):
    """As one would ask with DuckDB alone."""
    import duckdb

    with duckdb.connect(config={"memory_limit": MEMORY, "temp_directory": f"{folder}/spilled"}) as connection:
        return connection.sql(statement.format(folder=folder)).to_arrow_table().num_rows


QUESTIONS = {
    "check every file once": lambda folder: len(store.files(places.of(folder), "timestamps").keys),
    "summary": lambda folder: engine.Duck(folder, MEMORY).sql(SUMMARY).num_rows,
    "summary, plain DuckDB": lambda folder: plain(folder, PLAIN_SUMMARY),
    "one-way join": lambda folder: engine.Duck(folder, MEMORY).flows(MOST).num_rows,
    "one-way join, plain DuckDB": lambda folder: plain(folder, PLAIN_DELAYS),
}


def measure(name, folder):
    """In a process of its own: rows, seconds, processor seconds, most memory."""
    begun = time.monotonic()
    rows = QUESTIONS[name](folder)
    took = time.monotonic() - begun
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps([rows, took, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20]))


def main(count, folder):
    place = pathlib.Path(folder)
    if not place.exists():
        generate(place, count)
    sizes = [path.stat().st_size for path in place.rglob("*.parquet")]
    rows = plain(folder, "SELECT UNNEST(range(COUNT(*))) FROM read_parquet('{folder}/timestamps/**/*.parquet', hive_partitioning=false)") if count < 10**6 else None
    print(f"{len(sizes)} files, {sum(sizes) / 1e9:.3f} GB, {sum(sizes) / (count * 0.995):.2f} bytes a timestamp{'' if rows is None else f', {rows} rows'}")
    for name in QUESTIONS:
        if name == "one-way join, plain DuckDB" and count > PLAIN_JOIN:
            print(f"{name:28} left out: more than {PLAIN_JOIN} timestamps")
            continue
        command = [sys.executable, __file__, "measure", name, folder]
        rows, took, processor, memory = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        print(f"{name:28} {took:8.1f} s  {processor:8.1f} s of processor time  {memory:5.2f} GB  {rows} rows", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "measure":
        measure(sys.argv[2], sys.argv[3])
    else:
        main(int(float(sys.argv[1])), sys.argv[2])
