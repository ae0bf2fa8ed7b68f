#!/usr/bin/env python3
"""Validates what the program prints with --json against the JSON Schemas in docs/json, on the loopback interface and on
simulated NICs that work, fail and lack things, and (as root) on a veth interface in a network namespace. So are the
lines of --format ndjson. No integer may exceed 2^53, and jq 1.6, which holds numbers as doubles, must give back each object
as it is. With MONITOR, a program that has `monitor`, so are the snapshot and the events that it serves, and what `monitor` and
`top` print.

Here an unknown name is a fault, so that no field appears without a description. For readers of the JSON it is none: the
schemas in docs/json allow more.

usage: schemas.py PROGRAM [MONITOR]
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
import tomllib
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from jsonschema import Draft202012Validator

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/json")
PRESETS = ("i225", "igb", "lossy-link", "tx-never", "software-only", "unprivileged", "vanishing", "windows-modern", "windows-no-api")
# Each with the schema of what it prints; an error has its own.
ON_EACH_PRESET = (
    ("latency", "latency sim0 --count 50"),
    ("latency", "latency sim0 --count 50 --queue"),
    ("latency-peer", "latency --peer sim1 --count 50 --histogram peer --max-p999 1ms"),
    ("latency-compare", "latency compare peer peer"),
    ("ntp", "ntp sim1"),
    ("ptp", "ptp sim0 --for 20s"),
    ("reflect", "reflect --for 2s"),
    ("latency", "latency sim0 --count 50 --source hardware --histogram histogram"),
    ("latency-compare", "latency compare histogram histogram"),
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
    ("ptp", "ptp --simulate campaign --runs 2"),
    ("ptp", "ptp lo --for 1s"),
    ("ntp", "ntp 127.0.0.1:{ntp} --count 2 --interval 10ms"),
    ("latency-peer", "latency --peer {reflector} --clocks same --count 50"),
    ("latency-peer", "latency --peer {reflector} --clocks unrelated --count 50"),
    ("capture", "capture lo --for 2s -w a.pcapng"),
    ("capture", "capture lo --count 2 --for 5s"),
    ("capture-compare", "capture compare a.pcapng a.pcapng"),
    ("capture-answers", "capture answers a.pcapng"),
    ("ntp", "ntp 127.0.0.1:1 --count 1 --timeout 100ms"),
)
# By the program that has the monitor, in a folder with this configuration.
OF_MONITOR = (
    ("monitor-check", "monitor --check"),
    ("monitor-check", "monitor --check --config monitor.toml"),
    ("monitor", "top --once --self --for 500ms"),
    ("monitor", "top --once --self --config monitor.toml --for 500ms"),
)
OF_SIMULATED_MONITOR = (("monitor", "top --once --self --for 1s"),)
CONFIGURATION = """
http.listen = "127.0.0.1:{http}"
reflector.listen = ["127.0.0.1:{stamp}"]
history.directory = "history"
recording.directory = "recordings"
[[path]]
interface = "lo"
[[stamp]]
name = "here"
peer = "127.0.0.1:{stamp}"
clocks = "same"
interval = "10ms"
[[stamp]]
name = "nobody"
peer = "127.0.0.1:1"
timeout = "100ms"
[[stamp]]
name = "unknown"
peer = "nowhere.invalid"
[[ntp]]
server = "127.0.0.1:{ntp}"
interval = "1s"
[[ntp]]
server = "127.0.0.1:1"
interval = "1s"
[[ptp]]
interface = "lo"
"""
# Configurations of the monitor that its schema and the program both take, and such that both refuse.
RIGHT = (
    "",
    '[http]\nlisten = "0.0.0.0:1"\nallow_plaintext = true',
    '[[stamp]]\npeer = "a"\nclocks = "utc"\nclock_bound = "1h 30m"\ndscp = 63',
    '[[ptp]]\ninterface = "eth0"\noptions.trust.compare_domains = [1]\noptions.steering.step_ns = 5',
    '[[stamp]]\npeer = "a"\nclocks = "utc"\nclock_bound = "0"\ninterval = " 1.5s"\ntimeout = "1 000 ms 2s"',
    '[[ntp]]\nserver = "a"\ninterval = "2 days 3hr"\ntimeout = "1500.5ms"',
    '[reflector]\nlisten = ["127.0.0.1:0"]\n[otlp]\nendpoint = "http://[::1]:1/"\n[clocks]\ninterfaces = []',
    '[[stamp]]\npeer = "a"\npeer_name = "b"\n[recording]\ndirectory = "d"\ntables = ["probes"]\nkeep = "2 days"\nclock_bound = "1us"',
)
WRONG = (
    "nonsense = 1",
    "host = 1",
    '[http]\nlisten = 9862',
    "[http]\nconnections = 0",
    '[http]\nkey = "k"',
    '[http]\ncertificate = "c"',
    "[[stamp]]",
    '[stamp]\npeer = "a"',
    '[[stamp]]\npeer = "a"\nclocks = "utc"',
    '[[stamp]]\npeer = "a"\nclocks = "UTC"',
    '[[stamp]]\npeer = "a"\ndscp = 64',
    '[[stamp]]\npeer = "a"\ninterval = "soon"',
    '[[stamp]]\npeer = "a"\ninterval = "5"',
    '[[stamp]]\npeer = "a"\ninterval = "5 parsecs"',
    '[[stamp]]\npeer = "a"\ninterval = "1.s"',
    '[[stamp]]\npeer = "a"\ninterval = "1m 30"',
    '[[stamp]]\npeer = "a"\ninterval = "-1s"',
    '[[stamp]]\npeer = "a"\ninterval = 5',
    '[[ntp]]\nserver = "a"\nmax_drift_ppm = -1',
    '[[ptp]]\ninterface = "eth0"\noptions.clock = "nic"',
    '[[ptp]]\ninterface = "eth0"\noptions.hops = 0',
    '[[ptp]]\ninterface = "eth0"\noptions.trust.nonsense = 0',
    '[history]\ndirectory = "d"\nlimit_bytes = 1048575',
    '[recording]\ndirectory = "d"\nlimit_bytes = 1048575',
    '[recording]\ndirectory = "d"\ntables = []',
    '[recording]\ndirectory = "d"\ntables = ["packets"]',
    '[otlp]\nendpoint = "https://127.0.0.1/"',
    "[metrics]\nseries_limit = 1.5",
)
# On an interface without hardware timestamps that other hosts are behind.
ON_VETH = (
    ("capabilities", "capabilities jsn0 --probe 192.0.2.2"),
    ("doctor", "doctor jsn0 --probe 192.0.2.2"),
    ("interfaces", "interfaces"),
    ("error", "cross jsn0"),
    ("error", "enable jsn0"),
    ("error", "record jsn0 --for 1s --output events.csv"),
    ("watch", "watch jsn0 --for 200ms"),
    ("latency-peer", "latency jsn0 --peer 192.0.2.2:8620 --clocks same --count 20"),
    ("ptp", "ptp jsn0 --for 1s"),
    ("ptp-status", "ptp status jsn0"),
)
NETWORK = """
set -e
ip link set lo up
ip link add jsn0 type veth peer name jsn1
unshare --net sleep 60 & there=$!
trap 'kill $there $serving 2>/dev/null' EXIT
while [ "$(readlink /proc/$there/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
ip link set jsn1 netns $there
ip address add 192.0.2.1/24 dev jsn0
ip link set jsn0 up
nsenter --net=/proc/$there/ns/net sh -c 'ip address add 192.0.2.2/24 dev jsn1 && ip link set jsn1 up'
nsenter --net=/proc/$there/ns/net "$0" reflect --listen 192.0.2.2:8620 --clock-bound none --for 60s >ready & serving=$!
until grep -q answering ready 2>/dev/null; do sleep 0.01; done
case "$*" in *"ptp status"*)
    "$0" ptp jsn0 --for 20s >/dev/null 2>&1 & clock=$!
    trap 'kill $there $serving $clock 2>/dev/null; wait' EXIT
    until "$0" ptp status jsn0 >/dev/null 2>&1; do sleep 0.05; done ;;
