"""Runs wirestamp and stamp-suite against each other and holds what both say against what was sent.

usage: stamp_interop.py WIRESTAMP STAMP_SUITE
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

COUNT = 200
PORT = 18_620
KEY = "00112233445566778899aabbccddeeff"
ADDRESSES = {"IPv4": "127.0.0.1", "IPv6": "::1"}
EXTENSIONS = ["-L", "2", "--timestamp-info", "--follow-up-telemetry", "--direct-measurement"]

ours, suite = sys.argv[1:]


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


def our_sender(name, address, port, key):
    """Our session-sender against stamp-suite's reflector."""
    authenticated = ["-A", "A", "--hmac-key-file", key, "--verify-tlv-hmac"] if key else []
    with Running([suite, "-i", "--local-addr", address, "--local-port", str(port), "--stateful-reflector", *authenticated]):
        host = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        command = [ours, "latency", "--peer", host, "--clocks", "same", "--count", str(COUNT), "--rate", "200", "--json"]
        printed = subprocess.run(command + (["--key-file", key] if key else []), capture_output=True, text=True, timeout=60)
    told = json.loads(printed.stdout)
    expect(f"{name}: answered", told["answered"], COUNT)
    expect(f"{name}: rejected", told["rejected"], {})
    expect(f"{name}: lost", told["lost"], {"packets": 0, "forward": 0, "backward": 0, "undecided": 0})
    expect(f"{name}: follow-ups", told["reflector"]["followed_up"], COUNT)
    expect(f"{name}: contradictions", told["contradictions"], 0)
    expect(f"{name}: forward delays", told["forward_ns"]["count"], COUNT)
    expect(f"{name}: routers on the way", told["hops"]["forward"], 0)
    print(f"our sender, their reflector, {name}: {COUNT} of {COUNT} packets, all with follow-up")


def our_reflector(name, address, port, key):
    """stamp-suite's session-sender against our reflector."""
    authenticated = ["-A", "A", "--hmac-key-file", key, "--tlv-hmac", "on"] if key else []
    host = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    reflector = [ours, "reflect", "--listen", host, "--clock-bound", "none", "--json"] + (["--key-file", key] if key else [])
    with Running(reflector), Capture(port, not key) as capture:
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
    """What tshark reads in our replies; it knows unauthenticated packets alone, as TWAMP's."""

    FIELDS = ("seq_number", "mbz1", "sender_seq_number", "sender_ttl", "error_estimate.z")

    def __init__(self, port, is_read):
        self.port, self.process, self.verdict = port, None, ""
        if is_read and shutil.which("tshark") and os.geteuid() == 0:
            fields = [word for field in self.FIELDS for word in ("-e", f"twamp.test.{field}")]
            command = ["tshark", "-l", "-i", "lo", "-f", f"udp src port {port}", "-d", f"udp.port=={port},twamp.test", "-T", "fields", *fields]
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            while "Capturing" not in (line := self.process.stderr.readline()):
                expect("tshark ends early", bool(line), True)
            time.sleep(1)

    def __enter__(self):
        return self

    def __exit__(self, failed, *_):
        if not self.process:
            return
        time.sleep(2)
        self.process.terminate()
        lines = self.process.communicate()[0].splitlines()
        if failed:
            return
        for number, line in enumerate(lines):
            sequence, ssid, sender_sequence, ttl, z = line.split("\t")
            expect("tshark: sequence numbers", (int(sequence), int(sender_sequence)), (number, number))
            expect("tshark: SSID", int(ssid, 0), 42)
            expect("tshark: TTL of the request", int(ttl), 255)
            expect("tshark: format", {"0", "False"} >= set(z.split(",")), True)
        expect("tshark: packets", len(lines), COUNT)
        self.verdict = "; tshark reads every field as sent"


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "key")
    with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
        file.write(KEY)
    port = PORT
    for version, address in ADDRESSES.items():
        for mode, key in (("unauthenticated", None), ("authenticated", path)):
            our_sender(f"{mode}, {version}", address, port, key)
            our_reflector(f"{mode}, {version}", address, port + 1, key)
            port += 2
