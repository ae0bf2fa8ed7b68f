#!/usr/bin/env python3
"""Validates what the program prints with --json against the JSON Schemas in docs/json, on the loopback interface and on
simulated NICs that work, fail and lack things.

Here an unknown name is a fault, so that no field appears without a description. For readers of the JSON it is none: the
schemas in docs/json allow more.

usage: schemas.py PROGRAM
"""

import copy
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from jsonschema import Draft202012Validator

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/json")
PRESETS = ("i225", "igb", "lossy-link", "tx-never", "software-only", "unprivileged", "vanishing", "windows-modern", "windows-no-api")
# Each with the schema of what it prints; an error has its own.
ON_EACH_PRESET = (
    ("latency", "latency sim0 --count 50"),
    ("latency", "latency sim0 --count 50 --source hardware --histogram histogram"),
    ("doctor", "doctor"),
    ("capabilities", "capabilities sim0"),
    ("cross", "cross sim0 --count 3"),
    ("enable", "enable sim0"),
    ("interfaces", "interfaces"),
    ("watch", "watch --for 2s"),
    ("record", "record sim0 --for 5s --timestamps 2 --output events.csv"),
    ("convert", "convert events.csv"),
)
ONCE = (
    ("latency", "latency lo --count 100 --rate 10000"),
    ("doctor", "doctor"),
    ("capabilities", "capabilities lo --probe 127.0.0.1"),
    ("interfaces", "interfaces"),
    ("presets", "presets"),
    ("error", "latency nowhere0"),
    ("error", "no-such-command"),
    ("ptp", "ptp --simulate jitter"),
    ("ptp", "ptp --simulate failover"),
    ("ptp", "ptp lo --for 1s"),
    ("ntp", "ntp 127.0.0.1:{ntp} --count 2 --interval 10ms"),
    ("latency-peer", "latency --peer {reflector} --clocks same --count 50"),
    ("latency-peer", "latency --peer {reflector} --clocks unrelated --count 50"),
    ("ntp", "ntp 127.0.0.1:1 --count 1 --timeout 100ms"),
)


def closed(schema):
    """The schema with names that it does not list forbidden."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {name: closed(part) for name, part in schema.items()}
    if "properties" in schema and "additionalProperties" not in schema:
        parts["additionalProperties"] = False
    return parts


def validators():
    found = {}
    for name in sorted(os.listdir(FOLDER)):
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            schema = json.load(file)
        Draft202012Validator.check_schema(schema)
        found[name.removesuffix(".json")] = Draft202012Validator(closed(copy.deepcopy(schema)))
    return found


def serve_ntp(server):
    """Answers requests as a server of stratum 1 whose clock is this machine's (RFC 5905, section 7.3)."""

    def now():
        whole = time.time_ns()
        return struct.pack("!II", whole // 10**9 + 2_208_988_800, (whole % 10**9 << 32) // 10**9)

    while True:
        request, client = server.recvfrom(2048)
        received = now()
        head = struct.pack("!BBbbII4s", 4 << 3 | 4, 1, request[2], -20, 0, 0, b"TEST") + received
        server.sendto(head + request[40:48] + received + now(), client)


def faults(program, schemas, folder, options, name, command, seen):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("WIRESTAMP_")}
    words = [program, "--json", *options, *command.split()]
    printed = subprocess.run(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60).stdout
    pieces = printed.splitlines() if name == "ptp" else [printed]
    if not any(piece.strip() for piece in pieces):
        yield "printed nothing"
    for piece in pieces:
        yield from compared(schemas, name, json.loads(piece), seen)


def compared(schemas, name, value, seen):
    kind = "error" if "error" in value else name
    seen[kind] = seen.get(kind, 0) + 1
    for error in schemas[kind].iter_errors(value):
        yield f"{error.json_path}: {error.message}"[:400]


def main():
    program, schemas, seen, wrong = os.path.abspath(sys.argv[1]), validators(), {}, 0
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))
    threading.Thread(target=serve_ntp, args=[server], daemon=True).start()
    reflector = subprocess.Popen(
        [program, "--json", "reflect", "--listen", "127.0.0.1:0", "--for", "30s"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    lines = [json.loads(reflector.stdout.readline())]
    while "listening" not in lines[-1]:
        lines.append(json.loads(reflector.stdout.readline()))
    places = {"ntp": server.getsockname()[1], "reflector": lines[-1]["listening"][0]}
    once = [(name, command.format(**places)) for name, command in ONCE]

    def of_one(job):
        options, commands = job
        with tempfile.TemporaryDirectory() as folder:
            os.close(os.open(os.path.join(folder, "events.csv"), os.O_CREAT))  # where nothing can be recorded
            found = []
            for name, command in commands:
                found += [f"wirestamp {' '.join(options)} {command}: {fault}" for fault in faults(program, schemas, folder, options, name, command, seen)]
            return found

    jobs = [(["--sim", preset], ON_EACH_PRESET) for preset in PRESETS] + [([], once)]
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(of_one, jobs):
            wrong += len(found)
            print("\n".join(found), end="\n" if found else "", file=sys.stderr)
    reflector.terminate()
    lines += map(json.loads, reflector.communicate()[0].splitlines())
    for fault in [fault for line in lines for fault in compared(schemas, "reflect", line, seen)]:
        wrong += 1
        print(f"wirestamp reflect: {fault}", file=sys.stderr)
    unused = sorted(set(schemas) - set(seen))
    print(f"JSON: {sum(seen.values())} objects held against {len(seen)} schemas, {wrong} faults")
    if wrong or unused:
        sys.exit(f"never printed: {unused}" if unused else 1)


main()
