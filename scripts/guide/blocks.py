#!/usr/bin/env python3
"""Runs the code blocks of the guide's pages, and compares what they print with what the pages say.

A label is an HTML comment on the line before the block. Blocks without a language are not allowed.

```console   Lines after "$ " are commands ("> " continues one); below each is what it prints. All commands of a page run in
             one bash, in a folder of the page, with the release program as `wirestamp`, 80 columns wide, for root in a network
             namespace of its own that has loopback alone. A line "..." stands for any lines, "[..]" for any
             text in a line. A command must succeed, unless the next one is `echo $?`.
             <!-- numbers differ -->     every number, with its unit, may be another, so a sentence may be broken elsewhere
                                         (its further lines are indented); rows of histograms don't count
             <!-- sim PRESET -->         eth0 and eth1 are the simulated NICs sim0 and sim1 of that preset
             <!-- root -->               runs as root only; it has a network namespace of its own, without interfaces
             <!-- needs: PROGRAM -->    runs where there is such a program only
             <!-- output differs -->     it runs and must succeed; the output is not compared
```rust, c   <!-- file: PATH --> the lines are in that file, one after another (indented by any amount; "// …" leaves
             lines out). Examples are built before this runs; a console block of the page must run each one that is named.
```toml, csv and the like   <!-- save: NAME --> is written into the page's folder before the commands below it run, or
             <!-- file: PATH --> as above.
any          <!-- run by: SCRIPT --> runs elsewhere in CI; <!-- not run: REASON --> cannot be run.
```text      Drawings and forms; not checked.

In a console block `sudo` just runs the command, and `cargo` runs as it is printed, in the root of the repository, where readers are. Print
`cargo run --all-features --example NAME`: that builds nothing that `cargo build --workspace --all-features --examples` has not built.

usage: blocks.py --target FOLDER [--write] PAGE...    --write: puts what is printed now into the pages
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMIT = 600  # seconds for a page: some build examples, on a machine that does other things, too
AT_ONCE = 4  # pages: most of their time they wait
# Where builds go and how they are made: with another profile, `cargo run` would build everything again.
BUILDS = ("CARGO_TARGET_DIR", "CARGO_PROFILE_", "CARGO_INCREMENTAL")
SEPARATOR = "\x1e"
COLUMNS = 80  # of the terminal
NUMBER = r"[-+±]?\s?\d[\d,]*(?:\.\d+)?(?:\s?(?:ns|µs|ms|s|ppb|ppm|%|Hz)\b)?"

# `sudo` and `cargo` in a page's bash.
PRELUDE = r"""
sudo() { "$@"; }
cargo() { (cd "$REPOSITORY" && command cargo "$@"); }
"""


@dataclass
class Command:
    text: str
    output: list = field(default_factory=list)  # lines, as the page has them
    line: int = 0


@dataclass
class Block:
    language: str
    labels: list
    first: int  # line of the page, from 0, behind the fence
    lines: list

    def label(self, name):
        """The value of a label, '' for one without, None if it is not there."""
        for label in self.labels:
            if label == name or label.startswith((name + " ", name + ": ")):
                return label[len(name) :].lstrip(": ")
        return None


class Fault(Exception):
    pass


def blocks_of(lines):
    number, labels = 0, []
    while number < len(lines):
        line = lines[number]
        opened = re.match(r"^(\s*)```(.*)$", line)
        if opened:
            end = next((n for n in range(number + 1, len(lines)) if lines[n].strip() == "```"), None)
            if end is None:
                raise Fault(f"{number + 1}: a block without an end")
            indent = len(opened.group(1))
            yield Block(opened.group(2).strip(), labels, number + 1, [text[indent:] for text in lines[number + 1 : end]])
            number, labels = end, []
        elif label := re.match(r"^\s*<!-- (.*) -->\s*$", line):
            labels = [*labels, label.group(1)]
        else:
            labels = []
        number += 1


def commands_of(block):
    found = []
    for number, line in enumerate(block.lines):
        if line.startswith("$ "):
            found.append(Command(line[2:], line=block.first + number))
        elif line.startswith("> ") and found and not found[-1].output:
            found[-1].text += "\n" + line[2:]
        elif found:
            found[-1].output.append(line)
        else:
            raise Fault(f"{block.first + number + 1}: output without a command")
    for command in found:
        while command.output and not command.output[-1].strip():
            command.output.pop()
    return found


@contextmanager
def network():
    """What runs a command in a network namespace of the page's: it must not depend on the interfaces of the machine that it was written on."""
    if os.geteuid() != 0:
        yield []
        return
    held = ["unshare", "--net", "bash", "-c", "ip link set lo up && echo up && exec sleep infinity"]
    with subprocess.Popen(held, stdout=subprocess.PIPE) as holder:
        try:
            if holder.stdout.readline() != b"up\n":
                raise Fault("1: no network namespace can be made for the page")
            yield ["nsenter", f"--net=/proc/{holder.pid}/ns/net"]
        finally:
            holder.kill()


