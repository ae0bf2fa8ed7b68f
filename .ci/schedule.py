"""Runs the steps of .ci/steps.py beside each other and prints what each one said when it ends.

The exit code is 1 if a step failed, if more than one passed only at the second try, if none ran, or, on a machine where
everything can be had (Linux on x86_64, root, apt-get), if anything was skipped that .ci/may-skip does not list.
At the end: a summary with seconds, and seconds of processor time (which say what a step costs on a busy machine, too).
"""

import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import outcome
from steps import STEPS

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 2700  # seconds for one step, of 90 minutes for all: a hang must not take the run's whole time. The longest takes 1,250 s
PROCESSORS = os.cpu_count() or 1
# More than there are: steps wait for the network, for locks and for each other's last compiler. With 0.75 more, a
# quarter of two processors' time was idle.
ROOM = PROCESSORS + 1.5
SMALL = 0.5
COMPLETE = (
    platform.system() == "Linux"
    and platform.machine() == "x86_64"
    and os.geteuid() == 0
    and shutil.which("apt-get") is not None
)


class Try:
    """One run of a step."""

    def __init__(self, step, number, logs):
        self.step, self.number = step, number
        self.log = logs / (step.name if number == 1 else f"{step.name}-again")
        program = ROOT / "scripts" / step.name
        if program.is_dir():
            program = program / "run"
        self.output = open(self.log, "wb")
        self.begun = time.monotonic()
        self.process = subprocess.Popen(
            [*([] if step.timed else ["nice", "-n", "10"]), str(program)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.code = None
        self.seconds = self.processor_seconds = 0.0

    def poll(self):
        """Whether it has ended; ends it when it takes too long."""
        pid, status, used = os.wait4(self.process.pid, os.WNOHANG)
        self.seconds = time.monotonic() - self.begun
        if pid == 0:
            if self.seconds > LIMIT:
                self.stop(signal.SIGTERM if self.seconds < LIMIT + 30 else signal.SIGKILL)
            return False
        self.stop(signal.SIGKILL)  # what it left running
        self.output.close()
        self.code = os.waitstatus_to_exitcode(status)
        self.process.returncode = self.code
        self.processor_seconds = used.ru_utime + used.ru_stime
        return True

    def stop(self, number):
        try:
            os.killpg(self.process.pid, number)
        except (ProcessLookupError, PermissionError):
            pass

    def result(self):
        if self.seconds > LIMIT:
            return f"failed: over {LIMIT} s"
        return outcome.result(self.code, self.log, self.step.name, COMPLETE)


def environment():
    if COMPLETE:
        os.environ["WIRESTAMP_NO_SKIP"] = "1"  # tests fail on what the machine lacks
    # Each commit has its own cases in the property tests; a second try has the same.
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    os.environ.setdefault("PROPTEST_RNG_SEED", str(int(commit[:8] or "1", 16)))
    # Built once: what incremental builds remember only costs. So does information for debuggers: panics and the
    # sanitizers' reports name functions without it.
    os.environ.setdefault("CARGO_INCREMENTAL", "0")
    for profile in ("DEV", "TEST", "RELEASE"):
        os.environ.setdefault(f"CARGO_PROFILE_{profile}_DEBUG", "0")


def fits(step, running):
    if step.alone or any(other.step.alone for other in running):
        return not running
    return not running or sum(other.step.processors for other in running) + step.processors <= ROOM


def next_step(waiting, running, left):
    """What to start now; `left` are the steps that have not ended. None overtakes one that waits for room, or that would
    wait for ever, but those that hardly need any."""
    overtaken = False
    for step in waiting:
        if any(name in left for name in step.after):
            continue
        if fits(step, running) and not (overtaken and step.processors > SMALL):
            return step
        overtaken = True
    return None


def say(text):
    print(text, flush=True)


def line(attempt, result):
    again = "" if attempt.number == 1 else " (second try)"
    return f"{attempt.step.name:<16} {attempt.seconds:5.0f} s {attempt.processor_seconds:5.0f} s of processor  {result}{again}"


def show(attempt, result):
    say(f"\n=== output of {attempt.step.name}")
    sys.stdout.buffer.write(attempt.log.read_bytes())
    say(f"\n=== {line(attempt, result)}")


def run(chosen, logs):
    """Runs the steps; returns all tries with their results, and those that passed at the second try alone."""
    waiting, running, done, flaky = list(chosen), [], [], []
    try:
        while waiting or running:
            left = {step.name for step in waiting} | {attempt.step.name for attempt in running}
            while ready := next_step(waiting, running, left):
                waiting.remove(ready)
                say(f"=== {time.strftime('%H:%M:%S')} {ready.name} begins")
                running.append(Try(ready, 1, logs))
            for attempt in [attempt for attempt in running if attempt.poll()]:
                running.remove(attempt)
                result = attempt.result()
                show(attempt, result)
                failed = result.startswith("failed")
                if failed and attempt.number == 1 and attempt.step.timed and outcome.depends_on_time(attempt.log):
                    say(f"=== {attempt.step.name} runs once more, with the same seeds")
                    running.append(Try(attempt.step, 2, logs))
                elif not failed and attempt.number == 2:
                    flaky.append(attempt)
                done.append((attempt, result))
            time.sleep(0.2)
    finally:
        for attempt in running:
            attempt.stop(signal.SIGKILL)
    return done, flaky


def summary(done, flaky, seconds):
    """Prints what became of the steps; returns whether the run passed."""
    final = {attempt.step.name: (attempt, result) for attempt, result in done}
    count = {word: sum(result.startswith(word) for _, result in final.values()) for word in ("passed", "failed", "skipped")}
    spent = sum(attempt.processor_seconds for attempt, _ in done)
    say(f"\n=== summary, {seconds:.0f} s in all, {spent:.0f} s of processor time")
    for attempt, result in done:
        say(line(attempt, result))
    reasons = outcome.reasons([attempt.log for attempt, _ in final.values()])
    if reasons:
        say("\n=== skipped, and why (number of behaviours)\n" + "\n".join(reasons))
    for attempt in flaky:
        first = attempt.log.with_name(attempt.step.name)
        say(f"\n=== flaky: {attempt.step.name}: {', '.join(outcome.failed_tests(first)) or 'no test is named'}")
        say("--- the first try\n" + outcome.excerpt(first))
        say("--- the second try, which passed\n" + outcome.excerpt(attempt.log))
    # Last, where whoever has only the end of a long log finds them.
    for attempt, result in final.values():
        if result.startswith("failed"):
            say(f"\n=== {attempt.step.name} {result}\n" + outcome.excerpt(attempt.log))
    if len(flaky) > 1:
        say(f"\n{len(flaky)} steps passed at the second try only: one is bad luck, more are a fault")
    say(f"\n{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return count["failed"] == 0 and count["passed"] > 0 and len(flaky) <= 1


def main(names):
    unknown = set(names) - {step.name for step in STEPS}
    if unknown:
        sys.exit(f".ci/run: there is no step {', '.join(sorted(unknown))}; see .ci/steps.py")
    chosen = [step for step in STEPS if not names or step.name in names]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    environment()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as logs:
        done, flaky = run(chosen, Path(logs))
        passed = summary(done, flaky, time.monotonic() - begun)
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main(sys.argv[1:])
