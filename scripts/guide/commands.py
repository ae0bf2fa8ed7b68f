#!/usr/bin/env python3
"""Writes the reference of the command line, from what the program says of itself.

usage: commands.py PROGRAM FILE
"""

import os
import re
import subprocess
import sys

HEAD = """# Commands

What `wirestamp help COMMAND` prints, for each command. This page is made from the program. The manual pages of the Debian
package (`man wirestamp-latency`) have the same text. [JSON output](json.md) shows what `--json` prints.

"""


def help_of(program, command):
    """What the program says of a command, without what it says of all of them."""
    environment = {**os.environ, "COLUMNS": "96", "NO_COLOR": "1"}
    text = subprocess.run([program, *command, "--help"], env=environment, check=True, capture_output=True, text=True).stdout
    if command:
        text = re.sub(r"(?ms)^Global options:\n.*?(?=^\S|\Z)", "", text, count=1)
    return re.sub(r"[ \t]+$", "", text.rstrip(), flags=re.MULTILINE)


def subcommands(text):
    listed = re.search(r"(?ms)^Commands:\n(.*?)^$", text + "\n\n")
    names = re.findall(r"(?m)^  ([a-z][a-z-]*)  ", listed.group(1)) if listed else []
    return [name for name in names if name != "help"]


def sections(program, command=()):
    text = help_of(program, command)
    yield "#" * min(2 + max(len(command) - 1, 0), 3) + f" wirestamp {' '.join(command)}".rstrip() + f"\n\n```text\n{text}\n```\n"
    for name in subcommands(text):
        yield from sections(program, (*command, name))


def main():
    program, file = sys.argv[1:]
    found = list(sections(program))
    if len(found) < 10:
        sys.exit(f"commands.py: only {len(found)} commands found in the program's help")
    with open(file, "w", encoding="utf-8") as out:
        out.write(HEAD + "\n".join(found))


main()
