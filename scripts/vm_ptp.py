"""Judges what the guest of scripts/vm-ptp printed, by cross timestamps of both NICs' clocks.

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
  slewed    the same with the defaults: never faster than the slew limit, and there at the end
  signal    SIGTERM and SIGHUP during a slew: the clock's frequency is right to 1 ppm (the system's
            clock, with software timestamps: 5 ppm) half a second later (the system clock's slew ends
            with a whole second: three); SIGKILL: the system clock's slew ends as well, but 10 ppm may
            remain; of a NIC's no more than the slew limit

R = 95 ns: the 82574 sets its clock's rate in steps of 95 ppb, so no steering is better than what
that gains from one second to the next.
"""

import bisect
import json
import math
import re
import statistics
import sys

import exact_json

R = 95
SLEW_LIMIT = 500  # ppm, the default
BASE = 20  # ppm, of the free-running clocks at most
STEP = 100_000  # ns between two readings, beyond their distance: somebody set the clock
FAILED = []


def sections(text):
    parts = re.split(r"^=== (\S+)\n", text, flags=re.M)
    told = re.findall(r"^(?:ok |FAILED).*(?:\n(?!=== |ok |FAILED).*)*", parts[0], flags=re.M)
    return "\n".join(told), dict(zip(parts[1::2], parts[2::2]))


