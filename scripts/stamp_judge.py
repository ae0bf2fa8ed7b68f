"""Judges captured STAMP packets of wirestamp: every field, as tshark's TWAMP dissector and scapy's `contrib.stamp` read it.

tshark reads unauthenticated base packets alone, and calls none malformed. scapy has unauthenticated packets and the extensions; the layout of authenticated
packets is written down here from its fields. HMACs are computed by Python. The rules are this file's: RFC 8762 sections 4.2 to 4.4, RFC 8972 section 4.

usage: stamp_judge.py CAPTURE PORT requests|replies ntp|ptp COUNT [KEY]     which packets are ours, and their format
"""

import hashlib
import hmac
import subprocess
import sys
from datetime import datetime, timezone

from scapy.contrib.stamp import (
    ErrorEstimate,
    STAMPSessionReflectorTestUnauthenticated,
    STAMPSessionSenderTestUnauthenticated,
    STAMPTestTLV,
)
from scapy.fields import ByteField, IntField, NBytesField, PacketField, PacketListField, ShortField, StrFixedLenField
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether  # noqa: F401, what loopback's frames are
from scapy.layers.ntp import TimeStampField
from scapy.packet import Packet
from scapy.utils import PcapReader

FROM_1900 = 2_208_988_800
PADDING, INFORMATION, CLASS, COUNTS, FOLLOW_UP, HMAC = 1, 3, 4, 5, 7, 8
LENGTHS = {INFORMATION: 4, CLASS: 4, COUNTS: 12, FOLLOW_UP: 16, HMAC: 16}
UNRECOGNIZED = 0x80


class Sender(Packet):
    """RFC 8762, section 4.2.2; SSID of RFC 8972."""

    fields_desc = [
        IntField("seq", 0),
        NBytesField("mbz0", 0, 12),
        TimeStampField("ts", 0),
        PacketField("err_estimate", ErrorEstimate(), ErrorEstimate),
        ShortField("ssid", 1),
        NBytesField("mbz", 0, 68),
        StrFixedLenField("hmac", b"", 16),
        PacketListField("tlv_objects", [], STAMPTestTLV, length_from=lambda packet: packet.octets - 112),
    ]


class Reflector(Packet):
    """RFC 8762, section 4.3.2; SSID of RFC 8972."""

    fields_desc = [
        IntField("seq", 0),
        NBytesField("mbz0", 0, 12),
        TimeStampField("ts", 0),
        PacketField("err_estimate", ErrorEstimate(), ErrorEstimate),
        ShortField("ssid", 1),
        IntField("mbz1", 0),
        TimeStampField("ts_rx", 0),
        NBytesField("mbz2", 0, 8),
        IntField("seq_sender", 0),
        NBytesField("mbz3", 0, 12),
        TimeStampField("ts_sender", 0),
        PacketField("err_estimate_sender", ErrorEstimate(), ErrorEstimate),
        NBytesField("mbz4", 0, 6),
        ByteField("ttl_sender", 0),
        NBytesField("mbz5", 0, 15),
        StrFixedLenField("hmac", b"", 16),
        PacketListField("tlv_objects", [], STAMPTestTLV, length_from=lambda packet: packet.octets - 112),
    ]


class Wrong(Exception):
    """A field is not as it must be."""


def expect(what, value, wanted):
    if value != wanted:
        raise Wrong(f"{what}: {value!r}, expected {wanted!r}")


def within(what, value, least, most):
    if not least <= value <= most:
        raise Wrong(f"{what}: {value!r}, expected {least!r} to {most!r}")


