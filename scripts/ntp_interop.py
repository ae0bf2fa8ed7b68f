"""Runs `wirestamp ntp` against chronyd and ntpd-rs and checks what both say. Called by scripts/ntp-interop.

All hosts are on the test network, whose router delays, loses and duplicates packets by direction. They share one
clock, which chronyd is told to leave alone: the true offset is zero. All rows run side by side, in about 25 s.
"""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
WITH_NTS = pathlib.Path(sys.argv[2]).resolve()
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="wirestamp-ntp-"))
FAILURES = []
MILLISECOND = 1_000_000

# servers: near as the router is, 3 ms there and 7 ms back, lossy, never synchronised, and one that is wrong by 250 ms
# and claims to be exact
HOSTS = ["client", "near", "far", "lossy", "lost", "liar", "rust"]
LIE = 250 * MILLISECOND
DIRECTIONS = [
    "client:far:delay=3ms", "far:client:delay=7ms",
    "client:lossy:delay=1ms,loss=25%,duplicate=25%", "lossy:client:delay=1ms,duplicate=50%,reorder=20%,late=3ms",
]


def check(holds, what):
    if not holds:
        FAILURES.append(what)
        print(f"FAILED: {what}", flush=True)


@contextlib.contextmanager
def network():
    command = [PROGRAMS / "wirestamp-test-network", "--seed", "5", "--log", FOLDER / "router.log"]
    command += [part for name in HOSTS for part in ("--host", name)]
    command += [part for text in DIRECTIONS for part in ("--direction", text)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.stdin.close()
        process.wait(10)


@contextlib.contextmanager
def running(*command):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def inside(host, *command):
    return ["ip", "netns", "exec", host["namespace"], *map(str, command)]


def chronyd(name, host, *settings):
    """A chronyd that leaves the clock alone, with a control socket that is called like the host."""
    folder = FOLDER / name
    folder.mkdir(mode=0o700)
    lines = [*settings, "cmdport 0", f"bindcmdaddress {folder}/control", f"pidfile {folder}/pid", "user root"]
    (folder / "conf").write_text("\n".join(lines) + "\n")
    return running(*inside(host, "chronyd", "-x", "-d", "-f", folder / "conf"))


def ntpd_rs(name, host):
    """A server of ntpd-rs: one that answers, one that answers each client once a minute, and one that denies. Without
    sources it leaves the clock alone, and without the capability it could do nothing else."""
    common = '[observability]\nlog-level = "warn"\n[synchronization]\nlocal-stratum = 1\n'
    server = '[[server]]\nlisten = "0.0.0.0:{}"\n'
    seldom = "rate-limiting-cache-size = 8\nrate-limiting-cutoff-ms = 60000\n"
    denies = 'denylist = { filter = ["0.0.0.0/0"], action = "deny" }\n'
    text = common + server.format(123) + server.format(124) + seldom + server.format(125) + denies
    (FOLDER / f"{name}.toml").write_text(text)
    unable = ["setpriv", "--bounding-set=-sys_time", "--inh-caps=-sys_time"]
    return running(*inside(host, *unable, "ntp-daemon", "-c", FOLDER / f"{name}.toml"))


def chronyc(name, *command):
    told = subprocess.run(["chronyc", "-n", "-h", FOLDER / name / "control", *command], capture_output=True, text=True)
    return told.stdout


def field(text, name):
    found = re.search(rf"^{name}\s*: ([-+.\w]+)", text, re.MULTILINE)
    return found.group(1) if found else None


def root_dispersion(name):
    """What a chronyd claims, in seconds; a second while it knows nothing."""
    text = chronyc(name, "tracking")
    return float(field(text, "Root dispersion")) if field(text, "Stratum") == "2" else 1.0


def until(what, holds, seconds=10):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise SystemExit(f"{what}: not within {seconds} s")
        time.sleep(0.1)


class Row(threading.Thread):
    """One run of `wirestamp ntp`."""

    def __init__(self, host, *arguments, program=PROGRAMS / "wirestamp"):
        super().__init__()
        command = [program, "ntp", *arguments, "--json"]
        self.command = inside(host, *command)
        self.start()

    def run(self):
        told = subprocess.run(self.command, capture_output=True, text=True, timeout=60)
        self.code, self.told = told.returncode, json.loads(told.stdout)

    def only(self):
        self.join()
        return self.told["servers"][0]


def contains_truth(name, row):
    offset, bound = row["offset_ns"], row["error_bound_ns"]
    check(offset is not None and abs(offset) <= bound, f"{name}: {offset} ns ± {bound} ns does not contain 0")


def microseconds(nanoseconds):
    return f"{nanoseconds / 1000:+12.1f} µs"


def measure(hosts):
    client = hosts["client"]
    address = {name: host["ipv4"] for name, host in hosts.items()}
    often = ["--count", "10", "--interval", "700ms"]
    rows = {
        "near": Row(client, address["near"], *often),
        "near, IPv6, basic": Row(client, hosts["near"]["ipv6"], *often, "--basic"),
        "far": Row(client, address["far"], *often),
        "lossy": Row(client, address["lossy"], *often, "--timeout", "300ms"),
        "lost": Row(client, address["lost"], "--count", "2"),
        "nobody": Row(client, address["client"], "--count", "1"),
        "all": Row(client, address["near"], address["far"], "--count", "4"),
        "liar": Row(client, address["liar"], "--count", "4"),
        "with liar": Row(client, address["liar"], address["near"], address["far"], "--count", "4"),
        "against liar": Row(client, address["near"], address["liar"], "--count", "4"),
    }
    nts = ["--nts", "--count", "10", "--interval", "300ms"]
    for name, authority in (("nts", "ours"), ("nts, other authority", "others")):
        command = [address["far"], *nts, "--nts-ca", FOLDER / f"{authority}.pem"]
        rows[name] = Row(client, *command, program=WITH_NTS)
    options = ["--interval", "300ms", "--timeout", "500ms", "--count"]
    for name, port, count in (("ntpd-rs", 123, 8), ("ntpd-rs, seldom", 124, 6), ("ntpd-rs, denies", 125, 3)):
        rows[name] = Row(client, f"{address['rust']}:{port}", *options, str(count))
    answers = {name: row.only() for name, row in rows.items()}
    for name in ("near", "near, IPv6, basic", "far", "lossy"):
        check(rows[name].code == (6 if name == "lossy" else 0), f"{name}: exit code {rows[name].code}")
        contains_truth(name, answers[name])
        check(answers[name]["server_steps"] == 0, f"{name}: a contradiction")

    check(answers["near"]["interleaved"] >= 7, f"near: {answers['near']['interleaved']} responses interleaved")
    check(answers["near, IPv6, basic"]["interleaved"] == 0, "near, basic: interleaved")
    check(answers["near"]["stratum"] == 1, "near: the stratum")

    far = answers["far"]
    # half of 7 ms - 3 ms; a packet that is late on a busy machine shifts it by half of that, and widens the bound so much
    late = far["error_bound_ns"] - 5 * MILLISECOND
    shift = abs(far["offset_ns"] - 2 * MILLISECOND)
    check(shift <= late, f"far: offset {far['offset_ns']} ns, not 2 ms, and late by {late} ns at most")
    check(far["path_delay_ns"] >= 10 * MILLISECOND, f"far: path delay {far['path_delay_ns']} ns, less than 10 ms")
    check(far["error_bound_ns"] >= 5 * MILLISECOND, f"far: bound {far['error_bound_ns']} ns, less than half of it")

    lossy = answers["lossy"]
    check(lossy["unanswered"] > 0, "lossy: nothing was lost")
    check(lossy["lost"].get("duplicate", 0) + lossy["lost"].get("late_or_unasked", 0) > 0, "lossy: no duplicate was seen")

    lost = answers["lost"]
    check((lost["status"], rows["lost"].code) == ("unsynchronized", 1), f"lost: {lost['status']}, {rows['lost'].code}")
    check(lost["offset_ns"] is None, "lost: an offset")
    nobody = answers["nobody"]
    told = (nobody["status"], nobody["reason"], rows["nobody"].code)
    check(told == ("unreachable", "connection refused", 1), f"nobody: {told}")

    authenticated(answers["nts"], rows["nts"].code)
    refused = answers["nts, other authority"]
    told = (refused["status"], refused["requests"], rows["nts, other authority"].code)
    check(told == ("not_authenticated", 0, 1), f"another authority: {told}")
    check("UnknownIssuer" in refused["reason"], f"another authority: {refused['reason']}")

    rust(answers, rows)

    together = rows["all"].told
    check(together["agreement"] == "all", f"both servers: {together['agreement']}")
    check(abs(together["offset_ns"]) <= together["error_bound_ns"], "both servers: 0 is outside")
    falseticker(answers["liar"], rows["with liar"], rows["against liar"])
    return answers


def authenticated(row, code):
    """Ten requests over a path of 10 ms: the cookies of the key exchange are used up, new ones have come with the responses."""
    told = (row["status"], row["authenticated"], row["requests"], row["responses"], row["lost"], code)
    check(told == ("measured", True, 10, 10, {}, 0), f"nts: {told}")
    contains_truth("nts", row)
    check(row["interleaved"] >= 7, f"nts: {row['interleaved']} responses interleaved")


def rust(answers, rows):
    """ntpd-rs has basic mode only; who asks too often is not answered, who may not ask is denied."""
    plain = answers["ntpd-rs"]
    told = (plain["status"], plain["stratum"], plain["responses"], plain["interleaved"], rows["ntpd-rs"].code)
    check(told == ("measured", 1, 8, 0, 0), f"ntpd-rs: {told}")
    contains_truth("ntpd-rs", plain)
    seldom = answers["ntpd-rs, seldom"]
    told = (seldom["status"], seldom["samples"], seldom["unanswered"], rows["ntpd-rs, seldom"].code)
    check(told == ("measured", 1, 5, 6), f"ntpd-rs, seldom: {told}")
    denied = answers["ntpd-rs, denies"]
    told = (denied["status"], denied["requests"], denied["offset_ns"], rows["ntpd-rs, denies"].code)
    check(told == ("denied", 1, None, 1), f"ntpd-rs, denies: {told}")


def certificates(address):
    """A server's key and certificate for an address, of an authority; and another authority."""
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=FOLDER, capture_output=True, check=True)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    for name in ("ours", "others"):
        openssl("req", "-x509", *key, "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}", "-days", "2",
                "-addext", "basicConstraints=critical,CA:TRUE")
    (FOLDER / "names").write_text(f"subjectAltName=IP:{address}\n")
    openssl("req", *key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=server")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ours.pem", "-CAkey", "ours.key", "-CAcreateserial", "-days", "2",
            "-extfile", "names", "-out", "server.pem")


