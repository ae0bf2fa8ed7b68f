"""The kernels in Rust, on Arrow tables: what both engines call."""

import collections
import dataclasses

import numpy
import pyarrow as pa
import pyarrow.compute as compute

from . import wirestamp_fleet_kernels as rust
from .schema import MOST


def _schema(**columns):
    return pa.schema([pa.field(name, kind) for name, kind in columns.items()])


_INT, _TEXT = pa.int64(), pa.string()
LINKS = _schema(
    window_start=_INT, host=_TEXT, peer=_TEXT, forward=_INT, backward=_INT, length=_INT, variants=_INT
)
CLOCKS = _schema(
    window_start=_INT,
    host=_TEXT,
    offset=_INT,
    earliest=_INT,
    latest=_INT,
    unclamped=_INT,
    reason=_TEXT,
    contradicts=_TEXT,
    excess=_INT,
)
FLOWS = _schema(
    host=_TEXT,
    peer=_TEXT,
    flow=_INT,
    **dict.fromkeys(("sent", "missing", "duplicate", "reordered", "unmatched", "least", "median", "p99", "most"), _INT),
    error_bound=_INT,
)


@dataclasses.dataclass(frozen=True)
class Options:
    """What is assumed, in nanoseconds; it is part of each bound."""

    reference: str | None = None
    """The host that offsets are against; None: UTC, as the hosts claim it."""
    least_delay: int = 0
    """No packet takes less, unless `delays` says more."""
    delays: dict | None = None
    """For (host, peer): no packet takes less from host to peer, and from peer to host."""
    drift_ppb: int = 100
    """A clock's frequency is off by less, and changes by less within a window."""
    timestamp_error: int = 50
    """Transmit and receive timestamps are each off by less."""


def windows(links):
    """The rows of each window: they are sorted by it."""
    starts = links["window_start"].to_numpy()
    edges = numpy.flatnonzero(numpy.diff(starts)) + 1
    for first, last in zip([0, *edges], [*edges, len(starts)], strict=True):
        if last > first:
            yield links.slice(first, last - first)


def window(links, claims, options):
    """Solves one window: rows of LINKS in, rows of CLOCKS out. The order of the rows makes no difference."""
    links = links.sort_by([("host", "ascending"), ("peer", "ascending")])
    start = links["window_start"][0].as_py()
    hosts = sorted(set(links["host"].to_pylist()) | set(links["peer"].to_pylist()))
    number = {host: place for place, host in enumerate(hosts)}
    # a link whose values differ for the same window is of two machines with one name, or to one
    twice = compute.greater(links["variants"], 1)
    far = _far(links)
    own = compute.equal(links["host"], links["peer"])
    excluded = {host: "duplicate_name" for host in _mostly(links, twice, ["host"])}
    excluded |= {host: "too_far" for host in _mostly(links, far, ["host", "peer"])}
    links = links.filter(compute.invert(compute.or_(compute.or_(twice, far), own)))
    if options.reference is not None and options.reference not in number:
        return _nothing(start, hosts, "no_reference")
    length = compute.max(links["length"]).as_py() or 0
    columns = [
        pa.array([number[host] for host in links["host"].to_pylist()], _INT),
        pa.array([number[host] for host in links["peer"].to_pylist()], _INT),
        links["forward"],
        links["backward"],
        *_least(links, options),
    ]
    answer = rust.solve(
        [_numbers(column) for column in columns],
        _numbers(pa.array([_claim(claims.get(host)) for host in hosts], _INT)),
        -1 if options.reference is None else number[options.reference],
        min(-(-length * options.drift_ppb // (2 * 10**9)), MOST),
        options.timestamp_error,
        [],
    )
    reasons = answer["reason"]
    against, excess = [None] * len(hosts), [None] * len(hosts)
    for cycle, through_utc, amount, blamed in answer["cycles"]:
        if blamed is not None:
            others = [hosts[host] for host in cycle if host != blamed] + ["UTC"] * through_utc
            against[blamed], excess[blamed] = " ".join(others), amount
    values = {name: column(answer[name]) for name in ("offset", "earliest", "latest", "unclamped")}
    for place, host in enumerate(hosts):
        reasons[place] = excluded.get(host, reasons[place])
    known = pa.array([reason is None for reason in reasons])
    for name in ("offset", "earliest", "latest"):
        values[name] = compute.if_else(known, values[name], pa.scalar(None, _INT))
    return pa.table(
        {
            "window_start": pa.array([start] * len(hosts), _INT),
            "host": pa.array(hosts, _TEXT),
            **values,
            "reason": pa.array(reasons, _TEXT),
            "contradicts": pa.array(against, _TEXT),
            "excess": pa.array(excess, _INT),
        },
        schema=CLOCKS,
    )


def _far(links):
    """Whether a link shows more than the kernels compute with: a clock is wrong by more than 104 days."""
    beyond = lambda side: compute.or_(compute.greater(side, MOST), compute.less(side, -MOST)).fill_null(False)
    return compute.or_(beyond(links["forward"]), beyond(links["backward"]))


def _mostly(links, which, sides):
    """The hosts of which more than half of the links are of a kind."""
    count = lambda rows: collections.Counter(name for side in sides for name in rows[side].to_pylist())
    some = count(links.filter(which))
    if not some:
        return set()
    every = count(links)
    return {host for host, seen in some.items() if 2 * seen > every[host]}


def _claim(claim):
    """What is beyond the kernels' numbers says as little as no claim."""
    return claim if claim is not None and 0 <= claim <= MOST else None


def _least(links, options):
    known, other = options.delays or {}, (options.least_delay, options.least_delay)
    pairs = zip(links["host"].to_pylist(), links["peer"].to_pylist(), strict=True)
    least = [known.get(pair, other) for pair in pairs]
    return [pa.array([delays[direction] for delays in least], _INT) for direction in (0, 1)]


def _nothing(start, hosts, reason):
    empty = pa.nulls(len(hosts), _INT)
    columns = {name: empty for name in ("offset", "earliest", "latest", "unclamped", "excess")}
    rows = {"window_start": pa.array([start] * len(hosts), _INT), "host": pa.array(hosts, _TEXT), **columns}
    rows |= {"reason": pa.array([reason] * len(hosts), _TEXT), "contradicts": pa.nulls(len(hosts), _TEXT)}
    return pa.table(rows).select(CLOCKS.names).cast(CLOCKS)


def _numbers(column):
    """The memory of a column, NULL as the kernels know it."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return column.fill_null(rust.NULL).to_numpy(zero_copy_only=True)


def column(values):
    """A column as the kernels return it."""
    numbers = numpy.frombuffer(values, dtype=numpy.int64)
    return pa.array(numbers, _INT, mask=numbers == rust.NULL)