class Clocks:
    """Both clocks by their readings: when (monotonic), what the near one showed, near minus far,
    the system's real-time clock minus far, and how wrong these may be. In pieces without steps."""

    def __init__(self, lines):
        self.pieces = []
        for line in lines.splitlines():
            numbers = line.split()
            if len(numbers) != 7 or not all(number.isdigit() for number in numbers):
                continue
            now, before, near, after, far_before, far, far_after = map(int, numbers)
            UTC = (before + after) // 2
            far -= (far_before + far_after) // 2 - UTC
            row = (now, near, near - far, UTC - far, (after - before + far_after - far_before) / 2 + 1)
            last = self.pieces[-1][-1] if self.pieces else None
            near_jumped = last and abs((row[1] - last[1]) - (row[0] - last[0])) > STEP
            far_jumped = last and abs((row[1] - row[2] - last[1] + last[2]) - (row[0] - last[0])) > STEP
            if not last or near_jumped or far_jumped:
                self.pieces.append([])
            self.pieces[-1].append(row)

    def truth(self, key, value):
        """near minus far when the clock of column `key` showed `value`; None if that is not sure."""
        margin = 300_000_000  # between the last reading before a step and the step
        near = [piece for piece in self.pieces if piece[0][key] - margin <= value <= piece[-1][key] + margin]
        if len(near) != 1:
            return None
        piece = near[0]
        place = bisect.bisect_right([row[key] for row in piece], value)
        if not 0 < place < len(piece):
            return None
        left, right = piece[place - 1], piece[place]
        share = (value - left[key]) / (right[key] - left[key])
        rate = lambda one, two: (two[2] - one[2]) / (two[0] - one[0])
        bend = 0.0  # the rate was changed somewhere between
        for other in (piece[max(place - 2, 0):place], piece[place:place + 2]):
            if len(other) == 2:
                bend = max(bend, abs(rate(*other) - rate(left, right)) * (right[0] - left[0]) / 2)
        return left[2] + share * (right[2] - left[2]), max(left[4], right[4]) + bend

    def late(self, column):
        """A column of the second half."""
        rows = [row for piece in self.pieces for row in piece]
        return [row[column] for row in rows[len(rows) // 2:]]


class Phase:
    """What one phase left."""

    def __init__(self, name, files):
        self.name = name
        self.clocks = Clocks(files[f"{name}.clocks"])
        self.samples = samples(files.get(f"{name}.ours", ""))
        self.log = files.get(f"{name}.ptp4l", "")

    def steered(self):
        """The true offset at every reading of the second half."""
        return self.clocks.late(2)

    def held(self):
        """Our samples beside the truth: (what the clock showed, offset, bound, truth, how wrong that may be)."""
        rows = []
        for sample in self.samples:
            truth = self.clocks.truth(1, sample["local_ns"])
            if truth:
                rows.append((sample["local_ns"], sample["offset_ns"], sample["error_bound_ns"], *truth))
        return rows

    def measured(self):
        """Errors of the second half, ours or ptp4l's."""
        if self.samples:
            rows = self.held()
            return [offset - truth for _, offset, _, truth, _ in rows[len(rows) // 2:]]
        found = re.findall(r"ptp4l\[(\d+)\.(\d+)\].*? offset +(-?\d+)", self.log)
        rows = [(int(seconds) * 10 ** 9 + int(fraction.ljust(9, "0")), int(offset)) for seconds, fraction, offset in found]
        rows = rows[len(rows) // 2:]
        return [offset - truth[0] for instant, offset in rows if (truth := self.clocks.truth(0, instant))]


def samples(lines):
    found = [exact_json.loads(line) for line in lines.splitlines() if line.startswith("{")]
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
    phases = {name[:-7]: Phase(name[:-7], files) for name in files if name.endswith(".clocks")}
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
    if "system-ours" in phases:
        system(phases)
    if "holdover" in phases:
        holdover(phases["holdover"], files["holdover.status"], steady)
    if "stepped" in phases:
        stepped(phases["stepped"])
        slewed(phases["slewed"])
    for name in phases:
        if name.startswith("signal-"):
            signalled(phases[name], files[f"{name}.signal"])
    check(phases or "ok" in told, "nothing was measured")
    sys.exit(f"failed: {len(FAILED)}" if FAILED else 0)


def system(phases):
    """The transmitter's clock counts PTP time."""
    values = {}
    for who in ("ptp4l", "ours"):
        values[who] = [offset + 37 * 10 ** 9 for offset in phases[f"system-{who}"].clocks.late(3)]
        row(f"system-{who}", values[who])
    compare("system-ours", values["ours"], values["ptp4l"])
    inside = total = 0
    clocks = phases["system-ours"].clocks
    rows = [reading for piece in clocks.pieces for reading in piece]
    for sample in phases["system-ours"].samples[10:]:
        # the sample is of the Sync's time on the PTP scale; it is told with the answer, some 100 ms later
        local = sample["local_ns"] - 37 * 10 ** 9
        place = bisect.bisect_right([reading[1] - reading[2] + reading[3] for reading in rows], local)
        if 0 < place < len(rows):
            truth = [reading[3] + 37 * 10 ** 9 for reading in rows[place - 1:place + 1]]
            total += 1
            inside += any(abs(sample["offset_ns"] - one) <= sample["error_bound_ns"] + rows[place][4] for one in truth)
    print(f"    the truth is in the bound of {inside} of {total}")
    check(total and inside == total, f"system-ours: the truth is in the bound of {inside} of {total} samples")


def holdover(phase, answers, steady):
    row("holdover", phase.steered(), covered(phase))
    decoder, place, statuses = json.JSONDecoder(object_hook=exact_json.exact), 0, []
    while (start := answers.find("{", place)) >= 0:
        status, place = decoder.raw_decode(answers, start)
        statuses.append(status)
    # no status says what the near clock shows: the real-time clock, which nobody steers here, tells
    clocks = [reading for piece in phase.clocks.pieces for reading in piece]
    held = []
    for status in statuses:
        estimate = (status.get("ports") or [{}])[0].get("estimate")
        place = bisect.bisect_right([reading[1] - reading[2] + reading[3] for reading in clocks], status.get("time", 0))
        if estimate and estimate["holdover"] and 0 < place < len(clocks):
            _, _, truth, _, wrong = clocks[place]
            held.append((estimate["age_ns"], estimate["error_bound_ns"], estimate["offset_ns"] - truth, wrong))
    # a status is of some milliseconds ago
    check(len(held) >= 4, f"holdover: {len(held)} answers")
    check(all(abs(error) <= bound + wrong for _, bound, error, wrong in held), f"holdover: the truth is outside: {held}")
    check(all(one[1] < two[1] for one, two in zip(held, held[1:])), f"holdover: the bound does not grow: {held}")
    if held:
        print(f"    {len(held)} answers without a transmitter; after {held[0][0] / 1e9:.0f} s the bound is ±{held[0][1]}, "
              f"after {held[-1][0] / 1e9:.0f} s ±{held[-1][1]}, the error {held[-1][2]}")
    late = phase.steered()[-100:]
    if steady:
        compare("holdover, transmitter back", late, steady)


def stepped(phase):
    row("stepped", phase.clocks.late(2)[-100:], covered(phase))
    # what the near clock lost against the far one, from one piece to the next
    jumps = [two[0][2] - one[-1][2] for one, two in zip(phase.clocks.pieces, phase.clocks.pieces[1:])]
    print(f"    the offset jumped by {', '.join(f'{jump / 1e6:.3f} ms' for jump in jumps)}")
    check(len(jumps) == 3, f"stepped: {len(jumps)} steps: ours at the start, the transmitter's, ours")
    check(rms(phase.clocks.late(2)[-100:]) < 1_000, "stepped: not back within a microsecond")


def slewed(phase):
    row("slewed", phase.clocks.late(2)[-50:], covered(phase))
    jumps = [two[0][2] - one[-1][2] for one, two in zip(phase.clocks.pieces, phase.clocks.pieces[1:])]
    check(len(jumps) == 2, f"slewed: {len(jumps)} steps: ours at the start, the transmitter's")
    rows, fastest = phase.clocks.pieces[-1], 0
    for one, two in zip(rows, rows[20:]):
        fastest = max(fastest, abs((two[1] - one[1]) - (two[0] - one[0])) / (two[0] - one[0]) * 1e6)
    print(f"    never faster than {fastest:.1f} ppm, the limit is {SLEW_LIMIT} beside the base frequency")
    check(150 < fastest <= SLEW_LIMIT + BASE + 0.5, f"slewed: {fastest:.1f} ppm")
    check(rms(phase.clocks.late(2)[-50:]) < 1_000, "slewed: not there at the end")


def slope(rows, column):
    """Of a column over the time in these readings, in ppm."""
    if len(rows) < 5:
        return math.nan
    points = [((row[0] - rows[0][0]) / 1e9, row[column] - rows[0][column]) for row in rows]
    return statistics.linear_regression(*zip(*points)).slope / 1e3


def signalled(phase, noted):
    _, clock, signal = phase.name.split("-")
    instants = re.findall(r"(\d{8,})$", noted, flags=re.M)
    check(len(instants) == 2, f"{phase.name}: no instants of the signal and of the end: {noted}")
    if len(instants) != 2:
        return
    sent, ended = map(int, instants)
    column, limit, settled = (2, 1, 500_000_000) if clock == "nic" else (3, 5, 3_000_000_000)
    rows = phase.clocks.pieces[-1]
    before = slope([row for row in rows if sent - 1_500_000_000 <= row[0] <= sent], column)
    after = [row for row in rows if row[0] >= ended + settled]
    first, last = slope(after[:20], column), slope(after[-50:], column)
    print(f"{phase.name:<28}{len(after):>9} readings; against the transmitter {before:.2f} ppm before the signal, "
          f"{first:.2f} ppm after it, {last:.2f} ppm in the end; ended after {(ended - sent) / 1e6:.0f} ms")
    check(abs(before) > 50, f"{phase.name}: there was no slew to be ended")
    if signal == "KILL":
        limit = SLEW_LIMIT + BASE if clock == "nic" else limit + 10
    check(abs(first) <= limit and abs(last) <= limit, f"{phase.name}: {first:.2f} and {last:.2f} ppm remain, at most {limit}")


main()
