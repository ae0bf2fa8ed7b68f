"""A fleet whose truth is known: the same numbers for the same seed.

Three tiers (racks, pods, spine). Clocks are disciplined and wander; each host's transmit and receive timestamps have constant errors of
their own, which no mesh can see. Queues are shared within a pod. Probes and packets are lost, doubled and overtaken. Some
hosts are wrong, and none of them knows."""

import dataclasses
import json
import pathlib

import numpy
import pyarrow as pa

from . import writing
from .places import Refused
from .schema import bucket_of, flow_of

RACK, POD = 20, 100
WINDOW = 10**9
START = 1_795_392_000 * 10**9  # 2026-11-23 00:00
DAY = 86_400 * 10**9
HOUR = DAY // 24
STEP = 20_000
FREQUENCY = 50e-9
"""No clock's frequency is further off."""
TIMESTAMP_ERROR = 40
CLAIM = 500
"""Nanoseconds from UTC within which every host believes it is."""
KINDS = (
    "hardware timestamps 3 µs late",
    "receive timestamps 3 µs early",
    "stepped by 20 µs",
    "three days off",
    "stepped by 20 µs within a window",
)


@dataclasses.dataclass(frozen=True)
class Fleet:
    hosts: int = 200
    links: int = 10
    windows: int = 20
    probes: int = 10
    wrong: int = 4
    flows: int = 40
    packets: int = 200
    seed: int = 1


def run(folder, fleet, progress=lambda done: None):
    """Writes the tables, what is known of delays, and the truth."""
    chance = numpy.random.Generator(numpy.random.PCG64(fleet.seed))
    folder = pathlib.Path(folder)
    if folder.exists() and any(folder.iterdir()):
        raise Refused(f"{folder} is not empty: name a new folder")
    names = numpy.array([_name(host) for host in range(fleet.hosts)])
    clocks = _Clocks(fleet, chance)
    links = _links(fleet, chance)
    least = _least(links, chance)
    _write_delays(folder, names, links, least)
    truth, probes, held = [], [], 0
    for window in range(fleet.windows):
        offsets = clocks.next(window)
        probes.append(_probes(fleet, window, names, links, least, clocks, offsets, chance))
        truth.append(_truth(window, names, clocks, offsets))
        held += len(links[0])
        if held >= writing.GROUP or window + 1 == fleet.windows:
            _by_hour(folder, pa.concat_tables(probes))
            probes, held = [], 0
        progress((window + 1) / fleet.windows)
    _estimates(folder, fleet, names, clocks)
    writing.write_file(pa.concat_tables(truth), folder / "truth" / "clocks.parquet")
    _packets(folder, fleet, names, clocks, chance)
    described = dataclasses.asdict(fleet) | {
        "claim_ns": CLAIM,
        "drift_ppb": FREQUENCY * 1e9,
        "timestamp_error_ns": TIMESTAMP_ERROR,
        "wrong_hosts": {str(names[host]): kind for host, kind in clocks.wrong.items()},
    }
    (folder / "truth" / "fleet.json").write_text(json.dumps(described, indent=2, ensure_ascii=False) + "\n")
    return described


def _by_hour(folder, rows):
    """Each host's rows are in the hour of its own clock."""
    hours = numpy.asarray(rows["window_start"]) // HOUR
    for hour in numpy.unique(hours):
        some = rows.filter(pa.array(hours == hour))
        at = some["window_start"][0].as_py()
        writing.write(folder, "probes", some, at, name=f"fleet-{at}")


def _name(host):
    return f"pod{host // POD:02}-rack{host % POD // RACK}-host{host % RACK:02}"


