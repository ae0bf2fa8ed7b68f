"""Runs the C examples and checks what they print. Compiles nothing.

usage: examples.py loopback DIRECTORY COMMAND...
       examples.py simulated DIRECTORY
       examples.py wine DIRECTORY RUNNER
       examples.py model DIRECTORY RUNNER
DIRECTORY has the compiled examples; COMMAND... is the program `wirestamp`, with which the examples'
latencies on the loopback interface are compared.
"""

import json
import os
import re
import statistics
import subprocess
import sys

# The medians of the examples and of `wirestamp latency` differ by less than this factor.
FACTOR = 2
ROUNDS = 5
COUNT = 1000
SCENARIO = "crates/wirestamp-win32/tests/c/restart.toml"
TRUE_FREQUENCY = 156_250_000 * (1 - 23.456e-6)  # preset windows-modern
SEND, RECEIVE = "send path", "receive path"


def run(command, **settings):
    environment = {**os.environ, **settings}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{command} {settings}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def latencies(text, label):
    """The nanoseconds that an example prints, none of them absurd."""
    found = [int(value) for value in re.findall(rf"^{label}: (-?\d+) ns$", text, re.M)]
    absurd = [value for value in found if not 0 <= value < 1_000_000_000]
    assert not absurd, f"{label}: not plausible: {absurd}"
    return found


def all_latencies(text, label, count):
    found = latencies(text, label)
    assert len(found) == count, f"{len(found)} latencies of {count}:\n{text[:2000]}"
    return found


def medians(directory, wirestamp):
    """Of one pass of each program: what the example prints, what `wirestamp latency` measures."""
    report = json.loads(run([*wirestamp, "latency", "--count", str(COUNT), "--json"]))
    for program, label, path in (
        ("send_latency", SEND, "send_path_ns"),
        ("receive_latency", RECEIVE, "receive_path_ns"),
    ):
        found = all_latencies(run(f"{directory}/{program}", COUNT=str(COUNT)), label, COUNT)
        yield program, statistics.median_low(found), report[path]["p50"]


def as_others_call(directory, address, ttl, command=(), ending="", stamped="timestamped", without=(), **settings):
    """The programs that make the calls of public ones, in their order."""
    settings["COUNT"] = "3"
    for program, expected in (
        ("ntp_client", [f"answer {i}: {stamped}" for i in range(3)]),
        ("stamp_pair", [f"reply {i}: TTL {ttl}" for i in range(3)]),
        ("polling_sender", [f"id {i + 1}: {stamped}" for i in range(3)]),
        ("capture_ports", [f"datagram {i} of 48 bytes: {stamped}" for i in range(3)] + ["cancelled: 8"]),
    ):
        if program in without:
            continue
        found = run([*command, f"{directory}/{program}{ending}"], **settings).splitlines()
        assert found == expected, f"{program}: {found}"
    found = run([*command, f"{directory}/where_from{ending}"], **settings)
    assert len(re.findall(rf"^to {address} on adapter [1-9]\d*: {stamped}$", found, re.M)) == 3, found
    print(f"programs that call as others do: {stamped}, as expected on {address}")


def wine(directory, runner):
    """The same programs as programs of Windows, under Wine, which has no timestamps."""
    as_others_call(directory, "127.0.0.1", 255, command=[runner], ending=".exe", stamped="no timestamp")


def model(directory, runner):
    """All of them on simulated NICs with hardware timestamps, under Wine with the model. Completion ports are the system's,
    which knows nothing of simulated sockets."""
    settings = {"WIRESTAMP_SIM": "windows-modern", "INTERFACE": "sim0", "PEER": "sim1", "HARDWARE": "1"}
    as_others_call(
        directory, "192.0.2.1", 0, command=[runner], ending=".exe", without=("capture_ports",), **settings
    )
    settings["COUNT"] = "3"
    text = run([runner, f"{directory}/capabilities.exe"], **settings)
    assert re.fullmatch(r"sim0: hardware timestamps for PTPv2\s+hardware clock: 1562\d{5} Hz\s*", text), text
    for program, label in (("send_latency", SEND), ("receive_latency", RECEIVE), ("follow_changes", RECEIVE)):
        all_latencies(run([runner, f"{directory}/{program}.exe"], **settings), label, 3)
    print("capabilities, send_latency, receive_latency, follow_changes: as expected")


