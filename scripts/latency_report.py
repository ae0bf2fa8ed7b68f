"""Owns how CI reads `wirestamp latency --json`. Measures nothing.

usage: latency_report.py check COUNT < REPORT         fields, order of percentiles, no loss
       latency_report.py compare OURS.. -- THEIRS..   ratios of the medians, pass by pass
"""

import json
import sys

PATHS = ("send_path_ns", "wire_ns", "receive_path_ns")
PERCENTILES = ("p50", "p90", "p99", "p99_9", "max")
LOSSES = ("packets", "transmit_timestamps", "receive_timestamps")
LOWEST, HIGHEST = 0.5, 2.0


def violations(report, count):
    """What a report of `count` datagrams over loopback breaks of its promises."""
    for field in ("interface", "source", "packets", "lost", *PATHS):
        if field not in report:
            yield f"no field {field}"
            return
    if report["packets"] != count:
        yield f"{report['packets']} packets instead of {count}"
    if report["source"] != "software":
        yield f"source {report['source']!r}: the loopback interface has no hardware clock"
    for what in LOSSES:
        if report["lost"].get(what) != 0:
            yield f"lost {what}: {report['lost'].get(what)}"
    for path in PATHS:
        figures = report[path]
        if not all(isinstance(figures.get(name), int) for name in (*PERCENTILES, "mean")):
            yield f"{path}: not all of p50, p90, p99, p99_9, max, mean are integers: {figures}"
        elif (ordered := [figures[name] for name in PERCENTILES]) != sorted(ordered):
            yield f"{path}: percentiles fall: {ordered}"


def check(count):
    report = json.load(sys.stdin)
    broken = list(violations(report, count))
    for violation in broken:
        print(violation, file=sys.stderr)
    if not broken:
        medians = ", ".join(f"{path} {report[path]['p50']}" for path in PATHS)
        print(f"{count} datagrams, none lost; medians: {medians}")
    return 1 if broken else 0


def median_of(name, path):
    with open(name, encoding="utf-8") as file:
        return json.load(file)[path]["p50"]


def compare(ours, theirs):
    """The fastest pass of each decides. A virtual core has two speeds, 1.7 times apart, and a
    pass meets either: ratios within a pass compare speeds as often as programs."""
    outside = False
    print(f"{'median of a pass, ns':<21} {'wirestamp: fastest, all':<27} {'C: fastest, all':<27} ratio of the fastest")
    for path in PATHS:
        a, b = (sorted(median_of(name, path) for name in names) for names in (ours, theirs))
        ratio = a[0] / b[0]
        inside = LOWEST <= ratio <= HIGHEST
        outside |= not inside
        verdict = "" if inside else f"  outside {LOWEST} to {HIGHEST}"
        shown = [f"{all[0]}, {all[0]}-{all[-1]}" for all in (a, b)]
        print(f"{path:<21} {shown[0]:<27} {shown[1]:<27} {ratio:.2f}{verdict}")
    return 1 if outside else 0


def main(arguments):
    if arguments[:1] == ["check"] and len(arguments) == 2:
        return check(int(arguments[1]))
    if arguments[:1] == ["compare"] and "--" in arguments:
        split = arguments.index("--")
        return compare(arguments[1:split], arguments[split + 1 :])
    print(__doc__, file=sys.stderr)
    return 2


sys.exit(main(sys.argv[1:]))
