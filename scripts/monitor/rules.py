"""Runs the tests of the shipped rules, then breaks each alert: one that never fires and one without its limit must fail them."""

import pathlib
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

SHIPPED = pathlib.Path("packaging/prometheus")
RULES = (SHIPPED / "wirestamp.rules.yml").read_text()
TESTS = (SHIPPED / "wirestamp.rules.test.yml").read_text()


def passes(rules):
    with tempfile.TemporaryDirectory(prefix="wirestamp-rules-") as folder:
        (pathlib.Path(folder) / "wirestamp.rules.yml").write_text(rules)
        (pathlib.Path(folder) / "tests.yml").write_text(TESTS)
        told = subprocess.run(["promtool", "test", "rules", "tests.yml"], cwd=folder, capture_output=True, text=True)
    text = told.stdout + told.stderr
    # a rule that is no rule proves nothing
    assert "parse error" not in text and "could not parse" not in text, text
    return told.returncode == 0, text


def alerts():
    """Name and the lines of each alert's expression, as (first, end)."""
    lines = RULES.split("\n")
    for number, line in enumerate(lines):
        if found := re.match(r" +- alert: (\w+)", line):
            first = number + 1
            end = first + 1
            while re.match(r" {10,}", lines[end]):
                end += 1
            yield found.group(1), first, end


def broken():
    lines = RULES.split("\n")
    for name, first, end in alerts():
        yield f"{name} never fires", "\n".join([*lines[:first], "        expr: vector(1) == 0", *lines[end:]])
        expression = "\n".join(lines[first:end])
        loose = re.sub(r"(>|==) [\d.]+(?= or|$)", ">= -1e9", expression, flags=re.MULTILINE)
        loose = loose.replace(',reference="none"', "")
        assert loose != expression, f"{name}: no limit was found"
        yield f"{name} has no limit", "\n".join([*lines[:first], loose, *lines[end:]])


def main():
    good, text = passes(RULES)
    if not good:
        sys.exit(text)
    cases = list(broken())
    with ThreadPoolExecutor(2) as pool:
        unnoticed = [name for (name, _), (good, _) in zip(cases, pool.map(lambda case: passes(case[1]), cases)) if good]
    if unnoticed:
        sys.exit("no test fails although " + ", ".join(unnoticed))
    print(f"rules: tests pass; {len(cases)} broken rules are noticed")


main()