def agree(ours, other):
    return ours < other * FACTOR and other < ours * FACTOR


def loopback(directory, wirestamp):
    """Software timestamps: the medians agree with those of `wirestamp latency` on the same path. The
    fastest pass of each counts: on a busy machine a pass can be slow."""
    fastest = {}
    for _ in range(ROUNDS):
        for program, ours, other in medians(directory, wirestamp):
            before = fastest.get(program, (ours, other))
            fastest[program] = min(before[0], ours), min(before[1], other)
        if all(agree(*pair) for pair in fastest.values()):
            break
    for program, (ours, other) in fastest.items():
        print(f"{program}: median {ours} ns, `wirestamp latency` {other} ns")
        assert agree(ours, other), f"{program}: further apart than a factor of {FACTOR}"
    assert run(f"{directory}/capabilities") == "lo: software timestamps for PTPv2\n"
    text = run(f"{directory}/follow_changes", COUNT="5")
    assert text.startswith("software timestamps\n"), text
    all_latencies(text, RECEIVE, 5)
    as_others_call(directory, "127.0.0.1", 255)


def simulated(directory):
    """Hardware timestamps, on the simulated NIC."""
    settings = {"WIRESTAMP_SIM": "windows-modern", "INTERFACE": "sim0", "PEER": "sim1", "HARDWARE": "1", "COUNT": "10"}
    all_latencies(run(f"{directory}/send_latency", **settings), SEND, 10)
    all_latencies(run(f"{directory}/receive_latency", **settings), RECEIVE, 10)
    text = run(f"{directory}/capabilities", **settings)
    assert text.startswith("sim0: hardware timestamps for PTPv2\n"), text
    frequency = float(re.search(r"^hardware clock: (\d+) Hz$", text, re.M).group(1))
    error = abs(frequency / TRUE_FREQUENCY - 1)
    print(f"capabilities: {frequency:.0f} Hz, {error * 1e6:.2f} ppm from the truth")
    assert error < 100e-6, f"frequency {frequency}, true {TRUE_FREQUENCY}"
    del settings["COUNT"]
    as_others_call(directory, "192.0.2.1", 0, **settings)  # the simulated network knows no TTL


def counter_reset(directory):
    """The NIC restarts in the middle and its counter begins anew: no latency may be wrong by that, and
    hardly any may be missing."""
    text = run(f"{directory}/follow_changes", WIRESTAMP_SIM=SCENARIO, INTERFACE="sim0", PEER="sim1", COUNT="25")
    assert text.startswith("hardware timestamps\n"), text
    before, restarted, after = text.partition("the configuration has changed\n")
    assert restarted, f"no notice of the restart:\n{text}"
    counts = len(latencies(before, RECEIVE)), len(latencies(after, RECEIVE))
    assert min(counts) > 0, f"the restart came at the edge: {counts}"
    assert sum(counts) >= 21, f"{25 - sum(counts)} of 25 without a latency:\n{text}"
    worst = max(latencies(text, RECEIVE))
    # the counter had run for more than a second: a conversion across the restart would be off by that
    assert worst < 500_000_000, f"a latency of {worst} ns:\n{text}"
    print(f"follow_changes: {counts[0]} latencies before the restart, {counts[1]} after, at most {worst} ns")


def main():
    part, directory, *wirestamp = sys.argv[1:]
    if part == "loopback":
        loopback(directory, wirestamp)
    elif part == "wine":
        wine(directory, *wirestamp)
    elif part == "model":
        model(directory, *wirestamp)
    else:
        simulated(directory)
        counter_reset(directory)


if __name__ == "__main__":
    main()