def falseticker(alone, outvoted, undecided):
    """The server that is wrong: measured as it is, named by two others, and not by one."""
    # its clock is ahead, so this one is behind: within what it claims and the path adds, which is no excuse for the lie
    claim = alone["utc_bound_ns"]
    check(claim < LIE / 2, f"liar: it claims {claim} ns")
    check(abs(alone["offset_ns"] + LIE) <= claim, f"liar: offset {alone['offset_ns']} ns ± {claim} ns, not -250 ms")
    named = [row["falseticker"] for row in outvoted.told["servers"]]
    told = (outvoted.told["agreement"], named, outvoted.code)
    check(told == ("majority", [True, False, False], 0), f"two servers and a liar: {told}")
    check(abs(outvoted.told["offset_ns"]) <= outvoted.told["error_bound_ns"], "two servers and a liar: 0 is outside")
    named = [row["falseticker"] for row in undecided.told["servers"]]
    told = (undecided.told["agreement"], undecided.told["offset_ns"], named, undecided.code)
    check(told == ("disagreement", None, [False, False], 1), f"a server and a liar: {told}")


def tracked(name):
    """What a chronyd that tracks one server says of the system's clock: the offset (positive: the clock is ahead), what
    it adds up for its error, and the delay, in nanoseconds. With -x the clock is as it was: this is the whole offset."""
    text = chronyc(name, "tracking")
    seconds, sense = re.search(r"^System time +: ([.\d]+) seconds (slow|fast)", text, re.MULTILINE).groups()
    delay, dispersion = (float(field(text, f"Root {what}")) * 1e9 for what in ("delay", "dispersion"))
    return float(seconds) * (1e9 if sense == "fast" else -1e9), delay / 2 + dispersion, delay