def run(commands, block, folder, target, entered):
    """What each command prints, and how it ends."""
    script = PRELUDE
    for command in commands:
        script += f"\n{command.text}\nprintf '{SEPARATOR}%s{SEPARATOR}' $?\n" if "echo $?" != command.text else f"\nprintf '%s\\n{SEPARATOR}0{SEPARATOR}' $last\n"
        script = script.replace(f"{SEPARATOR}' $?", f"{SEPARATOR}' $((last = $?))")
    preset = block.label("sim")
    if preset:
        script = re.sub(r"\beth([01])\b", r"sim\1", script)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("WIRESTAMP_", "CARGO_")) or name.startswith(BUILDS)}
    environment |= {"COLUMNS": str(COLUMNS), "NO_COLOR": "1", "LC_ALL": "C.UTF-8", "REPOSITORY": ROOT, "CARGO_TERM_QUIET": "true"}
    environment["PATH"] = f"{target}/release:{environment['PATH']}"
    if preset:
        environment["WIRESTAMP_SIM"] = preset
    if block.label("root") is not None:
        shell = ["unshare", "--net", "bash", "-c", script]
    else:
        shell = [*entered, "bash", "-c", script]
    ended = subprocess.run(
        shell, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT, text=True
    )
    parts = ended.stdout.split(SEPARATOR)
    if len(parts) < 2 * len(commands):
        raise Fault(f"{block.first + 1}: the block ended early, with {ended.returncode}:\n{ended.stdout}")
    if preset:
        parts = [re.sub(r"\bsim([01])\b", r"eth\1", part) for part in parts]
    outputs = [(parts[2 * number], int(parts[2 * number + 1])) for number in range(len(commands))]
    return [([line.rstrip() for line in printed.rstrip("\n").split("\n")] if printed.strip() else [], code) for printed, code in outputs]


def unbroken(lines):
    """Sentences that were broken at the terminal's width, in one line each. A word with a column behind it begins a row."""
    joined, last = [], ""
    for line in lines:
        further = re.match(r"  (\S+)(?: \S|$)", line)
        if further and len(last) + len(further.group(1)) >= COLUMNS:
            joined[-1] += " " + line.strip()
        else:
            joined.append(line)
        last = line
    return joined


def plain(lines):
    """Without what differs from run to run."""
    kept = unbroken([line for line in lines if not re.search(r"[│└┬─▁▂▃▄▅▆▇█]", line)])
    kept = [re.sub(r"\b[0-9a-f]{6}\.[0-9a-f]{4}\.[0-9a-f]{6}-\d+", "IDENTITY", line) for line in kept]
    kept = [re.sub(r"\s+", " ", re.sub(NUMBER, " N ", line)).strip() for line in kept]
    return [line for line in kept if not re.fullmatch(r"N?( N)*", line)]


def matches(wanted, printed):
    if not wanted:
        return not printed
    if wanted[0] == "...":
        return any(matches(wanted[1:], printed[skipped:]) for skipped in range(len(printed) + 1))
    pattern = ".*".join(re.escape(part) for part in wanted[0].split("[..]"))
    return bool(printed) and re.fullmatch(pattern, printed[0]) is not None and matches(wanted[1:], printed[1:])


