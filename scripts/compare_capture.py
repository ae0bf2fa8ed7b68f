"""The measurement of scripts/compare-capture, which says what it is for. Runs in a network namespace of its own.

usage: compare_capture.py PROGRAM [ROUNDS [SECONDS [BYTES]]]
"""

import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

PORT = 4000
FILTER = f"udp dst port {PORT}".split()
# As much memory for each, and what each says at its end: captured, dropped.
OURS = r'"packets":(\d+).*?"dropped":(\d+)'
TOOLS = {
    "wirestamp": (lambda program, file: [program, "capture", "lo", "--json", "--buffer", "32", "-w", file, *FILTER], OURS),
    "2 queues": (lambda program, file: [program, "capture", "lo", "--json", "--queues", "2", "--buffer", "16", "-w", file, *FILTER], OURS),
    "tcpdump": (lambda _, file: ["tcpdump", "-i", "lo", "-p", "-n", "-B", "32768", "--nano", "-w", file, *FILTER], r"(\d+) packets captured.*?(\d+) packets dropped by kernel"),
    "dumpcap": (lambda _, file: ["dumpcap", "-i", "lo", "-p", "-q", "-B", "32", "-w", file, "-f", " ".join(FILTER)], r"received/dropped on interface.*?: (\d+)/(\d+)"),
}


def send(seconds, size):
    """Sends as fast as two processes can; returns how many datagrams went."""
    counters = []
    for _ in range(2):
        reader, writer = os.pipe()
        if os.fork() == 0:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                sender.connect(("127.0.0.1", PORT))
                payload, end, count = b"x" * size, time.monotonic() + seconds, 0
                while time.monotonic() < end:
                    for _ in range(64):
                        sender.send(payload)
                    count += 64
            os.write(writer, str(count).encode())
            os._exit(0)
        os.close(writer)
        counters.append(reader)
    counts = [int(os.read(reader, 32)) for reader in counters]
    for reader in counters:
        os.close(reader)
        os.wait()
    return sum(counts)


def measure(name, program, folder, seconds, size):
    """Processor time for each captured packet in ns, how many were captured, dropped and sent."""
    command, pattern = TOOLS[name]
    file = os.path.join(folder, name + ".pcapng")
    # a file: a pipe that nobody reads could stop the tool
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(command(program, file), stdout=said, stderr=said, stdin=subprocess.DEVNULL)
        time.sleep(1)
        sent = send(seconds, size)
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = status
        said.seek(0)
        text = said.read().decode()
    found = re.search(pattern, text, re.DOTALL)
    if not found:
        sys.exit(f"{name} said: {text}")
    captured, dropped = map(int, found.groups())
    os.unlink(file)
    # Loopback shows each packet as it is sent and as it is received.
    if TOOLS[name][1] == OURS and captured + dropped != 2 * sent:
        sys.exit(f"{name}: {sent} were sent, so there were {2 * sent} to capture: {captured} are captured, {dropped} counted as dropped")
    return (usage.ru_utime + usage.ru_stime) * 1e9 / max(captured, 1), captured, dropped, sent


def main():
    program = os.path.abspath(sys.argv[1])
    rounds, seconds, size = (int(value) for value in [*sys.argv[2:], *["5", "1", "500"][len(sys.argv) - 2 :]])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)  # nobody reads it: what is too much is dropped behind the captures
    receiver.bind(("127.0.0.1", PORT))
    results = {name: [] for name in TOOLS}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(rounds):
            names = list(TOOLS)
            first = turn % len(names)
            for name in names[first:] + names[:first]:
                results[name].append(measure(name, program, folder, seconds, size))
    for name, found in results.items():
        cpu = statistics.median(one[0] for one in found)
        captured, dropped, sent = (sum(one[place] for one in found) for place in (1, 2, 3))
        print(f"{name:10} {cpu:7.0f} ns of processor time a packet, {captured:9} captured, {dropped:9} dropped, {sent:9} sent")
    best = [min(results["tcpdump"][turn][0], results["dumpcap"][turn][0]) for turn in range(rounds)]
    ratios = [results["wirestamp"][turn][0] / best[turn] for turn in range(rounds)]
    told = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    print(f"wirestamp over the better of both: median {statistics.median(ratios):.2f} (rounds: {told}); target 0.80")


main()