def compare(answers, hosts):
    """Our offsets beside those of chrony's own tracking of the same servers, over the same links. The true offset is zero."""
    print("server  program             offset (true: 0)   error bound     path delay")
    for name in ("near", "far"):
        ours, client = answers[name], f"client-{name}"
        text = chronyc(client, "ntpdata", hosts[name]["ipv4"])
        check(field(text, "Interleaved") == "Yes", f"chrony's client is not interleaved with {name}")
        check(field(text, "RX timestamping") == "Kernel", f"chrony's client has no kernel timestamps of {name}")
        theirs, distance, delay = tracked(client)
        print(f"{name:7} wirestamp ntp     {microseconds(ours['offset_ns'])} {microseconds(ours['error_bound_ns'])}"
              f" {microseconds(ours['path_delay_ns'])}")
        print(f"{name:7} chrony, tracking  {microseconds(theirs)} {microseconds(distance)} {microseconds(delay)}")
        # neither can see the asymmetry; a busy machine makes both worse
        apart = abs(ours["offset_ns"] - theirs)
        check(apart <= distance + ours["error_bound_ns"], f"{name}: {apart} ns apart from chrony's offset")


FIELDS = ["udp.srcport", "udp.dstport", "udp.length", "ntp.flags.li", "ntp.flags.vn", "ntp.flags.mode",
          "ntp.stratum", "ntp.ppoll", "ntp.precision", "ntp.rootdelay", "ntp.rootdispersion", "ntp.refid",
          "ntp.reftime", "ntp.org", "ntp.rec", "ntp.xmt"]
