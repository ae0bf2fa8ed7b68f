#!/usr/bin/env python3
"""Holds what the program prints for people against the width of the terminal, from 40 to 200 columns: no line is longer, and from
60 columns on no word (an address, a number with its unit) is torn. Commands that the doctor gives are there to be copied: they are
not broken.

usage: widths.py PROGRAM
"""

import collections
import os
import re
import subprocess
import sys
import tempfile

WIDTHS = (40, 60, 80, 140, 200)
COMFORTABLE = 60
# Headings of first columns: left out where the values stand below each other.
HEADINGS = {"name", "timestamps", "preset", "path", "#"}
# On simulated NICs: the same output each time.
COMMANDS = (
    "interfaces --simulated",
    "capabilities sim0",
    "capabilities sim0 --all",
    "enable sim0",
    "cross sim0 --count 5",
    "doctor sim0",
    "latency sim0 --count 200",
    "latency sim0 --count 200 --max-p99 1us --max-p99 send_path=1ns --max-loss 0.1%",
    "record sim0 --for 5s --timestamps 2 --output events.csv",
    "convert events.csv --format table",
    "watch --for 2s",
    "presets",
    "ptp sim0 --for 3s",
    "ptp --simulate jitter",
    "ptp --simulate campaign --runs 2",
)
PRESETS = ("i225", "igb", "lossy-link", "unprivileged", "vanishing", "windows-modern")


def printed(program, preset, command, columns, folder):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WIRESTAMP_")}
    environment |= {"COLUMNS": str(columns), "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
    words = [program, "--sim", preset, *command.split()]
    return subprocess.run(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60).stdout


def prose(text):
    """Without pictures and their axes, whose labels depend on the width."""
    lines = []
    after_axis = False
    for line in text.splitlines():
        if not after_axis and not re.search(r"[│└]", line):
            lines.append(line)
        after_axis = "└" in line
    return lines


def is_command(line):
    return re.match(r"^ {7}(run)? {1,4}\S", line) is not None and not re.match(r"^ {25}", line)


def main():
    program, wrong, count = os.path.abspath(sys.argv[1]), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for preset in PRESETS:
            for command in COMMANDS:
                widest = collections.Counter(" ".join(prose(printed(program, preset, command, WIDTHS[-1], folder))).split())
                for columns in WIDTHS:
                    text = printed(program, preset, command, columns, folder)
                    count += 1
                    name = f"{columns} columns: wirestamp --sim {preset} {command}"
                    for line in text.splitlines():
                        if len(line) > columns and not is_command(line):
                            print(f"{name}: {len(line)} columns: {line}", file=sys.stderr)
                            wrong += 1
                    torn = set(widest) - set(" ".join(prose(text)).split()) - HEADINGS
                    if columns >= COMFORTABLE and torn:
                        print(f"{name}: torn or missing: {sorted(torn)}", file=sys.stderr)
                        wrong += 1
    print(f"widths: {count} outputs of {len(COMMANDS)} commands at {', '.join(map(str, WIDTHS))} columns, {wrong} faults")
    sys.exit(1 if wrong or not count else 0)


main()
