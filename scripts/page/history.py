"""Writes a night of history, as a monitor would have, with a fault at 03:12.

usage: history.py FOLDER
"""

import datetime
import json
import math
import pathlib
import random
import struct
import sys
import zlib

# where the simulation begins
END = datetime.datetime(2025, 6, 15, 15, 6, 30, tzinfo=datetime.timezone.utc)
BEGIN = END - datetime.timedelta(hours=13)
FAULT = (datetime.datetime(2025, 6, 15, 3, 12, tzinfo=datetime.timezone.utc), datetime.datetime(2025, 6, 15, 3, 19, tzinfo=datetime.timezone.utc))


def text(at):
    return at.strftime("%Y-%m-%dT%H:%M:%S.%f000Z")


def records(at, second, noise):
    is_fault = FAULT[0] <= at < FAULT[1]
    wave = 3_000 * math.sin(second / 900)
    late = 420_000 if is_fault else 0
    yield {"record": "clock", "time": text(at), "clock": "realtime", "offset_ns": round(wave + noise.gauss(0, 300) + late / 2), "bound_ns": 45_000 + late + 20 * (second % 64)}
    if second % 16 == 0:
        yield {"record": "ntp", "time": text(at), "server": "192.0.2.9", "offset_ns": round(wave + noise.gauss(0, 800) + late / 2), "bound_ns": 60_000 + late, "path_delay_ns": 110_000 + late}
    for peer, base in (("rack-12", 40_000), ("<img src=x onerror=alert(1)>", 180_000)):
        delay = round(base * noise.lognormvariate(0, 0.08)) + (round(noise.expovariate(1 / 900_000)) if is_fault else 0)
        delays = [["round_trip", delay + 15_000, 800], ["path", delay, 1_600], ["forward", delay // 2, 900], ["backward", delay // 2, 900], ["send_path", 9_000, 40], ["receive_path", 12_000, 40]]
        yield {"record": "stamp", "time": text(at), "peer": peer, "sequence": second, "delays": delays}
    if at == FAULT[0]:
        message = "the interface is down, it was up <script>alert(1)</script>"
        yield {"record": "event", "id": 1, "time": text(at), "kind": "interface", "subject": "eth1", "message": message}
    if at == FAULT[1]:
        yield {"record": "event", "id": 2, "time": text(at), "kind": "interface", "subject": "eth1", "message": "the interface is up, it was down"}


def entry(record):
    """A record as JSON in a block: series 0, length, text."""
    payload = json.dumps(record, separators=(",", ":")).encode()
    length, left = bytearray(), len(payload)
    while left > 0x7F:
        length.append(left & 0x7F | 0x80)
        left >>= 7
    return b"\0" + bytes(length) + bytes([left]) + payload


folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True)
noise = random.Random(7)
with open(folder / "00000001.journal", "wb") as journal:
    for second in range(0, round((END - BEGIN).total_seconds()), 2):
        entries = b""
        for record in records(BEGIN + datetime.timedelta(seconds=second), second, noise):
            entries += entry(record)
        at = round((BEGIN + datetime.timedelta(seconds=second)).timestamp()) * 10**9
        # version, the least and the greatest time (crates/wirestamp-monitor/src/history/block.rs)
        block = struct.pack("<Bqq", 2, at, at) + entries
        journal.write(struct.pack("<II", len(block), zlib.crc32(block)) + block)
