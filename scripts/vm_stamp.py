"""Holds what `wirestamp latency --peer` said in the guest of scripts/vm-stamp against what netem did.

usage: vm_stamp.py RESULTS PACKETS RUN...
"""

import json
import re
import sys

FORWARD, BACKWARD = 3_000_000, 7_000_000
# Lost by netem and not of the run: packets that only close the session, ARP.
OTHERS = 8

text, count = open(sys.argv[1], encoding="utf-8").read(), int(sys.argv[2])
failures = []


def check(what, holds, shown):
    print(f"{'ok     ' if holds else 'FAILED '} {what}: {shown}")
    if not holds:
        failures.append(what)


def judge(name, told, dropped):
    lost = told["lost"]
    check(f"{name}: packets", told["packets"] == count, told["packets"])
    check(f"{name}: lost forward, as netem counts", 0 <= dropped - lost["forward"] <= OTHERS and lost["forward"] > 0, f"{lost}, netem {dropped}")
    check(f"{name}: lost backward", lost["backward"] == 0, lost["backward"])
    for way, truth in (("forward", FORWARD), ("backward", BACKWARD)):
        figures = told[f"{way}_ns"]
        if figures["count"] == 0:
            check(f"{name}: {way} delays", False, "none")
            continue
        bound = figures["error_bound"]
        # netem's timer is never early; cable, drivers and router come to it
        holds = truth - bound <= figures["min"] <= truth + 1_000_000 + bound and figures["p50"] <= truth + 2_000_000 + bound
        check(f"{name}: {way} delay", holds, f"min {figures['min']} p50 {figures['p50']} max {figures['max']} bound {bound} ns, {figures['count']} packets")
    for path in ("send_path", "reflector_send_path", "residence_as_written", "receive_path", "path_delay", "round_trip"):
        figures = told[f"{path}_ns"]
        print(f"        {name}: {path}: min {figures['min']} p50 {figures['p50']} max {figures['max']} bound {figures['error_bound']} ns")
    reflector = told["reflector"]
    print(f"        {name}: reflector {reflector}; transmit timestamps missing here {told['missing_transmit_reasons']}")
    if name == "hardware":
        share = reflector["followed_up_by_hardware"] / max(told["answered"], 1)
        check(f"{name}: replies with the NIC's transmit timestamp", share > 0.9, f"{share:.3f}")
        check(f"{name}: error bound of the path delay", told["path_delay_ns"]["error_bound"] < 1_000_000, told["path_delay_ns"]["error_bound"])
    else:
        check(f"{name}: replies with a transmit timestamp", reflector["followed_up"] >= told["answered"] * 0.9, reflector["followed_up"])


for name in sys.argv[3:]:
    found = re.search(rf"^--- {name} (\d+) (\d+)\n(.*?)^--- end$", text, re.M | re.S)
    try:
        judge(name, json.loads(found[3]), int(found[2]))
    except (TypeError, ValueError, KeyError) as error:
        check(f"{name}: a report", False, repr(error))
if failures:
    print(text)
sys.exit(1 if failures else 0)
