"""Compares the names that ABI.md says are exported with the list that the library is compared with, exports.txt.

usage: exported_names.py CRATE
"""

import re
import sys
from pathlib import Path

PREFIX = "wirestamp_win32_"


def main():
    crate = Path(sys.argv[1])
    lines = (crate / "tests/c/exports.txt").read_text().splitlines()
    exported = {line for line in lines if not line.startswith("#")}
    section = re.search(r"## Names that are exported\n(.*?)\n## ", (crate / "ABI.md").read_text(), re.S).group(1)
    plain, rest = section.split("Not exported, as on Windows:")
    prefixed = re.match(r"[^`]*: `([^`]*)`\.", rest[rest.index("the headers map them"):].replace("\n", " ")).group(1)
    named = {word for text in re.findall(r"`([^`]*)`", plain) for word in re.findall(r"\w+", text.split("(")[0])}
    named |= {PREFIX + name for name in prefixed.split()}
    named |= set(re.findall(rf"`({PREFIX}\w+_rs5)`", rest))
    wrong = [f"{name}: exported, and not in ABI.md" for name in sorted(exported - named)]
    wrong += [f"{name}: in ABI.md, and not exported" for name in sorted(named - exported)]
    print("\n".join(wrong), end="\n" if wrong else "")
    print(f"ABI.md: {len(named)} exported names, {len(wrong)} wrong")
    sys.exit(bool(wrong))


main()