def check_console(block, folder, target, write, entered):
    """Whether it was run, and the block's lines as they should be."""
    if block.label("not run") is not None:
        if not block.label("not run"):
            raise Fault(f"{block.first + 1}: not run, and no reason given")
        return False, block.lines
    if block.label("root") is not None and os.geteuid() != 0:
        print(f"skipped: check-guide: a block that needs root: {block.lines[0]}")
        return False, block.lines
    needed = block.label("needs")
    if needed and not shutil.which(needed):
        print(f"skipped: check-guide: no {needed} for: {block.lines[0]}")
        return False, block.lines
    commands = commands_of(block)
    if not commands:
        raise Fault(f"{block.first + 1}: no command in a console block")
    results = run(commands, block, folder, target, entered)
    lines = []
    for number, (command, (printed, code)) in enumerate(zip(commands, results)):
        followed = number + 1 < len(commands) and commands[number + 1].text == "echo $?"
        if code != 0 and not followed:
            raise Fault(f"{command.line + 1}: {command.text}\nended with {code}:\n" + "\n".join(printed))
        wanted = [line.rstrip() for line in command.output]
        differ = block.label("numbers differ") is not None
        same = block.label("output differs") is not None or matches(*(map(plain, (wanted, printed)) if differ else (wanted, printed)))
        if not same and not write:
            raise Fault(f"{command.line + 1}: {command.text}\nthe page says:\n" + "\n".join(wanted) + "\nit printed:\n" + "\n".join(printed))
        lines += ["$ " + command.text.replace("\n", "\n> "), *(command.output if same else printed)]
    return True, "\n".join(lines).split("\n")


def check_file(block):
    with open(os.path.join(ROOT, block.label("file")), encoding="utf-8") as file:
        there = [line.strip() for line in file if line.strip()]
    parts, at = [[]], 0
    for line in (line.strip() for line in block.lines if line.strip()):
        if line in ("// …", "/* … */", "# …"):
            parts.append([])
        else:
            parts[-1].append(line)
    for part in parts:
        while part and there[at : at + len(part)] != part:
            at += 1
            if at >= len(there):
                raise Fault(f"{block.first + 1}: not in {block.label('file')}, in this order:\n" + "\n".join(part))


def check_page(path, target, write):
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    run_count, not_run, changed = 0, [], list(lines)
    blocks = list(blocks_of(lines))
    with tempfile.TemporaryDirectory() as folder, network() as entered:
        for block in blocks:
            if block.language == "console":
                ran, now = check_console(block, folder, target, write, entered)
                run_count += ran
                if not ran:
                    not_run.append(f"{path}:{block.first}: {block.label('not run') or 'needs root'}")
                changed[block.first] = (len(block.lines), now)
            elif block.label("save"):
                with open(os.path.join(folder, block.label("save")), "w", encoding="utf-8") as out:
                    out.write("\n".join(block.lines) + "\n")
            elif block.label("file"):
                check_file(block)
            elif block.label("run by"):
                continue
            elif block.label("not run"):
                not_run.append(f"{path}:{block.first}: {block.label('not run')}")
            elif block.language != "text":
                raise Fault(f"{block.first}: a block of {block.language or 'no language'} that nothing checks (see scripts/guide/blocks.py)")
    examples = {os.path.basename(b.label("file"))[:-3] for b in blocks if (b.label("file") or "").endswith(".rs")}
    commands = "\n".join(line for block in blocks if block.language == "console" for line in block.lines)
    for example in examples:
        if f"--example {example}" not in commands:
            raise Fault(f"1: {example}.rs is shown and never run")
    if write:
        out, number = [], 0
        while number < len(changed):
            if isinstance(changed[number], tuple):
                length, now = changed[number]
                out += now
                number += length
            else:
                out.append(changed[number])
                number += 1
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(out))
    return run_count, not_run


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", required=True)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("pages", nargs="+")
    options = parser.parse_args()
    options.target = os.path.abspath(options.target)
    run_count, not_run, faults = 0, [], []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        pages = {path: pool.submit(check_page, path, options.target, options.write) for path in options.pages}
    for path, page in pages.items():
        try:
            ran, left = page.result()
        except (Fault, subprocess.TimeoutExpired) as fault:
            faults.append(f"{path}:{fault}\n")
            continue
        run_count += ran
        not_run += left
    for reason in not_run:
        print(f"not run: {reason}")
    # last: the end of a step's output is what one sees of it
    for fault in faults:
        print(fault)
    print(f"blocks: {run_count} run in {len(options.pages)} pages, {len(not_run)} not run, {len(faults)} pages with faults")
    sys.exit(1 if faults or not run_count else 0)


main()