esac
"""
FORMS = ("json", "ndjson")
LARGEST = 2**53 - 1


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
    """By the name that an object has in "schema", without its version."""
    found = {}
    for name in sorted(os.listdir(FOLDER)):
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            schema = json.load(file)
        Draft202012Validator.check_schema(schema)
        name = name.removesuffix(".json")
        if name == "monitor-configuration":  # is read, not printed
            continue
        found[name] = Draft202012Validator(closed(copy.deepcopy(schema)))
        definitions = schema.get("$defs", {})
        if row := definitions.get("row"):
            found[f"{name}-row"] = Draft202012Validator(closed(as_row(schema, row, f"wirestamp.{name}-row/1")))
        if name == "monitor":
            event = {**definitions["event"], "$defs": definitions}
            found["monitor-event"] = Draft202012Validator(closed(copy.deepcopy(event)))
    return found


def as_row(schema, row, named):
    """The schema of a line of --format ndjson: what "row" describes, with the name of its schema."""
    definitions, described = schema.get("$defs", {}), schema
    for part in row["$ref"].removeprefix("#").split("/")[1:]:
        described = described[part]
    found = copy.deepcopy({**described, "$defs": definitions})
    found["properties"]["schema"] = {"const": named}
    found["required"] = sorted({*found["required"], "schema"})
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


def ask(address):
    """A request each 20 ms, for a minute: what captures of the loopback interface have to show."""
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.settimeout(1)
    for _ in range(3000):
        client.sendto(bytes([4 << 3 | 3]) + bytes(47), address)
        try:
            client.recvfrom(2048)
        except TimeoutError:
            continue
        time.sleep(0.02)


class Checked:
    """What was printed, by schema, and what jq is to give back."""

    def __init__(self):
        self.schemas, self.seen, self.objects = validators(), {}, []

    def run(self, words, command, folder, name):
        """Faults of what a command prints in each form of JSON."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("WIRESTAMP_")}
        for form in FORMS:
            done = subprocess.run(
                [*words, "--format", form, *command.split()], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
            )
            printed = done.stdout
            pieces = [printed] if form == "json" and name not in ("ptp", "reflect", "capture") else printed.splitlines()
            if form == "json" and not printed.strip():
                yield "printed nothing"
            for piece in pieces:
                for fault in self.compared(name, piece):
                    yield f"--format {form}: {fault}"

    def compared(self, name, text):
        value = json.loads(text)
        kind = value.get("schema", "").removeprefix("wirestamp.").removesuffix("/1")
        if name == "monitor-event":  # the stream's name for it is its kind
            kind = name
        if kind not in (name, f"{name}-row", "error"):
            return [f"the schema is {value.get('schema')!r}"]
        self.seen[kind] = self.seen.get(kind, 0) + 1
        self.objects.append(value)
        found = [f"{error.json_path}: {error.message}"[:400] for error in self.schemas[kind].iter_errors(value)]
        return found + [f"{number} may not be exact as a double" for number in integers(value) if abs(number) > LARGEST]

    def through_jq(self):
        """What jq does not give back as it is."""
        lines = "\n".join(map(json.dumps, self.objects))
        printed = subprocess.run(["jq", "--compact-output", "."], input=lines, capture_output=True, text=True, check=True).stdout
        given_back = [json.loads(line) for line in printed.splitlines()]
        if len(given_back) != len(self.objects):
            return [f"{len(self.objects)} objects went through jq, {len(given_back)} came back"]
        return [f"jq made {after} of {before}"[:400] for before, after in zip(self.objects, given_back) if before != after]