class Seen:
    """A captured packet: its octets, when it was captured, and what scapy reads in it."""

    def __init__(self, octets, at, traffic_class, is_request, key):
        self.octets, self.at, self.traffic_class, self.is_request, self.key = octets, at, traffic_class, is_request, key
        if key:
            kind = Sender if is_request else Reflector
            kind.octets = len(octets)
            self.packet = kind(octets)
        else:
            kind = STAMPSessionSenderTestUnauthenticated if is_request else STAMPSessionReflectorTestUnauthenticated
            # the length of the extensions is taken from the header
            self.packet = kind(octets, _parent=UDP(len=8 + len(octets)))
        self.base = 112 if key else 44

    def changed(self, octet):
        octets = bytearray(self.octets)
        octets[octet] ^= 1
        return Seen(bytes(octets), self.at, self.traffic_class, self.is_request, self.key)

    def raw(self, field):
        return self.packet.getfieldval(field)

    def time(self, field):
        """A timestamp in seconds since 1970, UTC."""
        return seconds(self.raw(field), self.raw("err_estimate").Z)

    def error(self, field="err_estimate"):
        estimate = self.raw(field)
        return estimate.S, estimate.Z, estimate.scale, estimate.multiplier

    def reserved(self):
        return [name for name in (field.name for field in self.packet.fields_desc) if name.startswith("mbz") and self.raw(name) != 0]

    def extensions(self):
        return [(int(tlv.flags), tlv.type, tlv.len, bytes(tlv.value)) for tlv in self.raw("tlv_objects")]


def seconds(raw, is_ptp):
    whole, fraction = raw >> 32, raw & 0xFFFFFFFF
    if is_ptp:
        expect("nanoseconds below a second", fraction < 10**9, True)
        return whole - 37 + fraction / 1e9
    return whole - FROM_1900 + fraction / 2**32


def tag(key, *parts):
    return hmac.new(key, b"".join(parts), hashlib.sha256).digest()[:16]


def judge_common(seen):
    expect("octets that must be zero", seen.reserved(), [])
    _, _, _, multiplier = seen.error()
    within("multiplier of the Error Estimate", multiplier, 1, 255)
    if seen.key:
        expect("HMAC", seen.raw("hmac"), tag(seen.key, seen.octets[:96]))
    at = seen.base
    for flags, kind, length, value in seen.extensions():
        if kind == HMAC:
            expect("HMAC of the extensions", value, tag(seen.key, seen.octets[:4], seen.octets[seen.base:at]))
        expect(f"value of extension {kind}", len(value), length)
        at += 4 + length
    expect("octets in base packet and extensions", at, len(seen.octets))


def judge_request(seen, number, first, is_ptp):
    """Our session-sender's."""
    judge_common(seen)
    expect("sequence number", seen.raw("seq"), number)
    expect("Error Estimate, S and Z", seen.error()[:2], (0, is_ptp))
    expect("SSID", (seen.raw("ssid"), seen.raw("ssid") != 0), (first.raw("ssid"), True))
    within("capture after T1", seen.at - seen.time("ts"), -0.0001, 0.5)
    extensions = seen.extensions()
    wanted = [INFORMATION, CLASS, COUNTS, FOLLOW_UP] + ([HMAC] if seen.key else [])
    expect("extensions", [kind for _, kind, _, _ in extensions], wanted)
    for flags, kind, length, value in extensions:
        expect(f"flags of extension {kind}", flags, UNRECOGNIZED)
        expect(f"length of extension {kind}", length, LENGTHS[kind])
        if kind == COUNTS:
            value = value.replace((number + 1).to_bytes(4, "big"), bytes(4), 1)
        if kind != HMAC:
            expect(f"value of extension {kind}", value, bytes(length))


