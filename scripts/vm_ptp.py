"""Judges what the guest of scripts/vm-ptp printed, by cross timestamps of both adapters' clocks.

What must hold was written down before the first results:

  coverage  the true offset is inside the bound of every sample, give or take the brackets of
            the cross timestamps that tell the truth
  measure   rms of (offset - truth), second half: at most 1.5 x ptp4l's + R, and ptp4l behind us
            at most 1.5 x ptp4l behind ptp4l + R
  steer     rms of the true offset, second half: the same
  system    rms of the system clock's true offset, second half: the same
  holdover  the transmitter away: the state is told, the bound grows with every answer and
            contains the truth; the transmitter back: as "steer"
  stepped   the transmitter's clock jumps by 2 ms, beyond the step threshold: followed by one step
  slewed    the same without a threshold: never faster than the slew limit, and there at the end

R = 95 ns: the 82574 sets its clock's rate in steps of 95 ppb, so no steering is better than what
that gains from one second to the next.
"""

import bisect
import json
import math
import re
import sys

R = 95
STEP = 100_000  # ns between two readings, beyond their distance: somebody set the clock
FAILED = []


def sections(text):
    parts = re.split(r"^=== (\S+)\n", text, flags=re.M)
    return parts[0], dict(zip(parts[1::2], parts[2::2]))