UNKNOWN = "NULL"


def tshark(capture, *more):
    told = subprocess.run(["tshark", "-r", capture, *more], capture_output=True, text=True, check=True)
    return told.stdout.splitlines()


def judge(capture):
    """What tshark reads in the packets to and from one server: every field as RFC 5905 and RFC 9769 want it."""
    bad = tshark(capture, "-Y", "_ws.malformed || _ws.expert.severity == error")
    check(not bad, f"tshark: {bad[:3]}")
    options = ["-Y", "ntp", "-T", "fields"] + [part for name in FIELDS for part in ("-e", name)]
    packets = [dict(zip(FIELDS, line.split("\t"))) for line in tshark(capture, *options)]
    sent = {}  # by client port
    counts = {"request": 0, "interleaved request": 0, "response": 0, "interleaved response": 0}
    transmits = set()
    for packet in packets:
        mode = packet["ntp.flags.mode"]
        check(packet["ntp.flags.vn"] == "4" and packet["udp.length"] == "56", f"version or length: {packet}")
        if mode == "3":
            requests, responses = sent.setdefault(packet["udp.srcport"], ([], []))
            if packet["ntp.precision"] != "0":
                continue  # chrony's own client says 32 there
            zero = all(float(packet[name]) == 0 for name in ("ntp.flags.li", "ntp.stratum", "ntp.ppoll",
                                                           "ntp.rootdelay", "ntp.rootdispersion"))
            empty = packet["ntp.refid"] == "00000000" and packet["ntp.reftime"] == UNKNOWN
            check(zero and empty, f"a request says too much: {packet}")
            check(packet["ntp.xmt"] not in transmits, "a transmit timestamp was used twice")
            transmits.add(packet["ntp.xmt"])
            counts["request"] += 1
            if requests and packet["ntp.org"] != requests[0]["ntp.org"]:
                counts["interleaved request"] += 1
                check(responses and packet["ntp.org"] == responses[-1]["ntp.rec"],
                      "an interleaved request's origin is not the last response's receive timestamp")
                check(packet["ntp.rec"] != packet["ntp.xmt"], "an interleaved request's timestamps are equal")
            requests.append(packet)
        elif mode == "4" and sent.get(packet["udp.dstport"], ([], []))[0]:
            requests, responses = sent[packet["udp.dstport"]]
            counts["response"] += 1
            interleaved = packet["ntp.org"] == requests[-1]["ntp.rec"]
            counts["interleaved response"] += interleaved
            check(interleaved or packet["ntp.org"] == requests[-1]["ntp.xmt"], "a response's origin is none of its request's")
            responses.append(packet)
    print(", ".join(f"{count} {what}s" for what, count in counts.items()), "by tshark")
    return counts


