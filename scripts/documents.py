#!/usr/bin/env python3
"""Checks the documents: the list of decisions, lengths of lines, words, links, the files that maps name, and the guide's index. Needs no build.

usage: scripts/documents.py
"""

import fnmatch
import glob
import os
import re
import subprocess
import sys

os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

COLUMNS = 120
PARTS = ("Context", "Decision", "Rejected", "Consequences")

# Pattern, the term to use, and the files in which the word is right. Code, links' targets and test names don't count.
WORDS = [
    (r"steady clock", "monotonic clock", ()),
    (r"civil (time|clock)|wall[- ]?(clock|time)", "UTC or real-time clock", ()),
    (r"stamps?|stamped|unstamped", "timestamp", ()),
    (r"epochs?", "clock generation (or: since 1970)", ()),
    (r"told", "reported, given, or a sentence without it", ()),
    (r"lost ids?", "missing transmit timestamp", ()),
    (r"system's queue", "error queue", ()),
    (r"hardware counters?|adapter's clock", "PTP hardware clock", ()),
    (r"adapters?", "network interface or NIC", ("crates/wirestamp-win32/ABI.md",)),
    (r"grand master", "grandmaster", ()),
    (r"slaves?", "timeReceiver", ("guide/glossary.md", "guide/ptp.md")),
    (r"of no \w+ an?", "a sentence that begins with its subject", ()),
    (r"(rate|adjustment|frequency) in force", "frequency adjustment", ()),
    (r"refusals?", "conversion error, or: an error", ()),
]
# Made by `scripts/compare-paths --commit`, with a line of a page's own length for each obstacle.
GENERATED = ("docs/paths.md",)
# Made from the program's help when the guide is built.
MADE_PAGE = "commands.md"
# From here on a page is made by a program.
MADE = "<!-- made from "
# What a product, a protocol or a quotation calls itself.
NAMES = re.compile(r"stamp-suite|[\w-]+-told-[\w-]+|\"stamps\"(?=:)")
# A clause as the subject: "What is not known comes last". Questions and headings may begin so.
CLAUSE = re.compile(r"(?:^\s*(?:(?:[-*>]|\d+\.)\s+)?|[.;:|] )\**what (?:is|was|comes|came|becomes|became)\b(?!.*\?)", re.IGNORECASE)
# Of these, Rust documentation and the program's output are free as well.
STRICT = [*WORDS[:2], (r"stamps|stamped|unstamped", "timestamp", ())]
# Crates whose documentation follows all rules for sentences.
WRITTEN = tuple(f"crates/wirestamp{name}/" for name in ("", "-bench", "-capture", "-cli", "-core", "-measure", "-monitor", "-ntp", "-offset", "-probe", "-ptp", "-record", "-sim", "-sys", "-win32"))
TOLD = [(r"told|tells?", "reported, given, or a sentence without it", ())]
# Each has one fault, so that the rules are seen to find them wherever they stand.
FAULTY = (
    "STAMP stamps each packet.",
    "The latency is measured on a steady\nclock.",
    "- What is missing is lost.",
    "**What is missing** is lost.",
    "1. First.\n2. It ends. What comes later is lost.",
)
RIGHT = (
    "STAMP timestamps each packet.",
    "The clock is steady\n\nclock readings follow.",
    "- What is missing?",
    "The option `is\ntold` [leads](told.md).",
)

faults = []


def tracked(*patterns):
    found = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns], capture_output=True, text=True, check=True)
    return [path for path in found.stdout.split("\n") if os.path.isfile(path) and not os.path.islink(path)]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def numbered(text):
    return enumerate(text.split("\n"), 1)


def prose(lines):
    """Each line outside of code blocks, with its number."""
    fence = False
    for number, line in lines:
        if line.lstrip().startswith("```"):
            fence = not fence
        elif not fence:
            yield number, line


def check_lines(path, text):
    """Rows of tables cannot be broken, and code blocks show what a program prints; nor can a link or an address be."""
    for number, line in prose(numbered(text.split(MADE)[0] if path not in GENERATED else "")):
        if len(line) > COLUMNS and not line.lstrip().startswith("|") and " " in re.sub(r"!?\[[^\]]*\]\([^)]*\)", "", line.strip()):
            faults.append(f"{path}:{number}: {len(line)} columns, {COLUMNS} are allowed")


def paragraphs(lines):
    """Lines that belong together, each time with the number of the first: a term may stand across the end of a line."""
    begun, joined = 0, []
    for number, line in lines:
        is_own = re.match(r"\s*(?:[|#>]|[-*] |\d+\. |$)", line)
        if joined and (is_own or number != begun + len(joined)):
            yield begun, "\n".join(joined)
            joined = []
        if not joined:
            begun = number
        joined.append(line)
    if joined:
        yield begun, "\n".join(joined)


def check_words(path, lines, words):
    def without(text, pattern, left=""):
        return re.sub(pattern, lambda found: left + "\n" * found.group().count("\n"), text)

    for number, text in paragraphs(lines):
        text = without(without(without(text, r"`[^`]*`"), r"\]\([^)]*\)", "]"), NAMES)
        for pattern, better, right in words:
            pattern = pattern.replace(" ", r"\s+")
            for found in re.finditer(rf"(?<![\w-])(?:{pattern})(?![\w-])", text, re.IGNORECASE):
                if found.group() != "STAMP" and path not in right:
                    term, at = " ".join(found.group().split()), number + text.count("\n", 0, found.start())
                    faults.append(f'{path}:{at}: "{term}": say {better}')