class Clock:
    """An adapter's clock by its readings: of each batch the one with the narrowest bracket."""

    def __init__(self, events):
        readings = []
        for line in events.splitlines():
            if line.startswith("cross,"):
                before, shown, after = map(int, line.split(",")[1:4])
                readings.append(((before + after) // 2, shown, (after - before) // 2))
        batches = []
        for reading in readings:
            if batches and reading[0] - batches[-1][-1][0] < 100_000_000:
                batches[-1].append(reading)
            else:
                batches.append([reading])
        best = [min(batch, key=lambda reading: reading[2]) for batch in batches]
        self.pieces = [best[:1]]  # without steps
        for one, next_one in zip(best, best[1:]):
            if abs((next_one[1] - one[1]) - (next_one[0] - one[0])) > STEP:
                self.pieces.append([])
            self.pieces[-1].append(next_one)

    @staticmethod
    def _between(piece, key, value, wanted):
        place = bisect.bisect_right([reading[key] for reading in piece], value)
        if not 0 < place < len(piece):
            return None
        left, right = piece[place - 1], piece[place]
        share = (value - left[key]) / (right[key] - left[key])
        rate = lambda a, b: (b[1] - a[1]) / (b[0] - a[0])
        bend = 0.0  # the rate was changed somewhere between
        for other in (piece[max(place - 2, 0):place], piece[place:place + 2]):
            if len(other) == 2:
                bend = max(bend, abs(rate(*other) - rate(left, right)) * (right[0] - left[0]) / 2)
        return round(left[wanted] + share * (right[wanted] - left[wanted])), max(left[2], right[2]) + bend

    def at(self, instant):
        """What it showed, and how wrong that may be."""
        found = [self._between(piece, 0, instant, 1) for piece in self.pieces]
        return next((reading for reading in found if reading), None)

    def when(self, shown):
        """When it showed that; None if that is not sure."""
        found = [reading for piece in self.pieces if (reading := self._between(piece, 1, shown, 0))]
        return found[0] if len(found) == 1 else None


class Phase:
    """What one phase left."""

    def __init__(self, name, files):
        self.name = name
        self.near, self.far = Clock(files[f"{name}.near"]), Clock(files[f"{name}.far"])
        self.samples = samples(files.get(f"{name}.ours", ""))
        self.log = files.get(f"{name}.ptp4l", "")

    def truth(self, instant):
        """near minus far."""
        near, far = self.near.at(instant), self.far.at(instant)
        return near and far and (near[0] - far[0], near[1] + far[1])

    def steered(self):
        """The true offset at every reading of the second half."""
        readings = [reading for piece in self.near.pieces for reading in piece]
        late = readings[len(readings) // 2:]
        return [truth[0] for reading in late if (truth := self.truth(reading[0]))]

    def held(self):
        """Our samples beside the truth: (instant, offset, bound, truth, how wrong that may be)."""
        rows = []
        for sample in self.samples:
            placed = self.near.when(sample["local_ns"])
            far = placed and self.far.at(placed[0])
            if far:
                rows.append((placed[0], sample["offset_ns"], sample["bound_ns"], sample["local_ns"] - far[0], placed[1] + far[1]))
        return rows

    def measured(self):
        """Errors of the second half, ours or ptp4l's."""
        if self.samples:
            rows = self.held()
            return [offset - truth for _, offset, _, truth, _ in rows[len(rows) // 2:]]
        found = re.findall(r"ptp4l\[(\d+)\.(\d+)\].*? offset +(-?\d+)", self.log)
        rows = [(int(seconds) * 10 ** 9 + int(fraction.ljust(9, "0")), int(offset)) for seconds, fraction, offset in found]
        rows = rows[len(rows) // 2:]
        return [offset - truth[0] for instant, offset in rows if (truth := self.truth(instant))]


def samples(lines):
    found = [json.loads(line) for line in lines.splitlines() if line.startswith("{")]
    return [sample for sample in found if sample.get("offset_ns") is not None]


def check(holds, text):
    if not holds:
        FAILED.append(text)
        print(f"FAILED  {text}")


def rms(values):
    return math.sqrt(sum(value * value for value in values) / len(values)) if values else math.inf


def row(name, values, note=""):
    if not values:
        print(f"{name:<28}{'nothing':>9}")
        return
    ordered = sorted(values)
    print(f"{name:<28}{len(values):>9}{rms(values):>11.0f}{ordered[len(ordered) // 2]:>11.0f}{max(map(abs, values)):>11.0f}  {note}")


def covered(phase):
    rows = phase.held()
    inside = [abs(offset - truth) <= bound + wrong for _, offset, bound, truth, wrong in rows]
    worst = [line for line, good in zip(rows, inside) if not good][:3]
    check(rows and all(inside), f"{phase.name}: the truth is in the bound of {sum(inside)} of {len(rows)} samples {worst}")
    bounds = sorted(line[2] for line in rows)
    return f"truth in the bound of {sum(inside)} of {len(rows)}, median ±{bounds[len(bounds) // 2]}" if rows else ""


def compare(kind, values, base):
    limit = 1.5 * rms(base) + R
    check(rms(values) <= limit, f"{kind}: rms {rms(values):.0f} ns, at most {limit:.0f}")


def main():
    told, files = sections(open(sys.argv[1], encoding="utf-8", errors="replace").read())
    print(told.strip())
    phases = {name[:-5]: Phase(name[:-5], files) for name in files if name.endswith(".near")}
    print(f"{'ns':<28}{'samples':>9}{'rms':>11}{'median':>11}{'largest':>11}")
    steady = []
    for condition in ("quiet", "jitter"):
        for kind, values_of in (("measure", Phase.measured), ("steer", Phase.steered)):
            of = {who: phases.get(f"{condition}-{kind}-{who}") for who in ("ptp4l", "ours", "from-ours")}
            if not all(of.values()):
                continue
            values = {who: values_of(phase) for who, phase in of.items()}
            for who, phase in of.items():
                row(phase.name, values[who], covered(phase) if phase.samples else "")
            compare(f"{condition}-{kind}-ours", values["ours"], values["ptp4l"])
            compare(f"{condition}-{kind}-from-ours", values["from-ours"], values["ptp4l"])
            if (condition, kind) == ("quiet", "steer"):
                steady = values["ptp4l"]
    system(files)
    if "holdover" in phases:
        holdover(phases["holdover"], files["holdover.status"], steady)
    if "stepped" in phases:
        stepped(phases["stepped"])
        slewed(phases["slewed"])
    check(phases or "ok" in told, "nothing was measured")
    sys.exit(f"failed: {len(FAILED)}" if FAILED else 0)


def system(files):
    values = {}
    for who in ("ptp4l", "ours"):
        # phc_ctl says how far the system clock is from the adapter's
        found = re.findall(r"offset from CLOCK_REALTIME is (-?\d+)ns", files.get(f"system-{who}.compared", ""))
        late = [-int(offset) - 37 * 10 ** 9 for offset in found][len(found) // 2:]
        if not late:
            return
        values[who] = late
        row(f"system-{who}", late)
    compare("system-ours", values["ours"], values["ptp4l"])


def holdover(phase, answers, steady):
    row("holdover", phase.steered(), covered(phase))
    decoder, place, statuses = json.JSONDecoder(), 0, []
    while (start := answers.find("{", place)) >= 0:
        status, place = decoder.raw_decode(answers, start)
        statuses.append(status)
    # the wall clock is not steered here: any sample says how far it is from the steady one
    rows = phase.held()
    wall = next(sample["time"] - line[0] for sample in phase.samples for line in rows if line[1] == sample["offset_ns"])
    held = []
    for status in statuses:
        estimate = status["ports"][0]["estimate"]
        truth = phase.truth(status["time"] - wall)
        if estimate and estimate["holdover"] and truth:
            held.append((estimate["age_ns"], estimate["bound_ns"], estimate["offset_ns"] - truth[0], truth[1]))
    # a status is of some milliseconds ago
    check(len(held) >= 4, f"holdover: {len(held)} answers")
    check(all(abs(error) <= bound + wrong for _, bound, error, wrong in held), f"holdover: the truth is outside: {held}")
    check(all(one[1] < two[1] for one, two in zip(held, held[1:])), f"holdover: the bound does not grow: {held}")
    if held:
        print(f"    {len(held)} answers without a transmitter; after {held[0][0] / 1e9:.0f} s the bound is ±{held[0][1]}, "
              f"after {held[-1][0] / 1e9:.0f} s ±{held[-1][1]}, the error {held[-1][2]}")
    late = phase.steered()[-40:]
    if steady:
        compare("holdover, transmitter back", late, steady)


def stepped(phase):
    row("stepped", phase.steered()[-40:], covered(phase))
    check(len(phase.far.pieces) == 2, f"stepped: the transmitter's clock was set {len(phase.far.pieces) - 1} times")
    check(len(phase.near.pieces) == 3, f"stepped: the clock was set {len(phase.near.pieces) - 1} times, at the start and once")
    check(rms(phase.steered()[-40:]) < 1_000, "stepped: not back within a microsecond")


def slewed(phase):
    row("slewed", phase.steered()[-20:], covered(phase))
    check(len(phase.near.pieces) == 2, f"slewed: the clock was set {len(phase.near.pieces) - 1} times, at the start only")
    fastest = 0
    for one, two in zip(phase.near.pieces[-1], phase.near.pieces[-1][1:]):
        gained = abs((two[1] - one[1]) - (two[0] - one[0])) - one[2] - two[2]
        fastest = max(fastest, gained / (two[0] - one[0]) * 1e6)
    print(f"    never faster than {fastest:.1f} ppm, the limit is 200")
    check(fastest <= 200.2, f"slewed: {fastest:.1f} ppm")
    check(rms(phase.steered()[-20:]) < 1_000, "slewed: not there at the end")


main()
