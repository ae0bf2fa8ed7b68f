"""Compares the numbers of the headers in include/win32 with those of mingw-w64's headers, in both directions.

Every name of a socket option, level, flag, family or protocol that mingw-w64 has must have that number here or not be
declared, and every such name of the C library's headers must have Windows' number or not compile, whichever of the
headers the program includes first. Nothing is run: a number is read out of the compiler's assembly.

usage: socket_numbers.py INCLUDE MINGW_COMPILER
"""

import os
import re
import subprocess
import sys

GROUPS = r"(?:IP|IPV6|MCAST|SO|MSG|AF|PF|IPPROTO|SOCK|SHUT|SOL|AI|NI|EAI|SD|FD)_\w+|POLL[A-Z]+|SOMAXCONN"
WINDOWS = "winsock2.h ws2tcpip.h ws2ipdef.h mswsock.h mstcpip.h iphlpapi.h".split()
SYSTEM = "sys/socket.h netinet/in.h netdb.h arpa/inet.h sys/select.h poll.h sys/un.h net/if.h ifaddrs.h".split()
NAME = re.compile(rf"\b(?:{GROUPS})\b")
# Windows has them; mingw-w64 does not declare them. From the SDK's ws2def.h.
ONLY_IN_THE_SDK = {
    "SO_BSP_STATE": 0x1009, "SO_PAUSE_ACCEPT": 0x3003, "SO_COMPARTMENT_ID": 0x3004, "SO_RANDOMIZE_PORT": 0x3005,
    "SO_PORT_SCALABILITY": 0x3006, "SO_REUSE_UNICASTPORT": 0x3007, "SO_REUSE_MULTICASTPORT": 0x3008,
    "IP_PMTUDISC_NOT_SET": 0, "IP_PMTUDISC_DO": 1, "IP_PMTUDISC_DONT": 2, "IP_PMTUDISC_PROBE": 3, "IP_PMTUDISC_MAX": 4,
    "MCAST_INCLUDE": 0, "MCAST_EXCLUDE": 1,
}  # fmt: skip
# Bits of the program's own sets and of Winsock's, or of a member's name; no number that a call takes.
NOT_NUMBERS = re.compile(r"FD_(SET|CLR|ISSET|ZERO|SETSIZE)$|.*_INCLUDED$|.*_DEFINED$|IF_|AF_INET_|SO_PROTOCOL_INFO$")


def run(command, text):
    plain = {**os.environ, "LC_ALL": "C"}  # messages are read
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, env=plain)
    return done.returncode, done.stdout, done.stderr


def include(headers):
    return "".join(f"#include <{header}>\n" for header in headers)


def tokens(compiler, headers, exclude=()):
    """Every name of the groups that these headers mention, macros and enumerators."""
    code, output, errors = run([*compiler, "-E", "-dD", "-x", "c", "-"], include(headers))
    assert code == 0, errors
    text = "\n".join(line for line in output.splitlines() if not line.startswith("# "))
    return {name for name in NAME.findall(text) if not NOT_NUMBERS.match(name) and name not in exclude}


def functions(headers, names):
    """A file with one function for each name."""
    one = 'void number_{0}(void) {{ __asm__ volatile("number {0} %c0" : : "i"((long long){0})); }}\n'
    return include(headers) + "".join(one.format(name) for name in names)


def refused(errors):
    """The names whose functions did not compile."""
    return set(re.findall(r"In function 'number_(\w+)'", errors))


def values(compiler, headers, names):
    """The numbers of those names that compile."""
    plain = [*compiler, "-x", "c", "-fmax-errors=0", "-w", "-O1", "-fno-pie"]
    left = set(names)
    _, _, errors = run([*plain, "-fsyntax-only", "-"], functions(headers, sorted(left)))
    left -= refused(errors)
    while True:  # what is no constant shows when code is made
        code, output, errors = run([*plain, "-S", "-o", "-", "-"], functions(headers, sorted(left)))
        if code == 0:
            return {name: int(value) for name, value in re.findall(r"number (\w+) (-?\d+)", output)}
        assert refused(errors), errors[:2000]
        left -= refused(errors)


def low(value):
    return value & 0xFFFFFFFF


def main():
    ours_in, mingw = sys.argv[1], sys.argv[2]
    theirs = [mingw, "-D_WIN32_WINNT=0x0A00", "-DNTDDI_VERSION=0x0A00000B"]
    ours = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-I", ours_in]
    windows = values(theirs, WINDOWS, tokens(theirs, WINDOWS)) | ONLY_IN_THE_SDK
    assert len(windows) > 250, f"only {len(windows)} names of mingw-w64 were read"
    of_the_library = tokens(["gcc", "-D_GNU_SOURCE"], SYSTEM)
    assert len(of_the_library) > 300, f"only {len(of_the_library)} names of the C library were read"
    wrong, same = [], 0
    orders = {"winsock first": WINDOWS + SYSTEM, "the C library first": SYSTEM + WINDOWS}
    for order, headers in orders.items():
        here = values(ours, headers, set(windows) | of_the_library)
        for name, value in sorted(here.items()):
            if name not in windows:
                wrong.append(f"{order}: {name} is {value}, a number of the C library")
            elif low(windows[name]) != low(value):
                wrong.append(f"{order}: {name} is {value}, on Windows {windows[name]}")
            else:
                same += 1
        defined = tokens(ours, WINDOWS) & set(windows)
        for name in ("IP_TOS", "IP_MTU_DISCOVER", "IPV6_HOPLIMIT", "MCAST_JOIN_GROUP", "SO_RCVBUF", "MSG_PEEK", "AF_INET6"):
            assert name in defined and name in here, f"{name} is not declared"
    for line in wrong:
        print(line)
    print(f"numbers: {same} of Windows' in two orders of the headers, {len(wrong)} others")
    sys.exit(bool(wrong))


main()
