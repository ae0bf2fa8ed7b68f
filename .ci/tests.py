"""Tests of what runs the steps: `scripts/check-ci`."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import outcome
import schedule
from steps import STEPS, Step

COUNT = 'n=$(cat $PWD/tries 2>/dev/null || echo 0); echo $((n + 1)) >$PWD/tries; '
PROGRAM = "     Running tests/{0}.rs (target/debug/deps/{0}-0123456789abcdef)\ntest {1} ... FAILED\n"


class Runs(unittest.TestCase):
    """Steps that are small scripts."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "scripts").mkdir()
        (self.root / "logs").mkdir()
        before = schedule.ROOT
        schedule.ROOT = self.root
        self.addCleanup(setattr, schedule, "ROOT", before)

    def run_steps(self, *steps):
        """Each step with its script; returns whether the run passed and what was printed."""
        for step, script in steps:
            file = self.root / "scripts" / step.name
            file.write_text("#!/bin/bash\n" + script)
            file.chmod(0o755)
        printed = io.TextIOWrapper(io.BytesIO(), write_through=True)
        with contextlib.redirect_stdout(printed):
            done, flaky = schedule.run([step for step, _ in steps], self.root / "logs")
            passed = schedule.summary(done, flaky, 0)
        return passed, printed.buffer.getvalue().decode()

    def test_a_step_that_passes_passes(self):
        passed, printed = self.run_steps((Step("good", after=()), "echo fine"))
        self.assertTrue(passed)
        self.assertIn("fine", printed)
        self.assertTrue(printed.endswith("\n1 passed, 0 failed, 0 skipped\n"))

    def test_a_step_waits_for_those_it_needs_even_if_they_fail(self):
        passed, printed = self.run_steps(
            (Step("second", after=("first",)), "test -e first"),
            (Step("first", after=()), "sleep 0.5; touch first; exit 1"),
        )
        self.assertFalse(passed)
        self.assertIn("1 passed, 1 failed, 0 skipped", printed)

    def test_no_large_step_overtakes_one_that_waits_for_room(self):
        room = schedule.ROOM
        passed, _ = self.run_steps(
            (Step("first", after=(), processors=1), "sleep 0.5"),
            (Step("large", after=(), processors=room), "test -e small && ! test -e later; touch large"),
            (Step("later", after=(), processors=1), "test -e large && touch later"),
            (Step("small", after=(), processors=0), "touch small"),
        )
        self.assertTrue(passed)

    def test_nothing_runs_beside_a_step_that_is_alone(self):
        passed, _ = self.run_steps(
            (Step("alone", after=(), alone=True), "touch busy; sleep 0.5; rm busy"),
            (Step("other", after=()), "sleep 0.3; ! test -e busy"),
        )
        self.assertTrue(passed)

    def test_a_deterministic_step_has_one_try(self):
        passed, _ = self.run_steps((Step("once", after=()), COUNT + "[ $n -gt 0 ]"))
        self.assertFalse(passed)

    def test_a_step_that_depends_on_time_has_a_second_try_and_is_named(self):
        log = PROGRAM.format("signals", "late")
        passed, printed = self.run_steps((Step("again", after=(), timed=True), COUNT + f"[ $n -gt 0 ] || echo '{log}'; [ $n -gt 0 ]"))
        self.assertTrue(passed)
        self.assertIn("flaky: again: signals late", printed)

    def test_two_flaky_steps_are_too_many(self):
        flaky = "touch $0-was; ! [ -e $0-second ] || exit 0; touch $0-second; exit 1"
        passed, _ = self.run_steps(
            (Step("one", after=(), timed=True), flaky),
            (Step("two", after=(), timed=True), flaky),
        )
        self.assertFalse(passed)

    def test_what_fails_twice_has_failed(self):
        passed, printed = self.run_steps((Step("bad", after=(), timed=True), "exit 3"))
        self.assertFalse(passed)
        self.assertIn("failed: exit code 3 (second try)", printed)

    def test_a_step_that_hangs_is_ended_with_what_it_started(self):
        before, schedule.LIMIT = schedule.LIMIT, 1
        self.addCleanup(setattr, schedule, "LIMIT", before)
        passed, printed = self.run_steps((Step("hangs", after=()), "sleep 1000 & sleep 1000"))
        self.assertFalse(passed)
        self.assertIn("failed: over 1 s", printed)


class Outcomes(unittest.TestCase):
    def log(self, text):
        file = tempfile.NamedTemporaryFile("w", suffix=".log")
        self.addCleanup(file.close)
        file.write(text)
        file.flush()
        return Path(file.name)

    def test_golden_files_libraries_and_the_simulator_do_not_depend_on_time(self):
        for program, name in [
            ("golden", "text"),
            ("wirestamp_core", "correlate::tests::x"),
            ("conformance", "simulator::05-a"),
        ]:
            self.assertFalse(outcome.depends_on_time(self.log(PROGRAM.format(program, name))), program)
        self.assertTrue(outcome.depends_on_time(self.log(PROGRAM.format("conformance", "linux-loopback::05-a"))))

    def test_what_is_tried_in_virtual_time_or_with_files_does_not_depend_on_time(self):
        for program, name in [
            ("foreign", "runs::nothing_is_measured_across_a_step"),
            ("simulated", "steps::of_any_size"),
            ("facade", "changes::latency_states_no_bound"),
            ("wirestamp_ptp", "simulate::worlds::every_value"),
        ]:
            self.assertFalse(outcome.depends_on_time(self.log(PROGRAM.format(program, name))), program)
        self.assertTrue(outcome.depends_on_time(self.log(PROGRAM.format("facade", "waiting::a"))))

    def test_each_deterministic_program_exists(self):
        crates = schedule.ROOT / "crates"
        for program in outcome.DETERMINISTIC_PROGRAMS:
            there = [crates / program.replace("_", "-"), *crates.glob(f"*/tests/{program}.rs")]
            there += crates.glob(f"*/tests/{program}/main.rs")
            self.assertTrue(any(path.exists() for path in there), program)

    def test_what_does_not_compile_does_not_depend_on_time(self):
        self.assertFalse(outcome.depends_on_time(self.log("error: could not compile `wirestamp`\n")))

    def test_a_skip_that_is_not_listed_fails_on_a_machine_that_has_everything(self):
        log = self.log("skipped: windows: no Wine\n")
        self.assertTrue(outcome.result(0, log, "windows", True).startswith("failed"))
        self.assertTrue(outcome.result(0, log, "windows", False).startswith("passed"))
        self.assertTrue(outcome.result(77, self.log("skipped: miri: Miri not available\n"), "miri", True) == "skipped")

    def test_skipped_behaviours_are_counted(self):
        log = self.log("skipped on rig: no NIC\n    a-1\n    b\nother\n    c\n")
        self.assertEqual(outcome.reasons([log]), ["skipped on rig: no NIC (2)"])


class Steps(unittest.TestCase):
    def test_each_step_is_a_script_and_waits_for_steps_that_exist(self):
        names = {step.name for step in STEPS}
        for step in STEPS:
            program = schedule.ROOT / "scripts" / step.name
            self.assertTrue(program.is_file() or (program / "run").is_file(), step.name)
            self.assertLessEqual(set(step.after), names, step.name)


if __name__ == "__main__":
    unittest.main()
