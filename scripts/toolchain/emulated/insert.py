"""Makes QEMU's emulated adapters e1000e and igb timestamp what they send and receive: inserts
calls of timestamps.h into their source. usage: insert.py SOURCE   (QEMU's, unpacked)

A place is named by what the source calls things: a function, a call in it, an array. A name that
is not there exactly once is an error, and nothing is changed."""

import pathlib
import re
import sys

PROLOGUE = """
#define TIMESTAMP_CORE {core}
#define TIMESTAMP_TICK_NS {tick}
#define TIMESTAMP_MATCH(mac) ({match})
#include "timestamps.h"
"""


class Source:
    """A C file. `code` is its text with comments and literals blanked: only there are names sought."""

    def __init__(self, path):
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        ignored = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
        self.code = re.sub(ignored, lambda found: re.sub(r"[^\n]", " ", found[0]), self.text, flags=re.S)
        self.insertions = []

    def only(self, what, pattern, start=0, end=None):
        found = list(re.compile(pattern, re.M).finditer(self.code, start, len(self.code) if end is None else end))
        if len(found) != 1:
            sys.exit(f"insert.py: {self.path.name}: {what} is there {len(found)} times, not once")
        return found[0]

    def block(self, what, pattern):
        """Where the braces after this begin and end."""
        begin = self.only(what, pattern).end()
        depth = 1
        for place in re.compile(r"[{}]").finditer(self.code, begin):
            depth += 1 if place[0] == "{" else -1
            if depth == 0:
                return begin, place.start()
        sys.exit(f"insert.py: {self.path.name}: {what} has no end")

    def function(self, name):
        return self.block(f"the definition of {name}", rf"^(?:[\w *]+\W)?{name}\s*\([^;{{}}]*\)\s*\{{")

    def after_includes(self, text):
        last = list(re.finditer(r"^ *# *include\b.*\n", self.code, re.M))[-1]
        self.insertions.append((last.end(), text))

    def first_in(self, function, text):
        self.insertions.append((self.function(function)[0], "\n    " + text))

    def before_call(self, function, callee, text):
        """Before a statement that is a call and nothing else."""
        begin, end = self.function(function)
        call = self.only(f"a call of {callee} in {function}", rf"(?<=[;{{}}])\s*\n([ \t]*)(?={callee}\s*\()", begin, end)
        self.insertions.append((call.end(), text + "\n" + call[1]))

    def last_in_array(self, name, text):
        begin, end = self.block(f"the array {name}", rf"\b{name}\s*\[\w*\]\s*=\s*\{{")
        comma = "" if self.code[begin:end].rstrip().endswith(",") else ","
        self.insertions.append((end, f"    {comma}{text}\n"))

    def write(self):
        text = self.text
        for place, inserted in sorted(self.insertions, reverse=True):
            text = text[:place] + inserted + text[place:]
        self.path.write_text(text, encoding="utf-8")


def main(folder):
    adapters = pathlib.Path(folder, "hw", "net")

    e1000e = Source(adapters / "e1000e_core.c")
    e1000e.after_includes(PROLOGUE.format(core="E1000ECore", tick=40, match="(mac)[RXCFGL] >> 16")
                          + "static bool timestamped; /* the frame that is handed to the driver now */\n")
    # a transmit descriptor's bit 4 of the second half asks for a timestamp
    e1000e.first_in("e1000e_process_ts_option",
                    "if (dp->upper.data & cpu_to_le32(0x10)) timestamp_take(core, TSYNCTXCTL, TXSTMPL, TXSTMPH);")
    e1000e.before_call("e1000e_receive_internal", "e1000e_write_packet_to_guest",
                       "timestamped = timestamp_received(core, iov, iovcnt, iov_ofs);")
    # bit 8 of the status says that the frame has one
    e1000e.before_call("e1000e_build_rx_metadata", "net_rx_pkt_get_protocols", "if (timestamped) *status_flags |= 0x100;")
    e1000e.last_in_array("e1000e_macreg_readops", "[RXSTMPH] = timestamp_read_received,")

    igb = Source(adapters / "igb_core.c")
    igb.after_includes(PROLOGUE.format(core="IGBCore", tick=16, match="(mac)[TSYNCRXCFG]"))
    # the model has the transmit timestamp, and the receive timestamp of one message type over Ethernet
    igb.before_call("igb_receive_internal", "igb_rx_fix_l4_csum", "ts = ts || timestamp_received(core, iov, iovcnt, iov_ofs);")
    igb.last_in_array("igb_macreg_readops", "[RXSTMPH] = timestamp_read_received,")

    ours = pathlib.Path(__file__).with_name("timestamps.h").read_text(encoding="utf-8")
    (adapters / "timestamps.h").write_text(ours, encoding="utf-8")
    for source in (e1000e, igb):
        source.write()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
