"""What became of a step, by its exit code and its log."""

import re
from pathlib import Path

MAY_SKIP = Path(__file__).resolve().parent / "may-skip"
# Test programs in which nothing depends on time, networks or other programs: libraries that ask no system, golden
# files, what is tried in virtual time, and the behaviours on the simulator. What fails there has failed. By the name of
# the program, which for integration tests is the name of their file or folder; `.ci/tests.py` looks for each.
DETERMINISTIC_PROGRAMS = (
    "wirestamp_core",
    "wirestamp_offset",
    "wirestamp_capture",
    "wirestamp_sim",
    "wirestamp_ntp",
    "wirestamp_record",
    "golden",
    "campaign",
    "chains",
    "client",
    "events",
    "files",
    "foreign",
    "measures",
    "recordings",
    "retention",
    "scenarios",
    "simulated",
    "world",
    "worlds",
)
# Of programs that also ask the system: of the behaviours, of `facade` and of `wirestamp_ptp`.
DETERMINISTIC_TESTS = ("simulator::", "changes::", "simulate::")
COMPLAINTS = re.compile(
    r"^(error|failures:|FAILED)|panicked at|\.\.\. FAILED|: FAILED|test result: FAILED|^Traceback|Error:"
)


def _text(log):
    return log.read_text(errors="replace")


def _unexpected_skips(log, name, code):
    """What the step left out that this machine should have had."""
    skipped = [line.removeprefix("skipped: ") for line in _text(log).splitlines() if line.startswith("skipped: ")]
    if code == 77 and not skipped:
        skipped = [f"{name}: no reason given"]
    allowed = [re.compile(line) for line in MAY_SKIP.read_text().splitlines() if line and not line.startswith("#")]
    return skipped, [reason for reason in skipped if not any(pattern.search(reason) for pattern in allowed)]


def result(code, log, name, complete):
    """What became of the step, in words: they begin with "passed", "failed" or "skipped"."""
    if code not in (0, 77):
        return f"failed: exit code {code}"
    skipped, unexpected = _unexpected_skips(log, name, code)
    if unexpected and complete:
        return "failed: skipped what this machine can run"
    if code == 77:
        return "skipped"
    return "passed, but for the parts below" if skipped else "passed"


def _failures(log):
    """The program and the name of each test that failed."""
    program, found = "", []
    for line in _text(log).splitlines():
        if running := re.search(r"Running .*[/\\]([A-Za-z0-9_]+)-[0-9a-f]{16}", line):
            program = running[1]
        elif failed := re.match(r"test (\S+).* \.\.\. FAILED", line):
            found.append((program, failed[1]))
    return found


def failed_tests(log):
    return [f"{program} {name}".strip() for program, name in _failures(log)]


def depends_on_time(log):
    """Whether what failed may pass at another time: it compiled, and no deterministic test is among the failures."""
    if re.search(r"^error(\[E\d+\])?: (could not compile|aborting)|^error\[E\d+\]", _text(log), re.MULTILINE):
        return False
    return not any(
        program in DETERMINISTIC_PROGRAMS or name.startswith(DETERMINISTIC_TESTS) for program, name in _failures(log)
    )


def excerpt(log):
    """The complaints with a few lines behind each, and the last lines."""
    lines = _text(log).splitlines()
    shown = sorted({n for at, line in enumerate(lines) if COMPLAINTS.search(line) for n in range(at, at + 7)})
    complaints = [f"{n + 1}: {lines[n]}"[:300] for n in shown if n < len(lines)][:60]
    return "\n".join([*complaints, "--- its last lines", *(line[:300] for line in lines[-15:])])


def reasons(logs):
    """What the steps skipped and why. The conformance suite says "skipped on RIG: REASON", and below it the behaviours,
    which its own output lists: here they are counted."""
    plain, counted = set(), {}
    for log in logs:
        reason = None
        for line in _text(log).splitlines():
            if line.startswith("skipped: "):
                plain.add(line)
                reason = None
            elif line.startswith("skipped on "):
                reason = line
                counted[reason] = 0
            elif reason and re.fullmatch(r"    [a-z0-9-]+", line):
                counted[reason] += 1
            else:
                reason = None
    return sorted(plain | {f"{reason} ({count})" for reason, count in counted.items()})
