"""Runs `wirestamp ptp` against ptp4l and checks what both say. Called by scripts/ptp-interop.

All cables exist at once and all rows run side by side: the whole takes about a minute. Both
ends of a cable read one clock, so the true offset is zero.
"""

import contextlib
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

import exact_json

WIRESTAMP = os.path.abspath(sys.argv[1])
ONLY = sys.argv[2:]  # names of rows; all of them if none is given
PREFIX = "wsp"
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="wirestamp-ptp-"))
NUMBERS = itertools.count()
FAILURES = []


def run(*command):
    subprocess.run(command, check=True, capture_output=True)


class Net:
    """A cable between two namespaces; the second may be that of another cable. A bare one has no addresses, and
    both ends have one name."""

    def __init__(self, second=None, bare=False):
        self.number, self.bare = next(NUMBERS), bare
        stem = f"{PREFIX}-{os.getpid()}-{self.number}"
        self.own = [f"{stem}-{end}" for end in range(1 if second else 2)]
        self.spaces = self.own + ([second] if second else [])
        self.names = [f"p{self.number}x{0 if bare else end}" for end in range(2)]

    def address(self, end):
        return f"10.79.{self.number}.{end + 1}"

    def __enter__(self):
        for space in self.own:
            run("ip", "netns", "add", space)
        run("ip", "link", "add", self.names[0], "netns", self.spaces[0], "type", "veth",
            "peer", "name", self.names[1], "netns", self.spaces[1])
        for end, (space, name) in enumerate(zip(self.spaces, self.names)):
            addresses = [f"addr add {self.address(end)}/24 dev {name}",
                         f"addr add fd79:0:0:{self.number}::{end + 1}/64 dev {name} nodad"]
            if self.bare:
                addresses = [f"link set {name} addrgenmode none"]
            for command in (*addresses, f"link set {name} up", "link set lo up"):
                run("ip", "-n", space, *command.split())
        return self

    def __exit__(self, *_):
        for space in self.own:
            subprocess.run(("ip", "netns", "del", space), capture_output=True)

    def command(self, end, *command):
        return ("ip", "netns", "exec", self.spaces[end], *command)


# of a comparison of medians
ATTEMPTS = 5


class Row:
    """One configuration, as both programs want it."""

    def __init__(self, name, ipv6=False, p2p=False, domain=0, log_sync=-3, seconds=24, profile="default", ethernet=False):
        self.name, self.ipv6, self.p2p, self.domain, self.ethernet = name, ipv6, p2p, domain, ethernet
        self.log_sync, self.seconds, self.profile = log_sync, seconds, profile
        self.taken = {}  # offsets of all attempts

    def fewest(self, seconds_each):
        """A third of the samples that could be: starting takes a while."""
        return self.seconds / seconds_each / 3

    def wirestamp(self, net, end, *more):
        interval = f"{int(1000 * 2 ** self.log_sync)}ms"
        options = ["--announce", "500ms", "--sync", interval, "--delay", interval, "--domain", str(self.domain)]
        options += ["--ipv6"] * self.ipv6 + ["--p2p"] * self.p2p + ["--transport", "ethernet"] * self.ethernet
        return net.command(end, WIRESTAMP, "ptp", net.names[end], *options, "--json", *more)

    def ptp4l(self, net, end, **more):
        settings = {
            "time_stamping": "software",
            "network_transport": "L2" if self.ethernet else "UDPv6" if self.ipv6 else "UDPv4",
            "delay_mechanism": "P2P" if self.p2p else "E2E",
            "domainNumber": self.domain,
            "logAnnounceInterval": -1,
            "logSyncInterval": self.log_sync,
            "logMinDelayReqInterval": self.log_sync,
            "logMinPdelayReqInterval": self.log_sync,
            "free_running": 1,
            "summary_interval": -7,
            "freq_est_interval": max(self.log_sync, 0),  # without steering, it prints so often
            "tx_timestamp_timeout": 50,
            "uds_address": FOLDER / f"{net.number}-{end}.sock",
            **more,
        }
        file = FOLDER / f"{net.number}-{end}.conf"
        file.write_text("[global]\n" + "".join(f"{key} {value}\n" for key, value in settings.items()))
        return net.command(end, "ptp4l", "-f", str(file), "-i", net.names[end], "-m")


