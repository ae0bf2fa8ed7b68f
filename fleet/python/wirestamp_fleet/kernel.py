"""The kernels in Rust, on Arrow tables: what both engines call."""

import dataclasses
import functools

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
    links=_TEXT,
    links_excess=_INT,
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

    def least(self, links):
        """The least delay of each link, forward and backward."""
        least = numpy.full(len(links), self.least_delay, numpy.int64)
        if not self.delays:
            return [least, least]
        ends = [links["host"], links["peer"]]
        # most windows have the links of the one before
        before, answer = self.__dict__.get("_last", (None, None))
        if before is None or not all(side.equals(last) for side, last in zip(ends, before, strict=True)):
            places = compute.index_in(_pairs(*ends), value_set=self._known[0])
            known = places.is_valid().to_numpy()
            places = places.fill_null(0).to_numpy()
            answer = [numpy.where(known, delays[places], least) for delays in self._known[1:]]
            self.__dict__["_last"] = ends, answer
        return answer

    @functools.cached_property
    def _known(self):
        """The pairs of `delays`, and their delays in both directions."""
        names = [pa.array([pair[side] for pair in self.delays], _TEXT) for side in (0, 1)]
        return _pairs(*names), *(numpy.array([both[side] for both in self.delays.values()], numpy.int64) for side in (0, 1))


def _pairs(hosts, peers):
    return compute.binary_join_element_wise(hosts, peers, "\0").cast(pa.string())


def windows(links):
    """The rows of each window: they are sorted by it."""
    starts = links["window_start"].to_numpy()
    edges = numpy.flatnonzero(numpy.diff(starts)) + 1
    for first, last in zip([0, *edges], [*edges, len(starts)], strict=True):
        if last > first:
            yield links.slice(first, last - first)


def window(links, claims, options):
    """Solves one window: rows of LINKS in, rows of CLOCKS out. The order of the rows makes no difference."""
    start = links["window_start"][0].as_py()
    ends = [links[side].combine_chunks() for side in ("host", "peer")]
    names = compute.unique(pa.concat_arrays(ends))
    names = names.take(compute.sort_indices(names))
    hosts = names.to_pylist()
    number = [compute.index_in(side, value_set=names).to_numpy().astype(numpy.int64) for side in ends]
    # a link whose values differ for the same window is of two machines with one name, or to one
    twice = compute.greater(links["variants"], 1).to_numpy()
    far = _far(links).to_numpy()
    excluded = {hosts[host]: "duplicate_name" for host in _mostly(number, twice, [0])}
    excluded |= {hosts[host]: "too_far" for host in _mostly(number, far, [0, 1])}
    if options.reference is not None and options.reference not in hosts:
        return _nothing(start, hosts, "no_reference")
    kept = numpy.flatnonzero(~(twice | far) & (number[0] != number[1]))
    kept = kept[numpy.lexsort([side[kept] for side in reversed(number)])]
    links = links.take(pa.array(kept))
    length = compute.max(links["length"]).as_py() or 0
    columns = [*(side[kept] for side in number), _numbers(links["forward"]), _numbers(links["backward"]), *options.least(links)]
    answer = rust.solve(
        columns,
        _numbers(pa.array([_claim(claims.get(host)) for host in hosts], _INT)),
        -1 if options.reference is None else hosts.index(options.reference),
        min(-(-length * options.drift_ppb // (2 * 10**9)), MOST),
        options.drift_ppb,
        options.timestamp_error,
        [],
    )
    reasons = answer["reason"]
    against, excess = [None] * len(hosts), [None] * len(hosts)
    lying, lying_excess = [None] * len(hosts), [None] * len(hosts)
    for cycle, through_utc, amount, blamed, link in answer["cycles"]:
        if blamed is not None:
            others = [hosts[host] for host in cycle if host != blamed] + ["UTC"] * through_utc
            against[blamed], excess[blamed] = " ".join(others), amount
        if link is not None:
            for one, other in (link, link[::-1]):
                lying[one] = f"{lying[one]} {hosts[other]}" if lying[one] else hosts[other]
                lying_excess[one] = max(lying_excess[one] or 0, amount)
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
            "links": pa.array(lying, _TEXT),
            "links_excess": pa.array(lying_excess, _INT),
        },
        schema=CLOCKS,
    )


def _far(links):
    """Whether a link shows more than the kernels compute with: a clock is wrong by more than 104 days."""
    beyond = lambda side: compute.or_(compute.greater(side, MOST), compute.less(side, -MOST)).fill_null(False)
    return compute.or_(beyond(links["forward"]), beyond(links["backward"]))


def _mostly(number, which, sides):
    """The hosts of which more than half of the links are of a kind."""
    if not which.any():
        return []
    most = max(int(number[side].max()) for side in (0, 1)) + 1
    count = lambda rows: sum(numpy.bincount(number[side][rows], minlength=most) for side in sides)
    return numpy.flatnonzero(2 * count(which) > count(numpy.ones_like(which))).tolist()


def _claim(claim):
    """What is beyond the kernels' numbers says as little as no claim."""
    return claim if claim is not None and 0 <= claim <= MOST else None


def _nothing(start, hosts, reason):
    empty = pa.nulls(len(hosts), _INT)
    columns = {name: empty for name in ("offset", "earliest", "latest", "unclamped", "excess", "links_excess")}
    rows = {"window_start": pa.array([start] * len(hosts), _INT), "host": pa.array(hosts, _TEXT), **columns}
    rows |= {"reason": pa.array([reason] * len(hosts), _TEXT), "contradicts": pa.nulls(len(hosts), _TEXT), "links": pa.nulls(len(hosts), _TEXT)}
    return pa.table(rows).select(CLOCKS.names).cast(CLOCKS)


def _numbers(column):
    """The memory of a column, NULL as the kernels know it."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return column.fill_null(rust.NULL).to_numpy(zero_copy_only=True)


def column(values, nullable=True):
    """A column as the kernels return it."""
    numbers = numpy.frombuffer(values, dtype=numpy.int64)
    return pa.array(numbers, _INT, mask=numbers == rust.NULL if nullable else None)
