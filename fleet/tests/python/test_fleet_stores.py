"""Recordings in an object store: the answers are those of a folder, and what goes wrong there is an error. The server is moto's, in a process of
its own on the loopback interface."""

import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request
from unittest import mock

import pyarrow.parquet as parquet
from pyarrow import fs

from wirestamp_fleet import engine, main, places, scope, simulate, sound, store, writing

FLEET = simulate.Fleet(hosts=40, links=4, windows=3, flows=8, packets=100, wrong=4, seed=5)
START = 60
"""Seconds that the server may take to start."""
BUCKET, WRONG, SECRET = "recordings", "AKIAWRONGWRONGWRONG1", "wrong-secret-wrong-secret"


def run(*words):
    """Exit code, standard output and standard error of the program."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main.main([str(word) for word in words])
    return code, out.getvalue(), err.getvalue()


class Server:
    """An S3 server with one key."""

    def __init__(self):
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.address = "127.0.0.1:%d" % found.getsockname()[1]
        port = self.address.rpartition(":")[2]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", port], **quiet)
        end = time.monotonic() + START
        while True:
            try:
                socket.create_connection(("127.0.0.1", int(port))).close()
                return
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    self.kill()
                    raise
                time.sleep(0.05)

    def key(self):
        """A key that may do everything; from here on the server asks for one."""
        import boto3

        some = {"endpoint_url": f"http://{self.address}", "region_name": "us-east-1", "aws_access_key_id": "any", "aws_secret_access_key": "any"}
        iam = boto3.client("iam", **some)
        iam.create_user(UserName="reader")
        allowed = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
        iam.put_user_policy(UserName="reader", PolicyName="all", PolicyDocument=json.dumps(allowed))
        boto3.client("s3", **some).create_bucket(Bucket=BUCKET)
        made = iam.create_access_key(UserName="reader")["AccessKey"]
        return made["AccessKeyId"], made["SecretAccessKey"]

    def ask_for_keys(self):
        address = f"http://{self.address}/moto-api/reset-auth"
        urllib.request.urlopen(urllib.request.Request(address, data=b"0", headers={"Content-Type": "text/plain"}, method="POST")).close()

    def kill(self):
        self.process.kill()
        self.process.wait()


class Line:
    """What is between a program and the server, until it is cut."""

    def __init__(self, address):
        self._open, self._server = [socket.create_server(("127.0.0.1", 0))], address
        self.address = "127.0.0.1:%d" % self._open[0].getsockname()[1]
        threading.Thread(target=self._accept, args=(self._open[0],), daemon=True).start()

    def _accept(self, listening):
        with contextlib.suppress(OSError):
            while True:
                one, _ = listening.accept()
                host, _, port = self._server.rpartition(":")
                other = socket.create_connection((host, int(port)))
                self._open += [one, other]
                for source, sink in ((one, other), (other, one)):
                    threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    def _pass(self, source, sink):
        with contextlib.suppress(OSError):
            while some := source.recv(1 << 16):
                sink.sendall(some)
            sink.shutdown(socket.SHUT_WR)

    def cut(self):
        for one in self._open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


class Stores(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.work = pathlib.Path(temporary.name)
        cls.folder = cls.work / "fleet"
        simulate.run(cls.folder, FLEET)
        cls.server = Server()
        cls.addClassCleanup(cls.server.kill)
        key, secret = cls.server.key()
        cls.keys = {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret, "AWS_EC2_METADATA_DISABLED": "true", "XDG_CACHE_HOME": str(cls.work / "cache")}
        changed = mock.patch.dict(os.environ, cls.keys)
        changed.start()
        cls.addClassCleanup(changed.stop)
        cls.options = f"?scheme=http&endpoint_override={cls.server.address}"
        cls.store, _ = fs.FileSystem.from_uri(f"s3://{BUCKET}{cls.options}&region=us-east-1")
        cls.url = cls.upload("fleet", cls.folder)
        cls.server.ask_for_keys()

    @classmethod
    def upload(cls, name, folder):
        fs.copy_files(str(folder), f"{BUCKET}/{name}", destination_filesystem=cls.store)
        return f"s3://{BUCKET}/{name}{cls.options}"

    def changed(self, name, change):
        """The URL of a copy to which something was done."""
        folder = self.work / name
        shutil.copytree(self.folder, folder)
        change(folder)
        return self.upload(name, folder)

    def test_every_command_answers_as_from_a_folder(self):
        bucket = min((self.folder / "timestamps").rglob("bucket=*")).name
        delays = ["--delays", self.folder / "delays.parquet"]
        functions = 'SELECT host, hour_of(utc(ticks, utc_minus_ticks)) AS hour, COUNT(*) AS n FROM timestamps GROUP BY 1, 2 ORDER BY 1, 2'
        for words in (
            ["clocks", *delays],
            ["latency"],
            ["latency", "--packets"],
            ["query", "SELECT * FROM probes ORDER BY ALL"],
            ["query", functions],
            ["query", 'SELECT COUNT(*) AS n FROM "cross"'],
            ["query", functions, "--only", f"day=2026-11-23/hour=00/{bucket}"],
        ):
            with self.subTest(words):
                answers = [run(words[0], place, *words[1:]) for place in (self.folder, self.url)]
                self.assertTrue(answers[0] == answers[1])  # no difference of long texts
                self.assertEqual((answers[0][0], answers[0][2]), (0, ""))
                self.assertGreater(len(answers[0][1]), 5)
        pages = [self.work / f"{name}.html" for name in ("folder", "url")]
        for place, page in zip((self.folder, self.url), pages, strict=True):
            self.assertEqual(run("report", place, *delays, "--output", page)[::2], (0, ""))
        one, other = (re.sub("Made .* UTC by", "", page.read_text()) for page in pages)
        self.assertTrue(one == other)

    def test_the_usual_variables_name_the_server(self):
        asked = ["SELECT COUNT(*) AS n FROM probes"]
        with mock.patch.dict(os.environ, {"AWS_ENDPOINT_URL": f"http://{self.server.address}"}):
            self.assertEqual(run("query", f"s3://{BUCKET}/fleet/", *asked), run("query", self.folder, *asked))

    def test_a_server_of_ones_own_is_not_looked_for_at_aws(self):
        known = lambda **variables: mock.patch.dict(os.environ, variables, clear=True)
        own = {"endpoint_override": "own:9000", "scheme": "http", "region": "us-east-1"}
        with known():
            self.assertEqual(places._of_environment({}), {})
        with known(AWS_ENDPOINT_URL="http://own:9000"):
            self.assertEqual(places._of_environment({}), own)
            self.assertEqual(places._of_environment({"endpoint_override": "other", "region": "here"}), {"endpoint_override": "other", "region": "here"})
        with known(AWS_ENDPOINT_URL="https://all", AWS_ENDPOINT_URL_S3="http://own:9000"):
            self.assertEqual(places._of_environment({}), own)
        with known(AWS_ENDPOINT_URL="http://own:9000", AWS_DEFAULT_REGION="there"):
            self.assertEqual(places._of_environment({}), own | {"region": "there"})

    def test_latency_in_parts_goes_on(self):
        parts = self.work / "parts"
        for kept in (0, None):
            code, out, err = run("latency", self.url, "--output", f"{parts}/")
            self.assertEqual((code, err), (0, ""))
            count = len(list(parts.glob("*.parquet")))
            self.assertIn(f"{count} parts in {parts}/, {count if kept is None else kept} of them from an earlier run", out)
        self.assertGreater(count, 2)

    def test_one_hour_is_asked_for_and_nothing_else_is_read(self):
        listed = []
        files = store.files
        with mock.patch.object(engine, "files", lambda *words: listed.append(files(*words)) or listed[-1]):
            _, out, _ = run("query", self.url, "SELECT COUNT(DISTINCT host) AS hosts FROM probes", "--only", "day=2026-11-26")
        self.assertTrue(listed[0].keys and all("/day=2026-11-26/" in name for name in listed[0].keys))
        self.assertEqual(json.loads(out), {"hosts": 1})  # the one whose clock is three days off

    def test_of_other_days_no_object_is_listed(self):
        within = scope.Scope(first=simulate.START + 3 * simulate.DAY, last=simulate.START + 3 * simulate.DAY + simulate.HOUR).within("probes")
        place, asked = places.of(self.url), []
        place.filesystem = mock.Mock(get_file_info=lambda selector: (asked.append(selector.base_dir), self.store.get_file_info(selector))[1])
        found, _ = place.files("probes", within)
        self.assertTrue(found and all("/day=2026-11-26/" in name for name in found))
        self.assertEqual([folder.rpartition("/")[2] for folder in asked], ["probes", "day=2026-11-26"])
        self.assertEqual(found.keys(), {name for name in place.files("probes")[0] if within(place.relative(name))})

    def test_files_that_were_checked_are_remembered_in_the_cache_and_not_in_the_store(self):
        ask = lambda: run("query", self.url, "SELECT COUNT(*) AS n FROM estimates")
        first = ask()
        with mock.patch.object(sound, "wrong") as wrong:
            self.assertEqual(ask(), first)
        wrong.assert_not_called()
        self.assertTrue(list((self.work / "cache" / "wirestamp-fleet").glob("*.json")))
        names = [info.path for info in self.store.get_file_info(fs.FileSelector(f"{BUCKET}/fleet", recursive=True))]
        self.assertFalse([name for name in names if "/." in name])

    def test_unusable_objects_are_named_and_never_counted(self):
        count = json.loads(run("query", self.folder, "SELECT COUNT(*) AS n FROM probes")[1])

        def spoil(folder):
            [path] = (folder / "probes" / "day=2026-11-23" / "hour=00").glob("*.parquet")
            whole, rows = path.read_bytes(), parquet.ParquetFile(path).read()
            middle = len(whole) // 3
            path.with_name("damaged.parquet").write_bytes(whole[:middle] + bytes(byte ^ 0x55 for byte in whole[middle : middle + 400]) + whole[middle + 400 :])
            path.with_name("half.parquet").write_bytes(whole[: len(whole) // 2])
            other = {"wirestamp.table": "probes", "wirestamp.version": "2"}
            writing.write_file(rows.replace_schema_metadata(other), path.with_name("version.parquet"))
            path.with_name(".hidden.parquet").write_bytes(whole)
            path.with_name("_hidden.parquet").write_bytes(whole)

        url = self.changed("spoilt", spoil)
        code, out, err = run("query", url, "SELECT COUNT(*) AS n FROM probes")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("3 unusable file(s)", err)
        code, out, err = run("query", url, "SELECT COUNT(*) AS n FROM probes", "--skip-unusable")
        self.assertEqual((code, json.loads(out)), (0, count))
        for name in ("damaged", "half", "version"):
            self.assertRegex(err, f"skipped s3://{BUCKET}/spoilt/probes/.*/{name}.parquet: ")

    def test_what_cannot_be_asked_is_an_error_without_keys(self):
        asked = ["SELECT COUNT(*) AS n FROM estimates"]
        for url, text in (
            (f"s3://nobucket/fleet{self.options}", "no such folder"),
            (f"s3://{BUCKET}/nothing{self.options}", "no such folder"),
            (f"{self.url}&allow_bucket_creation=true", "allow_bucket_creation"),
            (f"s3://{WRONG}:{SECRET}@{BUCKET}/fleet{self.options}", "AWS_SECRET_ACCESS_KEY"),
            ("http://127.0.0.1/fleet", "neither a folder nor"),
        ):
            code, out, err = run("query", url, *asked)
            self.assertEqual((code, out), (2, ""), err)
            self.assertIn(text, err)
            self.assertNotIn(SECRET, err)
            self.assertNotIn(WRONG, err)
        for changed in ({"AWS_ACCESS_KEY_ID": WRONG}, {"AWS_SECRET_ACCESS_KEY": SECRET}):
            with mock.patch.dict(os.environ, changed):
                code, out, err = run("query", self.url, *asked)
            self.assertEqual((code, out), (2, ""))
            self.assertRegex(err, "(?i)^error: .*(access.?denied|access.?key|signature|forbidden)")
            for key in (WRONG, SECRET, *list(self.keys.values())[:2]):
                self.assertNotIn(key, err)

        with mock.patch.dict(os.environ, {"AWS_SECRET_ACCESS_KEY": SECRET}), mock.patch.object(engine, "Duck", side_effect=OSError(f"signed with {SECRET}")):
            self.assertEqual(run("query", self.url, *asked), (2, "", "error: signed with …\n"))

    def test_nothing_is_written_to_a_store(self):
        for words in (
            ["compact", self.url],
            ["simulate", self.url],
            ["latency", self.folder, "--output", "s3://recordings/answer.parquet"],
            ["latency", self.folder, "--output", "s3://recordings/parts/"],
            ["report", self.folder, "--output", "s3://recordings/report.html"],
        ):
            code, out, err = run(*words)
            self.assertEqual((code, out), (2, ""))
            self.assertIn("object stores are only read", err)

    def test_a_server_that_dies_is_an_error_and_no_file_is_blamed(self):
        """While files are checked, and when they have been and are read."""
        look, files = sound.look, store.files
        dying = lambda line: mock.patch.object(sound, "look", lambda *words: line.cut() or look(*words))
        dead_later = lambda line: mock.patch.object(engine, "files", lambda *words: (files(*words), line.cut())[0])
        for change, words in (
            (dying, ["latency", "--skip-unusable"]),
            (dead_later, ["latency", "--skip-unusable"]),
            (dead_later, ["query", "SELECT SUM(forward) AS n FROM probes", "--skip-unusable"]),
        ):
            line = Line(self.server.address)
            self.addCleanup(line.cut)
            with change(line):
                code, out, err = run(words[0], f"s3://{BUCKET}/fleet?scheme=http&endpoint_override={line.address}", *words[1:])
            self.assertEqual((code, out), (2, ""), words)
            self.assertRegex(err, "^error: .*(NETWORK_CONNECTION|onnect)", words)
            self.assertNotIn("damaged", err)
            self.assertEqual(len(err.splitlines()), 1, err)


if __name__ == "__main__":
    unittest.main()