@contextlib.contextmanager
def running(command):
    # to nowhere: who complains into a full pipe does nothing else
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Noisy(AssertionError):
    """A comparison of medians failed: what the machine did meanwhile is in it."""


def attempted(job, times):
    """Two medians on a busy machine are compared several times; all else must hold at once."""
    told = []
    for _ in range(times - 1):
        try:
            return told + job()
        except Noisy as problem:
            told.append(f"once more: {problem}")
    return told + job()


def check(condition, text, kind=AssertionError):
    if not condition:
        raise kind(text)


def objects(output):
    return [exact_json.loads(line) for line in output.splitlines()]


def samples_of(lines):
    return [line for line in lines if line.get("offset_ns") is not None]


def zero_is_inside(samples):
    outside = [sample for sample in samples if abs(sample["offset_ns"]) > sample["error_bound_ns"]]
    check(not outside, f"zero is outside of the bound in {len(outside)} of {len(samples)} samples: {outside[:2]}")


def ours_receives(row, net, transmitter=None):
    """ptp4l transmits, unless another one does; what we measured, in nanoseconds."""
    with running(transmitter or row.ptp4l(net, 0)):
        done = subprocess.run(row.wirestamp(net, 1, "--for", f"{row.seconds}s"), capture_output=True, text=True)
    lines = objects(done.stdout)
    check(done.returncode in (0, 6), f"exit code {done.returncode}: {done.stdout[-300:]}{done.stderr}")
    samples = samples_of(lines)
    zero_is_inside(samples)
    return [sample["offset_ns"] for sample in samples]


def theirs_receives(row, net, transmitter):
    """ptp4l measures; what it measured, in nanoseconds."""
    with running(transmitter):
        done = subprocess.run(("timeout", str(row.seconds), *row.ptp4l(net, 1, slaveOnly=1)), capture_output=True, text=True)
    return [int(offset) for offset in re.findall(r"master offset +(-?\d+)", done.stdout)]


@contextlib.contextmanager
def capture(row, net, end, profile):
    """Records what wirestamp sends at its end."""
    link = json.loads(subprocess.run(("ip", "-j", "-n", net.spaces[end], "link", "show", net.names[end]), capture_output=True, check=True).stdout)
    pcap = FOLDER / f"{row.name}-{net.number}.pcap"
    carried = "ether proto 0x88f7" if row.ethernet else "udp"
    with running(net.command(end, "tcpdump", "-q", "-U", "-i", net.names[end], "-w", str(pcap), carried)):
        yield
    pcaps.append((pcap, link[0]["address"], profile))


def pair(row):
    """One direction after the other on two cables, and ptp4l against itself on a third."""
    results, threads = {}, []

    def measure(name, function, *arguments):
        try:
            results[name] = function(*arguments)
        except Exception as problem:
            results[name] = problem

    with Net() as first, Net() as second, Net() as third:
        with capture(row, first, 1, None), capture(row, second, 0, row.profile):
            for work in (("wirestamp receives", ours_receives, row, first),
                         ("ptp4l receives", theirs_receives, row, second, row.wirestamp(second, 0, "--transmit", "--priority1", "10", "--profile", row.profile)),
                         ("ptp4l from ptp4l", theirs_receives, row, third, row.ptp4l(third, 0))):
                threads.append(threading.Thread(target=measure, args=work))
                threads[-1].start()
            for thread in threads:
                thread.join()
    told = []
    for problem in results.values():
        if isinstance(problem, Exception):
            raise problem
    for name, offsets in results.items():
        fewest = row.fewest(2 ** (row.log_sync if name == "wirestamp receives" else max(row.log_sync, 0)))
        # on a busy machine ptp4l waits in vain for a timestamp of its own, and is faulty for 16 seconds
        kind = AssertionError if name == "wirestamp receives" else Noisy
        check(len(offsets) >= fewest, f"{name}: {len(offsets)} samples, at least {fewest:.0f} are expected", kind)
        median, absolute = statistics.median(offsets), statistics.median(map(abs, offsets))
        told.append(f"{name}: {len(offsets)} samples, median {median:.0f}, median of |offset| {absolute:.0f} ns")
    # a few dozen samples have medians that vary by themselves: all that were taken count
    for name, offsets in results.items():
        row.taken.setdefault(name, []).extend(offsets)
    own = statistics.median(map(abs, row.taken["ptp4l from ptp4l"]))
    limit = 3000 if row.p2p else 2000
    for name in sorted(results.keys() - {"ptp4l from ptp4l"}):
        offsets = row.taken[name]
        median, absolute = statistics.median(offsets), statistics.median(map(abs, offsets))
        check(abs(median) <= limit, f"{name}: the median offset is {median} ns; told: {told}", Noisy)
        check(absolute <= 1.5 * own + 200, f"{name}: the median of |offset| is {absolute} ns, ptp4l's own {own} ns; told: {told}", Noisy)
    return told


