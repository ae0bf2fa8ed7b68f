"""Many monitors and one Prometheus; see `crowd`, which starts this in a network namespace.

usage: crowd.py TARGETS MINUTES"""

import asyncio
import contextlib
import ipaddress
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

from operate import Prometheus, fetch, program, running, until

TARGETS, MINUTES = int(sys.argv[1]), float(sys.argv[2])
INTERVAL = 15
PORT, OWN = 9862, "127.255.0.1"
INSTANTS = 8
TYPE = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
"""What Prometheus asks for when it takes native histograms, as the guide says: each is then one sample instead of eleven."""
HOST = "host-00000000"
"""Is replaced by names of the same length: the encoding has lengths."""
MONITOR = f"""
host = "{HOST}"
[http]
listen = "{OWN}:{PORT}"
[clocks]
interfaces = ["sim0"]
[[path]]
interface = "sim0"
interval = "50ms"
"""
SCRAPES = f"""
global:
  scrape_interval: {INTERVAL}s
  scrape_timeout: 10s
scrape_configs:
  - job_name: wirestamp
    file_sd_configs: [{{files: ["targets.json"]}}]
"""


def address(number):
    return f"127.{1 + number // 62_500}.{number // 250 % 250}.{number % 250 + 1}"


def instants(folder):
    """What the monitor says, a second apart."""
    (folder / "monitor.toml").write_text(MONITOR)
    with running(program(), "--sim", "igb", "monitor", "--config", folder / "monitor.toml"):
        url = f"http://{OWN}:{PORT}/metrics"

        def ask():
            with contextlib.suppress(OSError):
                body, headers = fetch(url, TYPE)
                assert headers["Content-Type"] == TYPE, headers["Content-Type"]
                return body

        until("the monitor measures", lambda: b"wirestamp_clock_error_bound_seconds" in (ask() or b""))
        texts = []
        for _ in range(INSTANTS):
            time.sleep(1)
            texts.append(ask())
    return texts


class Monitor(asyncio.Protocol):
    """One connection. Which host is asked for follows from the address that it came to; each answer is a later instant's."""

    answered = {}
    texts = []

    def connection_made(self, transport):
        self.transport, self.host, self.asked = transport, transport.get_extra_info("sockname")[0], b""

    def data_received(self, data):
        self.asked += data
        while b"\r\n\r\n" in self.asked:
            request, _, self.asked = self.asked.partition(b"\r\n\r\n")
            if not request.startswith(b"GET /metrics "):
                return self.transport.close()
            count = self.answered[self.host] = self.answered.get(self.host, 0) + 1
            body = self.texts[count % len(self.texts)].replace(HOST.encode(), b"host-%08x" % int(ipaddress.ip_address(self.host)))
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" % (TYPE.encode(), len(body)) + body)


def serve():
    """All targets, in a thread of their own."""

    async def listen():
        server = await asyncio.get_running_loop().create_server(Monitor, "0.0.0.0", PORT, backlog=4096)
        await server.serve_forever()

    threading.Thread(target=lambda: asyncio.run(listen()), daemon=True).start()


def spent(process):
    """Seconds of processor time and GB of memory, of which the greatest."""
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    [most] = [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")]
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), most / 2**20


def measure(folder, stack):
    prometheus = Prometheus(stack, folder / "prometheus", SCRAPES, "groups: []\n")
    [process] = [int(found) for found in subprocess.run(["pgrep", "--parent", str(os.getpid()), "--full", "storage.tsdb.path"], capture_output=True, text=True, check=True).stdout.split()]
    # targets come while it runs, so that it starts quickly
    groups = [{"targets": [f"{address(number)}:{PORT}"]} for number in range(TARGETS)]
    draft = folder / "prometheus" / "targets.part"
    draft.write_text(json.dumps(groups))
    draft.rename(folder / "prometheus" / "targets.json")
    until("every target was scraped", lambda: len(Monitor.answered) == TARGETS, 120)
    time.sleep(INTERVAL)
    begun, (processor, _), before = time.monotonic(), spent(process), dict(Monitor.answered)
    first = time.time()
    time.sleep(60 * MINUTES)
    took, (later, most), after = time.monotonic() - begun, spent(process), dict(Monitor.answered)
    last = time.time()
    answered = sum(after.values()) - sum(before.values())
    print(f"{TARGETS} targets, {answered} scrapes in {took:.0f} s: {(later - processor) / took:.2f} processors, {most:.2f} GB at most")
    return prometheus, first, last, after, before


def judge(prometheus, first, last, after, before):
    """Whether each target was asked and stored each time."""
    span = int(last - first)
    least = span // INTERVAL - 1
    fewest = min(after[host] - before[host] for host in after)
    stored = prometheus.query(f"sum by (instance) (sum_over_time(up[{span}s]))", last)
    counts = [float(row["value"][1]) for row in stored]
    failed = prometheus.value(f"sum(count_over_time(up[{span}s]) - sum_over_time(up[{span}s]))") or 0
    samples = prometheus.value("sum(scrape_samples_scraped)")
    slowest = prometheus.value(f"max(max_over_time(scrape_duration_seconds[{span}s]))")
    print(f"{samples / TARGETS:.0f} samples a scrape, the slowest took {slowest:.2f} s; fewest scrapes of a target: {fewest} asked for, {min(counts):.0f} stored; {failed:.0f} failed")
    histograms = prometheus.value("count(histogram_count(wirestamp_path_delay_seconds))") or 0
    assert histograms and not prometheus.query("count(wirestamp_path_delay_seconds_bucket)"), "histograms are not native"
    return len(counts) == TARGETS and min(counts) >= least and fewest >= least and failed == 0


def main():
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        folder = pathlib.Path(folder)
        Monitor.texts = instants(folder)
        assert all(text.count(HOST.encode()) == 1 for text in Monitor.texts)
        assert len(set(Monitor.texts)) == INSTANTS, "the monitor says the same each time"
        serve()
        if not judge(*measure(folder, stack)):
            raise SystemExit("FAILED: a scrape was missed")


if __name__ == "__main__":
    main()
