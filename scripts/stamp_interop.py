"""Runs wirestamp and stamp-suite against each other and holds what both say against what was sent.

usage: stamp_interop.py WIRESTAMP STAMP_SUITE [--unjudged]
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

COUNT = 200
PORT = 18_620
KEY = "00112233445566778899aabbccddeeff"
EXTENSIONS = ["-L", "2", "--timestamp-info", "--follow-up-telemetry", "--direct-measurement",
              "--cos", "--dscp", "46", "--ecn", "2", "--extra-padding", "32"]

JUDGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stamp_judge.py")

ours, suite = sys.argv[1:3]
is_judged = "--unjudged" not in sys.argv


def expect(what, value, wanted):
    if value != wanted:
        raise SystemExit(f"stamp-interop: {what}: {value!r}, expected {wanted!r}")


class Running:
    """A reflector that ends with the block."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        time.sleep(1)
        expect("the reflector ends early", self.process.poll(), None)

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def our_sender(name, address, port, key, form):
    """Our session-sender against stamp-suite's reflector."""
    authenticated = ["-A", "A", "--hmac-key-file", key, "--verify-tlv-hmac"] if key else []
    reflector = [suite, "-i", "--local-addr", address, "--local-port", str(port), "--stateful-reflector", *authenticated]
    with Running(reflector), Capture(port, "requests", form, key) as capture:
        host = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        command = [ours, "latency", "--peer", host, "--clocks", "same", "--count", str(COUNT), "--rate", "200", "--json", "--timestamp-format", form]
        printed = subprocess.run(command + (["--key-file", key] if key else []), capture_output=True, text=True, timeout=60)
    told = json.loads(printed.stdout)
    expect(f"{name}: answered", told["answered"], COUNT)
    expect(f"{name}: rejected", told["rejected"], {})
    expect(f"{name}: lost", told["lost"], {"packets": 0, "forward": 0, "backward": 0, "undecided": 0})
    expect(f"{name}: follow-ups", told["reflector"]["followed_up"], COUNT)
    expect(f"{name}: contradictions", told["contradictions"], 0)
    expect(f"{name}: forward delays", told["forward_ns"]["count"], COUNT)
    expect(f"{name}: routers on the way", told["hops"]["forward"], 0)
    print(f"our sender, their reflector, {name}: {COUNT} of {COUNT} packets, all with follow-up{capture.verdict}")


def our_reflector(name, address, port, key, form):
    """stamp-suite's session-sender against our reflector."""
    authenticated = ["-A", "A", "--hmac-key-file", key, "--tlv-hmac", "on"] if key else []
    host = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    reflector = [ours, "reflect", "--listen", host, "--clock-bound", "none", "--json", "--timestamp-format", form] + (["--key-file", key] if key else [])
    with Running(reflector), Capture(port, "replies", form, key) as capture:
        command = [suite, "--local-addr", address, "--remote-addr", address, "--remote-port", str(port), "--ssid", "42", "-c", str(COUNT), "-d", "5ms"]
        command += [*EXTENSIONS, "--output-format", "json", "-R", *authenticated]
        printed = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    line = next(line for line in printed.splitlines() if line.startswith('{"type":"summary"'))
    checked = json.loads(line)["measurements"]["tlv_validation"]
    expect(f"{name}: replies", checked["evaluated_replies"], COUNT)
    expect(f"{name}: rejected replies", checked["rejected_replies"], 0)
    expect(f"{name}: signed extensions", checked["hmac"]["verified"], COUNT if key else 0)
    expect(f"{name}: unrecognised extensions", checked["flags"]["unrecognized"], 0)
    expect(f"{name}: malformed extensions", checked["flags"]["malformed"], 0)
    print(f"their sender, our reflector, {name}: {COUNT} of {COUNT} packets, all extensions valid{capture.verdict}")


class Capture:
    """The packets of one run, and what the judges say of ours: see stamp_judge.py."""

    def __init__(self, port, ours, form, key):
        self.path = os.path.join(folder, f"{port}.pcap")
        self.judge = ["/usr/bin/python3", JUDGE, self.path, str(port), ours, form, str(COUNT)] + ([KEY] if key else [])
        self.port, self.process, self.verdict = port, None, ""

    def __enter__(self):
        if not is_judged:
            return self
        command = ["tcpdump", "-i", "lo", "-U", "--immediate-mode", "-B", "16384", "--time-stamp-precision=nano", "-Z", "root", "-w", self.path, f"udp port {self.port}"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while "listening" not in (line := self.process.stderr.readline()):
            expect("tcpdump ends early", bool(line), True)
        return self

    def captured(self):
        """How many packets are in the file."""
        octets = pathlib.Path(self.path).read_bytes()
        place, count = 24, 0  # pcap's header
        while place + 16 <= len(octets):
            place += 16 + int.from_bytes(octets[place + 8 : place + 12], "little")
            count += place <= len(octets)
        return count

    def drain(self):
        """Waits until tcpdump has written requests and replies: on a busy machine that takes its time."""
        count, until = -1, time.monotonic() + 20
        while time.monotonic() < until:
            before, count = count, self.captured()
            if count == before and count >= 2 * COUNT:
                return
            time.sleep(0.3)

    def __exit__(self, failed, *_):
        if not self.process:
            return
        self.drain()
        self.process.terminate()
        self.process.communicate()
        if failed:
            return
        judged = subprocess.run(self.judge, capture_output=True, text=True)
        if judged.returncode:
            raise SystemExit(judged.stdout + judged.stderr)
        self.verdict = "; " + judged.stdout.strip()


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "key")
    with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
        file.write(KEY)
    port = PORT
    for version, address, form in (("IPv4", "127.0.0.1", "ntp"), ("IPv6", "::1", "ptp")):
        for mode, key in (("unauthenticated", None), ("authenticated", path)):
            name = f"{mode}, {version}, {form.upper()} timestamps of ours"
            our_sender(name, address, port, key, form)
            our_reflector(name, address, port + 1, key, form)
            port += 2