def judge_reply(seen, number, request, before, is_ptp):
    """Our stateful reflector's. `before`: its reply before."""
    judge_common(seen)
    expect("sequence number", seen.raw("seq"), number)
    expect("Error Estimate, S and Z", seen.error()[:2], (0, is_ptp))
    expect("size", len(seen.octets), len(request.octets))
    for ours, theirs in [("seq_sender", "seq"), ("ts_sender", "ts"), ("ssid", "ssid")]:
        expect(ours, seen.raw(ours), request.raw(theirs))
    expect("Error Estimate of the sender", seen.error("err_estimate_sender"), request.error())
    expect("TTL of the sender", seen.raw("ttl_sender"), 255)
    received, sent = seen.time("ts_rx"), seen.time("ts")
    # the capture is the same kernel's, at the same place of its code
    within("T2 after the request's capture", received - request.at, -0.0005, 0.0005)
    within("T3 after T2", sent - received, 0, 0.5)
    within("capture after T3", seen.at - sent, -0.0001, 0.1)
    _, _, scale, multiplier = seen.error()
    within("Error Estimate", multiplier * 2.0 ** (scale - 32), 0, 0.001)
    extensions, asked = seen.extensions(), request.extensions()
    expect("extensions and their lengths", [one[1:3] for one in extensions], [one[1:3] for one in asked])
    for (flags, kind, _, value), (_, _, _, wanted) in zip(extensions, asked):
        expect(f"flags of extension {kind}", flags, 0)
        if kind == INFORMATION:
            # a clock that nobody synchronises, the kernel's timestamps, both ways
            expect("Timestamp Information", value, bytes([5, 2, 5, 2]))
        elif kind == COUNTS:
            expect("Direct Measurement", value, wanted[:4] + 2 * (number + 1).to_bytes(4, "big"))
        elif kind == CLASS:
            dscp, arrived = wanted[0] >> 2, request.traffic_class
            refused = int(dscp != arrived >> 2)
            expect("Class of Service", int.from_bytes(value, "big"), dscp << 26 | arrived >> 2 << 20 | (arrived & 3) << 18 | refused << 16)
        elif kind == FOLLOW_UP:
            judge_follow_up(value, before, seen.error()[1])
        elif kind == PADDING:
            expect("padding", value, wanted)


def judge_follow_up(value, before, is_ptp):
    if before is None:
        expect("Follow-Up Telemetry of the first reply", value, bytes(16))
        return
    expect("Follow-Up Telemetry: number", int.from_bytes(value[:4], "big"), before.raw("seq"))
    left = seconds(int.from_bytes(value[4:12], "big"), is_ptp)
    within("Follow-Up Telemetry: the reply left after its T3", left - before.time("ts"), 0, 0.1)
    # the capture is the same kernel's, at nearly the same place of its code
    within("Follow-Up Telemetry: the reply's capture", left - before.at, -0.0005, 0.0005)
    expect("Follow-Up Telemetry: method", (value[12], value[13:]), (2, bytes(3)))


