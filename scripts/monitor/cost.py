"""Measures what a monitor costs, beside chronyd and ptp4l. Called by scripts/monitor-cost.

Four namespaces are the network: in each a chronyd as server and four addresses on which a reflector answers, in the first ptp4l as
timeTransmitter. The monitor is in a namespace with a cable to each; the clients of chrony and linuxptp are in another one with the same cables.
All hosts share one clock, which nobody moves.
"""

import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from operate import inside, running

SECONDS = float(sys.argv[1]) * 60
WIRESTAMP = pathlib.Path(sys.argv[2]).resolve()
CABLES, SESSIONS = 4, 4  # sessions on each cable
SCRAPE_EACH = 5
WARM_UP = 20
LIMITS = {"percent of a core": 1.5, "MB": 40, "ms": 5}
TICK = os.sysconf("SC_CLK_TCK")

MONITOR = """host = "m"
[clocks]
interfaces = []
[[ptp]]
interface = "v0"
options = { transport = "udp4", source = "software", role = "time_receiver" }
[history]
directory = "HISTORY"
"""
# nothing of it unless it is asked for
RECORDING = """[recording]
directory = "RECORDINGS"
file_interval = "INTERVAL"
"""
PTP = """[global]
time_stamping software
free_running 1
tx_timestamp_timeout 50
uds_address SOCKET
"""


def ip(text):
    subprocess.run(["ip", *text.split()], check=True)


@contextlib.contextmanager
def network():
    """The namespaces, by name: those of the network are 0 to 3."""
    spaces = {name: f"wsc-{os.getpid()}-{name}" for name in ["m", "c", *map(str, range(CABLES))]}
    try:
        for space in spaces.values():
            ip(f"netns add {space}")
            ip(f"-n {space} link set lo up")
        for number in range(CABLES):
            far = spaces[str(number)]
            for near, name, net in (("m", "v", 78), ("c", "w", 79)):
                ip(f"-n {spaces[near]} link add {name}{number} type veth peer name {name}{number} netns {far}")
                ip(f"-n {spaces[near]} addr add 10.{net}.{number}.1/24 dev {name}{number}")
                for host in range(SESSIONS):
                    ip(f"-n {far} addr add 10.{net}.{number}.{host + 2}/24 dev {name}{number}")
                for space in (spaces[near], far):
                    ip(f"-n {space} link set {name}{number} up")
        yield spaces
    finally:
        for space in spaces.values():
            subprocess.run(["ip", "netns", "del", space], check=False)


def chronyd(folder, space, lines):
    folder.mkdir(mode=0o700)
    lines = [*lines, "cmdport 0", f"bindcmdaddress {folder}/control", f"pidfile {folder}/pid", "user root"]
    (folder / "conf").write_text("\n".join(lines) + "\n")
    return running(*inside(space, "chronyd", "-x", "-d", "-f", folder / "conf"))


def ptp4l(folder, space, role, *interfaces):
    """`role`: its setting; linuxptp 4 takes the older names as well."""
    folder.mkdir()
    (folder / "conf").write_text(PTP.replace("SOCKET", str(folder / "socket")) + f"{role} 1\n")
    return running(*inside(space, "ptp4l", "-f", folder / "conf", *(word for name in interfaces for word in ("-i", name))))


def configuration(folder):
    text = MONITOR.replace("HISTORY", str(folder / "history"))
    if interval := os.environ.get("RECORDING"):
        text += RECORDING.replace("RECORDINGS", str(folder / "recordings")).replace("INTERVAL", interval)
        if os.environ.get("PACKETS"):
            text += 'tables = ["probes", "estimates", "cross", "timestamps"]\n'
    for number in range(CABLES):
        text += f'[[ntp]]\nserver = "10.78.{number}.2"\n'
        for host in range(SESSIONS):
            text += f'[[stamp]]\nname = "rack{number}-host{host}"\npeer = "10.78.{number}.{host + 2}"\ninterface = "v{number}"\nclocks = "same"\n'
    return text


