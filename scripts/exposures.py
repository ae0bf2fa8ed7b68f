"""Compares the exposures in the guide with systemd-analyze's: of the unit and with each drop-in, and of each directive that is left.

usage: exposures.py PAGE FOLDER [DROP-IN...]      FOLDER: `exposure` and `left` of the unit, and in folders of the drop-ins' names
"""

import json
import pathlib
import re
import sys

page, folder, drop_ins = pathlib.Path(sys.argv[1]).read_text(), pathlib.Path(sys.argv[2]), sys.argv[3:]


def exposure(name):
    return re.search(r": ([0-9.]+) ", (folder / name / "exposure").read_text())[1]


def left(name):
    """Directives that add to the exposure, and by how much."""
    return {one["name"]: one["exposure"] for one in json.loads((folder / name / "left").read_text()) if float(one["exposure"] or 0)}


plain = left(".")
wanted = {"`wirestamp-monitor.service`": exposure(".")} | {f"with `{name}`": exposure(name) for name in drop_ins}
wanted |= {f"`{directive}`": cost for directive, cost in plain.items()}
for name in drop_ins:
    wanted |= {f"with `{name}`: `{directive}`": cost for directive, cost in left(name).items() if plain.get(directive) != cost}
section = page.split("### What the service may do\n")[1].split("\n## ")[0]
rows = [[cell.replace("\\|", "|") for cell in re.split(r" (?<!\\)\| ", row.strip("| "))] for row in section.splitlines() if re.match(r"\| (`|with)", row)]
told = {row[0]: row[1] for row in rows}
faults = [f"{name}: {told.get(name, 'nothing')} in {sys.argv[1]}, systemd-analyze says {wanted.get(name, 'nothing')}"
          for name in sorted(told.keys() | wanted.keys()) if told.get(name) != wanted.get(name)]
faults += [f"{row[0]}: no reason" for row in rows[1 + len(drop_ins):] if len(row) < 3 or len(row[2]) < 10]
print(f"{sys.argv[1]}: {len(told)} exposures, {len(faults)} wrong")
sys.exit("\n".join(faults) or 0)