def of_running_monitor(checked, program, folder, http):
    """Faults of what a monitor serves, once all that it is to measure was measured."""
    monitor = subprocess.Popen(
        [program, "--json", "monitor", "--config", "monitor.toml", "--for", "60s"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    ready = monitor.stdout.readline()
    found = [f"its first line: {fault}" for fault in checked.compared("monitor-ready", ready)]
    address = f"http://127.0.0.1:{http}/api/"
    for _ in range(400):
        text = urllib.request.urlopen(address + "snapshot", timeout=10).read().decode()
        now = json.loads(text)
        peers = {peer["name"]: peer for peer in now["peers"]}
        is_measured = "here" in peers and peers["here"]["path_delay_ns"] is not None and (now["ntp"] or {}).get("offset_ns") is not None
        if is_measured and "nobody" in peers and peers["nobody"]["lost"] and now["events"]:
            break
        time.sleep(0.1)
    else:
        found.append("in 40 s it did not measure what it is asked for")
    found += [f"/api/snapshot: {fault}" for fault in checked.compared("monitor", text)]
    events = urllib.request.urlopen(address + "events?after=0", timeout=10)
    for _ in range(len(now["events"])):
        while not (line := events.readline().decode()).startswith("data: "):
            pass
        found += [f"/api/events: {fault}" for fault in checked.compared("monitor-event", line.removeprefix("data: "))]
    events.close()
    day = "from={0}T00:00:00Z&to={0}T23:59:59Z".format(now["time"][:10])
    time.sleep(2)  # the history is written each second
    for asked, part in (("offsets", "offsets"), ("delays&points=24", "delays"), ("events", "events")):
        text = urllib.request.urlopen(f"{address}history?{day}&show={asked}", timeout=10).read().decode()
        found += [f"/api/history: {fault}" for fault in checked.compared("history", text)]
        found += [] if json.loads(text)[part] else [f"/api/history: no {part}"]
    monitor.terminate()
    monitor.communicate()
    return [f"wirestamp monitor: {fault}" for fault in found]


def of_configuration(program, folder):
    """Configurations that schema and program judge differently, or otherwise than they are meant to."""
    printed = subprocess.run([program, "monitor", "--schema"], capture_output=True, text=True, check=True).stdout
    with open(os.path.join(FOLDER, "monitor-configuration.json"), encoding="utf-8") as file:
        found = [] if printed == file.read() else ["monitor --schema does not print the schema"]
    schema = Draft202012Validator(json.loads(printed))
    with open(os.path.join(FOLDER, "../../packaging/monitor.toml"), encoding="utf-8") as file:
        packaged = file.read()
    for is_right, texts in ((True, [packaged, *RIGHT]), (False, WRONG)):
        for text in texts:
            with open(os.path.join(folder, "judged.toml"), "w", encoding="utf-8") as file:
                file.write(text)
            checked = subprocess.run([program, "monitor", "--check", "--config", "judged.toml"], cwd=folder, capture_output=True, text=True)
            by_schema = [f"{error.json_path}: {error.message}" for error in schema.iter_errors(tomllib.loads(text))]
            if (checked.returncode == 0) != is_right:
                found.append(f"the program on {text!r}: {checked.stderr or 'it is right'}")
            if (not by_schema) != is_right:
                found.append(f"the schema on {text!r}: {by_schema or 'it is right'}")
    return [f"monitor.toml: {fault}" for fault in found]


def of_monitor(checked, program, ntp):
    """Faults of all that the program prints and serves that has the monitor."""
    free = [socket.socket(socket.AF_INET, kind) for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM)]
    for one in free:
        one.bind(("127.0.0.1", 0))
    http, stamp = (one.getsockname()[1] for one in free)
    for one in free:
        one.close()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "monitor.toml"), "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(http=http, stamp=stamp, ntp=ntp))
        found = of_configuration(program, folder)
        runs = [(words, name, command) for words, all in (([program], OF_MONITOR), ([program, "--sim", "igc"], OF_SIMULATED_MONITOR)) for name, command in all]
        found += [f"wirestamp {command} {fault}" for words, name, command in runs for fault in checked.run(words, command, folder, name)]
        return found + of_running_monitor(checked, program, folder, http)


