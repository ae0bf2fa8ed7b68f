"""In the Python of Spark's workers, for test_cluster.py: each window's kernel says where it runs and waits until it may go on."""

import os
import pathlib
import time

if marks := os.environ.get("WIRESTAMP_FLEET_MARKS"):
    from wirestamp_fleet import kernel

    marks = pathlib.Path(marks)
    solve = kernel.window

    def executor():
        """This worker's parent is Spark's daemon, whose parent is the executor."""
        return int(pathlib.Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])

    def window(*arguments):
        (marks / str(executor())).touch()
        while not (marks / "go").exists():
            time.sleep(0.02)
        return solve(*arguments)

    kernel.window = window
