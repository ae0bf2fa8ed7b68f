"""What hosts say of their clocks: within how many nanoseconds of UTC they are, and when."""

import numpy
import pyarrow.compute as compute

from . import kernel

NOTHING = 2 * kernel.MOST
"""Greater than any claim: that none was made."""
MOST_ELSEWHERE = 64
"""Times of clocks that are far off for which claims are in memory."""


class Claims:
    """Rows of `estimates` about UTC, found by the time for which they hold."""

    def __init__(self, read, first=None, last=None):
        """`read`: gives the rows of claims.sql for a condition. With `first` and `last`, those of this time are in memory, and others are read when
        they are asked for; else all are."""
        self._read, self._first, self._last = read, first, last
        self._elsewhere = []
        self._keep(read("TRUE" if first is None else f'"until" >= {_within(first)} AND "from" <= {_within(last)}'))

    def __getstate__(self):
        """What goes to Spark's executors: those in memory."""
        return self.__dict__ | {"_read": None}

    def _keep(self, rows):
        hosts = rows["host"].combine_chunks().dictionary_encode() if rows.num_rows else None
        self._names = numpy.array(hosts.dictionary.to_pylist() if hosts is not None else [], object)
        host = hosts.indices.to_numpy(zero_copy_only=False) if hosts is not None else numpy.zeros(0, numpy.int64)
        first, until = (rows[name].to_numpy() for name in ("from", "until"))
        bound = _bounds(rows)
        # rows that last about equally long are together: of each group only those can hold that begin so long before
        lasts = numpy.maximum(until.astype(float) - first.astype(float), 1.0)
        group = numpy.ceil(numpy.log2(lasts)).astype(int)
        self._groups = []
        for each in numpy.unique(group):
            which = numpy.flatnonzero(group == each)
            which = which[numpy.argsort(first[which], kind="stable")]
            self._groups.append((2 ** (int(each) + 1), first[which], until[which], host[which], bound[which]))

    def at(self, start, length, drift_ppb=0):
        """The greatest claim of each host that holds in a window, or in a part of it: then with what the clock can have moved from there to the middle
        of the window. A host is left out that said nothing then, or that once said that it knows nothing."""
        if self._first is not None and not (self._first <= start and start + max(length, 1) <= self._last):
            return self._other(start, length).at(start, length, drift_ppb)
        greatest = numpy.full(len(self._names), -1)
        for longest, first, until, host, bound in self._groups:
            begin, end = (numpy.searchsorted(first, _within(time), side="left") for time in (start - longest, start + max(length, 1)))
            holds = until[begin:end] >= _within(start)
            some = slice(begin, end)
            bounds = bound[some][holds] + _moved(_away(start + length // 2, first[some][holds], until[some][holds]), drift_ppb)
            numpy.maximum.at(greatest, host[some][holds], bounds)
        known = (greatest >= 0) & (greatest <= kernel.MOST)
        return dict(zip(self._names[known].tolist(), greatest[known].tolist(), strict=True))

    def _other(self, start, length):
        """Those of another time, and of as much after it as is in memory here."""
        for other in self._elsewhere:
            if other._first <= start and start + max(length, 1) <= other._last:
                return other
        del self._elsewhere[:-MOST_ELSEWHERE]
        self._elsewhere.append(Claims(self._read, start, start + max(length, 1) + self._last - self._first))
        return self._elsewhere[-1]

    def of(self, links, drift_ppb=0):
        """The same for rows of kernel.LINKS, which are of one window. A window is of the time of those who sent the probes: another host, whose clock shows
        another time by at least a window, is asked for what it said by its own."""
        start, length = links["window_start"][0].as_py(), max(compute.max(links["length"]).as_py() or 0, 1)
        answer = self.at(start, length, drift_ppb)
        behind = compute.if_else(compute.equal(links["backward"], -(2**63)), 2**63 - 1, compute.negate(links["backward"].fill_null(0)))
        ahead = compute.coalesce(links["forward"], behind)
        far = compute.or_(compute.greater_equal(ahead, length), compute.less_equal(ahead, -length))
        far = compute.and_(far, compute.invert(compute.is_in(links["peer"], value_set=links["host"])))
        elsewhere = {}
        for peer, by in zip(links["peer"].filter(far).to_pylist(), ahead.filter(far).to_pylist(), strict=True):
            elsewhere.setdefault(by // length * length, set()).add(peer)
        for by, peers in elsewhere.items():
            then = self.at(start + by, 2 * length, drift_ppb)
            answer = {host: claim for host, claim in answer.items() if host not in peers}
            answer |= {host: claim for host, claim in then.items() if host in peers}
        return answer


def _away(time, first, until):
    """How far a time is from what is between two others; times of one window."""
    time = _within(time)
    return numpy.where(first > time, first - time, numpy.where(until < time, time - until, 0))


def _moved(nanoseconds, ppb):
    """By how much a clock can have moved meanwhile, rounded up."""
    if len(nanoseconds) == 0 or int(nanoseconds.max()) * ppb < 2**62:
        return -(-nanoseconds * ppb // 10**9)
    return numpy.where(nanoseconds == 0, 0, numpy.minimum(numpy.ceil(nanoseconds.astype(float) * ppb / 1e9), NOTHING).astype(numpy.int64) + 1)


def _within(time):
    return min(max(time, -(2**63)), 2**63 - 1)


def _bounds(rows):
    """How far each row says that the clock is off at most: beside its offset. What is beyond the kernels' numbers says nothing."""
    values = []
    for name, least in (("offset", -kernel.MOST), ("error_bound", 0)):
        known = rows[name].fill_null(NOTHING).to_numpy()
        values.append(numpy.where((known < least) | (known > kernel.MOST), NOTHING, numpy.abs(known)))
    return numpy.minimum(sum(values), NOTHING)