def integers(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for part in value for number in integers(part)]
    return [value] if isinstance(value, int) and not isinstance(value, bool) else []


def on_veth(program):
    """The same program, in a network namespace of its own."""
    if os.geteuid() != 0:
        print("skipped: check-guide: JSON on a veth interface needs root")
        return None
    return ["unshare", "--net", "bash", "-c", NETWORK + '"$0" "$@"', program]


def main():
    program, checked, wrong = os.path.abspath(sys.argv[1]), Checked(), 0
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))
    threading.Thread(target=serve_ntp, args=[server], daemon=True).start()
    threading.Thread(target=ask, args=[server.getsockname()], daemon=True).start()
    reflector = subprocess.Popen(
        [program, "--json", "reflect", "--listen", "127.0.0.1:0", "--for", "30s"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    lines = [reflector.stdout.readline()]
    while "listening" not in json.loads(lines[-1]):
        lines.append(reflector.stdout.readline())
    places = {"ntp": server.getsockname()[1], "reflector": json.loads(lines[-1])["listening"][0]}
    once = [(name, command.format(**places)) for name, command in ONCE]

    def of_one(job):
        words, commands = job
        with tempfile.TemporaryDirectory() as folder:
            os.close(os.open(os.path.join(folder, "events.csv"), os.O_CREAT))  # where nothing can be recorded
            return [
                f"wirestamp {' '.join(words[-2:])} {command} {fault}"
                for name, command in commands
                for fault in checked.run(words, command, folder, name)
            ]

    jobs = [([program], once)] + [([program, "--sim", preset], ON_EACH_PRESET) for preset in PRESETS]
    if veth := on_veth(program):
        jobs.insert(0, (veth, ON_VETH))
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(of_one, jobs):
            wrong += len(found)
            print("\n".join(found), end="\n" if found else "", file=sys.stderr)
    if len(sys.argv) > 2:
        found = of_monitor(checked, os.path.abspath(sys.argv[2]), places["ntp"])
        wrong += len(found)
        print("\n".join(found), end="\n" if found else "", file=sys.stderr)
    else:
        for name in [name for name in checked.schemas if name.startswith(("monitor", "history"))]:
            del checked.schemas[name]
    reflector.terminate()
    lines += reflector.communicate()[0].splitlines()
    last = [f"wirestamp reflect: {fault}" for line in lines for fault in checked.compared("reflect", line)] + checked.through_jq()
    wrong += len(last)
    print("\n".join(last), end="\n" if last else "", file=sys.stderr)
    unused = sorted(set(checked.schemas) - set(checked.seen))
    print(f"JSON: {len(checked.objects)} objects held against {len(checked.seen)} schemas and through jq, {wrong} faults")
    if wrong or unused:
        sys.exit(f"never printed: {unused}" if unused else 1)


main()