def cpu(process):
    """Seconds: user and system, of all threads (proc_pid_stat(5))."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def memory(process):
    """Megabytes: resident now, most that ever was, proportional set size now."""
    def field(file, name):
        for line in pathlib.Path(f"/proc/{process.pid}/{file}").read_text().splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024 / 1e6
        raise KeyError(name)

    return field("status", "VmRSS"), field("status", "VmHWM"), field("smaps_rollup", "Pss")


def scrape(space):
    """Seconds that curl needed, and how many bytes came."""
    told = subprocess.run(inside(space, "curl", "-s", "-o", "/dev/null", "-w", "%{http_code} %{time_total} %{size_download}", "http://127.0.0.1:9862/metrics"),
                          capture_output=True, text=True, check=True)
    code, seconds, size = told.stdout.split()
    assert code == "200", told.stdout
    return float(seconds), int(size)


def snapshot(space):
    told = subprocess.run(inside(space, "curl", "-s", "http://127.0.0.1:9862/api/snapshot"), capture_output=True, text=True)
    return json.loads(told.stdout) if told.stdout else None


def waits_for(shown):
    """What does not run, or was not measured yet."""
    if not shown:
        return ["the monitor"]
    waiting = [f"{task['kind']} {task['name']}: {task['error']}" for task in shown["tasks"] if task["state"] != "running"]
    waiting += [f"STAMP {peer['name']}: {peer['error']}" for peer in shown["peers"] if peer["path_delay_ns"] is None]
    waiting += [f"NTP {server['name']}: {server['error']}" for server in shown["ntp"]["servers"] if not server["samples"]]
    return waiting + [f"PTP {port['interface']}: {port['state']}" for port in shown["ptp"] if port["offset_ns"] is None]


def start(space):
    """Waits until everything measures."""
    end = time.monotonic() + 60
    while waiting := waits_for(snapshot(space)):
        if time.monotonic() > end:
            sys.exit("not measured within 60 s: " + "; ".join(waiting))
        time.sleep(0.5)


def measure(space, programs):
    """Runs for the time; returns what each program cost, the scrapes, and the first and last snapshot."""
    first, begun = snapshot(space), time.monotonic()
    before = {name: cpu(process) for name, process in programs.items()}
    pss = dict.fromkeys(programs, 0.0)
    scrapes = []
    while time.monotonic() - begun < SECONDS:
        time.sleep(max(0, begun + SCRAPE_EACH * (len(scrapes) + 1) - time.monotonic()))
        scrapes.append(scrape(space))
        pss = {name: max(pss[name], memory(process)[2]) for name, process in programs.items()}
    passed = time.monotonic() - begun
    costs = {name: {"percent": 100 * (cpu(process) - before[name]) / passed, "rss_mb": memory(process)[1], "pss_mb": pss[name]}
             for name, process in programs.items()}
    return passed, costs, scrapes, first, snapshot(space)


def tell(passed, costs, scrapes, first, last):
    times = sorted(1e3 * seconds for seconds, _ in scrapes)
    history = (last["history"]["bytes"] - first["history"]["bytes"]) / passed
    if recording := last["recording"]:
        lost = sum(recording["lost"].values())
        print(f"recordings: {recording['bytes']} bytes in {recording['files']} files, rows {recording['rows']}, {lost} lost")
    answered = sum(peer["answered"] for peer in last["peers"]) - sum(peer["answered"] for peer in first["peers"])
    lost = sum(peer["lost"] for peer in last["peers"]) - sum(peer["lost"] for peer in first["peers"])
    late = last["own"]["missed_deadlines"] - first["own"]["missed_deadlines"]
    print(f"{passed:.0f} s, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    for name, cost in costs.items():
        print(f"{name:34} {cost['percent']:6.2f} % of a core, at most {cost['rss_mb']:5.1f} MB resident, {cost['pss_mb']:5.1f} MB proportional")
    print(f"scrapes: {len(times)} of {scrapes[-1][1]} bytes: median {statistics.median(times):.2f} ms, longest {times[-1]:.2f} ms")
    print(f"history: {history:.0f} bytes/s, {1 / (history * 3600 / 2**20):.3f} hours for each MiB, {256 * 2**20 / history / 3600:.1f} hours in 256 MiB")
    print(f"{answered} packets answered, {lost} lost; {late} turns of {last['own']['turns'] - first['own']['turns']} began more than 5 ms late")
    assert answered > 0.9 * passed * 10 * CABLES * SESSIONS, "the sessions did not run"
    mine = costs["monitor"]
    found = {"percent of a core": mine["percent"], "MB": mine["rss_mb"], "ms": times[-1]}
    missed = [f"{found[unit]:.2f} {unit}, more than {limit}" for unit, limit in LIMITS.items() if found[unit] > limit]
    sys.exit("missed: " + "; ".join(missed) if missed else 0)


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wirestamp-cost-"))
    with contextlib.ExitStack() as stack:
        spaces = stack.enter_context(network())
        far = [spaces[str(number)] for number in range(CABLES)]
        for number, space in enumerate(far):
            stack.enter_context(chronyd(folder / f"server{number}", space, ["local stratum 1", "allow"]))
            listen = [f"10.78.{number}.{host + 2}:862" for host in range(SESSIONS)]
            (folder / f"reflector{number}.toml").write_text(f"[clocks]\ninterfaces = []\n[reflector]\nlisten = {json.dumps(listen)}\n")
            stack.enter_context(running(*inside(space, WIRESTAMP, "monitor", "--config", folder / f"reflector{number}.toml")))
        stack.enter_context(ptp4l(folder / "transmitter", far[0], "masterOnly", "v0", "w0"))
        servers = [f"server 10.79.{number}.2 minpoll 4 maxpoll 4 xleave" for number in range(CABLES)]
        client = stack.enter_context(chronyd(folder / "client", spaces["c"], servers))
        receiver = stack.enter_context(ptp4l(folder / "receiver", spaces["c"], "slaveOnly", "w0"))
        (folder / "m.toml").write_text(configuration(folder))
        log = stack.enter_context(open(folder / "log", "w", encoding="utf-8"))
        monitor = stack.enter_context(running(*inside(spaces["m"], WIRESTAMP, "monitor", "--config", folder / "m.toml"), stderr=log))
        start(spaces["m"])
        time.sleep(WARM_UP)
        programs = {"monitor": monitor, "chronyd, the 4 servers": client, "ptp4l, the 1 timeTransmitter": receiver}
        told = measure(spaces["m"], programs)
    subprocess.run(["rm", "-r", folder], check=True)
    tell(*told)


main()