class Tshark:
    """What tshark reads in the base packets of one direction."""

    FIELDS = ["seq_number", "timestamp", "error_estimate", "mbz1", "receive_timestamp", "sender_seq_number", "sender_timestamp",
              "sender_error_estimate", "sender_ttl", "padding"]

    def __init__(self, path, port, is_request):
        way = "dst" if is_request else "src"
        fields = [word for name in self.FIELDS for word in ("-e", f"twamp.test.{name}")]
        command = ["tshark", "-r", path, "-d", f"udp.port=={port},twamp.test", "-Y", f"udp.{way}port == {port}", "-T", "fields", *fields]
        printed = subprocess.run(command, capture_output=True, text=True, check=True, env={"TZ": "UTC", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
        self.rows = [dict(zip(self.FIELDS, line.split("\t"))) for line in printed.stdout.splitlines()]

    def agrees(self, row, seen):
        """With scapy, field by field; tshark has no names for a request's later octets."""
        expect("tshark: sequence number", int(row["seq_number"]), seen.raw("seq"))
        expect("tshark: SSID", int(row["mbz1"], 0), seen.raw("ssid"))
        same = ["timestamp"]
        names = {"timestamp": "ts", "receive_timestamp": "ts_rx", "sender_timestamp": "ts_sender"}
        if not seen.is_request:
            expect("tshark: sender's sequence number", int(row["sender_seq_number"]), seen.raw("seq_sender"))
            expect("tshark: sender's TTL", int(row["sender_ttl"]), seen.raw("ttl_sender"))
            expect("tshark: sender's Error Estimate", int(row["sender_error_estimate"], 0), bits(seen.error("err_estimate_sender")))
            expect("tshark: the rest", len(bytes.fromhex(row["padding"])), len(seen.octets) - 41)
            same += ["receive_timestamp", "sender_timestamp"]
        expect("tshark: Error Estimate", int(row["error_estimate"], 0), bits(seen.error()))
        for name in same:
            is_ptp = seen.error("err_estimate_sender" if name == "sender_timestamp" else "err_estimate")[1]
            if not is_ptp:
                within(f"tshark: {name}", moment(row[name]) - seconds(seen.raw(names[name]), 0), -1e-6, 1e-6)


def bits(estimate):
    synchronized, is_ptp, scale, multiplier = estimate
    return synchronized << 15 | is_ptp << 14 | scale << 8 | multiplier


def moment(text):
    whole, fraction = text.removesuffix(" UTC").split(".")
    whole = datetime.strptime(" ".join(whole.split()), "%b %d, %Y %H:%M:%S").replace(tzinfo=timezone.utc)
    return whole.timestamp() + float("0." + fraction)


def read(path, port, key):
    requests, replies = [], []
    for packet in PcapReader(path):
        udp = packet[UDP]
        is_request = udp.dport == port
        traffic_class = packet[IP].tos if IP in packet else packet[IPv6].tc
        octets = bytes(udp)[8 : udp.len]
        (requests if is_request else replies).append(Seen(octets, float(packet.time), traffic_class, is_request, key))
    return requests, replies


def judge(requests, replies, ours, is_ptp):
    if ours == "requests":
        for number, seen in enumerate(requests):
            judge_request(seen, number, requests[0], is_ptp)
        return
    by_number = {seen.raw("seq"): seen for seen in requests}
    before = None
    for number, seen in enumerate(replies):
        request = by_number.get(seen.raw("seq_sender"))
        expect("sender's sequence number: is there such a request?", request is not None, True)
        judge_reply(seen, number, request, before, is_ptp)
        before = seen


def judge_the_judge(requests, replies, ours, is_ptp):
    """A changed octet must be noticed wherever it is; where `lax` says so only if it is signed."""
    packets = requests if ours == "requests" else replies
    place = len(packets) // 2
    seen = packets[place]
    unnoticed = []
    for octet in range(len(seen.octets)):
        packets[place] = seen.changed(octet)
        try:
            judge(requests, replies, ours, is_ptp)
            unnoticed.append(octet)
        except Wrong:
            pass
    packets[place] = seen
    lax = set() if seen.key else fractions(seen, ours)
    expect("changed octets that nobody notices", [octet for octet in unnoticed if octet not in lax], [])
    return len(seen.octets) - len(unnoticed), len(seen.octets)


def fractions(seen, ours):
    """Octets of our own timestamps that their capture does not tell, and of our own Error Estimate: T1 and T3 are read some time before the packet
    leaves, and of T2 and the Follow-Up Timestamp the last 16 µs are free."""
    lax = set(range(8, 14)) | (set() if ours == "requests" else {21, 22, 23})
    at = seen.base
    for _, kind, length, _ in seen.extensions():
        if kind == FOLLOW_UP and ours == "replies":
            lax |= {at + 4 + 9, at + 4 + 10, at + 4 + 11}
        at += 4 + length
    return lax


def main():
    path, port, ours, is_ptp, count = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4] == "ptp"), int(sys.argv[5])
    key = bytes.fromhex(sys.argv[6]) if len(sys.argv) > 6 else None
    requests, replies = read(path, port, key)
    packets = requests if ours == "requests" else replies
    within("captured packets of ours", len(packets), count, count + 5)
    judge(requests, replies, ours, is_ptp)
    judges = "scapy"
    if not key:
        judges = "tshark and scapy"
        dissected = Tshark(path, port, ours == "requests")
        expect("tshark: packets", len(dissected.rows), len(packets))
        for row, seen in zip(dissected.rows, packets):
            dissected.agrees(row, seen)
    noticed, octets = judge_the_judge(requests, replies, ours, is_ptp)
    print(f"{judges} read every field of {len(packets)} packets as sent; of a packet's {octets} octets, {noticed} changed by a bit were noticed")


if __name__ == "__main__":
    try:
        main()
    except Wrong as wrong:
        raise SystemExit(f"stamp_judge: {wrong}") from None