class _Clocks:
    """Offsets in nanoseconds at the middle of each window."""

    def __init__(self, fleet, chance):
        self.chance = chance
        self.offsets = chance.normal(0, 80, fleet.hosts).clip(-300, 300)
        self.frequency = numpy.zeros(fleet.hosts)
        self.transmit_error = chance.integers(-TIMESTAMP_ERROR, TIMESTAMP_ERROR + 1, fleet.hosts)
        self.receive_error = chance.integers(-TIMESTAMP_ERROR, TIMESTAMP_ERROR + 1, fleet.hosts)
        chosen = chance.choice(fleet.hosts, min(fleet.wrong, fleet.hosts // 4), replace=False)
        self.wrong = {int(host): KINDS[place % len(KINDS)] for place, host in enumerate(chosen)}
        self.step_at = fleet.windows // 2

    def next(self, window):
        """The servo pulls each clock back; its frequency wanders."""
        self.frequency = (0.9 * self.frequency + self.chance.normal(0, 8e-9, len(self.offsets))).clip(-FREQUENCY, FREQUENCY)
        self.offsets = (0.8 * self.offsets + self.frequency * WINDOW).clip(-400, 400)
        offsets = numpy.rint(self.offsets).astype(numpy.int64)
        for host, kind in self.wrong.items():
            if kind == KINDS[0]:
                offsets[host] += 3_000
            elif kind == KINDS[2] and window >= self.step_at:
                offsets[host] += STEP
            elif kind == KINDS[4] and window > self.step_at:
                offsets[host] += STEP
            elif kind == KINDS[3]:
                offsets[host] += 3 * DAY
        return offsets

    def within(self, window, hosts, at):
        """What a clock that steps in the middle of this window is ahead by, at times within it."""
        steps = numpy.array([kind == KINDS[4] and window == self.step_at for kind in map(self.wrong.get, range(len(self.offsets)))])
        return STEP * (steps[hosts][:, None] & (at > 0))

    def receive(self):
        """What receive timestamps are off by."""
        off = self.receive_error.copy()
        for host, kind in self.wrong.items():
            if kind == KINDS[1]:
                off[host] -= 3_000
        return off


def _links(fleet, chance):
    """Half of each host's links stay in its pod."""
    hosts = numpy.repeat(numpy.arange(fleet.hosts), fleet.links)
    far = chance.integers(1, fleet.hosts, len(hosts))
    base = hosts // POD * POD
    size = numpy.minimum(POD, fleet.hosts - base)
    near = chance.integers(1, numpy.maximum(size, 2))
    inside = (chance.random(len(hosts)) < 0.5) & (size > 1)
    peers = numpy.where(inside, base + (hosts - base + near) % size, (hosts + far) % fleet.hosts)
    pairs = numpy.unique(numpy.stack([hosts, peers]), axis=1)
    return pairs[:, pairs[0] != pairs[1]]


def _tier(links):
    return (links[0] // RACK != links[1] // RACK).astype(int) + (links[0] // POD != links[1] // POD)


def _least(links, chance):
    """The least delay of each link, in each direction: tiers, and cables."""
    delay = numpy.array([1_500, 4_500, 9_000])[_tier(links)]
    forward = delay + chance.integers(0, 500, len(delay))
    return forward, forward + chance.integers(-30, 31, len(delay))


def _write_delays(folder, names, links, least):
    """Known to 97 %, as from a data sheet."""
    known = {"forward": least[0] * 97 // 100, "backward": least[1] * 97 // 100}
    columns = {"host": names[links[0]], "peer": names[links[1]]} | known
    writing.write_file(pa.table(columns), folder / "delays.parquet")


def _probes(fleet, window, names, links, least, clocks, offsets, chance):
    count, shape = len(links[0]), (len(links[0]), fleet.probes)
    congestion = chance.exponential(1, -(-fleet.hosts // POD))  # shared by all of a pod
    at = chance.uniform(-WINDOW / 2, WINDOW / 2, shape)
    ahead = (offsets[links[1]] - offsets[links[0]])[:, None]
    moved = (clocks.frequency[links[1]] - clocks.frequency[links[0]])[:, None] * at
    moved += clocks.within(window, links[1], at) - clocks.within(window, links[0], at)
    receive = clocks.receive()
    sides = []
    for direction, (sender, receiver) in enumerate([(links[0], links[1]), (links[1], links[0])]):
        mean = 60 * (1 + _tier(links)) * (1 + congestion[receiver // POD])
        queue = chance.exponential(1, shape) * mean[:, None]
        sign = 1 - 2 * direction
        error = (receive[receiver] - clocks.transmit_error[sender])[:, None]
        seen = least[direction][:, None] + numpy.rint(queue + sign * moved).astype(numpy.int64) + sign * ahead + error
        arrived = chance.random(shape) > 0.01
        arrived &= (chance.random(count) > 0.002)[:, None]
        sides.append((seen, arrived))
    columns = {}
    sides[1] = (sides[1][0], sides[1][1] & sides[0][1])  # no answer to what was lost
    for name, (seen, arrived) in zip(("forward", "backward"), sides, strict=True):
        none = ~arrived.any(axis=1)
        columns[name] = pa.array(numpy.where(arrived, seen, numpy.iinfo(numpy.int64).max).min(axis=1), mask=none)
        order = numpy.sort(numpy.where(arrived, seen, numpy.iinfo(numpy.int64).max), axis=1)
        middle = order[numpy.arange(count), numpy.maximum(arrived.sum(axis=1) - 1, 0) // 2]
        columns[f"{name}_middle"] = pa.array(middle, mask=none)
    start = numpy.full(count, START + window * WINDOW)
    start += DAY * 3 * numpy.array([kind == KINDS[3] for kind in map(clocks.wrong.get, links[0])])
    return pa.table(
        {
            "host": names[links[0]],
            "peer": names[links[1]],
            "window_start": start,
            "window": numpy.full(count, WINDOW),
            **{name: columns[name] for name in ("forward", "backward", "forward_middle", "backward_middle")},
            "count": numpy.full(count, fleet.probes),
        }
    )


def _truth(window, names, clocks, offsets):
    wrong = [clocks.wrong.get(host) for host in range(len(names))]
    start = numpy.full(len(names), START + window * WINDOW)
    return pa.table({"window_start": start, "host": names, "offset": offsets, "wrong": pa.array(wrong, pa.string())})


def _estimates(folder, fleet, names, clocks):
    """Every host believes the same of its clock, also those that are wrong; each by the time that its clock shows."""
    count = len(names)
    start = START + DAY * 3 * numpy.array([clocks.wrong.get(host) == KINDS[3] for host in range(count)])
    same = {
        "clock": pa.array(["utc"] * count),
        "from": start,
        "until": start + fleet.windows * WINDOW,
        "generation": pa.nulls(count, pa.int64()),
        "offset": numpy.zeros(count, numpy.int64),
        "frequency_ppt": pa.nulls(count, pa.int64()),
        "error_bound": numpy.full(count, CLAIM),
        "reason": pa.nulls(count, pa.string()),
    }
    writing.write(folder, "estimates", {"host": names} | same, START, name=f"fleet-{START}")


def _packets(folder, fleet, names, clocks, chance):
    """Flows between random hosts, with what happens to packets; the truth counts it."""
    rows, truth = [], []
    offsets = numpy.rint(clocks.offsets).astype(numpy.int64)
    usable = [host for host in range(fleet.hosts) if host not in clocks.wrong]
    for number in range(fleet.flows if len(usable) > 1 else 0):
        sender, receiver = (int(host) for host in chance.choice(usable, 2, replace=False))
        count = fleet.packets
        flow = flow_of(str(names[sender]), str(names[receiver]), number)
        sent = START + numpy.sort(chance.integers(0, fleet.windows * WINDOW, count))
        sent[1::2] = sent[::2][: count // 2] + 300  # in twos, so that one can overtake the other
        sequence = numpy.arange(count)
        if number % 4 == 3:  # the sender started again: its numbers too
            sent[count // 2 :] += 30 * 10**9
            sequence = sequence % (count // 2)
        least = numpy.array([1_500, 4_500, 9_000])[_tier(numpy.array([[sender], [receiver]]))][0]
        delay = least + numpy.rint(chance.exponential(200, count)).astype(numpy.int64)
        lost = chance.random(count) < 0.02
        doubled = (chance.random(count) < 0.01) & ~lost
        unconverted = chance.random(count) < 0.005
        for direction, host, keep, at in (
            ("tx", sender, numpy.ones(count, bool), sent + offsets[sender]),
            ("rx", receiver, ~lost, sent + delay + offsets[receiver]),
            ("rx", receiver, doubled, sent + delay + offsets[receiver] + 700),
        ):
            # the NIC was reset in the middle: its ticks begin anew, as another generation
            generation = 1 + (numpy.arange(count) >= count // 3)
            ticks = at - START + 5 * 10**9 - (generation - 1) * 4 * 10**9
            known = ~(unconverted & (direction == "tx"))
            some = {
                "sequence": sequence[keep],
                "generation": generation[keep],
                "ticks": ticks[keep],
                "utc_minus_ticks": pa.array((at - ticks)[keep], mask=~known[keep]),
                "error_bound": pa.array(numpy.full(count, 120)[keep], mask=~known[keep]),
                "reason": pa.array(numpy.where(known, None, "stale")[keep], pa.string()),
            }
            size = int(keep.sum())
            fixed = {"host": str(names[host]), "interface": "eth0", "direction": direction, "source": "hardware"}
            some |= {name: pa.array([value] * size, pa.string()) for name, value in fixed.items()}
            rows.append((bucket_of(flow), pa.table(some | {"flow": numpy.full(size, flow)})))
        seen = ~unconverted
        truth.append(
            {
                "host": str(names[sender]),
                "peer": str(names[receiver]),
                "flow": flow,
                "sent": int(seen.sum()),
                "missing": int((seen & lost).sum()),
                "duplicate": int((seen & doubled).sum()),
            }
        )
    for bucket in sorted({bucket for bucket, _ in rows}):
        order = [("flow", "ascending"), ("sequence", "ascending"), ("ticks", "ascending")]
        some = pa.concat_tables([table.select(rows[0][1].schema.names) for place, table in rows if place == bucket])
        writing.write(folder, "timestamps", some.sort_by(order), START, name=f"fleet-{START}", bucket=bucket)
    if truth:
        writing.write_file(pa.Table.from_pylist(truth), folder / "truth" / "flows.parquet")