pcaps = []


def decoded():
    """tshark reads every message type that we send, without a warning; and what is announced."""
    kinds = set()
    for pcap, ours, profile in pcaps:
        fields = itertools.chain.from_iterable(("-e", field) for field in ("ptp.v2.messagetype", "eth.dst", "_ws.expert.message", "_ws.malformed"))
        command = ("tshark", "-n", "-r", str(pcap), "-Y", f"ptp && eth.src == {ours}", "-T", "fields", *fields)
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        for line in done.stdout.splitlines():
            kind, destination, expert, malformed = (line.split("\t") + [""] * 3)[:4]
            check(not expert and not malformed, f"{pcap.name}: {line}")
            kinds.add(int(kind, 16))
            if pcap.name.startswith("ethernet"):
                of_peers = int(kind, 16) in (2, 3, 10)
                check(destination == ("01:80:c2:00:00:0e" if of_peers else "01:1b:19:00:00:00"), f"{pcap.name}: {line}")
        if not profile:
            continue
        fields = ("ptp.v2.flags.timescale", "ptp.v2.flags.utcreasonable", "ptp.v2.an.origincurrentutcoffset")
        command = ("tshark", "-n", "-r", str(pcap), "-Y", f"ptp.v2.messagetype == 0xb && eth.src == {ours}", "-T", "fields", *itertools.chain.from_iterable(("-e", field) for field in fields))
        announced = set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines())
        truth = "1" if profile == "w32time" else "0"
        check(announced and all(line.replace("True", "1").replace("False", "0") == f"{truth}\t{truth}\t37" for line in announced), f"{profile} announces {announced}")
    wanted = {0, 1, 2, 3, 8, 9, 10, 11}
    check(kinds == wanted, f"message types {sorted(kinds)}, expected {sorted(wanted)}")
    return [f"message types {', '.join(f'{kind:#x}' for kind in sorted(kinds))}: no warning"]


