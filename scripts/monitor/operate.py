"""Programs beside the monitor, for the tests of this folder: namespaces, processes, Prometheus."""

import contextlib
import ctypes
import json
import os
import pathlib
import re
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

NEW_NETWORK = 0x40000000  # CLONE_NEWNET


@contextlib.contextmanager
def running(*command, **more):
    """A program that ends with the block; its output is dropped unless `more` says otherwise."""
    more = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **more}
    process = subprocess.Popen(list(map(str, command)), **more)
    try:
        yield process
    finally:
        stop(process)


def stop(process):
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def inside(namespace, *command):
    return ["ip", "netns", "exec", namespace, *map(str, command)]


def enter(namespace):
    """From now on this process, and what it starts, is in that network namespace."""
    with open(f"/run/netns/{namespace}", encoding="utf-8") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), NEW_NETWORK) != 0:
            raise OSError(ctypes.get_errno(), "setns", namespace)


def until(what, holds, seconds=60):
    """Waits for something; returns what it gave."""
    end = time.monotonic() + seconds
    while True:
        got = holds()
        if got:
            return got
        if time.monotonic() > end:
            raise SystemExit(f"{what}: not within {seconds} s")
        time.sleep(0.25)


def fetch(url, accept=None, timeout=10):
    """Body and headers; raises OSError."""
    request = urllib.request.Request(url, headers={"Accept": accept} if accept else {})
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return answer.read(), answer.headers


def page_block(page, language):
    """The first block of that language in a page of the guide: what is shown there is what runs here."""
    text = pathlib.Path(page).read_text(encoding="utf-8")
    return re.search(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL).group(1)


class Prometheus:
    """A Prometheus in a folder of its own, on loopback."""

    def __init__(self, stack, folder, configuration, rules, port=9090):
        self.address = f"http://127.0.0.1:{port}"
        folder.mkdir()
        (folder / "prometheus.yml").write_text(configuration)
        (folder / "wirestamp.rules.yml").write_text(rules)
        subprocess.run(["promtool", "check", "config", folder / "prometheus.yml"], check=True, stdout=subprocess.DEVNULL)
        log = stack.enter_context(open(folder / "log", "w", encoding="utf-8"))
        stack.enter_context(running(
            "prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{port}", "--enable-feature=native-histograms,exemplar-storage", "--log.level=warn", stderr=log))
        self.log = folder / "log"
        until("Prometheus is ready", self.is_ready)

    def is_ready(self):
        with contextlib.suppress(OSError):
            return fetch(f"{self.address}/-/ready")
        return False

    def ask(self, what, **parameters):
        url = f"{self.address}/api/v1/{what}?{urllib.parse.urlencode(parameters)}"
        try:
            told = json.loads(fetch(url, timeout=60)[0])
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{url}: {error.read().decode()}") from error
        return told["data"]

    def query(self, expression, at=None):
        return self.ask("query", query=expression, **({"time": at} if at else {}))["result"]

    def value(self, expression):
        """The only value of an expression; None if there is none."""
        found = self.query(expression)
        assert len(found) <= 1, (expression, found)
        return float(found[0]["value"][1]) if found else None

    def has_all(self, metric, count):
        """Whether so many series of a metric are up."""
        return len(self.query(f"{metric} == 1")) == count


def program():
    """The program with the monitor in it, as the test command of the README builds it."""
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR", "target")).resolve() / "debug/wirestamp"
