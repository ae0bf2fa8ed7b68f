"""Spark with a master and workers, for test_cluster.py. For root, each worker has a network namespace of its own, as if it were another host: what is bound to
127.0.0.1 at the driver cannot be reached from there."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import pyspark

SPARK = pathlib.Path(pyspark.__file__).parent
START = 120
"""Seconds that a process of Spark's may take to start."""


class Network:
    """Namespaces that a bridge connects. Their names are this process's."""

    def __init__(self):
        number = os.getpid()
        self._bridge, self._prefix, self._names = f"wf{number}", f"10.{200 + number // 256 % 32}.{number % 256}", []
        self.address = f"{self._prefix}.1"
        _ip("link", "add", self._bridge, "type", "bridge")
        _ip("addr", "add", f"{self.address}/24", "dev", self._bridge)
        _ip("link", "set", self._bridge, "up")

    def add(self):
        """The words before a command that is to run on another host, and its address."""
        number = len(self._names) + 2
        name, address = f"{self._bridge}-{number}", f"{self._prefix}.{number}"
        _ip("netns", "add", name)
        self._names.append(name)
        _ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
        _ip("link", "set", name, "master", self._bridge, "up")
        _ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            _ip("-n", name, "link", "set", device, "up")
        return ["ip", "netns", "exec", name], address

    def remove(self):
        for name in self._names:
            subprocess.run(["ip", "netns", "del", name], check=False)
        subprocess.run(["ip", "link", "del", self._bridge], check=False)


class Loopback:
    """All on this host, where namespaces cannot be made."""

    address = "127.0.0.1"

    def __init__(self):
        print("not root: Spark's workers are on this host", file=sys.stderr)

    def add(self):
        return [], self.address

    def remove(self):
        pass


def _ip(*words):
    subprocess.run(["ip", *words], check=True)


class Cluster:
    def __init__(self, work, workers, network):
        self._work, self._processes, self._network = work, [], network
        self.address = network.address
        with socket.socket() as found:
            found.bind((self.address, 0))
            port = found.getsockname()[1]
        self.master = f"spark://{self.address}:{port}"
        self._start([], self.address, "master.Master", "--host", self.address, "--port", port, "--webui-port", 0, started="I have been elected leader")
        for _ in range(workers):
            self.add()

    def add(self):
        """Starts a worker."""
        before, address = self._network.add()
        options = ["--host", address, "--webui-port", 0, "--cores", 1, "--memory", "1g"]
        place = self._work / f"worker{len(self._processes)}"
        self._start(before, address, "worker.Worker", *options, "--work-dir", place, self.master, started="Successfully registered")

    def _start(self, before, address, name, *words, started):
        log = self._work / f"{len(self._processes)}.log"
        command = [*before, SPARK / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", *words]
        environment = os.environ | {"SPARK_LOCAL_IP": address, "SPARK_DAEMON_MEMORY": "256m", "SPARK_HOME": str(SPARK)}
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