def check_clauses(path, lines):
    for number, line in lines:
        if CLAUSE.search(line):
            faults.append(f'{path}:{number}: a clause with "what" as the subject: begin with the noun')


def rust_documentation(text):
    for number, line in numbered(text):
        found = re.match(r"\s*//[/!] ?(.*)", line)
        if found:
            yield number, found[1]


def check_decisions():
    records = sorted(glob.glob("docs/decisions/*.md"))
    listed = re.findall(r"^(\d+\. \[.*\]\(docs/decisions/.*\))$", read("DESIGN.md"), re.MULTILINE)
    there = []
    for record in records:
        text = read(record)
        number, title = re.match(r"# (\d+)\. (.*)", text).groups()
        there.append(f"{number}. [{title}]({record})")
        for part in PARTS:
            if not re.search(rf"^## {part}$", text, re.MULTILINE):
                faults.append(f'{record}: no part "{part}"')
    if not records or listed != there:
        faults.extend(f"DESIGN.md: differs from docs/decisions: {line}" for line in set(listed) ^ set(there) or {"order"})


def check_index():
    """The guide's first page links every page that the repository has of the guide; `MADE_PAGE` is in the built guide only."""
    index = read("guide/index.md")
    for page in re.findall(r"guide/(\S+\.md)$", read("guide/mkdocs.yml"), re.MULTILINE):
        if page not in ("index.md", MADE_PAGE) and f"({page})" not in index:
            faults.append(f"guide/index.md: no link to {page}")


def check_links(path, lines):
    """A link works where the page is read, in the repository as well as in the built guide."""
    for number, line in lines:
        for link in re.findall(r"\]\(([^)\s#]+)", line):
            if ":" not in link and not os.path.exists(os.path.join(os.path.dirname(path), link)):
                faults.append(f"{path}:{number}: no file {link}")


def rows_of_maps(path, text):
    """The tables that lead to files: of ARCHITECTURE.md and of the documentation of crates and modules."""
    is_map = False
    for number, line in numbered(text):
        is_map = is_map or bool(re.match(r"(?://! )?#+ Where (?:do I add|to change what)", line))
        if is_map and re.match(r"(?://! )?\|", line):
            yield number, line


def missing_in_row(line, paths, text_of):
    """The files and folders of a row that are not there, and names in parentheses behind a file that it does not have."""
    for cell in re.findall(r"`([^`]+)`((?: \((?:`[^`]+`(?:, )?)+)?)", line):
        place, names = cell[0], re.findall(r"`([^`]+)`", cell[1])
        if not re.fullmatch(r"[\w./*-]+", place) or not re.search(r"/|\.(?:rs|py|js|json|md|yml|map)$", place):
            continue
        found = [path for path in paths if fnmatch.fnmatchcase(f"/{path}", f"*/{place}") or fnmatch.fnmatchcase(f"/{path}", f"*/{place.rstrip('/')}/*")]
        if not found:
            yield place
        for name in names if found and not place.endswith("/") else ():
            if not re.search(r"[/.]", name) and not any(re.search(rf"\b{re.escape(name)}\b", text_of(path)) for path in found):
                yield f"{name} in {place}"


def check_maps():
    paths = tracked()
    maps = ["ARCHITECTURE.md", *tracked("crates/*/src/*.rs")]
    rows = [(path, number, line) for path in maps for number, line in rows_of_maps(path, read(path))]
    if len(rows) < 60 or list(missing_in_row("| x | `no/such.rs`, `documents.py` (`check_maps`, `nobody_has_this`) |", ["scripts/documents.py"], lambda _: "check_maps")) != ["no/such.rs", "nobody_has_this in documents.py"]:
        sys.exit("documents: the maps of files are not understood")
    for path, number, line in rows:
        faults.extend(f"{path}:{number}: no {missing}" for missing in missing_in_row(line, paths, read))


def check_rules():
    for texts, wanted in ((FAULTY, 1), (RIGHT, 0)):
        for text in texts:
            faults.clear()
            check_words("example", prose(numbered(text)), WORDS)
            check_clauses("example", prose(numbered(text)))
            if len(faults) != wanted:
                sys.exit(f"documents: the rules find {len(faults)} faults, not {wanted}: {text!r} {faults}")
    faults.clear()


def main():
    check_rules()
    check_decisions()
    check_index()
    check_maps()
    documents = tracked("*.md")
    for path in documents:
        text = read(path)
        check_lines(path, text)
        check_words(path, prose(numbered(text)), WORDS)
        check_clauses(path, prose(numbered(text)))
        if path.startswith("guide/") or "/" not in path:
            check_links(path, prose(numbered(text)))
    for path in tracked("crates/*.rs", "tests/*.rs"):
        lines = list(rust_documentation(read(path)))
        check_words(path, lines, STRICT)
        if path.startswith(WRITTEN):
            check_words(path, list(prose(lines)), TOLD)
            check_clauses(path, prose(lines))
    for path in tracked("docs/json/*.json"):
        found = ((number, re.search(r'"(?:description|title)": "(.*)"', line)) for number, line in numbered(read(path)))
        lines = [(number, description[1]) for number, description in found if description]
        check_words(path, lines, [*STRICT, *TOLD])
        check_clauses(path, lines)
    for path in tracked("crates/*.trycmd", "crates/*.stdout"):
        check_words(path, numbered(read(path)), STRICT)
    print("\n".join(faults), file=sys.stderr)
    print(f"documents: {len(documents)}, {len(faults)} faults")
    sys.exit(bool(faults))


main()
