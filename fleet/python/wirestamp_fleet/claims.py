"""What hosts say of their clocks: within how many nanoseconds of UTC they are, and when."""

import numpy
import pyarrow.compute as compute

from . import kernel

STATEMENT = 'SELECT host, "from", "until", "offset", error_bound FROM estimates WHERE clock = \'utc\' ORDER BY host, "from", "until", "offset", error_bound'
NOTHING = 2 * kernel.MOST
"""Greater than any claim: that none was made."""


class Claims:
    """Rows of `estimates` about UTC, found by the time for which they hold."""

    def __init__(self, rows):
        """`rows`: those of STATEMENT."""
        hosts = rows["host"].combine_chunks().dictionary_encode() if rows.num_rows else None
        self._names = hosts.dictionary.to_pylist() if hosts is not None else []
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

    def at(self, start, length):
        """The greatest claim of each host that holds in a window, or in a part of it. A host is left out that said nothing then, or that once said
        that it knows nothing."""
        greatest = {}
        for longest, first, until, host, bound in self._groups:
            begin, end = (numpy.searchsorted(first, _within(time), side="left") for time in (start - longest, start + max(length, 1)))
            some = slice(begin, end)
            holds = until[some] >= _within(start)
            for place, claim in zip(host[some][holds].tolist(), bound[some][holds].tolist(), strict=True):
                greatest[place] = max(greatest.get(place, 0), claim)
        return {self._names[place]: claim for place, claim in greatest.items() if claim <= kernel.MOST}

    def of(self, links):
        """The same for rows of kernel.LINKS, which are of one window. A window is of the time of those who sent the probes: another host, whose clock shows
        another time by at least a window, is asked for what it said by its own."""
        start, length = links["window_start"][0].as_py(), max(compute.max(links["length"]).as_py() or 0, 1)
        senders, elsewhere = set(links["host"].to_pylist()), {}
        for peer, forward, backward in zip(*(links[name].to_pylist() for name in ("peer", "forward", "backward")), strict=True):
            ahead = forward if forward is not None else -(backward or 0)
            if peer not in senders and abs(ahead) >= length:
                elsewhere.setdefault(ahead // length * length, set()).add(peer)
        answer = self.at(start, length)
        for ahead, peers in elsewhere.items():
            then = self.at(start + ahead, 2 * length)
            answer = {host: claim for host, claim in answer.items() if host not in peers}
            answer |= {host: claim for host, claim in then.items() if host in peers}
        return answer


def _within(time):
    return min(max(time, -(2**63)), 2**63 - 1)


def _bounds(rows):
    """How far each row says that the clock is off at most: beside its offset. What is beyond the kernels' numbers says nothing."""
    values = []
    for name, least in (("offset", -kernel.MOST), ("error_bound", 0)):
        known = rows[name].fill_null(NOTHING).to_numpy()
        values.append(numpy.where((known < least) | (known > kernel.MOST), NOTHING, numpy.abs(known)))
    return numpy.minimum(sum(values), NOTHING)