def failover():
    """Two transmitters, the better one killed, and back."""
    row = Row("failover", seconds=18)
    with Net() as net, Net(second=net.spaces[1]) as beside:
        better, other = row.ptp4l(net, 0, masterOnly=1, priority1=100), row.ptp4l(beside, 0, masterOnly=1, priority1=110)
        with running(other):
            first = subprocess.Popen(better, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            ours = subprocess.Popen(row.wirestamp(net, 1, beside.names[1], "--for", f"{row.seconds}s"), stdout=subprocess.PIPE, text=True)
            time.sleep(7)
            first.kill()
            killed = time.time_ns()
            first.wait()
            time.sleep(4)
            again = time.time_ns()
            with running(better):
                output, _ = ours.communicate()
    lines = [line for line in objects(output) if "time_transmitter" in line]
    zero_is_inside(samples_of(lines))
    followed = lambda since, until: [line["time_transmitter"] for line in lines if since <= line["time"] < until and line["time_transmitter"]]
    before = followed(0, killed)[-1]
    change = next(line["time"] for line in lines if line["time"] > killed and line["time_transmitter"] not in (None, before))
    took = (change - killed) / 1e9
    check(took <= 0.5 * 3 + 0.5, f"failover took {took:.2f} s")
    back = [line["time"] for line in lines if line["time"] > again and line["time_transmitter"] == before]
    check(back and followed(again, 2 ** 63)[-1] == before, "it never went back")
    return [f"failover after {took:.2f} s (announce timeout 1.5 s), back after {(back[0] - again) / 1e9:.2f} s"]


def header(kind, length, sequence, source=b"\xee" * 8):
    return struct.pack(">BBHBBHqIQHHBb", kind, 2, length, 0, 0, 0x200, 0, 0, int.from_bytes(source, "big"), 1, sequence, 0, 0)


RATE = 100_000  # messages a second that a flood offers if the machine can
FLOOR = 10_000  # a flood goes on until it has offered so many for each second that was asked for,
PATIENCE = 4  # but no longer than so many times those seconds


def forged(kind, sequence, length):
    """Of a clock that nobody has heard of."""
    message = header(kind, length, sequence, source=b"\xee" + os.urandom(7))
    if kind == 0xb:  # better than anyone
        message += bytes(13) + b"\x01\x06\x20\x00\x00\x01" + os.urandom(8) + bytes(3)
    return message.ljust(length, b"\0")


# what is sent to each of the two ports
FLOODS = {
    "Sync": [(319, forged(0, number, 44)) for number in range(500)] + [(320, forged(8, number, 44)) for number in range(500)],
    "Announce": [(320, forged(0xb, number, 64)) for number in range(1000)],
    "Delay_Req": [(319, forged(1, number, 44)) for number in range(1000)],
    "Pdelay_Req": [(319, forged(2, number, 54)) for number in range(1000)],
    "random bytes": [(port, os.urandom(number % 100)) for number in range(500) for port in (319, 320)],
    "mixed": [(port, message) for port in (319, 320) for message in (
        header(0, 44, 1) + bytes(10), header(8, 44, 1) + b"\xff" * 10, header(9, 54, 7) + bytes(20),
        forged(0xb, 1, 64), b"\x00\x02", b"", bytes(900))] * 70,
}


UDP_SENDERS = """
senders = {}
for port in (319, 320):
    senders[port] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    senders[port].setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(address))
    senders[port].setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)  # ptp4l at this end is not what is tested
    senders[port].connect(("224.0.1.129", port))
senders = {port: sender.send for port, sender in senders.items()}
"""
ETHERNET_SENDERS = """
frames = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)
to = (interface, 0x88f7, 0, 0, bytes.fromhex("011b19000000"))
senders = dict.fromkeys((319, 320), lambda message: frames.sendto(message, to))
"""


def flood(net, kind, seconds, ethernet=False):
    """Offers a flood from the other end, and says at what rate: a slow machine takes longer for it."""
    program = f"""
import socket, sys, time
address, interface = {net.address(0)!r}, {net.names[0]!r}
{ETHERNET_SENDERS if ethernet else UDP_SENDERS}
messages = [(senders[port], message) for port, message in eval(sys.stdin.read())]
begun, sent = time.monotonic(), 0
while True:
    for send, message in messages:
        send(message)
    sent += len(messages)
    passed = time.monotonic() - begun
    if passed >= {seconds} and sent >= {FLOOR * seconds} or passed >= {PATIENCE * seconds}:
        break
    if sent > {RATE} * passed:
        time.sleep(sent / {RATE} - passed)
print(sent, passed)
"""
    command = net.command(0, sys.executable, "-c", program)
    done = subprocess.run(command, input=repr(FLOODS[kind]), capture_output=True, text=True, check=True)
    sent, passed = done.stdout.split()
    return int(sent), float(passed)


def rate_of(sent, passed):
    told = f"{sent:,} messages at {sent / passed:,.0f}/s"
    return told if sent >= FLOOR * passed else f"{told} (this machine offered too few: it says little)"


def resident(process):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{process.pid}/status").read_text())[1])


def waited(process):
    """Seconds that it could have run in, and other programs had the processors."""
    return int(pathlib.Path(f"/proc/{process.pid}/schedstat").read_text().split()[1]) / 1e9


class Reader(threading.Thread):
    """Notes when each line came that says that a service goes on."""

    def __init__(self, stream, counts):
        super().__init__(daemon=True)
        self.stream, self.counts, self.times = stream, counts, []
        self.start()

    def run(self):
        for line in self.stream:
            if self.counts(line):
                self.times.append(time.monotonic())

    def since(self, begun):
        return sum(moment >= begun for moment in self.times)

    def wait(self, count, seconds):
        until = time.monotonic() + seconds
        while len(self.times) < count and time.monotonic() < until:
            time.sleep(0.1)
        return len(self.times) >= count


FLOOD_SECONDS = float(os.environ.get("FLOOD_SECONDS", 2.5))
GROWTH = 4 * 1024  # KiB that a flood may add to the memory of the program
PINNED = "020000.fffe.c0ffee"


def flooded(role):
    """Every kind of flood, one after the other: the pinned peer is served all the while and afterwards,
    and memory does not grow. A quarter of the usual exchanges must come through, unless other programs kept ours from
    running for so long that this says nothing about it."""
    # peer to peer there are more requests to answer, each with a transmit timestamp
    row, told = Row(f"flood-{role}", p2p=role == "transmitting"), []
    with Net() as net:
        pins = ("--pin", PINNED, "--for", "3600s")
        if role == "transmitting":
            ours = subprocess.Popen(row.wirestamp(net, 1, "--transmit", "--priority1", "50", *pins), stdout=subprocess.DEVNULL)
            peer = subprocess.Popen(row.ptp4l(net, 0, slaveOnly=1, clockIdentity=PINNED, tx_timestamp_timeout=1000, fault_reset_interval="ASAP"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            reader = Reader(peer.stdout, lambda line: "master offset" in line)
        else:
            # it listens while the flood is on already
            early = threading.Thread(target=flood, args=(net, "Announce", 6))
            early.start()
            ours = subprocess.Popen(row.wirestamp(net, 1, *pins), stdout=subprocess.PIPE, text=True)
            reader = Reader(ours.stdout, lambda line: (json.loads(line).get("offset_ns") or None) is not None)
            peer = subprocess.Popen(row.ptp4l(net, 0, masterOnly=1, clockIdentity=PINNED), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            check(reader.wait(8, 60), "the pinned peer was not found while Announces flooded the network" if role == "measuring" else "no service", Noisy)
            if role == "measuring":
                early.join()
            time.sleep(1)
            quiet = time.monotonic()
            time.sleep(5)
            usual = reader.since(quiet) / 5
            told.append(f"{usual:.1f} exchanges a second without a flood")
            check(usual >= 0.75, told[-1], Noisy)  # ptp4l prints one a second
            before = resident(ours)
            for kind in FLOODS:
                begun, before_it = time.monotonic(), waited(ours)
                sent, passed = flood(net, kind, FLOOD_SECONDS)
                served, possible = reader.since(begun), usual * passed
                starved = (waited(ours) - before_it) / passed
                told.append(f"{kind}: {rate_of(sent, passed)}, {served} of {possible:.0f} exchanges, "
                            f"{starved:.0%} of the time without a processor")
                check(served >= possible / 4 or starved > 0.25, told[-1], Noisy)
            check(reader.wait(len(reader.times) + 8, 30), f"no service after the floods: {told}")
            grown = resident(ours) - before
            check(grown < GROWTH, f"memory grew by {grown} KiB")
        finally:
            for process in (ours, peer):
                process.send_signal(signal.SIGINT)
                process.wait()
    return told + [f"memory grew by {grown} KiB in {sum(1 for _ in FLOODS)} floods"]


def rough(row):
    """Flood, cable out, addresses changed, interface taken away and put back: it goes on, its memory is bounded, zero
    stays inside."""
    told = []
    with Net() as net, running(row.ptp4l(net, 0, masterOnly=1, fault_reset_interval="ASAP")):
        ours = subprocess.Popen(row.wirestamp(net, 1, "--for", f"{row.seconds}s"), stdout=subprocess.PIPE, text=True)
        reader = []
        collecting = threading.Thread(target=lambda: reader.extend(ours.stdout))
        collecting.start()
        time.sleep(6)
        status = json.loads(subprocess.run((WIRESTAMP, "ptp", "status", net.names[1], "--json"), capture_output=True, check=True).stdout)
        check(status["ports"][0]["state"] == "timeReceiver" and status["time_transmitter"], f"status: {status}")
        told.append("flood: " + rate_of(*flood(net, "mixed", 4, row.ethernet)))
        name, own, away = net.names[1], net.spaces[1], f"{net.spaces[1]}-away"
        net.own.append(away)
        run("ip", "netns", "add", away)  # an empty one: there the interface keeps its index
        back = (own, f"link set {name} netns {away}"), (away, f"link set {name} netns {own}")
        for space, command in ((own, f"link set {name} down"), (own, f"link set {name} up"),
                               (own, f"addr del {net.address(1)}/24 dev {name}"), (own, f"addr add {net.address(76)}/24 dev {name}"),
                               *back, (own, f"link set {name} up"), (own, f"addr add {net.address(76)}/24 dev {name}")):
            run("ip", "-n", space, *command.split())
            time.sleep(0.5)
        time.sleep(2)
        # so quickly that it is back before anybody looks
        for space, command in (*back, (own, f"link set {name} up"), (own, f"addr add {net.address(76)}/24 dev {name}")):
            run("ip", "-n", space, *command.split())
        disturbed_until = time.time_ns()
        time.sleep(5)
        memory = int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{ours.pid}/status").read_text())[1])
        ours.send_signal(signal.SIGINT)
        ours.wait()
        collecting.join()
    lines = [exact_json.loads(line) for line in reader]
    samples = samples_of(lines)
    zero_is_inside(samples)
    late = [sample for sample in samples if sample["time"] > disturbed_until + 2e9]
    check(len(late) >= 10, f"{len(late)} samples after the disturbances")
    check(memory < 64 * 1024, f"{memory} KiB of memory")
    ignored = lines[-1]["summary"]["ignored"]
    check(ignored.get("truncated", 0) > 1000, f"ignored: {ignored}")
    return told + [f"{len(late)} samples afterwards, {memory / 1024:.0f} MiB of memory, ignored {ignored}"]


def bare():
    """Over Ethernet without any address, between interfaces of one name: each clock has an identity of its own."""
    row, told = Row("bare", ethernet=True, seconds=10), []
    for row.p2p in (False, True):
        with Net(bare=True) as net:
            offsets = ours_receives(row, net, row.wirestamp(net, 0, "--transmit", "--priority1", "10"))
        check(len(offsets) >= 10, f"{len(offsets)} samples")
        told.append(f"{len(offsets)} samples without addresses")
    return told


def tagged(net, tag, seconds):
    """Announces the best clock from the other end, in frames with this tag, and returns whom ours followed."""
    program = f"""
import socket, sys, time
frames = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
frames.bind(({net.names[0]!r}, 0))
source = frames.getsockname()[4]
to = bytes.fromhex("011b19000000")
for message in eval(sys.stdin.read()):
    frames.send(to + source + bytes.fromhex("8100{tag:04x}88f7") + message)
    time.sleep(0.25)
"""
    source = b"\xee" * 8
    best = bytes(13) + b"\x01\x06\x20\x00\x00\x01" + source + bytes(3)
    messages = [header(0xb, 64, number, source) + best for number in range(4 * seconds)]
    command = Row("vlan", ethernet=True).wirestamp(net, 1, "--for", f"{seconds}s")
    ours = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    subprocess.run(net.command(0, sys.executable, "-c", program), input=repr(messages), text=True, check=True)
    output, _ = ours.communicate()
    lines = [line for line in objects(output) if "time_transmitter" in line]
    check(lines, f"no state: {output}")
    return {line["time_transmitter"] for line in lines}


def vlan():
    """A timeTransmitter in a VLAN is none of the interface that carries the VLAN; one whose frames have only a priority is."""
    with Net() as net:
        check(tagged(net, 0xe000, 8) - {None}, "frames with a priority were ignored")
        check(tagged(net, 0xe00a, 8) == {None}, "frames of VLAN 10 were heard")
    return ["VLAN 10 ignored, priority 7 heard"]


def refused_over_ethernet():
    """One PTP program for each interface, unless it has an identity of its own; another interface is free."""
    row = Row("refused-ethernet", ethernet=True)
    told = []
    with Net() as net:
        attempt = lambda *more: subprocess.run(row.wirestamp(net, 0, "--for", "1s", *more), capture_output=True, text=True)
        # it ran, and heard nobody
        ran = lambda done: '"kind":"unreachable"' in done.stdout and objects(done.stdout)[0]["state"] == "listening"
        for owner, command in (("ptp4l", row.ptp4l(net, 0)), ("wirestamp", row.wirestamp(net, 0))):
            with running(command):
                time.sleep(2)
                error = objects_of_failure(attempt())
                check(error["kind"] == "busy" and f"{owner} (process" in error["remedy"], f"{error}")
                own = FOLDER / f"{row.name}.toml"
                own.write_text('identity = "020000.fffe.000001"\n')
                beside = attempt("--config", str(own))
                check(ran(beside) == (owner == "ptp4l"), f"beside {owner}: {beside.stdout}{beside.stderr}")
                told.append(f"beside {owner}: refused, and named")
        free = attempt()
        check(ran(free), f"free again: {free.stdout}{free.stderr}")
    return told


def refused():
    """Ports taken, and no privilege for them: who has them and what to do is said."""
    row = Row("refused")
    with Net() as net:
        with running(row.ptp4l(net, 0)):
            time.sleep(1)
            taken = subprocess.run(row.wirestamp(net, 0, "--for", "1s"), capture_output=True, text=True)
        error = objects_of_failure(taken)
        check(error["kind"] == "busy" and "ptp4l (process" in error["remedy"], f"{error}")
        if shutil.which("setpriv"):
            nobody = net.command(0, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--no-new-privs")
            run("ip", "netns", "exec", net.spaces[0], "sysctl", "-qw", "net.ipv4.ip_unprivileged_port_start=1024")
            copy = FOLDER / "wirestamp"
            shutil.copy(WIRESTAMP, copy)
            FOLDER.chmod(0o755)
            command = [str(copy) if part == WIRESTAMP else part for part in row.wirestamp(net, 0, "--for", "1s")[4:]]
            denied = subprocess.run((*nobody, *command), capture_output=True, text=True)
            check(denied.returncode == 4, f"exit code {denied.returncode}: {denied.stdout}{denied.stderr}")
            error = objects_of_failure(denied)
            check("CAP_NET_BIND_SERVICE" in error["remedy"] and "setcap" in error["remedy"], f"{error}")
    return ["ports taken: the owner is named; no privilege: the capability is"]


def objects_of_failure(done):
    return json.loads(done.stdout)["error"]


ROWS = [
    Row("udp4-e2e"),
    Row("udp4-p2p", p2p=True, profile="w32time"),
    Row("udp6-e2e", ipv6=True, domain=24, profile="w32time"),
    Row("udp6-p2p", ipv6=True, p2p=True, domain=127),
    Row("ethernet-e2e", ethernet=True, seconds=16, profile="w32time"),
    Row("ethernet-p2p", ethernet=True, p2p=True, domain=24, seconds=16),
]
# Only by name: a Sync every two seconds takes long, and nothing of it depends on the transport (scripts/slow ptp has it).
SELDOM = [Row("udp4-e2e-2s", log_sync=1, seconds=40)]


def main():
    jobs = {row.name: lambda row=row: pair(row) for row in ROWS}
    jobs |= {row.name: lambda row=row: pair(row) for row in SELDOM if row.name in ONLY}
    jobs |= {"failover": failover, "refused": refused, "refused-ethernet": refused_over_ethernet, "bare": bare, "vlan": vlan}
    jobs |= {row.name: lambda row=row: rough(row) for row in (Row("rough", seconds=120), Row("rough-ethernet", ethernet=True, seconds=120))}
    # these take all of a machine, and come last
    floods = {f"flood-{role}": lambda role=role: flooded(role) for role in ("measuring", "transmitting")}
    chosen, floods = ({name: job for name, job in some.items() if not ONLY or name in ONLY} for some in (jobs, floods))
    # few at a time: this may be a machine of two processors
    room = threading.Semaphore(4)

    def work(name, job):
        with room:
            begun = time.monotonic()
            try:
                told = attempted(job, ATTEMPTS if name in {row.name for row in ROWS + SELDOM} else 3)
                result = "passed"
            except Exception as problem:
                told, result = [f"{type(problem).__name__}: {problem}"], "FAILED"
                FAILURES.append(name)
            lines = "".join(f"    {line}\n" for line in told)
            print(f"{name}: {result} in {time.monotonic() - begun:.0f} s\n{lines}", end="", flush=True)

    threads = [threading.Thread(target=work, args=item) for item in chosen.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for item in floods.items():
        work(*item)
    if not ONLY:
        work("decoded", decoded)
    shutil.rmtree(FOLDER, ignore_errors=True)
    if FAILURES:
        sys.exit(f"failed: {', '.join(FAILURES)}")


main()
