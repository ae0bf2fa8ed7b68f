"""Spark with a master and workers on this machine, all on 127.0.0.1, for test_cluster.py."""

import os
import pathlib
import signal
import socket
import subprocess
import time

import pyspark

SPARK = pathlib.Path(pyspark.__file__).parent
START = 120
"""Seconds that a process of Spark's may take to start."""


class Cluster:
    def __init__(self, work, workers):
        self._work, self._processes = work, []
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port = found.getsockname()[1]
        self.master = f"spark://127.0.0.1:{port}"
        self._start("master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", 0, started="I have been elected leader")
        for _ in range(workers):
            self.add()

    def add(self):
        """Starts a worker."""
        options = ["--host", "127.0.0.1", "--webui-port", 0, "--cores", 1, "--memory", "1g"]
        place = self._work / f"worker{len(self._processes)}"
        self._start("worker.Worker", *options, "--work-dir", place, self.master, started="Successfully registered")

    def _start(self, name, *words, started):
        log = self._work / f"{len(self._processes)}.log"
        command = [SPARK / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", *words]
        environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m", "SPARK_HOME": str(SPARK)}
        with open(log, "wb") as file:
            process = subprocess.Popen([str(word) for word in command], stdout=file, stderr=file, env=environment, start_new_session=True)
        self._processes.append(process)
        end = time.monotonic() + START
        while started not in log.read_text(errors="replace"):
            if time.monotonic() > end or process.poll() is not None:
                self.stop()
                raise RuntimeError(f"{name} did not start: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.1)

    def kill_one(self):
        """Kills a worker and its executor with -9: they are one process group."""
        self._kill(next(process for process in self._processes[1:] if process.poll() is None))

    def kill_of(self, executor):
        """The same with the worker that an executor belongs to."""
        group = os.getpgid(executor)
        self._kill(next(process for process in self._processes[1:] if process.pid == group))

    def _kill(self, process):
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self):
        for process in self._processes:
            if process.poll() is None:
                self._kill(process)
