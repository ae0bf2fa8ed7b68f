"""An NTP server of stratum 1 on all addresses (RFC 5905, section 7.3) whose clock is this machine's plus what standard input says:
a number of seconds a line. It is how the test has a time server whose clock is wrong, without touching a clock.
"""

import socket
import struct
import sys
import threading
import time

UNIX = 2_208_988_800  # seconds from 1900 to 1970
ahead_ns = 0


def now():
    nanoseconds = time.time_ns() + ahead_ns
    return (nanoseconds // 1_000_000_000 + UNIX) << 32 | (nanoseconds % 1_000_000_000 << 32) // 1_000_000_000


def serve(server):
    while True:
        request, client = server.recvfrom(2048)
        received = now()
        if len(request) < 48:
            continue
        header = struct.pack(">BBBb", 0x24, 1, request[2], -20)
        server.sendto(header + bytes(8) + b"TEST" + struct.pack(">Q", received) + request[40:48] + struct.pack(">QQ", received, now()), client)


server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("0.0.0.0", 123))
threading.Thread(target=serve, args=(server,), daemon=True).start()
for line in sys.stdin:
    ahead_ns = round(float(line) * 1e9)