def main():
    with contextlib.ExitStack() as stack:
        hosts = stack.enter_context(network())
        certificates(hosts["far"]["ipv4"])
        nts = [f"ntsserverkey {FOLDER}/server.key", f"ntsservercert {FOLDER}/server.pem"]
        for name in ("near", "far", "lossy"):
            more = nts if name == "far" else []
            stack.enter_context(chronyd(name, hosts[name], "local stratum 1", "allow", *more))
        stack.enter_context(chronyd("lost", hosts["lost"], "allow"))
        stack.enter_context(ntpd_rs("rust", hosts["rust"]))
        lie = f"server {hosts['near']['ipv4']} offset {LIE / 1e9} iburst minpoll 0 maxpoll 0"
        stack.enter_context(chronyd("liar", hosts["liar"], lie, "allow"))
        until("the servers answer", lambda: all("Stratum" in chronyc(name, "tracking") for name in HOSTS[1:-1]))
        until("the liar claims to be exact", lambda: root_dispersion("liar") < 0.002, 20)
        capture = FOLDER / "near.pcap"
        # short packets: with the usual 256 KiB each, its buffer has room for eight at a time
        tcpdump = stack.enter_context(running(
            *inside(hosts["near"], "tcpdump", "-i", "net0", "--immediate-mode", "-s", "256", "-U", "-w", capture, "udp", "port", "123")))
        until("tcpdump listens", lambda: capture.exists() and capture.stat().st_size > 0)
        for name in ("near", "far"):
            source = f"server {hosts[name]['ipv4']} xleave iburst minpoll 0 maxpoll 0"
            stack.enter_context(chronyd(f"client-{name}", hosts["client"], source, "port 0"))
        answers = measure(hosts)
        for name in ("near", "far"):
            until("chrony's clients are interleaved and settled", lambda: root_dispersion(f"client-{name}") < 0.002 and field(
                chronyc(f"client-{name}", "ntpdata", hosts[name]["ipv4"]), "Interleaved") == "Yes", 20)
        compare(answers, hosts)
        stats = chronyc("near", "serverstats")
        count = int(field(stats, "Interleaved NTP packets") or 0)
        check(count > 0, "chronyd near counted no interleaved packet")
        tcpdump.terminate()
        tcpdump.wait()
        counts = judge(capture)
        # 10 and three times 4 interleaved ones, and 10 basic
        check((counts["request"], counts["response"]) == (32, 32), f"packets: {counts}")
        check(counts["interleaved response"] >= 12, f"packets: {counts}")
    events = [json.loads(line) for line in (FOLDER / "router.log").read_text().splitlines()]
    for sender, receiver, least in (("client", "far", 3), ("far", "client", 7)):
        delays = [event["left_ns"] - event["arrived_ns"] for event in events
                  if (event["from"], event["to"], event["fate"]) == (sender, receiver, "forwarded")]
        delays.sort()
        print(f"router, {sender} to {receiver}: {len(delays)} packets, least {delays[0] / 1e6:.3f} ms,"
              f" median {delays[len(delays) // 2] / 1e6:.3f} ms")
        check(delays[0] >= least * MILLISECOND - 1_000, f"the router was early: {delays[0]} ns")
    if FAILURES:
        raise SystemExit(f"{len(FAILURES)} failures; packets and logs are in {FOLDER}")
    subprocess.run(["rm", "-r", FOLDER], check=True)
    print("passed")


main()
