"""Owns the checks of what the pages' samples print when they are run. Compiles nothing.

usage: samples.py loopback DIRECTORY COMMAND...
       samples.py simulated DIRECTORY
DIRECTORY has the compiled samples; COMMAND... is the program `wirestamp`, with which the samples'
latencies on the loopback interface are compared.
"""

import json
import os
import re
import statistics
import subprocess
import sys

# The medians of the samples and of `wirestamp latency` differ by less than this factor. The samples
# print whole microseconds, cut off: their median lies between what they print and one more.
FACTOR = 2
ROUNDS = 5
COUNT = 1000
SCENARIO = "crates/wirestamp-win32/tests/c/restart.toml"
TRUE_FREQUENCY = 156_250_000 * (1 - 23.456e-6)  # preset windows-modern


def run(command, **settings):
    environment = {**os.environ, **settings}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{command} {settings}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def latencies(text, label, count):
    """The microseconds that a sample prints: as many as datagrams, none of them absurd."""
    assert "failed" not in text, f"a failure in the output:\n{text}"
    found = [int(value) for value in re.findall(rf"^{label}: (-?\d+) microseconds$", text, re.M)]
    assert len(found) == count, f"{len(found)} latencies of {count}:\n{text[:2000]}"
    absurd = [value for value in found if not 0 <= value < 1_000_000]
    assert not absurd, f"{label}: not plausible: {absurd}"
    return found


SEND, RECEIVE = "socket send path latency estimation", "RX latency estimation"


def medians(directory, wirestamp):
    """Of one pass of each program: what the sample prints, what `wirestamp latency` measures in ns."""
    report = json.loads(run([*wirestamp, "latency", "--count", str(COUNT), "--json"]))
    for program, label, path in (
        ("winsock_send", SEND, "send_path_ns"),
        ("winsock_receive", RECEIVE, "receive_path_ns"),
    ):
        found = latencies(run(f"{directory}/{program}", COUNT=str(COUNT)), label, COUNT)
        yield program, statistics.median_low(found), report[path]["p50"]


def agree(microseconds, nanoseconds):
    return microseconds * 1000 < nanoseconds * FACTOR and (microseconds + 1) * 1000 > nanoseconds / FACTOR


def loopback(directory, wirestamp):
    """Software stamps: the medians agree with those of `wirestamp latency` on the same path. The
    fastest pass of each counts: on a busy machine a pass can be slow."""
    fastest = {}
    for _ in range(ROUNDS):
        for program, ours, other in medians(directory, wirestamp):
            before = fastest.get(program, (ours, other))
            fastest[program] = min(before[0], ours), min(before[1], other)
        if all(agree(*pair) for pair in fastest.values()):
            break
    for program, (ours, other) in fastest.items():
        print(f"{program}: median {ours} µs, `wirestamp latency` {other} ns")
        assert agree(ours, other), f"{program}: further apart than a factor of {FACTOR}"
    assert run(f"{directory}/packet_timestamping_1") == "lo: software timestamps for PTPv2\n"
    latencies(run(f"{directory}/packet_timestamping_2", COUNT="5"), RECEIVE, 5)


def simulated(directory):
    """Hardware stamps, on the simulated adapter."""
    settings = {"WIRESTAMP_SIM": "windows-modern", "INTERFACE": "sim0", "PEER": "sim1", "HARDWARE": "1", "COUNT": "10"}
    latencies(run(f"{directory}/winsock_send", **settings), SEND, 10)
    latencies(run(f"{directory}/winsock_receive", **settings), RECEIVE, 10)
    text = run(f"{directory}/packet_timestamping_1", **settings)
    assert text.startswith("sim0: hardware timestamps for PTPv2\n"), text
    frequency = float(re.search(r"^hardware clock: (\d+) Hz$", text, re.M).group(1))
    error = abs(frequency / TRUE_FREQUENCY - 1)
    print(f"packet_timestamping_1: {frequency:.0f} Hz, {error * 1e6:.2f} ppm from the truth")
    assert error < 100e-6, f"frequency {frequency}, true {TRUE_FREQUENCY}"


def counter_reset(directory):
    """Example 2 from end to end: the adapter restarts in the middle, its counter begins anew."""
    text = run(f"{directory}/packet_timestamping_2", WIRESTAMP_SIM=SCENARIO, INTERFACE="sim0", PEER="sim1", COUNT="25")
    assert text.startswith("timestamp type 2\n"), text
    found = latencies(text, RECEIVE, 25)
    before, restarted, after = text.partition("restarting the correlation\n")
    assert restarted, f"no notice of the restart:\n{text}"
    counts = before.count(RECEIVE), after.count(RECEIVE)
    assert min(counts) > 0, f"the restart came at the edge: {counts}"
    print(f"packet_timestamping_2: {counts[0]} latencies before the restart, {counts[1]} after, at most {max(found)} µs")


def main():
    part, directory, *wirestamp = sys.argv[1:]
    if part == "loopback":
        loopback(directory, wirestamp)
    else:
        simulated(directory)
        counter_reset(directory)


if __name__ == "__main__":
    main()
